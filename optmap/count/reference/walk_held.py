"""The reference for held mappings: every point is run, with the resident words as real sets.

A literal reading of `optmap.mappings.held`; like `simulate` it shares no code with the closed form.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from optmap.base.errors import CheckError
from optmap.count.reference.simulate import corner_iterations, point_order, tiles_in_order
from optmap.count.tally import Box, Budget, Element, Moved, Picked, WalkTally, elements_of, tallies_of
from optmap.machines.machine import CapacityRule, Machine
from optmap.mappings.held import Held
from optmap.mappings.levels import Mapping
from optmap.workloads.workload import Workload

Iteration = dict[str, int]
"""One iteration of every dim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldWalk:
    """What a held mapping moved and took when it was run."""

    moved: tuple[Moved, ...]
    """One entry per access, output first."""
    peak_words: int
    """Sum over the accesses of the largest number of words that were resident at one point; with a corner or pieces
    the largest of the runs."""


def walk_held(
    workload: Workload,
    machine: Machine,
    mapping: Mapping,
    held: Held,
    rule: CapacityRule = CapacityRule.TILE,
    *,
    limit: int = 5_000_000,
) -> HeldWalk:
    """Run a held mapping point by point and count what enters and leaves.

    Args:
        workload: what is computed.
        machine: of one level.
        mapping: tile and loop order.
        held: what is held of every access.
        rule: the capacity rule in force.
        limit: largest number of points and elements handled.

    Raises:
        InputError: if the mapping does not belong to workload and machine, or `held` is refused.
        LimitError: if the limit is reached.
        CheckError: if a point finds an operand missing, or with a corner or pieces does not run exactly once.
    """
    mapping.check(workload, machine)
    held.check(workload, machine, mapping, rule)
    return run_held(workload, machine.boundaries[0], mapping, held, limit=limit)


def run_held(
    workload: Workload, between: tuple[str, str], mapping: Mapping, held: Held, *, limit: int = 5_000_000
) -> HeldWalk:
    """The run of `walk_held` without its checks: also of what `Held.check` refuses."""
    budget = Budget(limit)
    budget.spend(workload.operations * len(workload.tensors))
    tallies = tallies_of(workload)
    whole: Picked = {dim: range(n) for dim, n in workload.sizes}
    corner = held.corner
    if corner is None and not held.pieces:
        peak = _run(_ColdRun(whole, mapping, held, {}), tallies, budget, None)
    else:
        ran, cut = set[tuple[int, ...]](), corner_iterations(workload, mapping, corner) if corner else {}
        parts = [_ColdRun({**whole, **each.of}, each.mapping, each.held, cut) for each in held.every(mapping)]
        if corner is not None:
            parts.append(_ColdRun({**whole, **cut}, corner.mapping, corner.held, {}))
        peak = max([_run(part, tallies, budget, ran) for part in parts])
        if len(ran) != workload.operations:
            raise CheckError(f"{len(ran):,} of {workload.operations:,} operations ran")
    return HeldWalk(moved=tuple(tally.result(between) for tally in tallies), peak_words=peak)


@dataclass(frozen=True, slots=True)
class _ColdRun:
    """What runs in one go, from an empty memory."""

    whole: Picked
    """The iterations that are cut into tiles."""
    mapping: Mapping
    held: Held
    cut: Picked
    """Iterations of both dims of a corner, which the tiles leave out; {} for none."""

    def tiles(self) -> Iterator[tuple[Picked, list[Iteration]]]:
        """Every tile with its points, in the order of the run."""
        level = self.mapping.levels[0]
        inside = point_order(level.permutation, self.held.inner)
        numbers: Box = {dim: range(len(each)) for dim, each in self.whole.items()}
        for box in tiles_in_order(numbers, level.tile, level.permutation):
            tile = {dim: [self.whole[dim][i] for i in part] for dim, part in box.items()}
            points = (dict(zip(inside, at, strict=True)) for at in itertools.product(*(tile[dim] for dim in inside)))
            yield tile, [point for point in points if not self.left_out(point)]

    def left_out(self, point: Iteration) -> bool:
        """Whether a point is in a corner."""
        return bool(self.cut) and all(point[d] in corner for d, corner in self.cut.items())


