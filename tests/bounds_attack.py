"""Many small trials of the bounds at once: every memory of a workload, several orders, optimal replacement.

The truth from above is the least of several orders of the points under farthest-next-use replacement,
for all memories together in one walk. The claim is what every method returns at some memories, and at all
of them the strongest segment argument that exponents of the search allow, found by trying every
segment length: never less than what the search itself would say for these exponents.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import log

import numpy as np
from bounds_oracles import Word, operations, tiled_order, with_ranges, word_weights

from optmap.bounds import (
    MUS,
    FamilyRows,
    LowerBound,
    MapSystem,
    Polytope,
    SegmentBound,
    accounting,
    bounds,
    closure,
    complete_flag,
    compulsory_loads,
    dual_volume,
    family_constraints,
    instance_words,
    kappa,
    kernel,
    map_system,
    operations_bound,
    output_words,
    output_words_at_most,
    restrict,
    satisfies,
    scenarios,
    tensor_sums,
    whole_space,
    why_no_halo,
    why_not_ioopt,
    why_not_projective,
    window_shape,
    window_volume,
)
from optmap.programs import projective_face
from optmap.solvers import VertexFinder
from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.forms import convolution_form
from optmap.workloads.workload import Semantics, Workload


class BeatenError(AssertionError):
    """A schedule moves fewer words than a bound allows."""

    def __init__(self, workload: Workload, method: str, claimed: int, moved: int, memory: int) -> None:
        sizes = {t.name: t.bits for t in workload.tensors}
        where = f"{workload.expression} {workload.extents} bits {sizes} in {memory} words"
        super().__init__(f"{where}: {claimed} claimed by {method}, {moved} moved")


@dataclass(frozen=True, kw_only=True)
class Trials:
    """What an attack on one workload came to."""

    count: int = 0
    """Memories."""
    printed: int = 0
    """Memories at which all methods were asked for what they print."""
    argued: int = 0
    """Memories at which a segment argument exceeds compulsory loads."""
    met: int = 0
    """Memories at which a schedule attains the strongest claim."""

    def __add__(self, other: Trials) -> Trials:
        return Trials(
            count=self.count + other.count,
            printed=self.printed + other.printed,
            argued=self.argued + other.argued,
            met=self.met + other.met,
        )


Order = list[tuple[Word, ...]]
"""The words of every operation, the output first."""

COEFFICIENTS = (1, 1, 1, 2, 2, 3, 4, 4, 6, 8)
Exponents = Sequence[dict[int, Fraction]]
"""Choices of exponents, by index of the map."""
FREE = Subscript(terms=(("k", 1),))
"""An axis of a dim that reuses all the rest, as in a matrix product."""
RANGED = 0.15
"""Share of the nests that have implicit padding."""
PRINTED = 0.03
"""Share of the trials' workloads at which all methods are asked for what they print."""
WINDOW_POWERS = [
    (Fraction(x, 24), Fraction(y, 24), Fraction(z, 24))
    for x, y, z in ((13, 11, 13), (14, 10, 14), (15, 9, 15), (16, 8, 16), (18, 6, 18), (21, 3, 21), (14, 8, 12))
] + [(Fraction(x, 24), Fraction(y, 24), Fraction(z, 24)) for x, y, z in ((11, 9, 15), (18, 6, 9), (18, 0, 18))]
"""Exponents of outputs, taps and inputs with which windows are tried."""
NESTED = (1, 1, 2, 4, 8)
"""Coefficients that cut a digit again when two subscripts share a dim."""


def attacked_workload(rng: random.Random, *, most: int = 40) -> Workload:
    """Any small nest: nested lifts, tensors read up to three times, offsets, element sizes."""
    while True:
        dims = "abcd"[: rng.choice([2, 3, 3, 3, 4])]
        chosen = NESTED if rng.random() < 0.5 else COEFFICIENTS
        tensors = [_access(rng, "O", dims, chosen, rng.choice([1, 1, 2]))]
        for name in "ABC"[: rng.choice([1, 2, 2, 3])]:
            first = _access(rng, name, dims, chosen, rng.choice([1, 1, 2, 3]))
            tensors.append(first)
            while len(tensors) < 5 and rng.random() < 0.15:
                tensors.append(_access(rng, name, dims, chosen, len(first.axes)))
        if rng.random() < 0.7:
            dims += "k"
            reused = {tensors[0].name, tensors[-1].name}
            tensors = [replace(t, axes=(*t.axes, FREE)) if t.name in reused else t for t in tensors]
        if {d for t in tensors for d in t.dims} != set(dims):
            continue
        workload = Workload.product(
            name="attack",
            output=tensors[0],
            inputs=tuple(tensors[1:]),
            sizes=tuple((d, rng.choice([1, 2, 2, 3, 3, 4, 5, 6, 8])) for d in dims),
            semantics=rng.choice(list(Semantics)),
        )
        if most // 4 <= workload.operations <= most:
            return workload


