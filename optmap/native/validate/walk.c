/* The accesses of a loop nest, one register tile after the other, through the caches of caches.c.
 *
 * All loops of a mapping run, outermost first, with ragged tiles at the ends; each step of the innermost ones is one
 * tile of level 0, and uses the lines under its tile of every input, each once and in their order, padding left out; a
 * step without a
 * real element of some input is not done. The output stays in registers while the reduction loops at the end of level
 * 0's order run: it is read when they begin, unless it starts from nothing, and written when they end. If it is not
 * `held`, every step writes it.
 */

enum { MOST_AXES = 16 };

typedef struct {
    int64_t offset, low, high, terms;   /* constant of the subscript, its real values, its dims */
    const int64_t *dims, *coefficients;
    const int64_t *place;               /* per real value from `low`: bytes that it adds to the address */
    const int64_t *reach;               /* per real value from `low`: the last one that lies behind it without a gap */
    int64_t *values;                    /* room for the values of one tile */
    int64_t *start, *bytes;             /* room for as many runs: what it adds to the address, and how far it goes */
    int64_t runs;                       /* of real values, once it is located */
    int64_t *located;                   /* (first, number) per term, for which it is; numbers 0 at first */
} axis;

typedef struct {
    int64_t base, axes;                 /* address of element 0, in bytes */
    int64_t size;                       /* bytes of an element */
    axis *axis;                         /* slowest in memory first: the last one has the runs */
} access;

typedef struct {
    int64_t dims, levels, tensors, line_bytes;
    int64_t summed;                     /* place in level 0's order from which on there are reductions only */
    int64_t held, assign;               /* whether the output stays in registers; whether it starts from nothing */
    const int64_t *tiles, *orders;      /* per level, innermost first, and dim; and place, outermost first */
    const int64_t *reductions;          /* per dim, whether it is summed over */
    int64_t *first, *number;            /* per dim: the region that the loops have come to; all of it at first */
    access *access;                     /* output first */
    int64_t *reads, *writes;            /* per tensor: lines that go to and from the registers */
    hierarchy caches;
    int64_t *lines, kept, room;         /* those of a step, each once, in their order; how many; how many fit */
    int64_t failed;                     /* whether memory ran out */
} walk;

/* Whether the region is another one than the axis is located for. */
static int moved(const walk *w, axis *a) {
    int other = 0;
    for (int64_t t = 0; t < a->terms; t++) {
        int64_t first = w->first[a->dims[t]], number = w->number[a->dims[t]];
        if (a->located[2 * t] == first && a->located[2 * t + 1] == number) continue;
        a->located[2 * t] = first;
        a->located[2 * t + 1] = number;
        other = 1;
    }
    return other || !a->terms;
}

/* Real values of a subscript over the region, each once, ascending; how many. */
static int64_t collect(const walk *w, const axis *a) {
    int64_t count = 1, several = 0, real = 0, *values = a->values;
    values[0] = a->offset;
    for (int64_t t = 0; t < a->terms; t++) values[0] += a->coefficients[t] * w->first[a->dims[t]];
    for (int64_t t = 0; t < a->terms; t++) {
        int64_t step = a->coefficients[t], steps = w->number[a->dims[t]], before = count;
        for (int64_t k = 1; k < steps; k++)
            for (int64_t i = 0; i < before; i++) values[count++] = values[i] + k * step;
        several += steps > 1;
    }
    for (int64_t i = 1; several > 1 && i < count; i++) {
        int64_t value = values[i], at = i;
        for (; at > 0 && values[at - 1] > value; at--) values[at] = values[at - 1];
        values[at] = value;
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t value = values[i];
        if (a->low <= value && value <= a->high && (real == 0 || values[real - 1] != value)) values[real++] = value;
    }
    return real;
}

/* Where the real elements of a subscript are: in runs if it is the fastest one, else one by one. */
static void locate_axis(const walk *w, axis *a, int fastest, int64_t size) {
    int64_t count = collect(w, a);
    a->runs = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t value = a->values[i], last = i, run = a->runs++;
        while (fastest && last + 1 < count && a->values[last + 1] == a->values[last] + 1 &&
               a->reach[value - a->low] > a->values[last])
            last++;
        a->start[run] = a->place[value - a->low];
        a->bytes[run] = (last - i + 1) * size;
        i = last;
    }
}

