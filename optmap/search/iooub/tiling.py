"""TileOpt with whole numbers: the best tile, loop order and reuse levels of one memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from optmap.base.arrays import Ints
from optmap.base.clock import NO_LIMIT, Clock
from optmap.base.errors import LimitError
from optmap.search.iooub.flows import MOST_INNER, MOST_PERMUTED, Flow, flows_of, modest_flow
from optmap.search.iooub.grid import BestOfFlow, TileGrid, kept_grid
from optmap.search.iooub.streams import MOST_ROLLED, streaming
from optmap.search.iooub.units import Bundle, units_of
from optmap.workloads.axes import touched_at_least
from optmap.workloads.workload import Workload

WORK = 30_000_000
"""Combinations of flow and tile that are looked at in full; of more, candidates are thinned."""
LATE_WORK = 100_000
"""Those of the one flow that is looked at even if the time is over."""
PROMISING = 12
"""Flows that are looked at again with streams, if not all are."""
THINNED = 4
"""Flows that are looked at again with streams and with all candidates where these were thinned."""
EQUAL = 1e-12
"""Relative distance below which two values are the same."""
STREAMS_PER_FLOW = 5
"""Ways to stream per flow, about."""
ROUNDS = 6
"""Rounds of refinement around a thinned optimum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiling:
    """A tiling of one workload for one memory."""

    units: tuple[Bundle, ...]
    """What was tiled as one."""
    flow: Flow
    """Loop order, reuse and streams, by unit."""
    tile: dict[str, int]
    """Extent per dim."""
    value: float
    """Weighted loads, in words (floating point)."""
    complete: bool
    """Whether every flow was combined with every candidate tile, streams excepted."""
    streams_complete: bool
    """Whether that is so with every way to stream, too."""
    tried: tuple[Flow, ...] = ()
    """Promising flows with their ways to stream, the best ones first."""


def best_tiling(
    workload: Workload,
    groups: Sequence[tuple[int, tuple[int, ...]]],
    weights: Sequence[float],
    *,
    streams: bool = True,
    rolled: int = MOST_ROLLED,
    soon: bool = False,
    divisors: bool = False,
    clock: Clock = NO_LIMIT,
) -> Tiling | None:
    """The tiling with the least weighted loads; None if nothing fits.

    Dims that all tensors see alike are first tiled as one and then, where that is small enough,
    on their own.

    Args:
        workload: what is tiled.
        groups: capacity constraints: (words, tensor numbers) pairs.
        weights: objective weight per tensor, output first.
        streams: whether tensors may be streamed through a tile (not in IOOpt).
        rolled: windows that one tensor is streamed along, at most.
        soon: whether fewer flows are looked at again with streams than there is room for.
        divisors: whether tiles must divide the extents.
        clock: when to stop looking, with the best so far.
    """
    best: Tiling | None = None
    choices = (units_of(workload, bundled=bundled, divisors=divisors) for bundled in (True, False))
    for units in {tuple(unit.dims for unit in units): units for units in choices}.values():
        if best is not None and len(units) > MOST_PERMUTED:
            continue
        if best is not None and clock.late:
            return replace(best, complete=False, streams_complete=False)
        found = _UnitSearch(workload, units, groups, weights, clock).run(streams=streams, rolled=rolled, soon=soon)
        if best is None or found is None:
            best = best or found
        else:
            better = found if found.value < best.value * (1 - EQUAL) else best
            best = replace(
                better,
                complete=best.complete and found.complete,
                streams_complete=best.streams_complete and found.streams_complete,
            )
        if best is not None and best.value <= least_words(workload, weights):
            return replace(best, complete=True, streams_complete=True)
    return best


def least_words(workload: Workload, weights: Sequence[float]) -> float:
    """Weighted words of all tensors: no tiling loads less.

    Args:
        workload: what is tiled.
        weights: objective weight per tensor, output first.
    """
    words = (workload.weight(t) * touched_at_least(t, workload.extents) for t in workload.tensors)
    return sum(weight * count for weight, count in zip(weights, words, strict=True)) * (1 + EQUAL)


def tile_of(workload: Workload, units: tuple[Bundle, ...], found: BestOfFlow) -> dict[str, int]:
    """The extents of a combination by dims; dims in no unit have one iteration.

    Args:
        workload: gives the dims.
        units: its units.
        found: a candidate per unit.
    """
    tile = dict.fromkeys(workload.dims, 1)
    for unit, index in zip(units, found.choice, strict=True):
        tile.update(zip(unit.dims, unit.boxes[index], strict=True))
    return tile