def _run(part: _ColdRun, tallies: list[WalkTally], budget: Budget, ran: set[tuple[int, ...]] | None) -> int:
    """Run a part.

    Args:
        part: what runs.
        tallies: one per access.
        budget: for the work.
        ran: the operations that ran before, to which these are added; None to count none.

    Returns:
        Sum over the accesses of the largest number of words that were resident at one point.

    Raises:
        CheckError: if an operation ran before.
    """
    residents = [_Resident(part, tally) for tally in tallies]
    for tile, points in part.tiles():
        for resident in residents:
            resident.enter(tile, points, budget)
        for number, point in enumerate(points):
            for resident in residents:
                resident.visit(number, point)
        if ran is not None:
            for point in points:
                here = tuple(point[d] for d in part.whole)
                if here in ran:
                    raise CheckError(f"the operation at {point} runs twice")
                ran.add(here)
    return sum(resident.peak_words for resident in residents)


class _Resident:
    """The words of one access that are in the fast memory."""

    def __init__(self, part: _ColdRun, tally: WalkTally) -> None:
        order, held, position = part.mapping.levels[0].permutation, part.held, part.held.positions[tally.name]
        inside = order[len(order) - position + 1 :] if position else ()
        self._whole = {d: each for d, each in part.whole.items() if d in inside}
        self._cut = part.cut
        self._outside = order[: max(0, len(order) - position)] if position else order
        self._streamed = held.streams.get(tally.name, ())
        self._tally = tally
        self._loops: tuple[Sequence[int], ...] | None = None
        self._elements: set[Element] = set()
        self._arriving: dict[int, set[Element]] = {}
        self._leaving: dict[int, set[Element]] = {}
        self._last = 0
        self._peak = 0

    def enter(self, tile: Picked, points: list[Iteration], budget: Budget) -> None:
        """See when the areas of a new tile first and last have every word, and keep what stays of the tile before."""
        loops = tuple(tile[d] for d in self._outside)
        first: dict[Element, int] = {}
        last: dict[Element, int] = {}
        area: Picked = {}
        for number, point in enumerate(points):
            alone = {d: [point[d]] for d in self._streamed}
            here = {**tile, **alone, **self._whole}
            if here != area:
                area, elements = here, self._over(here, budget)
            for element in elements if self._streamed or not number else ():
                first.setdefault(element, number)
                last[element] = number
        self._arriving, self._leaving = {}, {}
        for element, number in first.items():
            self._arriving.setdefault(number, set()).add(element)
        for element, number in last.items() if self._streamed else ():
            self._leaving.setdefault(number, set()).add(element)
        self._elements = self._elements & self._arriving[0] if loops == self._loops else set()
        self._loops, self._last = loops, len(points) - 1

    def _over(self, area: Picked, budget: Budget) -> set[Element]:
        """The elements over an area: those of its points that are in no corner."""
        found = set() if self._cut else budget.elements(self._tally.tensor, area)
        for d, corner in self._cut.items():  # in no corner: of one dim or the other outside its iterations there
            outside = [i for i in area[d] if i not in corner]
            found |= budget.elements(self._tally.tensor, {**area, d: outside}) if outside else set()
        return found

    def visit(self, number: int, point: Iteration) -> None:
        """Make the words of the area at a point of the tile resident; what no later area has leaves after it."""
        arriving = self._arriving.get(number, set())
        self._tally.enter(arriving - self._elements)
        self._elements |= arriving
        self._peak = max(self._peak, len(self._elements))
        here = elements_of(self._tally.tensor, {d: [x] for d, x in point.items()})
        if not here <= self._elements:
            raise CheckError(f"{self._tally.name} at {point} is not resident")
        if number < self._last:
            self._elements -= self._leaving.get(number, set())

    @property
    def peak_words(self) -> int:
        """Most words that were resident at one point."""
        return self._tally.weight * self._peak
