"""The reference for held mappings: every point is run, with the resident words as real sets.

A literal reading of `optmap.problem.held`; like `simulate` it shares no code with the closed form.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from optmap.errors import CheckError
from optmap.evaluate.simulate import point_order, tiles_in_order
from optmap.evaluate.tally import Box, Budget, Element, Moved, Tally, elements_of, tallies_of
from optmap.problem.held import Held
from optmap.problem.machine import CapacityRule, Machine
from optmap.problem.mapping import Mapping
from optmap.problem.workload import Workload

Iteration = dict[str, int]
"""One iteration of every dim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldWalk:
    """What a held mapping moved and took when it was run."""

    moved: tuple[Moved, ...]
    """One entry per access, output first."""
    peak_words: int
    """Sum over the accesses of the largest number of words that were resident at one point."""


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
        CheckError: if a point finds an operand missing.
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
    order = mapping.levels[0].permutation
    residents = [_Resident(workload, tally, order, held) for tally in tallies_of(workload)]
    for tile, points in _tiles(workload, mapping, held):
        for resident in residents:
            resident.enter(tile, points, budget)
        for number, point in enumerate(points):
            for resident in residents:
                resident.visit(number, point)
    moved = tuple(resident.result(between) for resident in residents)
    return HeldWalk(moved=moved, peak_words=sum(resident.peak_words for resident in residents))


def _tiles(workload: Workload, mapping: Mapping, held: Held) -> Iterator[tuple[Box, list[Iteration]]]:
    """Every tile with its points, in the order of the run."""
    level = mapping.levels[0]
    inside = point_order(level.permutation, held.inner)
    whole = {dim: range(n) for dim, n in workload.sizes}
    for tile in tiles_in_order(whole, level.tile, level.permutation):
        yield tile, [dict(zip(inside, at, strict=True)) for at in itertools.product(*(tile[dim] for dim in inside))]


class _Resident:
    """The words of one access that are in the fast memory."""

    def __init__(self, workload: Workload, tally: Tally, order: tuple[str, ...], held: Held) -> None:
        position = held.positions[tally.name]
        self._whole = {d: range(n) for d, n in workload.sizes if position and d in order[len(order) - position + 1 :]}
        self._outside = order[: max(0, len(order) - position)] if position else order
        self._streamed = held.streams.get(tally.name, ())
        self._tally = tally
        self._loops: tuple[range, ...] | None = None
        self._elements: set[Element] = set()
        self._arriving: dict[int, set[Element]] = {}
        self._leaving: dict[int, set[Element]] = {}
        self._last = 0
        self._peak = 0

    def enter(self, tile: Box, points: list[Iteration], budget: Budget) -> None:
        """See when the areas of a new tile first and last have every word, and keep what stays of the tile before."""
        loops = tuple(tile[d] for d in self._outside)
        first: dict[Element, int] = {}
        last: dict[Element, int] = {}
        area: Box = {}
        for number, point in enumerate(points):
            alone = {d: range(point[d], point[d] + 1) for d in self._streamed}
            here = {**tile, **alone, **self._whole}
            if here != area:
                area, elements = here, budget.elements(self._tally.tensor, here)
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

    def visit(self, number: int, point: Iteration) -> None:
        """Make the words of the area at a point of the tile resident; what no later area has leaves after it."""
        arriving = self._arriving.get(number, set())
        self._tally.enter(arriving - self._elements)
        self._elements |= arriving
        self._peak = max(self._peak, len(self._elements))
        here = elements_of(self._tally.tensor, {d: range(x, x + 1) for d, x in point.items()})
        if not here <= self._elements:
            raise CheckError(f"{self._tally.name} at {point} is not resident")
        if number < self._last:
            self._elements -= self._leaving.get(number, set())

    @property
    def peak_words(self) -> int:
        """Most words that were resident at one point."""
        return self._tally.weight * self._peak

    def result(self, between: tuple[str, str]) -> Moved:
        """What entered and left in the whole run."""
        return self._tally.result(between)
