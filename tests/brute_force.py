"""The best mapping of a tiny instance, found by trying every one: what the search claims is compared with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations, product
from math import inf, prod

from optmap.count.levels.cost import evaluate_cost
from optmap.count.levels.held import entering_words, held_words, loaded_words
from optmap.machines.machine import CapacityRule, Machine
from optmap.machines.partitions import capacity_groups
from optmap.mappings.held import stream_refusal
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.mappings.reuse import Reuse, reuse_at
from optmap.search import fits, stationary
from optmap.workloads.workload import Workload

Tile = dict[str, int]


def splits(workload: Workload, cores: int) -> Iterator[Tile]:
    """Every way to divide the cores over the dims that are not reduced."""
    free = [d for d in workload.dims if d not in workload.reduction_dims]
    for ways in product(range(1, cores + 1), repeat=len(free)):
        if prod(ways) == cores:
            yield dict(zip(free, ways, strict=True))


def chains(workload: Workload, depth: int, split: int | None, ways: Tile, *, divisors: bool) -> Iterator[list[Tile]]:
    """Every chain of nested tiles, inner level first; the tile of level `split` is divided in `ways`."""
    per_dim = []
    for dim, extent in workload.sizes:
        parts = ways.get(dim, 1)
        found = [((), extent)]
        for level in reversed(range(depth)):
            grown = []
            for inner, room in found:
                for size in range(1, room + 1):
                    mine = parts if level == split else 1
                    if size >= mine and not (divisors and (room % size or size % mine)):
                        grown.append(((size, *inner), -(-size // mine)))
            found = grown
        per_dim.append([chain for chain, _ in found])
    for choice in product(*per_dim):
        yield [dict(zip(workload.dims, sizes, strict=True)) for sizes in zip(*choice, strict=True)]


def count(workload: Workload, depth: int) -> int:
    """How many evaluations `best_nest` needs for one core, at most."""
    return prod(n**depth for _, n in workload.sizes) * prod(range(1, len(workload.dims) + 1))


Demand = Callable[[LevelMapping], bool]
"""Whether the mapping of one level is as wanted."""


def best_nest(
    workload: Workload,
    machine: Machine,
    objective: str,
    rule: CapacityRule,
    *,
    divisors: bool,
    cores: int,
    demands: Sequence[Demand] = (),
) -> float:
    """Least objective in per-level form over all tiles, loop orders and splits as wanted; infinite if nothing fits."""
    shared = next((i for i, level in enumerate(machine.levels) if level.shared), None)
    split = shared if cores > 1 else None
    best = inf
    for ways in splits(workload, cores):
        for chain in chains(workload, len(machine.levels), split, ways, divisors=divisors):
            best = min(best, _orders(workload, machine, objective, rule, chain, split, ways, demands))
    return best


def _orders(  # noqa: PLR0917
    workload: Workload,
    machine: Machine,
    objective: str,
    rule: CapacityRule,
    chain: list[Tile],
    split: int | None,
    ways: Tile,
    demands: Sequence[Demand],
) -> float:
    """The best loop orders of one chain: those of a level concern its own traffic and occupancy only."""
    least = [inf] * len(chain)
    for order in permutations(workload.dims):
        levels = [
            LevelMapping(level=level.name, tile=tile, permutation=order, spatial=ways if i == split else {})
            for i, (level, tile) in enumerate(zip(machine.levels, chain, strict=True))
        ]
        report = evaluate_cost(workload, machine, Mapping(levels=tuple(levels)), rule)
        for i, row in enumerate(report.levels):
            if row.occupancy_words <= row.capacity_words and all(demand(levels[i]) for demand in demands):
                words = row.traffic_words
                if objective == "loads":
                    words = sum(b.loads_words for b in report.boundaries if b.between == machine.boundaries[i])
                least[i] = min(least[i], words / float(machine.rates(workload.word_bits)[i]))
    return max(least) if objective == "bottleneck" else sum(least)


def best_held(workload: Workload, machine: Machine, objective: str, *, divisors: bool) -> float:
    """Least words of one memory over all tiles, loop orders, reuse positions and streams, in its cycles."""
    groups = capacity_groups(workload, machine.levels[0])
    rate, best = float(machine.rates(workload.word_bits)[0]), inf
    for order in permutations(workload.dims):
        for (tile,) in chains(workload, 1, None, {}, divisors=divisors):
            for inner in permutations(workload.dims):
                options = [
                    _ways(workload, number, order, inner, tile, objective) for number in range(len(workload.tensors))
                ]
                for choice in product(*options):
                    held = [words for words, _ in choice]
                    if all(sum(held[i] for i in group.tensors) <= group.words for group in groups):
                        best = min(best, sum(moved for _, moved in choice) / rate)
    return best


def _ways(  # noqa: PLR0917
    workload: Workload, number: int, order: tuple[str, ...], inner: tuple[str, ...], tile: Tile, objective: str
) -> set[tuple[int, int]]:
    """(words held, words moved) of every way to hold or stream one access."""
    tensor = workload.tensors[number]
    nothing = reuse_at(tensor, order, 0)
    ways: list[tuple[Reuse, frozenset[str]]] = [
        (reuse_at(tensor, order, position), frozenset()) for position in range(len(order) + 2)
    ]
    for length in range(1, len(inner) + 1):
        streamed = frozenset(inner[:length])
        if not stream_refusal(tensor, streamed, inner, tile):
            ways.append((nothing, streamed))
    found = set()
    for how, streamed in ways:
        moved = loaded_words(workload, tensor, tile, how)
        if objective != "loads" and number == 0:
            moved += entering_words(workload, tensor, tile, how)
        found.add((held_words(workload, tensor, tile, how, streamed), moved))
    return found


def best_stationary(workload: Workload, machine: Machine, *, divisors: bool) -> float:
    """Least words of output-stationary tiles of one memory, in its cycles."""
    level = machine.levels[0]
    groups = capacity_groups(workload, level)
    rate = float(machine.rates(workload.word_bits)[0])
    tiles = (tile for (tile,) in chains(workload, 1, None, {}, divisors=divisors))
    return min((stationary(workload, tile).words / rate for tile in tiles if fits(workload, groups, tile)), default=inf)
