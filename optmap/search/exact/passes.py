"""One pass: all labels below a cutoff, level by level from outside, or the most promising of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from optmap.clock import Clock
from optmap.problem.nest import Nest
from optmap.search.exact.bounds import Bounds, Prospect, merit_of
from optmap.search.exact.costs import finished, kept
from optmap.search.exact.dominance import undominated
from optmap.search.exact.frame import SLACK, Floats, Frame, Ints, admits
from optmap.search.exact.labels import Labels, joined, root
from optmap.search.exact.rebuild import Trace, nest_from
from optmap.search.exact.steps import Level, Pairs

ROWS = 200_000
"""Rows that are worked on at a time."""


@dataclass(slots=True)
class Tally:
    """What a pass did."""

    labels: int = 0
    """Labels that entered a level."""
    evaluations: int = 0
    """Labels and whole mappings whose cost was computed."""
    discarded: float = float("inf")
    """Least bound among what was left out."""
    finished: bool = True
    """Whether nothing is open."""
    value: float = float("inf")
    """Least value of a whole mapping."""
    nest: Nest | None = None
    sizes: list[str] = field(default_factory=list)


class Pass:
    """The machinery of one search: levels, their choices, and the bounds of their labels.

    Args:
        frame: of the search.
        dominance: leave out labels that others beat.
        bounds: leave out labels whose bound reaches the cutoff.
    """

    def __init__(self, frame: Frame, *, dominance: bool = True, bounds: bool = True) -> None:
        self.frame, self.dominance, self.bounded = frame, dominance, bounds
        self.levels = [Level(frame, number) for number in range(frame.levels)]
        self.bounds = [Bounds(frame, self.levels, top) for top in range(-1, frame.levels)]

    def root_bound(self) -> float:
        """What any mapping costs at least."""
        bounds = self.bounds[self.frame.levels]
        return float(bounds.least(bounds.of_labels(root(self.frame)), float("inf"))[0])

    def run(self, cutoff: float, clock: Clock, beam: int | None = None) -> Tally:
        """Whole mappings below a cutoff.

        Args:
            cutoff: of the merit; what is certainly not below it is left out.
            clock: when to stop; what is open then counts as left out.
            beam: labels per level that go on, None for all.
        """
        tally = Tally()
        labels = root(self.frame)
        traces = [self._trace(labels)]
        for number in range(self.frame.levels - 1, -1, -1):
            own = kept(self.frame, labels, number)
            tally.evaluations += len(own)
            if number == 0:
                self._finish(own, tally, traces, cutoff)
                break
            inside = self._inwards(own, number, cutoff, tally, clock=clock, beam=beam)
            if inside is None:
                break
            labels = inside
            tally.labels += len(labels)
            tally.sizes.append(f"{self.frame.memory(number - 1).name} {len(labels)}")
            labels.origin = own.origin[labels.origin]
            traces.append(self._trace(labels))
        return tally

    def _trace(self, labels: Labels) -> Trace:
        return Trace(self.frame.values(labels.tile), labels.origin, labels.choice)

    def _below(self, values: Floats, cutoff: float, tally: Tally) -> Ints:
        """Rows whose bound leaves hope."""
        if not self.bounded:
            return np.flatnonzero(np.isfinite(values))
        hopeful = values * (1 - SLACK) < cutoff
        if not hopeful.all():
            tally.discarded = min(tally.discarded, float(values[~hopeful].min()))
        return np.flatnonzero(hopeful)

    def _inwards(
        self, own: Labels, number: int, cutoff: float, tally: Tally, *, clock: Clock, beam: int | None
    ) -> Labels | None:
        """Labels at the level inside, None for none."""
        level, bounds = self.levels[number], self.bounds[number]
        outer = bounds.of_labels(own)
        found: list[Labels] = []
        pairs, values = self._pairs(own, outer, number, cutoff, tally)
        if beam is not None and len(values) > 2 * beam:
            best = np.argsort(values, kind="stable")[: 2 * beam]
            tally.discarded = min(tally.discarded, float(np.partition(values, 2 * beam)[2 * beam]))
            pairs, values = Pairs(pairs.label[best], pairs.split[best], pairs.rest[best]), values[best]
        for some in self._portions(level, pairs):
            if clock.late:
                tally.finished = False
                tally.discarded = min(tally.discarded, float(values[some].min()))
                continue
            part = Pairs(pairs.label[some], pairs.split[some], pairs.rest[some])
            labels = level.children(own, part)
            tally.evaluations += len(labels)
            if not len(labels):
                continue
            bound = bounds.least(bounds.of_labels(labels), cutoff)
            rows = self._below(bound, cutoff, tally)
            if beam is not None and len(rows) > 4 * beam:
                rows = rows[np.argsort(bound[rows], kind="stable")[: 4 * beam]]
            labels = labels.take(rows)
            if self.dominance and len(labels):
                labels = labels.take(undominated(self.frame, labels))
            if len(labels):
                found.append(labels)
        if not found:
            return None
        labels = joined(found)
        if self.dominance and len(found) > 1:
            labels = labels.take(undominated(self.frame, labels))
        if beam is not None and len(labels) > beam:
            bound = bounds.least(bounds.of_labels(labels), cutoff)
            labels = labels.take(np.argsort(bound, kind="stable")[:beam])
        return labels

    def _pairs(self, own: Labels, outer: Prospect, number: int, cutoff: float, tally: Tally) -> tuple[Pairs, Floats]:
        """Labels with the splits that leave hope."""
        level, bounds = self.levels[number], self.bounds[number]
        parts: list[Pairs] = []
        values: list[Floats] = []
        width = max(1, ROWS // max(1, len(level.splits.tiles)))
        for start in range(0, len(own), width):
            rows = np.arange(start, min(start + width, len(own)))
            pairs = level.pairs(own.take(rows))
            pairs = Pairs(rows[pairs.label], pairs.split, pairs.rest)
            bound = bounds.least(bounds.of_pairs(own, outer, level, pairs), cutoff)
            some = self._below(bound, cutoff, tally)
            parts.append(Pairs(pairs.label[some], pairs.split[some], pairs.rest[some]))
            values.append(bound[some])
        if not parts:
            none = np.zeros(0, np.int64)
            return Pairs(none, none, np.zeros((0, self.frame.dims), np.int16)), np.zeros(0)
        joint = [np.concatenate([getattr(part, key) for part in parts]) for key in ("label", "split", "rest")]
        return Pairs(*joint), np.concatenate(values)

    def _portions(self, level: Level, pairs: Pairs) -> list[Ints]:
        """Pairs in portions of a bounded number of tiles inside."""
        if not len(pairs.label):
            return []
        _, first, places = np.unique(self.frame.codes(pairs.rest), return_index=True, return_inverse=True)
        sizes = np.array([8 * len(level.inside(pairs.rest[row])) for row in first])[places.ravel()]
        edges = np.searchsorted(np.cumsum(sizes), np.arange(ROWS, int(sizes.sum()) + ROWS, ROWS))
        return [part for part in np.split(np.arange(len(places)), np.unique(edges)) if len(part)]

    def _finish(self, own: Labels, tally: Tally, traces: list[Trace], cutoff: float) -> None:
        """The best whole mapping."""
        frame, level = self.frame, self.levels[0]
        if not len(own):
            return
        outer = self.bounds[0].of_labels(own)
        pairs, _ = self._pairs(own, outer, 0, cutoff, tally)
        trips = frame.values(pairs.rest)
        allowed = admits(frame.memory(0).rules, trips)
        present = ((trips > 1) << np.arange(frame.dims)).sum(axis=1)
        for kind in np.unique(present):
            if not level.orders(int(kind)):
                allowed &= present != kind
        rows = np.flatnonzero(allowed)
        if not len(rows):
            return
        label, split = pairs.label[rows], pairs.split[rows]
        inner = np.zeros((len(rows), frame.dims), np.int16)
        labels = own.take(label)
        share = labels.share * level.shares(split, inner)
        energy, cycles = finished(frame, labels, share, labels.instances * level.units[split])
        value = merit_of(frame, energy, cycles)
        value = np.where((labels.parent >= 0).all(axis=1), value, np.inf)
        tally.evaluations += len(value)
        best = int(np.argmin(value))
        if np.isfinite(value[best]):
            tally.value = float(value[best])
            chosen = int(label[best])
            tally.nest = nest_from(
                frame,
                self.levels,
                traces[::-1],
                row=int(own.origin[chosen]),
                split=int(split[best]),
                keeps=int(own.choice[chosen, 2]),
            )