def window_workload(rng: random.Random, *, most: int = 200) -> Workload:
    """A small convolution, one or two windows of two or three taps per residue: any stride, groups, order."""
    while True:
        axes = rng.choice([1, 2, 2])
        taps = [rng.choice([2, 3, 3, 4, 5, 6]) for _ in range(axes)]
        image, sizes = [], {}
        for (p, t), n in zip(("xr", "ys"), taps, strict=False):
            stride, dilation = rng.choice([(1, 1), (1, 1), (2, 1), (1, 2), (2, 3), (2, 2), (3, 1)])
            terms = [(p, stride), (t, dilation)]
            image.append(Subscript(terms=tuple(rng.sample(terms, 2)), offset=rng.choice([0, 0, 1])))
            sizes |= {p: rng.randint(1, 6), t: n}
        shared = {d: rng.choice([1, 2, 2, 3]) for d in "kcng" if rng.random() < 0.5}
        names = {"O": "kng" + "xy"[:axes], "I": "cng", "K": "kcg" + "rs"[:axes]}
        accesses = {
            name: [Subscript(terms=((d, 1),)) for d in dims if d in shared or d in sizes]
            for name, dims in names.items()
        }
        accesses["I"] = rng.sample([*accesses["I"], *image], len(accesses["I"]) + axes)
        output, *inputs = (TensorAccess(name=name, axes=tuple(found), bits=8) for name, found in accesses.items())
        rng.shuffle(inputs)
        workload = Workload.product(
            name="window",
            output=output,
            inputs=tuple(inputs),
            sizes=tuple((sizes | shared).items()),
            semantics=rng.choice(list(Semantics)),
        )
        if workload.operations <= most and why_no_halo(workload) is None:
            return workload


def _access(rng: random.Random, name: str, dims: str, coefficients: Sequence[int], rank: int) -> TensorAccess:
    axes = []
    for _ in range(rank):
        chosen = rng.sample(dims, min(len(dims), rng.choice([1, 1, 1, 2, 2, 3])))
        axes.append(
            Subscript(terms=tuple((d, rng.choice(coefficients)) for d in chosen), offset=rng.choice([0, 0, 0, 1, 2]))
        )
    return TensorAccess(name=name, axes=tuple(axes), bits=8)


def some_orders(workload: Workload, rng: random.Random, count: int) -> list[Order]:
    """Operations in the order of random tiled nests, the plain ones first."""
    dims = list(workload.dims)
    found = []
    for i in range(count):
        plain = i < count // 3
        tile = {d: 1 if plain else rng.randint(1, n) for d, n in workload.sizes}
        nest = tiled_order(workload, tile, rng.sample(dims, len(dims)), rng.sample(dims, len(dims)))
        found.append(operations(workload, nest))
    return found


def loads_of_orders(workload: Workload, orders: Sequence[Order], memories: Sequence[int]) -> np.ndarray:
    """Loads of every order (rows, all of one length or shorter) at every memory (columns), in words."""
    names = sorted({w for order in orders for op in order for w in op})
    place = {w: i for i, w in enumerate(names)}
    by_name = word_weights(workload)
    weights = np.array([by_name[w[0]] for w in names], dtype=np.float32)
    steps = max(len(order) for order in orders)
    needed = np.zeros((steps, len(orders), len(names)), dtype=bool)
    made = np.zeros_like(needed)
    for k, order in enumerate(orders):
        for i, op in enumerate(order):
            needed[i, k, [place[w] for w in op]] = True
            made[i, k, place[op[0]]] = True
    later = np.full((steps, len(orders), len(names)), steps, dtype=np.int32)
    for i in range(steps - 2, -1, -1):
        later[i] = np.where(needed[i + 1], i + 1, later[i + 1])
    free = made & ~np.logical_or.accumulate(np.concatenate([np.zeros_like(made[:1]), made[:-1]]))
    if workload.semantics is not Semantics.ASSIGN:
        free[:] = False
    room = np.array(memories, dtype=np.float32)
    held = np.zeros((len(orders), len(room), len(names)), dtype=bool)
    loads = np.zeros((len(orders), len(room)), dtype=np.float32)
    for i in range(steps):
        now = needed[i][:, None, :]
        loads += ((now & ~held) & ~free[i][:, None, :]) @ weights
        held |= now
        used = held @ weights
        over = used > room
        while over.any():
            where = np.nonzero(over)
            rows = np.where(held[where] & ~needed[i][where[0]], later[i][where[0]], -1)
            victim = rows.argmax(axis=1)
            held[where[0], where[1], victim] = False
            used[where] -= weights[victim]
            over = used > room
        held &= (later[i] < steps)[:, None, :]
    return np.rint(loads).astype(int)


