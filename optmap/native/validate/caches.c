/* A chain of set-associative caches: least recently used, write-back, write-allocate, lines of one size.
 *
 * A line is a number, its address over the size of a line; it belongs to set `line % sets`. What is asked for and not
 * there is brought in from the next cache; what has to go and was written to goes to the next cache, which takes it
 * whole, without reading it. A cache that is inclusive holds whatever the caches inside it hold: a line that leaves it
 * leaves them as well. Every line says whose it is (a tensor), so that loads and stores are counted per tensor.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };

typedef struct {
    int64_t sets, ways, buckets;
    int inclusive;
    int64_t *first;                     /* per bucket of a hash table of lines: a slot, or NONE */
    int64_t *next;                      /* per slot: the next one in its bucket */
    int64_t *newer, *older;             /* per slot: neighbours in the order of use of its set */
    int64_t *newest, *oldest;           /* per set: ends of that order; slots without a line are the oldest */
    int64_t *line;                      /* per slot: NONE if it has none */
    int32_t *tensor;                    /* per slot */
    char *dirty;                        /* per slot */
    int64_t *loads, *stores;            /* per tensor: lines brought in from, and taken out to, the next cache */
} cache;

typedef struct {
    int levels;
    cache *caches;                      /* innermost first */
} hierarchy;

static int64_t *numbers(int64_t count, int64_t value) {
    int64_t *made = malloc((size_t)count * sizeof *made);
    for (int64_t i = 0; made && i < count; i++) made[i] = value;
    return made;
}

static int cache_create(cache *c, int64_t sets, int64_t ways, int inclusive, int64_t *loads, int64_t *stores) {
    int64_t slots = sets * ways;
    *c = (cache){.sets = sets, .ways = ways, .buckets = 1, .inclusive = inclusive, .loads = loads, .stores = stores};
    while (c->buckets < 2 * slots) c->buckets *= 2;
    c->first = numbers(c->buckets, NONE);
    c->next = numbers(slots, NONE);
    c->newer = numbers(slots, NONE);
    c->older = numbers(slots, NONE);
    c->newest = numbers(sets, NONE);
    c->oldest = numbers(sets, NONE);
    c->line = numbers(slots, NONE);
    c->tensor = calloc((size_t)slots, sizeof *c->tensor);
    c->dirty = calloc((size_t)slots, 1);
    if (!c->first || !c->next || !c->newer || !c->older || !c->newest || !c->oldest || !c->line || !c->tensor ||
        !c->dirty)
        return 0;
    for (int64_t set = 0; set < sets; set++) {
        int64_t begin = set * ways, end = begin + ways - 1;
        c->newest[set] = begin;
        c->oldest[set] = end;
        for (int64_t slot = begin; slot < end; slot++) {
            c->older[slot] = slot + 1;
            c->newer[slot + 1] = slot;
        }
    }
    return 1;
}

static void cache_free(cache *c) {
    free(c->first), free(c->next), free(c->newer), free(c->older), free(c->newest), free(c->oldest);
    free(c->line), free(c->tensor), free(c->dirty);
}