class _UnitSearch:
    """The search over one set of units."""

    def __init__(
        self,
        workload: Workload,
        units: tuple[Bundle, ...],
        groups: Sequence[tuple[int, tuple[int, ...]]],
        weights: Sequence[float],
        clock: Clock,
    ) -> None:
        self.workload = workload
        self.units = units
        self.clock = clock
        self.least = least_words(workload, weights)
        self.grid = kept_grid(TileGrid, workload, units, tuple(weights)).under(groups)
        self.all = self.grid.every

    def run(self, *, streams: bool, rolled: int = MOST_ROLLED, soon: bool = False) -> Tiling | None:
        """The best tiling of the units; None if nothing fits."""
        flows = self._flows()
        lists = self.grid.thinned(*((1, LATE_WORK) if self.clock.late else (len(flows), WORK)))
        complete = all(len(a) == len(b) for a, b in zip(lists, self.all, strict=True))
        ranked, in_time = self._ranked(flows, lists)
        complete = complete and in_time
        if not ranked:
            return None
        best, chosen = ranked[0][2], flows[ranked[0][1]]
        if best.value <= self.least:
            streams = False
        again, all_streams = self._variants(
            [flows[n] for _, n, _ in (ranked[:THINNED] if soon else ranked)],
            complete=complete,
            rolled=rolled if streams else None,
        )
        all_streams = all_streams and not soon
        tried: list[tuple[float, int, Flow]] = []
        for flow in again:
            if self.clock.late:
                complete = False
                break
            better = self._refine(flow, best, lists, complete=complete)
            if better is not None:
                tried.append((better.value, len(tried), flow))
                if better.value < best.value * (1 - EQUAL):
                    best, chosen = better, flow
        complete = complete and all(unit.complete for unit in self.units)
        return Tiling(
            units=self.units,
            flow=chosen,
            tile=tile_of(self.workload, self.units, best),
            tried=tuple(flow for _, _, flow in sorted(tried, key=lambda entry: entry[:2])),
            value=best.value,
            complete=complete,
            streams_complete=complete and all_streams,
        )

    def _flows(self) -> tuple[Flow, ...]:
        """All flows that may be optimal; out of time one that fits if anything does."""
        try:
            return flows_of(self.workload, self.units, self.clock)
        except LimitError:
            return (modest_flow(self.workload, self.units),)

    def _ranked(self, flows: Sequence[Flow], lists: list[Ints]) -> tuple[list[tuple[float, int, BestOfFlow]], bool]:
        """The best combination of every flow with its value and number, the best ones first; whether all are there.

        Out of time one flow is looked at all the same: one with a tile of each tensor fits if anything does.
        """
        found: list[tuple[float, int, BestOfFlow]] = []
        modest = min(range(len(flows)), key=lambda n: sum(hold.full.bit_count() for hold in flows[n].holds), default=0)
        in_time = True
        for number, flow in enumerate(flows):
            in_time = in_time and not self.clock.late
            if in_time or number == modest:
                best = self.grid.search(flow, lists, inf)
                found += [] if best is None else [(best.value, number, best)]
                if best is not None and best.value <= self.least:
                    break
        return sorted(found, key=lambda entry: entry[:2]), in_time

    def _variants(self, ranked: list[Flow], *, complete: bool, rolled: int | None) -> tuple[list[Flow], bool]:
        """Flows to look at again, and whether they are every way to stream: promising ones if there are many."""
        if rolled is None:
            return ([] if complete else ranked[:THINNED]), False
        if complete and self.grid.points() * len(ranked) * STREAMS_PER_FLOW <= WORK:
            pool, promising = ranked, False
        else:
            pool, promising = ranked[: PROMISING if complete else THINNED], True
        found: dict[object, Flow] = {}
        for flow in pool:
            if self.clock.late:
                promising = True
                break
            found |= {(v.holds, v.streams): v for v in streaming(flow, self.workload, self.units, rolled)}
        again = ([] if complete else pool) + list(found.values())
        # A tile of one iteration of a window's other dims can be streamed along more loops than are looked at.
        every = len(self.units) <= MOST_INNER and all(unit.plain for unit in self.units)
        return again, not promising and every

    def _refine(self, flow: Flow, start: BestOfFlow, lists: list[Ints], *, complete: bool) -> BestOfFlow | None:
        """All candidates if there are few; else windows of candidates that follow the best point."""
        if complete:
            return self.grid.search(flow, self.all, inf)
        best = self.grid.search(flow, lists, inf)
        centre = (best or start).choice
        for _ in range(ROUNDS):
            if self.clock.late:
                break
            near = [
                np.arange(max(0, c - 2), min(len(values), c + 3)) if u != self.grid.last else values
                for u, (c, values) in enumerate(zip(centre, self.all, strict=True))
            ]
            found = self.grid.search(flow, near, inf if best is None else best.value)
            if found is None:
                break
            best, centre = found, found.choice
        return best
