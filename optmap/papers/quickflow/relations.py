"""QuickFlow, sections III-C to IV-C: reuse of tiles (Figure 2), relations over mappings (Figure 4), spreads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise, product
from random import Random

import numpy as np

from optmap.api import solve
from optmap.count.meshes.batch import evaluate_batch
from optmap.files import library
from optmap.machines.fabric import Fabric, fabric_of
from optmap.papers.buffers import all_orders, buffers, outer_words
from optmap.papers.counting import Sizes
from optmap.papers.items import Collected, Rows
from optmap.papers.quickflow.setup import CONVOLUTION, KERNELS, MACHINES, listed_values, map_space_of
from optmap.papers.rows import ClaimRow, claimed, held, refuted, unreachable
from optmap.questions.options import Merit
from optmap.search import random_nests
from optmap.search.quickflow import reuse_classes
from optmap.search.quickflow.classes import Order, dataflow_classes, reuse_of
from optmap.symbolic.numbers import prime_factors
from optmap.workloads.halo import pair_values
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics

RELATIONS = Collected()
DIMS = "kcpqrs"
DRAWN = 2000
"""Mappings of which the permutations that survive are counted, and EDPs compared."""


def fabric(extents: Sizes) -> Fabric:
    """A simple convolution on a buffer that holds all that is asked of it, below a memory without limit."""
    workload = parse_workload(CONVOLUTION, extents).with_semantics(Semantics.ASSIGN)
    return fabric_of(workload, buffers((10**6,), (1, 200), 1))


@RELATIONS.item("Figure 2", "Reuse of tiles", where="section III-C")
def reuse() -> Rows:
    """Stationarity, halo reuse and spatial reuse of a simple convolution."""
    one = fabric(dict.fromkeys(DIMS, 2))
    orthogonal = [sum(dim not in operand.dims for operand in one.operands) for dim in range(len(one.dims))]
    yield claimed("operands that a dim is orthogonal to", "exactly one", str(orthogonal), holds=set(orthogonal) == {1})
    wrong = sum(pair_values(1, 1, a, b) != a + b - 1 for a, b in product(range(1, 12), repeat=2))
    yield claimed(
        "tiles of 121 of an affine dim, stride 1, that are no sum of both less one", 0, wrong, holds=not wrong
    )
    same = [_halo(1, 1, *sizes) == _spatial(1, 1, *sizes) for sizes in product(range(1, 6), repeat=3)]
    yield claimed(
        "coefficients of one: boxes of 125 of which space shares other than halos",
        0,
        same.count(False),
        holds=all(same),
    )
    steps, tile = (1, 2), (1, 3, 3)
    halo, spatial = _halo(*steps, *tile), _spatial(*steps, *tile)
    yield claimed(
        "p + 2r, one position and three taps on three units: words by halos, and in space",
        "fewer in space",
        f"{halo}, {spatial}",
        holds=spatial < halo,
    )
    fewer = [
        _spatial(m, n, *sizes) - _halo(m, n, *sizes)
        for m, n in product(range(1, 5), repeat=2)
        for sizes in product(range(1, 5), repeat=3)
    ]
    yield claimed(
        "coefficients up to 4: boxes of 1,024 of which space shares less",
        0,
        sum(n > 0 for n in fewer),
        holds=max(fewer) <= 0,
    )


def _tiles(m: int, n: int, positions: int, taps: int, units: int) -> list[set[int]]:
    """Values of m*p + n*r of tiles side by side along p."""
    return [
        {m * p + n * r for p in range(unit * positions, (unit + 1) * positions) for r in range(taps)}
        for unit in range(units)
    ]


def _halo(m: int, n: int, positions: int, taps: int, units: int) -> int:
    """Words if every tile takes from the one before it what both have."""
    tiles = _tiles(m, n, positions, taps, units)
    return len(tiles[0]) + sum(len(new - old) for old, new in pairwise(tiles))


def _spatial(m: int, n: int, positions: int, taps: int, units: int) -> int:
    """Words if every value is read once for all tiles."""
    return len(set().union(*_tiles(m, n, positions, taps, units)))


@RELATIONS.item("Figure 4", "Permutations that cost the same, and mappings one move apart", where="section IV-B")
def relations() -> Rows:
    """All 720 permutations of a simple convolution with its words counted; allocations as a graph."""
    extents, tile = {"k": 4, "c": 6, "p": 8, "q": 6, "r": 3, "s": 3}, {"k": 2, "c": 2, "p": 2, "q": 3, "r": 1, "s": 1}
    one = fabric(extents)
    orders = [tuple(map(DIMS.index, order)) for order in all_orders(DIMS)]
    every = _groups(orders, lambda order: tuple(reuse_of(order, operand) for operand in one.operands))
    yield _mixed("equi-reuse", every, _words(one, tile, orders))
    still, turning = {**extents, "c": 2, "q": 3}, frozenset({0, 2, 4, 5})
    flows = _groups(
        orders,
        lambda order: tuple(reuse_of(tuple(dim for dim in order if dim in turning), o) for o in one.operands),
    )
    yield _mixed("equi-dataflow, c and q not iterated:", flows, _words(fabric(still), tile, orders))
    yield claimed("equi-dataflow classes beside equi-reuse ones", "fewer", len(flows), holds=len(flows) < len(every))
    met, whole = _reached((12, 8), 4)
    yield held("allocations of extents (12, 8) to four levels that moves reach from the outermost", whole, met)
    shares = [_surviving(kernel, machine) for kernel, machine in zip(KERNELS, 7 * list(MACHINES), strict=False)]
    yield unreachable(
        "permutations per level that survive, on average",
        2.17,
        ours=round(float(np.mean(shares)), 2),
        why="averaged over the mappings that the authors' searches visited; ours over random valid mappings",
    )


def _mixed(kind: str, groups: Sequence[Sequence[Order]], words: Mapping[Order, tuple[int, ...]]) -> ClaimRow:
    """Whether all permutations of a class move the same words; two of them that do not."""
    mixed = [group for group in groups if len({words[order] for order in group}) > 1]
    title, example = f"{kind} classes of {len(groups)} with different words in them", ""
    if mixed:
        low, high = (end(mixed[0], key=lambda order: sum(words[order])) for end in (min, max))
        example = " and ".join(f"{''.join(DIMS[dim] for dim in o)}, {sum(words[o]):,} words" for o in (low, high))
    return refuted(
        title,
        0,
        len(mixed),
        counterexample=f"{example}: two loops move windows, and what stands between them counts",
        false=bool(mixed),
    )


def _words(one: Fabric, tile: Sizes, orders: Sequence[Order]) -> dict[Order, tuple[int, ...]]:
    """Words per tensor by the order of the loops."""
    texts = ["".join(DIMS[dim] for dim in order) for order in orders]
    counted = outer_words(one, tile, dict.fromkeys(DIMS, 1), texts)
    return {order: tuple(own.values()) for order, own in zip(orders, counted, strict=True)}


def _groups(orders: Sequence[Order], key: Callable[[Order], object]) -> list[list[Order]]:
    found = defaultdict[object, list[Order]](list)
    for order in orders:
        found[key(order)].append(order)
    return list(found.values())


def _reached(extents: Sequence[int], levels: int) -> tuple[int, int]:
    """Allocations that single moves of a prime reach from all at the outermost level, and all there are."""
    primes = [(dim, prime) for dim, extent in enumerate(extents) for prime in prime_factors(extent)]
    start = tuple(sorted((*prime, levels - 1) for prime in primes))
    met, ends = {start}, [start]
    while ends:
        now = ends.pop()
        for place, (dim, prime, _) in enumerate(now):
            for level in range(levels):
                new = tuple(sorted((*now[:place], (dim, prime, level), *now[place + 1 :])))
                if new not in met:
                    met.add(new)
                    ends.append(new)
    whole = {
        tuple(sorted((*prime, level) for prime, level in zip(primes, places, strict=True)))
        for places in product(range(levels), repeat=len(primes))
    }
    return len(met), len(whole)


def _surviving(kernel: str, machine: str) -> float:
    """Equi-dataflow classes per memory, on average over random valid mappings."""
    own = map_space_of(kernel, machine)
    drawn = random_nests(own, DRAWN // 10, np.random.default_rng(1))
    valid = np.flatnonzero(evaluate_batch(drawn, own).valid)[:20]
    kept = reuse_classes(own.operands, tuple(range(len(own.dims))))
    counts = []
    for row in valid:
        for trips in drawn.temporal[row, 1:]:
            turning = frozenset(np.flatnonzero(trips > 1).tolist())
            counts.append(1 if len(turning) < 2 else len(dataflow_classes(kept, own.operands, turning)[0]))
    return float(np.mean(counts)) if counts else 1.0


@RELATIONS.item("Section III-D, spread", "How far mappings of a map-space lie apart", where="section III-D")
def spread() -> Rows:
    """EDP of the worst over that of the best of random valid mappings, on the spaces of a kernel."""
    ratios = []
    for machine in MACHINES:
        own = map_space_of("IV", machine)
        cost = evaluate_batch(random_nests(own, 10 * DRAWN, np.random.default_rng(1)), own)
        values = cost.merit(Merit.EDP)[cost.valid]
        ratios.append(float(values.max() / values.min()))
    yield claimed(
        "EDP of a map-space, worst over best of random mappings",
        "up to 10^4",
        round(max(ratios)),
        holds=max(ratios) >= 10**4,
    )


@RELATIONS.item("Bound on mappings visited", "(steps + beam steps * K) * E^N", where="section IV-C")
def visited() -> Rows:
    """For a small space, with the fewest steps that are printed, no beam, and N = 2 of round (2)."""
    kernel, machine = "XII", library.machine("tpuv1")
    extents = library.workload(f"quickflow/{kernel}").extents.values()
    degree = (len(machine.levels) + 1 - 1) * sum(len(prime_factors(extent)) for extent in extents if extent > 1)
    answer = solve(f"quickflow/{kernel}", machine=machine, method="quickflow", tiles="divisors", time_limit=600)
    count = answer.found.evaluations or 0
    yield claimed(
        f"{kernel} on tpuv1: mappings visited",
        f"at most 6*E^2 = {6 * degree**2:,}",
        count,
        holds=count <= 6 * degree**2,
    )
    for what, printed in (
        ("main steps", "6 to 68"),
        ("beam steps", "0 to 16"),
        ("moves between local optima", "at most 8"),
        ("valid mappings of a local search", "rarely more than 300"),
    ):
        yield unreachable(f"{what} in the authors' experiments", printed, why="logs of their searches are not printed")


@RELATIONS.item("Section IV-A, enumeration", "What the closed form of |S| saves", where="section IV-A")
def enumeration() -> Rows:
    """Values listed for one tile size of a strided, dilated kernel: as many as the closed form spares."""
    rng, wrong = Random(3), 0
    for _ in range(200):
        m, n, a, b = (*rng.choice(((1, 2), (2, 3), (3, 4))), rng.randint(1, 60), rng.randint(1, 9))
        wrong += pair_values(m, n, a, b) != listed_values(m, n, a, b)
    yield claimed("tile sizes of 200 of strided and dilated kernels that differ from a list", 0, wrong, holds=not wrong)
    yield unreachable(
        "percent of the model's time that is saved", 42, why="profiled with the authors' code and machine"
    )
