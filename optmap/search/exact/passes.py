"""One pass: all labels below a cutoff, level by level from outside, or the most promising of them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from optmap.base.arrays import Flags, Floats, Ints
from optmap.base.clock import Clock
from optmap.base.rows import concatenated
from optmap.mappings.nest import Nest
from optmap.mappings.nest_batch import rules_met
from optmap.search.exact.bounds import Bounds, merit_of
from optmap.search.exact.costs import bill_of, finished, fitting, keep_sets, kept
from optmap.search.exact.dominance import undominated
from optmap.search.exact.frame import SLACK, ExactFrame, Tiles
from optmap.search.exact.labels import Labels, joined, root
from optmap.search.exact.quick import quick_bound
from optmap.search.exact.rebuild import LabelTrace, nest_from
from optmap.search.exact.steps import MemorySteps, Pairs, StepTable
from optmap.search.exact.ways import ways_within

ROWS = 100_000
"""Rows that are worked on at a time."""
WIDTH = 40
"""Moves that a beam looks at for each label that it keeps."""


@dataclass(slots=True)
class PassTally:
    """What a pass did."""

    labels: int = 0
    """Labels that entered a level."""
    evaluations: int = 0
    """Moves, labels and whole mappings whose bound or cost was computed."""
    discarded: float = float("inf")
    """Least bound among what was left out, or open when the time was over."""
    value: float = float("inf")
    """Least value of a whole mapping."""
    nest: Nest | None = None
    sizes: list[str] = field(default_factory=list)
    """Labels that entered each level, in words."""
    found: list[tuple[float, int, float]] = field(default_factory=list)
    """Every time that the least value fell: `time.monotonic()`, evaluations of the pass, value."""


class Machinery:
    """What all passes of one search share: levels, their choices, and the bounds of their labels.

    Args:
        frame: of the search.
        dominance: leave out labels that others beat.
        bounds: leave out labels whose bound reaches the cutoff.
    """

    def __init__(self, frame: ExactFrame, *, dominance: bool = True, bounds: bool = True) -> None:
        self.frame, self.dominance, self.bounded = frame, dominance, bounds
        self.levels: list[MemorySteps] = []
        for number in range(frame.levels):
            self.levels.append(MemorySteps(frame, number, self.levels[-1] if number else None))
        self._ways = ways_within(frame, self.levels)
        self._bounds: dict[tuple[int, int], Bounds] = {}

    def open_at(self, number: int) -> Bounds:
        """Bounds of labels at a level: so many levels are open."""
        return self._bound(number - 1, number)

    def kept_at(self, number: int) -> Bounds:
        """Bounds of labels at a level that has decided what it keeps."""
        return self._bound(number - 1, number + 1)

    def _bound(self, top: int, meshes: int) -> Bounds:
        """Made when it is asked for: many searches end at the root."""
        if (top, meshes) not in self._bounds:
            self._bounds[top, meshes] = Bounds(self.frame, top, self._ways[meshes])
        return self._bounds[top, meshes]

    def root_bound(self) -> float:
        """What any mapping costs at least."""
        bounds = self.open_at(self.frame.levels)
        return float(bounds.least(bounds.of_labels(root(self.frame)), float("inf"))[0])

    def run(self, cutoff: float, clock: Clock, beam: int | None = None) -> PassTally:
        """Whole mappings below a cutoff.

        Args:
            cutoff: of the merit; what is certainly not below it is left out.
            clock: when to stop; what is open then counts as left out.
            beam: labels per level that go on, None for all.
        """
        return _Pass(self, cutoff, clock, beam).tally


class _Pass:
    """One pass. The cutoff falls whenever a better mapping is found."""

    def __init__(self, machinery: Machinery, cutoff: float, clock: Clock, beam: int | None) -> None:
        self.machinery, self.frame = machinery, machinery.frame
        self.cutoff, self.clock, self.beam = cutoff, clock, beam
        self.tally = PassTally()
        labels = root(self.frame)
        self.traces = [LabelTrace.of(self.frame, labels)]
        if self.frame.levels == 1:
            self._finish(labels)
            return
        for number in range(self.frame.levels - 1, 0, -1):
            own = self._kept(labels, number)
            labels = self._inwards(own, number)
            if not len(labels):
                break
            self.tally.labels += len(labels)
            self.tally.sizes.append(f"{self.frame.memory(number - 1).name} {len(labels)}")
            labels.origin = own.origin[labels.origin]
            self.traces.append(LabelTrace.of(self.frame, labels))

    def _below(self, values: Floats) -> Ints:
        """Rows whose bound leaves hope. Cycles of one kind of runs are whole numbers: there only less is better."""
        if not self.machinery.bounded:
            return np.flatnonzero(np.isfinite(values))
        slack = SLACK if self.frame.merit in ("energy", "edp") or len(self.frame.runs) > 1 else 0.0
        hopeful = values * (1 - slack) < self.cutoff
        if not hopeful.all():
            self.tally.discarded = min(self.tally.discarded, float(values[~hopeful].min()))
        return np.flatnonzero(hopeful)

    def _kept(self, labels: Labels, number: int) -> Labels:
        """Labels with what their level keeps decided."""
        own = kept(self.frame, labels, number)
        self.tally.evaluations += len(own)
        bounds = self.machinery.kept_at(number)
        return own.take(self._below(bounds.least(bounds.of_labels(own), self.cutoff, self.clock)))

    def _inwards(self, own: Labels, number: int) -> Labels:
        """Labels at the level inside; whole mappings are made of those at the innermost one at once."""
        level, bounds = self.machinery.levels[number], self.machinery.open_at(number)
        found: list[Labels] = []
        waiting = 0
        pairs, values = self._pairs(own, number)
        for some in self._portions(level, pairs, values):
            if self.clock.late:
                self.tally.discarded = min(self.tally.discarded, float(values[some].min()))
                break
            part = pairs[some]
            moves = level.moves(part)
            quick = quick_bound(bounds, level, own, part, moves)
            chosen = self._below(quick)
            self.tally.evaluations += len(quick)
            if self.beam is not None and len(chosen) > WIDTH * self.beam:
                # of equal bounds the first ones, on every processor
                chosen = chosen[np.argsort(quick[chosen], kind="stable")[: WIDTH * self.beam]]
            for start in range(0, len(chosen), ROWS):
                if self.clock.late:
                    self.tally.discarded = min(self.tally.discarded, float(quick[chosen[start:]].min()))
                    break
                labels = self._children(own, part, moves, chosen[start : start + ROWS], number)
                if number == 1 and len(labels):
                    self._innermost(own, labels)
                elif len(labels):
                    found.append(labels)
                    waiting += len(labels)
                if waiting > 4 * ROWS and self.machinery.dominance:
                    found = [self._best(joined(found))]
                    waiting = 0
        labels = joined(found) if found else own.take(np.zeros(0, np.int64))
        if self.machinery.dominance and len(found) > 1:
            labels = self._best(labels)
        if self.beam is not None and len(labels) > self.beam:
            bound = bounds.least(bounds.of_labels(labels), self.cutoff, self.clock)
            labels = labels.take(np.argsort(bound, kind="stable")[: self.beam])
        return labels

    def _children(self, own: Labels, part: Pairs, moves: StepTable, chosen: Ints, number: int) -> Labels:
        """Labels at the level inside that leave hope, of some moves."""
        bounds = self.machinery.open_at(number)
        labels = self.machinery.levels[number].children(own, part, moves, chosen)
        labels = labels.take(self._below(bounds.least(bounds.of_labels(labels), self.cutoff, self.clock)))
        return self._best(labels) if self.machinery.dominance and len(labels) and number > 1 else labels

    def _best(self, labels: Labels) -> Labels:
        """Labels that no other one beats."""
        return labels.take(undominated(self.frame, labels))

    def _innermost(self, own: Labels, labels: Labels) -> None:
        """Whole mappings of labels at the innermost level."""
        self.tally.labels += len(labels)
        labels.origin = own.origin[labels.origin]
        self.traces.append(LabelTrace.of(self.frame, labels))
        self._finish(labels)
        self.traces.pop()

    def _pairs(self, own: Labels, number: int) -> tuple[Pairs, Floats]:
        """Labels with the splits that leave hope, the most promising first."""
        level, bounds = self.machinery.levels[number], self.machinery.open_at(number)
        outer = bounds.of_labels(own)
        parts: list[Pairs] = []
        values: list[Floats] = [np.zeros(0)]
        width = max(1, ROWS // max(1, len(level.splits.tiles)))
        for start in range(0, len(own), width):
            rows = np.arange(start, min(start + width, len(own)))
            if self.clock.late:
                whole = self.machinery.kept_at(number)
                least = whole.least(whole.of_labels(own.take(np.arange(start, len(own)))), self.cutoff, self.clock)
                self.tally.discarded = min(self.tally.discarded, float(least.min()))
                break
            pairs = level.pairs(own.take(rows))
            pairs = Pairs(rows[pairs.label], pairs.split, pairs.rest)
            bound = bounds.least(bounds.of_pairs(outer, level, pairs), self.cutoff, self.clock)
            some = self._below(bound)
            parts.append(pairs[some])
            values.append(bound[some])
        bound = np.concatenate(values)
        best = np.argsort(bound, kind="stable")
        if self.beam is not None and len(best) > 2 * self.beam:
            self.tally.discarded = min(self.tally.discarded, float(bound[best[2 * self.beam]]))
            best = best[: 2 * self.beam]
        if not len(best):
            return Pairs(best, best, np.zeros((0, self.frame.dims), np.int16)), bound[best]
        return concatenated(parts)[best], bound[best]

    def _portions(self, level: MemorySteps, pairs: Pairs, values: Floats) -> list[Ints]:
        """Pairs in portions of a bounded number of moves, the most promising first."""
        if not len(values):
            return []
        _, first, places = np.unique(self.frame.codes(pairs.rest), return_index=True, return_inverse=True)
        sizes = np.array([8 * len(level.inside(pairs.rest[row])) for row in first])[places.ravel()]
        edges = np.searchsorted(np.cumsum(sizes), np.arange(ROWS, int(sizes.sum()) + ROWS, ROWS))
        return [part for part in np.split(np.arange(len(places)), np.unique(edges)) if len(part)]

    def _finish(self, raw: Labels) -> None:
        """The best whole mapping of labels at the innermost level."""
        level = self.machinery.levels[0]
        width = max(1, ROWS // len(level.splits.tiles)) if len(level.splits.tiles) else 1
        for start in range(0, len(raw), width):
            rows = np.arange(start, min(start + width, len(raw)))
            pairs = level.pairs(raw.take(rows))
            allowed = np.flatnonzero(self._allowed(pairs.rest))
            if len(allowed):
                self._evaluate(raw, rows[pairs.label[allowed]], pairs.split[allowed])

    def _allowed(self, rest: Tiles) -> Flags:
        """Whether the loops that are left may be those of the innermost memory."""
        frame, level = self.frame, self.machinery.levels[0]
        trips = frame.values(rest)
        allowed = rules_met(frame.memory(0).rules, trips)
        if frame.memory(0).order:
            present = ((trips > 1) << np.arange(frame.dims)).sum(axis=1)
            for kind in np.unique(present):
                if not len(level.table.numbers(int(kind))):
                    allowed &= present != kind
        return allowed

    def _evaluate(self, raw: Labels, label: Ints, split: Ints) -> None:
        """Whole mappings, with every set of operands that the innermost memory may keep."""
        frame, level = self.frame, self.machinery.levels[0]
        labels = raw.take(label)
        values = frame.values(labels.tile)
        words = [frame.words(operand, labels.tile, values) for operand in range(frame.operands)]
        bills = [bill_of(frame, labels, 0, operand, values) for operand in range(frame.operands)]
        share = level.shares(split, np.zeros((len(label), frame.dims), np.int16))
        units = labels.instances * level.units[split]
        for keeps in keep_sets(frame, 0):
            energy, cycles = finished(frame, labels, bills, share=share, units=units, keeps=keeps)
            value = np.where(fitting(frame, 0, keeps, words), merit_of(frame, energy, cycles), np.inf)
            self.tally.evaluations += len(value)
            best = int(np.argmin(value))
            if value[best] < self.tally.value:
                self.tally.value = float(value[best])
                self.tally.found.append((time.monotonic(), self.tally.evaluations, self.tally.value))
                self.cutoff = min(self.cutoff, self.tally.value)
                self.tally.nest = nest_from(
                    frame,
                    self.machinery.levels,
                    self.traces[::-1],
                    row=int(label[best]),
                    split=int(split[best]),
                    keeps=keeps,
                )
