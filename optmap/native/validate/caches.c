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
    int64_t sets, ways;
    int64_t mask;                       /* sets - 1 if these are all ones, else 0 */
    int64_t clock;                      /* uses so far */
    int inclusive;
    int64_t *line;                      /* per set and way: NONE if it has none */
    int64_t *used;                      /* per set and way: when it was used last; 0 if it has no line */
    int64_t *newest;                    /* per set: what was used last */
    int32_t *tensor;                    /* per set and way */
    char *dirty;                        /* per set and way */
    int64_t *loads, *stores;            /* per tensor: lines brought in from, and taken out to, the next cache */
} cache;

typedef struct {
    int levels;
    cache *caches;                      /* innermost first */
} hierarchy;

static int cache_create(cache *c, int64_t sets, int64_t ways, int inclusive, int64_t *loads, int64_t *stores) {
    size_t slots = (size_t)(sets * ways);
    *c = (cache){.sets = sets, .ways = ways, .mask = sets & (sets - 1) ? 0 : sets - 1, .inclusive = inclusive,
                 .loads = loads, .stores = stores};
    c->line = malloc(slots * sizeof *c->line);
    c->used = calloc(slots, sizeof *c->used);
    c->newest = calloc((size_t)sets, sizeof *c->newest);
    c->tensor = calloc(slots, sizeof *c->tensor);
    c->dirty = calloc(slots, 1);
    if (!c->line || !c->used || !c->newest || !c->tensor || !c->dirty) return 0;
    for (size_t slot = 0; slot < slots; slot++) c->line[slot] = NONE;
    for (int64_t set = 0; set < sets; set++) c->newest[set] = set * ways;
    return 1;
}

static void cache_free(cache *c) { free(c->line), free(c->used), free(c->newest), free(c->tensor), free(c->dirty); }

static inline int64_t set_of(const cache *c, int64_t line) {
    return c->mask ? line & c->mask : line % c->sets;
}

/* Where a line is; NONE if it is not there. */
static inline int64_t find(const cache *c, int64_t line) {
    int64_t begin = set_of(c, line) * c->ways, way = NONE;
    for (int64_t i = 0; i < c->ways; i++)
        if (c->line[begin + i] == line) way = i;
    return way == NONE ? NONE : begin + way;
}

static inline int64_t oldest(const cache *c, int64_t set) {
    int64_t begin = set * c->ways, found = begin;
    for (int64_t slot = begin; slot < begin + c->ways; slot++)
        if (c->used[slot] < c->used[found]) found = slot;
    return found;
}

static void empty(cache *c, int64_t slot) {
    c->line[slot] = NONE;
    c->used[slot] = 0;
    c->dirty[slot] = 0;
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
    int64_t set = set_of(c, line), slot = c->newest[set];
    if (c->line[slot] != line) slot = find(c, line);
    if (slot == NONE) {
        if (fetch) {
            c->loads[tensor]++;
            request(h, level + 1, line, tensor, 0, 1);
        }
        slot = oldest(c, set);
        if (c->line[slot] != NONE) evict(h, level, slot);
        slot = oldest(c, set); /* what left may have emptied another one */
        c->line[slot] = line;
        c->tensor[slot] = tensor;
    }
    c->used[slot] = ++c->clock;
    c->newest[set] = slot;
    if (write) c->dirty[slot] = 1;
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
    for (int level = 0; h->caches && level < h->levels; level++) cache_free(&h->caches[level]);
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