def powers(bound: SegmentBound, units: int) -> np.ndarray:
    """U(0) … U(units), cut at 2^62: by floats where they leave no doubt, else exactly."""
    values = np.exp(np.minimum(bound.log_constant + float(bound.sigma) * np.log(np.arange(1, units + 1)), 42.0))
    doubtful = np.nonzero(np.abs(values - np.rint(values)) < 1e-9 * values)[0]
    found = np.floor(values).astype(np.int64)
    found[doubtful] = [min(bound(int(k) + 1), 1 << 62) for k in doubtful]
    return np.concatenate([[0], found])


def strongest_segments(bound: SegmentBound, memory_units: np.ndarray, points: int, ceiling: int) -> np.ndarray:
    """The best cost of n*U(M+T) + U(M+t) < G over every T that can occur, per memory; 0 where nothing is proved."""
    u = powers(bound, max(ceiling, int(memory_units.max())) + 1)
    memory, lengths = memory_units[:, None], np.arange(1, max(2, ceiling - int(memory_units.min()) + 1))[None, :]
    full = u[np.minimum(memory + lengths, len(u) - 1)]
    n = (points - 1) // np.maximum(full, 1) * (full > 0)
    left = points - 1 - n * full
    t = np.minimum(lengths, np.searchsorted(u, left.ravel(), side="right").reshape(left.shape) - 1 - memory)
    cost = np.where(t >= 0, memory + n * lengths + t + 1, np.where(n > 0, memory + n * lengths + 1, 0))
    return np.asarray(np.where(memory + lengths < len(u), cost, 0).max(axis=1))


def some_polytope(system: MapSystem, rng: random.Random) -> Polytope:
    """All maps; per family its lattice if that closes soon, else a random flag (the search tries few of them)."""
    families = []
    for columns in system.families:
        width = len(columns)
        local = [restrict(m.matrix, columns) for m in system.maps]
        spaces = sorted({kernel(m, width) for m in local})
        lattice = closure(frozenset(spaces), width, cap=10)
        flag = None
        if lattice is None:
            chain = rng.sample(spaces, len(spaces)) if rng.random() < 0.7 else []
            axes = [(row,) for row in rng.sample(whole_space(width), width)]
            flag = complete_flag([*chain, *axes], width)
        families.append(
            FamilyRows(columns=columns, allowed=frozenset(range(len(system.maps))), lattice=lattice, flag=flag)
        )
    rows = {
        row
        for family in families
        for row in family_constraints([restrict(m.matrix, family.columns) for m in system.maps], family)
    }
    return Polytope(families=tuple(families), allowed=tuple(range(len(system.maps))), rows=tuple(sorted(rows)))


def some_exponents(system: MapSystem, rng: random.Random) -> Iterator[dict[int, Fraction]]:
    """Vertices of polytopes at random prices, and a mixture of each two."""
    for _ in range(1 if len(system.maps) < 8 else 2):
        polytope = some_polytope(system, rng)
        finder = VertexFinder(rows=polytope.rows, columns=len(polytope.allowed))
        before: tuple[Fraction, ...] | None = None
        for _ in range(3):
            price = rng.uniform(0.5, 4.0)
            costs = [price * rng.uniform(0.8, 1.2) if m.tensor else log(m.size) for m in system.maps]
            vertex = tuple(Fraction(float(x)).limit_denominator(1000) for x in finder.vertex(np.array(costs)))
            mixed = (
                [vertex]
                if before is None
                else [vertex, tuple((x + y) / 2 for x, y in zip(vertex, before, strict=True))]
            )
            before = vertex
            for values in mixed:
                found = {i: x for i, x in zip(polytope.allowed, values, strict=True) if x}
                if satisfies(polytope.rows, values) and tensor_sums(system, found):
                    yield found