static inline int64_t bucket_of(const cache *c, int64_t line) {
    return (int64_t)(((uint64_t)line * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & (c->buckets - 1);
}

static inline int64_t find(const cache *c, int64_t line) {
    int64_t slot = c->first[bucket_of(c, line)];
    while (slot != NONE && c->line[slot] != line) slot = c->next[slot];
    return slot;
}

/* Take a slot out of its set's order of use. */
static inline void unlink_slot(cache *c, int64_t set, int64_t slot) {
    int64_t newer = c->newer[slot], older = c->older[slot];
    if (newer == NONE) c->newest[set] = older; else c->older[newer] = older;
    if (older == NONE) c->oldest[set] = newer; else c->newer[older] = newer;
}

static inline void make_newest(cache *c, int64_t set, int64_t slot) {
    if (c->newest[set] == slot) return;
    unlink_slot(c, set, slot);
    c->newer[slot] = NONE;
    c->older[slot] = c->newest[set];
    c->newer[c->newest[set]] = slot;
    c->newest[set] = slot;
}

/* Forget a slot's line: the slot is empty, and the first to be filled. */
static void empty(cache *c, int64_t slot) {
    int64_t line = c->line[slot], set = line % c->sets, *place = &c->first[bucket_of(c, line)];
    while (*place != slot) place = &c->next[*place];
    *place = c->next[slot];
    c->line[slot] = NONE;
    c->dirty[slot] = 0;
    if (c->oldest[set] == slot) return;
    unlink_slot(c, set, slot);
    c->older[slot] = NONE;
    c->newer[slot] = c->oldest[set];
    c->older[c->oldest[set]] = slot;
    c->oldest[set] = slot;
}

static void request(hierarchy *h, int level, int64_t line, int32_t tensor, int write, int fetch);

/* Take a line out of a cache, and out of those inside it if it holds whatever they hold. */
static void evict(hierarchy *h, int level, int64_t slot) {
    cache *c = &h->caches[level];
    int64_t line = c->line[slot];
    int32_t tensor = c->tensor[slot];
    int dirty = c->dirty[slot];
    empty(c, slot);
    for (int inner = level - 1; c->inclusive && inner >= 0; inner--) {
        cache *other = &h->caches[inner];
        int64_t copy = find(other, line);
        if (copy == NONE) continue;
        if (other->dirty[copy]) other->stores[tensor]++, dirty = 1;
        empty(other, copy);
    }
    if (!dirty) return;
    c->stores[tensor]++;
    request(h, level + 1, line, tensor, 1, 0);
}

/* Use a line in a cache: `fetch` reads it from the next one if it is not there, without it the whole line is given. */
static void request(hierarchy *h, int level, int64_t line, int32_t tensor, int write, int fetch) {
    if (level == h->levels) return;
    cache *c = &h->caches[level];
    int64_t set = line % c->sets, slot = find(c, line);
    if (slot == NONE) {
        if (fetch) {
            c->loads[tensor]++;
            request(h, level + 1, line, tensor, 0, 1);
        }
        if (c->line[c->oldest[set]] != NONE) evict(h, level, c->oldest[set]);
        slot = c->oldest[set];
        int64_t bucket = bucket_of(c, line);
        c->line[slot] = line;
        c->tensor[slot] = tensor;
        c->next[slot] = c->first[bucket];
        c->first[bucket] = slot;
    }
    if (write) c->dirty[slot] = 1;
    make_newest(c, set, slot);
}

/* What is written to is in the end taken out all the way, a line once at every boundary. */
static void flush(hierarchy *h) {
    for (int level = 0; level < h->levels; level++) {
        const cache *c = &h->caches[level];
        for (int64_t slot = 0; slot < c->sets * c->ways; slot++) {
            if (c->line[slot] == NONE || !c->dirty[slot]) continue;
            c->stores[c->tensor[slot]]++;
            for (int outer = level + 1; outer < h->levels; outer++) {
                cache *other = &h->caches[outer];
                int64_t copy = find(other, c->line[slot]);
                if (copy != NONE && other->dirty[copy]) break; /* counted from there on */
                other->stores[c->tensor[slot]]++;
            }
        }
    }
}

static void release(hierarchy *h) {
    for (int level = 0; level < h->levels; level++) cache_free(&h->caches[level]);
    free(h->caches);
}

/* `geometry`: per level sets, ways, whether inclusive. `loads`, `stores`: per level and tensor. 0: no memory. */
static int prepare(hierarchy *h, int levels, const int64_t *geometry, int tensors, int64_t *loads, int64_t *stores) {
    h->levels = levels;
    h->caches = calloc((size_t)levels, sizeof *h->caches);
    int good = h->caches != NULL;
    for (int l = 0; good && l < levels; l++)
        good = cache_create(&h->caches[l], geometry[3 * l], geometry[3 * l + 1], (int)geometry[3 * l + 2],
                            loads + l * tensors, stores + l * tensors);
    return good;
}

/* A stream of accesses: lines, whose they are, and whether they write. */
int replay(int levels, const int64_t *geometry, int tensors, int64_t *loads, int64_t *stores, int64_t count,
           const int64_t *lines, const int32_t *owners, const char *writes) {
    hierarchy h;
    int good = prepare(&h, levels, geometry, tensors, loads, stores);
    for (int64_t i = 0; good && i < count; i++) request(&h, 0, lines[i], owners[i], writes[i], 1);
    if (good) flush(&h);
    release(&h);
    return good;
}