static int locate(const walk *w, access *t) {
    int real = 1;
    for (int64_t i = 0; i < t->axes; i++) {
        if (moved(w, &t->axis[i])) locate_axis(w, &t->axis[i], i == t->axes - 1, t->size);
        real &= t->axis[i].runs > 0;
    }
    return real;
}

/* Keep a line of a step among those before it, in their order and each once. Most come in order: blocked layouts do not. */
static void keep(walk *w, int64_t line) {
    int64_t at = w->kept;
    while (at > 0 && w->lines[at - 1] > line) at--;
    if (at > 0 && w->lines[at - 1] == line) return;
    if (w->kept == w->room) {
        int64_t room = 2 * w->room + 64, *more = realloc(w->lines, (size_t)room * sizeof *more);
        if (!more) {
            w->failed = 1;
            return;
        }
        w->lines = more;
        w->room = room;
    }
    for (int64_t i = w->kept++; i > at; i--) w->lines[i] = w->lines[i - 1];
    w->lines[at] = line;
}

/* Every line under the located tile of a tensor, in their order. */
static void use(walk *w, int32_t tensor, int write) {
    const access *t = &w->access[tensor];
    int64_t at[MOST_AXES] = {0}, last = NONE, more = 1;
    w->kept = 0;
    while (more) {
        int64_t address = t->base, i = t->axes - 1, end = t->size;
        for (int64_t k = 0; k <= i; k++) address += t->axis[k].start[at[k]];
        if (i >= 0) end = t->axis[i].bytes[at[i]];
        int64_t line = address / w->line_bytes;
        for (end = (address + end - 1) / w->line_bytes; line <= end; line++)
            if (line != last) keep(w, last = line);
        while (i >= 0 && ++at[i] == t->axis[i].runs) at[i--] = 0;
        more = i >= 0;
    }
    for (int64_t i = 0; i < w->kept; i++) request(&w->caches, 0, w->lines[i], tensor, write, 1);
    (write ? w->writes : w->reads)[tensor] += w->kept;
}

static void step(walk *w) {
    for (int64_t t = 1; t < w->tensors; t++)
        if (!locate(w, &w->access[t])) return;
    for (int64_t t = 1; t < w->tensors; t++) use(w, (int32_t)t, 0);
    if (!w->held && locate(w, &w->access[0])) use(w, 0, 1);
}

/* Whether the output has no sums yet: the first visit, as loops ascend. */
static int starts(const walk *w) {
    for (int64_t d = 0; d < w->dims; d++)
        if (w->reductions[d] && w->first[d]) return 0;
    return 1;
}

/* The loops of `level` from place `depth` on, over the region, which is left as it was found. */
static void loops(walk *w, int64_t level, int64_t depth) {
    int comes = w->held && level == 0 && depth == w->summed && locate(w, &w->access[0]);
    if (comes && !(w->assign && starts(w))) use(w, 0, 0);
    if (depth < w->dims) {
        int64_t d = w->orders[level * w->dims + depth], tile = w->tiles[level * w->dims + d];
        int64_t first = w->first[d], number = w->number[d];
        for (int64_t done = 0; done < number; done += tile) {
            w->first[d] = first + done;
            w->number[d] = number - done < tile ? number - done : tile;
            loops(w, level, depth + 1);
        }
        w->first[d] = first;
        w->number[d] = number;
    } else if (level) {
        loops(w, level - 1, 0);
    } else {
        step(w);
    }
    if (comes) use(w, 0, 1);
}

/* Walk a nest; `caches` and what follows as for `prepare`. 0: no memory. */
int walk_nest(walk *w, int caches, const int64_t *geometry, int64_t *loads, int64_t *stores) {
    int good = prepare(&w->caches, caches, geometry, (int)w->tensors, loads, stores);
    if (good) {
        loops(w, w->levels - 1, 0);
        flush(&w->caches);
    }
    release(&w->caches);
    free(w->lines);
    return good && !w->failed;
}
