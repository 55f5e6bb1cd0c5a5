"""What every memory of a machine holds and moves while a nest runs whose tiles it may be too small for.

A mapping by predicted time is a loop nest; its tiles are those of the code, and a tile may be larger than the cache
that it is called after. A memory of some capacity does not know of tiles: it keeps the largest body of the nest that
fits (`bodies`), and its words are those of the walk that keeps just that, counted exactly. As a memory so large can do
that, no such count is below a bound on what any run moves.

Registers are what the code is written for: they hold the innermost tile, and no larger body. Where they do not hold it
whole they hold it but for the largest input, which passes through one element at a time: a kernel keeps its sums and
the weights of a step in registers, and loads an element of the image, uses it for all of them, and forgets it.
What is left to a memory without room for that are bodies inside the tile, down to single iterations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from optmap.base.errors import InfeasibleError
from optmap.base.texts import several
from optmap.count.levels.whole_nest import passing_words
from optmap.count.results import BoundaryTraffic, CostReport, KeptPart, LevelCost
from optmap.count.timing.bodies import Body, between_splits, bodies, inner_bodies
from optmap.count.timing.floor import first_cache
from optmap.count.timing.results import Prediction
from optmap.machines.machine import CapacityRule, Level, Machine
from optmap.machines.partitions import capacity_groups
from optmap.mappings.levels import Mapping
from optmap.workloads.workload import Workload, access_names


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """What one memory keeps of a nest."""

    body: Body
    passing: int | None = None
    """Number of the input of which one element at a time is there; None if all of the body stays."""

    def words(self, workload: Workload) -> tuple[int, ...]:
        """What is there of every tensor, output first."""
        found = list(self.body.parts(workload))
        if self.passing is not None:
            tensor = workload.tensors[self.passing]
            found[self.passing] = workload.weight(tensor) * self.body.copies(tensor)
        return tuple(found)

    def traffic(self, workload: Workload) -> tuple[tuple[int, int], ...]:
        """Loads and stores in words per tensor, output first, of one instance of the memory."""
        rows = list(self.body.traffic(workload))
        if self.passing is not None:
            copies = self.body.copies(workload.tensors[self.passing])
            rows[self.passing] = (copies * passing_words(workload, self.body.around, 0, self.passing), 0)
        return tuple(rows)


def keeping(workload: Workload, machine: Machine, mapping: Mapping, number: int) -> Keeping:
    """What a level keeps of a nest: the largest part that fits.

    Args:
        workload: what is computed.
        machine: capacities.
        mapping: valid tiles, loop orders and splits.
        number: of the level.

    Raises:
        InfeasibleError: if the level does not hold one element of every tensor.
    """
    level, least = machine.levels[number], 0
    for found in _candidates(workload, machine, mapping, number):
        words = found.words(workload)
        if _fits(workload, level, words):
            return found
        least = sum(words)
    room = several(level.capacity.words(workload.word_bits) // level.buffering, "word")
    raise InfeasibleError(
        f"level {level.name} has room for {room} of {workload.title}; a single iteration needs {least:,}: "
        "make it larger"
    )


def kept_cost(workload: Workload, machine: Machine, mapping: Mapping, prediction: Prediction) -> CostReport:
    """What every level keeps and moves, with the cycles that are predicted for it.

    Args:
        workload: what is computed.
        machine: capacities and bandwidths.
        mapping: tiles, loop orders and splits, inner level first.
        prediction: of the mapping's time.

    Raises:
        InputError: if the mapping does not belong to workload and machine.
        InfeasibleError: if a level does not hold one element of every tensor.
        LimitError: for a subscript with gaps over too wide an index range.
    """
    mapping.check(workload, machine)
    names = access_names(workload)
    cycles = [row.cycles for row in prediction.boundaries]
    cycles = [prediction.compute_cycles] * (len(machine.levels) - len(cycles)) + cycles
    levels: list[LevelCost] = []
    boundaries: list[BoundaryTraffic] = []
    for number, (level, between) in enumerate(zip(machine.levels, machine.boundaries, strict=True)):
        found = keeping(workload, machine, mapping, number)
        rows = [
            BoundaryTraffic(between=between, tensor=name, loads_words=loads, stores_words=stores)
            for name, (loads, stores) in zip(names, found.traffic(workload), strict=True)
        ]
        boundaries += rows
        cost = LevelCost(
            level=level.name,
            occupancy_words=sum(found.words(workload)),
            capacity_words=level.capacity.words(workload.word_bits) // level.buffering,
            traffic_words=sum(row.words for row in rows),
            rate=level.bandwidth.words(workload.word_bits),
            kept=KeptPart(tile=found.body.tile, passing=None if found.passing is None else names[found.passing]),
            predicted=cycles[number],
        )
        levels.append(cost)
    return CostReport(levels=tuple(levels), boundaries=tuple(boundaries), rule=CapacityRule.TILE)


def _candidates(workload: Workload, machine: Machine, mapping: Mapping, number: int) -> Iterator[Keeping]:
    """What a level may keep, the most first."""
    if number < first_cache(machine):
        own = Body(tile=mapping.levels[0].tile, around=mapping)
        every = chain([own], inner_bodies(workload, mapping, 0))
    else:
        between = between_splits(mapping, number)
        every = chain(bodies(workload, mapping, between), inner_bodies(workload, mapping, between.start))
    passed = False
    for body in every:
        yield Keeping(body=body)
        if body.tile == mapping.levels[0].tile and not passed:
            passed = True
            yield Keeping(body=body, passing=_largest_input(workload, body))


def _largest_input(workload: Workload, body: Body) -> int:
    """Number of the input that takes most words of a body; the first of several."""
    words = [workload.weight(tensor) * tensor.footprint(body.tile) for tensor in workload.inputs]
    return 1 + words.index(max(words))


def _fits(workload: Workload, level: Level, words: tuple[int, ...]) -> bool:
    """Whether so many words per tensor fit a level and all its partitions."""
    return all(sum(words[i] for i in group.tensors) <= group.words for group in capacity_groups(workload, level))
