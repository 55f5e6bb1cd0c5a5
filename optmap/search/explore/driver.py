"""Running a strategy: every proposed nest is judged in one place, within one budget.

The same seed, settings and number of evaluations give the same answer; a limit of time only decides how far it gets.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from optmap.base.clock import NO_LIMIT, Clock
from optmap.base.errors import LimitError
from optmap.base.rows import concatenated
from optmap.base.shown import Concise
from optmap.mappings.nest import Nest
from optmap.mappings.nest_batch import NestBatch
from optmap.search.curve import Improvement
from optmap.search.explore.conversation import NO_SCORES, Conversation
from optmap.search.explore.journal import Journal
from optmap.search.explore.judges import Judge, model, sound
from optmap.search.explore.protocol import Brief, Exhausted, Pruned, Scores, Strategy

ROWS = 4096
"""Nests between two looks at the clock."""


class End(StrEnum):
    """Why a search ended."""

    STRATEGY = "strategy"
    """It had nothing more to propose."""
    EVALUATIONS = "evaluations"
    """It had as many nests judged as it may."""
    TIME = "time"


@dataclass(slots=True, kw_only=True)
class Trace(Concise):
    """What a search has done so far."""

    evaluations: int = 0
    valid: int = 0
    """Of the evaluations."""
    seconds: float = 0.0
    best: Nest | None = None
    """None before a valid nest was met."""
    value: float = float("inf")
    """Of the best."""
    curve: list[Improvement] = field(default_factory=list)
    """Every time that the best became better."""
    end: End | None = None
    """None while it runs."""
    proof: Exhausted | None = None
    cuts: tuple[Pruned, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    """Of the strategy, by name."""

    @property
    def valid_share(self) -> float | None:
        """Of the evaluations; None before any."""
        return self.valid / self.evaluations if self.evaluations else None

    @property
    def seconds_to_best(self) -> float | None:
        """None before a valid nest was met."""
        return self.curve[-1].seconds if self.curve else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judged:
    """A batch of evaluated nests."""

    first: int
    """Number of its first nest, from 0."""
    batch: NestBatch
    scores: Scores


def drive(
    strategy: Strategy,
    brief: Brief[Any],
    trace: Trace,
    *,
    judge: Judge | None = None,
    evaluations: int | None = None,
    clock: Clock = NO_LIMIT,
    rows: int = ROWS,
    journal: Journal | None = None,
) -> Generator[Judged, None, None]:
    """Run a strategy to its end or that of the budget.

    Args:
        strategy: what proposes.
        brief: what is asked.
        trace: is written as the search goes on; at the end of the iterator it says why that was.
        judge: what tells the scores; None for `model`.
        evaluations: nests that may be judged; None for any number.
        clock: when to stop; it is looked at between batches.
        rows: nests that are judged together, at most.
        journal: tells what was judged before, and is written; None for none.

    Yields:
        Every batch that was judged, cut where the budget ended.

    Raises:
        StrategyError: for a strategy or judge that does not keep to the protocol.
        InputError: for a journal of other mappings.
    """
    bench = _Bench(judge or model(brief.fabric, brief.merit, brief.counting), rows, journal)
    talk = Conversation(strategy, brief)
    try:
        batch = talk.following(None)
        while batch is not None:
            parts: list[Scores] = []
            start = 0
            while True:
                trace.end = _over(trace, evaluations, clock)
                if trace.end is not None:
                    return
                if start == len(batch):
                    break
                room = len(batch) if evaluations is None else evaluations - trace.evaluations
                judged = bench.judged(batch[start:], trace.evaluations, room)
                _note(trace, judged, bench.seconds)
                trace.cuts = brief.tally.cuts
                parts.append(judged.scores)
                start += len(judged.batch)
                yield judged
            batch = talk.following(concatenated(parts) if parts else NO_SCORES)
        trace.end, trace.proof = End.STRATEGY, talk.proof
    except LimitError:
        if not clock.late:
            raise
        trace.end = End.TIME  # in the middle of a proposal; what was judged before it counts
    finally:
        trace.seconds, trace.cuts = bench.passed, brief.tally.cuts
        talk.close()


class _Bench:
    """Where nests are judged, or told from a journal, and the time that this took."""

    def __init__(self, judge: Judge, rows: int, journal: Journal | None) -> None:
        self._judge, self._rows, self._journal = judge, rows, journal
        self._begun = time.monotonic()
        self.seconds = 0.0
        """Of searching until the last batch, in this run and in those before it."""

    @property
    def passed(self) -> float:
        """Seconds of searching until now."""
        return time.monotonic() - self._begun

    def judged(self, batch: NestBatch, first: int, room: int) -> Judged:
        """Some of the first nests of a batch, at most `room`; `first` is the number of the first."""
        told = None if self._journal is None else self._journal.recall(batch, room)
        if told is not None:
            scores, self.seconds = told
            self._begun = time.monotonic() - self.seconds
            return Judged(first=first, batch=batch[: len(scores.value)], scores=scores)
        part = batch[: min(self._rows, room)]
        scores = sound(self._judge(part), part)
        self.seconds = self.passed
        if self._journal is not None:
            self._journal.note(part, first, scores, self.seconds)
        return Judged(first=first, batch=part, scores=scores)


def _over(trace: Trace, evaluations: int | None, clock: Clock) -> End | None:
    """Whether the budget is spent."""
    if trace.evaluations == evaluations:
        return End.EVALUATIONS
    return End.TIME if clock.late else None


def _note(trace: Trace, judged: Judged, seconds: float) -> None:
    """What a batch adds to the trace."""
    values = judged.scores.value
    trace.evaluations += len(values)
    trace.valid += int(judged.scores.valid.sum())
    trace.seconds = seconds
    falling = np.flatnonzero(values < np.minimum.accumulate(np.concatenate([[trace.value], values]))[:-1])
    trace.curve += [Improvement(judged.first + int(row) + 1, seconds, float(values[row])) for row in falling]
    if len(falling):
        trace.value = float(values[falling[-1]])
        trace.best = judged.batch.nest(int(falling[-1]))
