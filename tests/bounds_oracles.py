"""Oracles for lower bounds that share nothing with `optmap.bounds`: points, schedules, exact optima.

A schedule is an order of the points of the iteration space. An operation needs all its words in
fast memory at the same time; words enter by a load, or (under `=`) by creating an output element.
"""

from __future__ import annotations

import heapq
import itertools
import random
from dataclasses import replace

import numpy as np

from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics, Workload

Word = tuple[str, tuple[int, ...]]


def points(workload: Workload) -> list[dict[str, int]]:
    """Every point of the iteration space at which no access is implicit padding, in lexicographic order."""
    box = itertools.product(*(range(n) for _, n in workload.sizes))
    every = [dict(zip(workload.dims, values, strict=True)) for values in box]
    ranged = [axis for tensor in workload.tensors for axis in tensor.axes if axis.real is not None]
    if not ranged:
        return every
    return [p for p in every if all(_index(axis, p) in range(axis.real[0], axis.real[1] + 1) for axis in ranged)]


def _index(axis: Subscript, point: dict[str, int]) -> int:
    return sum(c * point[d] for d, c in axis.terms) + axis.offset


def element(access: TensorAccess, point: dict[str, int]) -> tuple[int, ...]:
    """The element of one access at a point."""
    return tuple(_index(axis, point) for axis in access.axes)


def operations(workload: Workload, order: list[dict[str, int]]) -> list[tuple[Word, ...]]:
    """Distinct words (tensor, element) of every operation, the output first."""
    return [tuple(dict.fromkeys((t.name, element(t, p)) for t in workload.tensors)) for p in order]


def word_weights(workload: Workload) -> dict[str, int]:
    """Words per element of each tensor."""
    return {t.name: workload.weight(t) for t in workload.tensors}


def least_memory(workload: Workload) -> int:
    """Words that one operation may need at once."""
    weights = word_weights(workload)
    return max(sum(weights[name] for name, _ in op) for op in operations(workload, points(workload)))


def belady_loads(workload: Workload, ops: list[tuple[Word, ...]], memory: int) -> int:
    """Words loaded by an order of operations, evicting the word whose next use is farthest."""
    weights = word_weights(workload)
    never = len(ops)
    following: dict[Word, int] = {}
    next_use = []
    for i in range(len(ops) - 1, -1, -1):
        next_use.append([following.get(w, never) for w in ops[i]])
        for w in ops[i]:
            following[w] = i
    next_use.reverse()
    cache: dict[Word, int] = {}
    used = loads = 0
    created: set[Word] = set()
    assign = workload.semantics is Semantics.ASSIGN
    for i, op in enumerate(ops):
        for w in op:
            if w not in cache:
                if not (assign and w == op[0] and w not in created):
                    loads += weights[w[0]]
                used += weights[w[0]]
                cache[w] = i
        created.add(op[0])
        for w, later in zip(op, next_use[i], strict=True):
            cache[w] = later
        for w in [w for w in op if cache[w] == never]:
            used -= weights[w[0]]
            del cache[w]
        pinned = () if i + 1 == len(ops) else ops[i + 1]
        coming = sum(weights[w[0]] for w in pinned if w not in cache)
        while used + coming > memory:
            victim = max((w for w in cache if w not in pinned), key=lambda w: (cache[w], w))
            used -= weights[victim[0]]
            del cache[victim]
    return loads


