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
    """Largest number of words that were resident at one point."""


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
    peak = 0
    for tile, point in _points(workload, mapping, held):
        for resident in residents:
            resident.visit(tile, point, budget)
        peak = max(peak, sum(resident.words for resident in residents))
    return HeldWalk(moved=tuple(resident.result(between) for resident in residents), peak_words=peak)


def _points(workload: Workload, mapping: Mapping, held: Held) -> Iterator[tuple[Box, Iteration]]:
    """Every point with its tile, in the order of the run."""
    level = mapping.levels[0]
    inside = point_order(level.permutation, held.inner)
    whole = {dim: range(n) for dim, n in workload.sizes}
    for tile in tiles_in_order(whole, level.tile, level.permutation):
        for values in itertools.product(*(tile[dim] for dim in inside)):
            yield tile, dict(zip(inside, values, strict=True))


class _Resident:
    """The words of one access that are in the fast memory."""

    def __init__(self, workload: Workload, tally: Tally, order: tuple[str, ...], held: Held) -> None:
        position = held.positions[tally.name]
        self._whole = {d: range(n) for d, n in workload.sizes if position and d in order[len(order) - position + 1 :]}
        self._outside = order[: max(0, len(order) - position)] if position else order
        self._streamed = held.streams.get(tally.name, ())
        self._tally = tally
        self._area: Box = {}
        self._loops: tuple[range, ...] = ()
        self._elements: set[Element] = set()

    def visit(self, tile: Box, point: Iteration, budget: Budget) -> None:
        """Make the words of the area at a point resident, keeping what stays."""
        alone = {d: range(point[d], point[d] + 1) for d in self._streamed}
        area = {**tile, **alone, **self._whole}
        loops = tuple(tile[d] for d in self._outside)
        if area != self._area or loops != self._loops:
            needed = budget.elements(self._tally.tensor, area)
            kept = self._elements if self._area and loops == self._loops else set()
            self._tally.enter(needed - kept)
            self._area, self._loops, self._elements = area, loops, needed
        here = elements_of(self._tally.tensor, {d: range(x, x + 1) for d, x in point.items()})
        if not here <= self._elements:
            raise CheckError(f"{self._tally.name} at {point} is not resident")

    @property
    def words(self) -> int:
        """Words that are resident now."""
        return self._tally.weight * len(self._elements)

    def result(self, between: tuple[str, str]) -> Moved:
        """What entered and left in the whole run."""
        return self._tally.result(between)
