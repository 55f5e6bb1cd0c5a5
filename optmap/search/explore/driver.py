"""Running a strategy: every proposed nest is judged in one place, within one budget.

The same seed, settings and number of evaluations give the same answer; a limit of time only decides how far it gets.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from optmap.clock import NO_LIMIT, Clock
from optmap.evaluate.spatial.batch import evaluate_batch
from optmap.problem.fabric import Fabric
from optmap.problem.nest import Nest
from optmap.problem.nest_batch import NestBatch
from optmap.problem.options import Counting, Merit
from optmap.search.curve import Improvement
from optmap.search.explore.protocol import Cut, Proof, Question, Scores, Strategy

ROWS = 4096
"""Nests between two looks at the clock."""

Judge = Callable[[NestBatch], Scores]
"""What tells the scores of nests."""


class End(StrEnum):
    """Why a search ended."""

    STRATEGY = "strategy"
    """It had nothing more to propose."""
    EVALUATIONS = "evaluations"
    """It had as many nests judged as it may."""
    TIME = "time"


@dataclass(slots=True, kw_only=True)
class Trace:
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
    proof: Proof | None = None
    cuts: tuple[Cut, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judged:
    """A batch of evaluated nests."""

    first: int
    """Number of its first nest, from 0."""
    batch: NestBatch
    scores: Scores


def model(fabric: Fabric, merit: Merit, counting: Counting) -> Judge:
    """The judge that counts words, with the batched evaluator."""

    def judge(batch: NestBatch) -> Scores:
        cost = evaluate_batch(batch, fabric, counting)
        value = np.where(cost.valid, cost.merit(merit), np.inf)
        return Scores(valid=cost.valid, value=value, energy_pj=cost.energy_pj, cycles=cost.cycles)

    return judge


def drive(
    strategy: Strategy,
    question: Question[object],
    trace: Trace,
    *,
    judge: Judge | None = None,
    evaluations: int | None = None,
    clock: Clock = NO_LIMIT,
) -> Iterator[Judged]:
    """Run a strategy to its end or that of the budget.

    Args:
        strategy: what proposes.
        question: what is asked.
        trace: is written as the search goes on; at the end of the iterator it says why that was.
        judge: what tells the scores; None for `model`.
        evaluations: nests that may be judged; None for any number.
        clock: when to stop.

    Yields:
        Every batch that was judged, cut where the budget ended.
    """
    judge = judge or model(question.fabric, question.merit, question.counting)
    begun = time.monotonic()
    proposals = strategy.propose(question)
    try:
        batch = next(proposals)
        while True:
            parts = []
            for part in _parts(batch):
                if clock.late:
                    trace.end = End.TIME
                    return
                room = len(part) if evaluations is None else evaluations - trace.evaluations
                judged = Judged(first=trace.evaluations, batch=part[: max(room, 0)], scores=judge(part[: max(room, 0)]))
                _note(trace, judged, time.monotonic() - begun)
                trace.cuts = question.tally.cuts
                parts.append(judged.scores)
                if len(judged.batch):
                    yield judged
                if trace.evaluations == evaluations:
                    trace.end = End.EVALUATIONS
                    return
            batch = proposals.send(_joined(parts))
    except StopIteration as stopped:
        trace.end, trace.proof = End.STRATEGY, stopped.value
    finally:
        proposals.close()
        trace.seconds, trace.cuts = time.monotonic() - begun, question.tally.cuts


def _parts(batch: NestBatch) -> Iterator[NestBatch]:
    for start in range(0, max(len(batch), 1), ROWS):
        yield batch[start : start + ROWS]


def _joined(parts: list[Scores]) -> Scores:
    if len(parts) == 1:
        return parts[0]
    return Scores(
        valid=np.concatenate([part.valid for part in parts]),
        value=np.concatenate([part.value for part in parts]),
        energy_pj=np.concatenate([part.energy_pj for part in parts]),
        cycles=np.concatenate([part.cycles for part in parts]),
    )


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