def tiled_order(workload: Workload, tile: dict[str, int], outer: list[str], inner: list[str]) -> list[dict[str, int]]:
    """Points in the order of a tiled nest: tiles by `outer`, points inside a tile by `inner`."""
    return sorted(points(workload), key=lambda p: ([p[d] // tile[d] for d in outer], [p[d] for d in inner]))


def found_loads(workload: Workload, memory: int, rng: random.Random, tries: int, steps: int) -> int:
    """The fewest loads over random tiled nests, then over random moves of the best order."""
    best, best_order = None, []
    dims = list(workload.dims)
    for _ in range(tries):
        tile = {d: rng.randint(1, n) for d, n in workload.sizes}
        order = tiled_order(workload, tile, rng.sample(dims, len(dims)), rng.sample(dims, len(dims)))
        loads = belady_loads(workload, operations(workload, order), memory)
        if best is None or loads < best:
            best, best_order = loads, order
    assert best is not None
    for _ in range(steps):
        order = list(best_order)
        i, j = sorted(rng.sample(range(len(order) + 1), 2))
        block = order[i:j]
        del order[i:j]
        k = rng.randint(0, len(order))
        order[k:k] = block if rng.random() < 0.5 else block[::-1]
        loads = belady_loads(workload, operations(workload, order), memory)
        if loads <= best:
            best, best_order = loads, order
    return best


def exact_loads(workload: Workload, memory: int) -> int:
    """The fewest loads of any schedule: shortest path over (operations done, cache content)."""
    ops = operations(workload, points(workload))
    names = sorted({w for op in ops for w in op})
    place = {w: i for i, w in enumerate(names)}
    weight = [word_weights(workload)[w[0]] for w in names]
    need = [sum(1 << place[w] for w in op) for op in ops]
    output = [1 << place[op[0]] for op in ops]
    assign = workload.semantics is Semantics.ASSIGN
    everything = (1 << len(ops)) - 1
    best = {(0, 0): 0}
    queue = [(0, 0, 0)]
    while queue:
        cost, done, cache = heapq.heappop(queue)
        if cost > best[done, cache]:
            continue
        if done == everything:
            return cost
        free = memory - sum(weight[i] for i in range(len(names)) if cache >> i & 1)
        moves = []
        made = 0
        for k, bits in enumerate(output):
            if done >> k & 1:
                made |= bits
        for k, bits in enumerate(need):
            if not done >> k & 1 and bits & cache == bits:
                moves.append((0, done | 1 << k, cache))
        for i in range(len(names)):
            bit = 1 << i
            if cache & bit:
                moves.append((0, done, cache & ~bit))
            elif weight[i] <= free:
                moves.append((weight[i], done, cache | bit))
        if assign:
            for k, bits in enumerate(need):
                missing = bits & ~cache
                if not done >> k & 1 and missing == output[k] and not made & output[k]:
                    i = output[k].bit_length() - 1
                    if weight[i] <= free:
                        moves.append((0, done | 1 << k, cache | output[k]))
        for step, after, content in moves:
            if cost + step < best.get((after, content), 1 << 60):
                best[after, content] = cost + step
                heapq.heappush(queue, (cost + step, after, content))
    raise AssertionError("no schedule fits the memory")


def exact_loads_of_one_operation(workload: Workload) -> int:
    """The fewest loads into a memory that holds the words of one operation: the cheapest order of the operations.

    Of every set of operations and the last one of it, the fewest loads that do it: each operation loads what the one
    before it does not share. For `accumulate`, elements of one word, and as many of them in every operation.
    """
    ops = [frozenset(op) for op in operations(workload, points(workload))]
    count, bits = len(ops), 1 << np.arange(len(ops))
    step = np.array([[len(op - before) for op in ops] for before in ops], dtype=np.int16)
    best = np.full((1 << count, count), 10_000, dtype=np.int16)
    best[bits, np.arange(count)] = len(ops[0])
    masks = np.arange(1 << count)
    done = sum(masks >> k & 1 for k in range(count))
    for size in range(2, count + 1):
        layer = masks[done == size]
        for last in range(count):
            mine = layer[layer & bits[last] > 0]
            best[mine, last] = (best[mine ^ bits[last]] + step[:, last]).min(axis=1)
    return int(best[-1].min())


TEMPLATES = (
    "C[i,j] {} A[i,k] * B[k,j]",
    "C[i,j] {} A[i,k] * A[j,k]",
    "C[i,j] {} A[i,k] * A[k,j]",
    "O[x] {} I[{}*x+{}*r] * F[r]",
    "O[k,x] {} I[c,{}*x+{}*r] * F[k,c,r]",
    "O[c,x] {} I[c,{}*x+{}*r] * F[c,r]",
    "O[k,x,y] {} I[{}*x+{}*r,y+s] * F[k,r,s]",
    "O[x] {} I[x+r+t] * F[r,t]",
    "O[x] {} I[4*x+2*r+t] * F[r,t]",
    "O[x] {} A[x+y] * B[x+z] * C[y+z]",
    "O[x] {} I[x+r] * J[x+{}*r] * F[r]",
    "O[i,r] {} A[i,j,k] * B[j,r] * C[k,r]",
    "O[i,j] {} S[i,j] * A[i,k] * B[k,j]",
    "O[i,j] {} A[i] * B[j]",
    "O[] {} A[i] * B[j]",
    "O[i] {} A[i,j] * B[j]",
    "O[x,y] {} I[x+r,y+r] * F[r]",
    "O[i] {} A[i+j] * A[i+{}*j+1]",
    "O[i,j] {} A[i,i+j] * B[j]",
)


def template_workload(rng: random.Random, *, longest: int = 6, most: int = 150) -> Workload:
    """A nest with reuse: one of the templates with random strides, extents, precision and semantics."""
    while True:
        template = rng.choice(TEMPLATES)
        blanks = template.count("{}") - 1
        text = template.format(rng.choice(["+=", "+=", "="]), *(rng.choice([1, 1, 2, 3]) for _ in range(blanks)))
        dims = sorted({c for c in text if c.islower()})
        workload = parse_workload(text, {d: rng.randint(1, longest) for d in dims})
        if workload.operations > most:
            continue
        if rng.random() < 0.3:
            bytes_of = {t.name: rng.choice([1, 2, 4]) for t in workload.tensors}
            tensors = [replace(t, bits=8 * bytes_of[t.name]) for t in workload.tensors]
            workload = workload.with_accesses(tensors)
        return workload


def random_workload(rng: random.Random, *, longest: int = 6, most: int = 60) -> Workload:
    """Any small nest: strides, dilations, offsets, repeated tensors, mixed precision, both semantics."""
    while True:
        dims = "abcd"[: rng.randint(1, 4)]
        tensors = []
        for t in range(rng.randint(2, 4)):
            repeated = tensors and rng.random() < 0.12 and len(tensors) > 1
            name, size = (tensors[-1].name, tensors[-1].bits) if repeated else (f"T{t}", rng.choice([8, 8, 8, 16, 32]))
            rank = len(tensors[-1].axes) if repeated else rng.randint(0 if rng.random() < 0.1 else 1, 3)
            tensors.append(TensorAccess(name=name, axes=tuple(_axis(rng, dims) for _ in range(rank)), bits=size))
        if {d for t in tensors for d in t.dims} != set(dims):
            continue
        sizes = tuple((d, rng.randint(1, longest)) for d in dims)
        workload = Workload.product(
            name="random",
            output=tensors[0],
            inputs=tuple(tensors[1:]),
            sizes=sizes,
            semantics=rng.choice(list(Semantics)),
        )
        if workload.operations <= most:
            return workload


def with_ranges(workload: Workload, rng: random.Random, share: float = 0.6) -> Workload | None:
    """The workload with random ranges of real values; None if nothing is left to do."""

    def cut(axis: Subscript) -> Subscript:
        top = axis.offset + sum(c * (workload.extents[d] - 1) for d, c in axis.terms)
        if not axis.terms or rng.random() > share:
            return axis
        first = rng.randint(0, top)
        last = rng.randint(first, top + 1)
        return axis if last < axis.offset else replace(axis, real=(first, last))

    tensors = [replace(t, axes=tuple(cut(axis) for axis in t.axes)) for t in workload.tensors]
    made = workload.with_accesses(tensors)
    return made if points(made) else None


def _axis(rng: random.Random, dims: str) -> Subscript:
    count = min(len(dims), rng.choice([1, 1, 1, 2, 2, 3]))
    chosen = rng.sample(dims, count)
    return Subscript(
        terms=tuple((d, rng.choice([1, 1, 2, 3]) if count > 1 else rng.choice([1, 1, 1, 2])) for d in chosen),
        offset=rng.choice([0, 0, 0, 1]),
    )