def argued_everywhere(
    workload: Workload,
    memories: np.ndarray,
    system: MapSystem,
    exponents: Exponents,
    rng: random.Random,
) -> Iterator[tuple[str, np.ndarray]]:
    """(method, loads per memory) of the strongest segment argument of many choices of exponents."""
    assign = workload.semantics is Semantics.ASSIGN
    most = output_words_at_most(workload) if assign else 0
    mu = rng.choice(MUS) if assign else MUS[0]
    a, b = mu.numerator, mu.denominator
    units = accounting(workload, 1, mu)
    for chosen in exponents:
        if all(units.weights[t] for t in tensor_sums(system, chosen)):
            bound = operations_bound(system, units, chosen)
            cost = strongest_segments(bound, b * memories, units.operations, units.ceiling)
            yield f"best mu={mu} {chosen}", -((a * most - cost) // b)
    if mu and why_no_halo(workload) is None:
        form = convolution_form(workload)
        for powers in rng.sample(WINDOW_POWERS, 4):
            volume = window_volume(workload, form, units, powers, kappa(window_shape(workload, form), *powers))
            cost = strongest_segments(volume.segment(), b * memories, units.operations, units.ceiling)
            yield f"halo mu={mu} {powers}", -((a * most - cost) // b)
    units = accounting(workload, 1)
    volumes = []
    if why_not_ioopt(workload) is None:
        volumes += list(scenarios(workload).values())
    if why_not_projective(workload) is None:
        heaviest = max(workload.weight(t) for t in workload.tensors)
        face = projective_face(workload, max(int(rng.choice(memories)), heaviest), limit=4)
        volumes += [dual_volume(workload, dual) for dual in face.duals]
    for volume in volumes:
        if volume.sigma:
            yield str(volume), strongest_segments(volume.segment(), memories, units.operations, units.ceiling) - most


def attack(workload: Workload, rng: random.Random, *, variants: int = 6) -> Trials:
    """Attack one nest, some with padding, under several element sizes and both semantics at many memories.

    Raises:
        BeatenError: with the method, its claim and the fewer words that a schedule moves.
    """
    if rng.random() < RANGED:
        workload = with_ranges(workload, rng, share=0.4) or workload
    system = map_system(workload)
    exponents = list(some_exponents(system, rng)) if system.dims else []
    found = Trials()
    for _ in range(variants):
        found += attack_variant(workload, system, exponents, rng)
        sizes = {t.name: rng.choice([8, 8, 16, 24, 32, 12]) for t in workload.tensors}
        sized = workload.with_accesses([replace(t, bits=sizes[t.name]) for t in workload.tensors])
        workload = replace(sized, semantics=rng.choice(list(Semantics)))
    return found


def attack_variant(
    workload: Workload,
    system: MapSystem,
    exponents: Exponents,
    rng: random.Random,
    *,
    orders: int = 6,
) -> Trials:
    """Attack one workload; what all methods print, at two memories now and then."""
    tried = some_orders(workload, rng, orders)
    weights = word_weights(workload)
    words = sum(weights[name] for name, _ in {w for op in tried[0] for w in op})
    least = max(sum(weights[name] for name, _ in op) for op in tried[0])
    memories = np.arange(least, max(least + 1, (least + words) // 2))
    truth = loads_of_orders(workload, tried, memories.tolist()).min(axis=0)
    forced = compulsory_loads(workload)
    claimed = np.full(len(memories), forced)
    for method, loads in (("compulsory", claimed), *argued_everywhere(workload, memories, system, exponents, rng)):
        claimed = np.maximum(claimed, loads)
        for k in np.nonzero(loads > truth)[0]:
            raise BeatenError(workload, method, loads[k], truth[k], memories[k])
    printed = 0
    if rng.random() < PRINTED:
        for k in {rng.randrange(len(memories)), rng.randrange(1 + len(memories) // 4)}:
            found = bounds(workload, int(memories[k]))
            printed += 1
            for bound in found:
                if bound.loads_words > truth[k] or bound.stores_words > output_words(workload):
                    printed_by = f"{bound.method} as printed"
                    raise BeatenError(workload, printed_by, bound.loads_words, truth[k], memories[k])
            private_memories(workload, int(memories[k]), next(b for b in found if b.method == "best"), tried)
    return Trials(
        count=len(memories), printed=printed, argued=int((claimed > forced).sum()), met=int((claimed == truth).sum())
    )


def private_memories(workload: Workload, memory: int, bound: LowerBound, orders: Sequence[Order]) -> None:
    """Attack the bound of the busiest of P private memories, which share the outputs among them.

    Raises:
        BeatenError: if the busiest one moves fewer words.
    """
    weight = word_weights(workload)[workload.output.name]
    for instances, order in itertools.product((2, 3), orders[:3]):
        outputs = list(dict.fromkeys(op[0] for op in order))
        size = -(-len(outputs) // instances)
        parts = [set(outputs[p * size : (p + 1) * size]) for p in range(instances)]
        shares = [[op for op in order if op[0] in mine] for mine in parts]
        if not all(shares):
            continue
        loads = loads_of_orders(workload, shares, [memory])[:, 0]
        moved = max(int(n) + weight * len(mine) for n, mine in zip(loads, parts, strict=True))
        claimed = instance_words(bound, instances)
        if claimed > moved:
            raise BeatenError(workload, f"the busiest of {instances} memories", claimed, moved, memory)
