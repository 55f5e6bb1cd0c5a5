"""A search as an iterator of evaluated mappings, for a user who looks on, judges, or goes on by hand."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass, field

from optmap.machines.fabric import Fabric
from optmap.mappings.levels import Mapping
from optmap.mappings.nest import Nest, mapping_of
from optmap.mappings.nest_batch import NestBatch
from optmap.search.explore.driver import Judged, Trace, drive
from optmap.search.explore.judges import Objective, judged_by
from optmap.search.explore.protocol import Strategy
from optmap.search.explore.run import brief_of, journal_of
from optmap.search.explore.settings import values_of
from optmap.search.question import Question


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evaluated:
    """A mapping that was judged."""

    number: int
    """From 1, in the order of judging."""
    valid: bool
    value: float
    """Of what is minimised; infinite if not valid."""
    energy_pj: float
    """Of the model, whoever judges."""
    cycles: float
    """Likewise."""
    seconds: float
    """Of searching until it was judged, with those that were judged together."""
    fabric: Fabric = field(repr=False)
    batch: NestBatch = field(repr=False)
    """Those that were judged together."""
    row: int = field(repr=False)
    """Its place among them."""

    @property
    def nest(self) -> Nest:
        """Its loops."""
        return self.batch.nest(self.row)

    @property
    def mapping(self) -> Mapping:
        """The nest as tiles, orders and splits; made when it is asked for."""
        return mapping_of(self.nest, self.fabric)


class Exploration(Iterator[Evaluated]):
    """A search that goes on as far as it is asked for mappings; `optmap.explore` makes it.

    Args:
        strategy: what proposes.
        question: what is asked, with the budget.
        judge: of a mapping that the machine can run, what is minimised; None for the question's objective.
    """

    def __init__(self, strategy: Strategy, question: Question, judge: Objective | None = None) -> None:
        self.question = question
        """What is asked."""
        self._brief = brief_of(strategy, question)
        self.trace = Trace(settings=values_of(self._brief.settings))
        """What the search has done so far; of whole batches, some of which may not have been handed out yet."""
        self._strategy, self._judge = strategy, judge
        self._best: Evaluated | None = None
        self._batches = self._judged()
        self._waiting: Iterator[Evaluated] = iter(())

    @property
    def best(self) -> Evaluated | None:
        """The best mapping so far; None before a valid one was met."""
        return self._best

    def __next__(self) -> Evaluated:
        """The next mapping that was judged.

        Raises:
            StopIteration: at the end of the strategy or the budget; `trace.end` says which.
            StrategyError: for a strategy or judge that does not keep to the protocol.
            InputError: for a journal of another search.
        """
        while True:
            for each in self._waiting:
                return each
            judged = next(self._batches)
            self._waiting = self._handed(judged, self.trace.seconds)

    def run(self) -> Exploration:
        """To the end, without handing out the mappings; raises what `__next__` does."""
        for _ in self._batches:
            self._waiting = iter(())
        return self

    def close(self) -> None:
        """End the search, whatever is left of the budget, and close its journal."""
        self._batches.close()
        self._waiting = iter(())

    def _judged(self) -> Generator[Judged, None, None]:
        """Batches, one mapping each where the user judges."""
        question, brief, trace = self.question, self._brief, self.trace
        own = None if self._judge is None else judged_by(self._judge, question.fabric, question.counting)
        journal = journal_of(question, brief, judge="model" if own is None else "own")
        limits = {} if own is None else {"rows": 1}
        batches = drive(
            self._strategy,
            brief,
            trace,
            judge=own,
            evaluations=question.evaluations,
            clock=question.clock,
            journal=journal,
            **limits,
        )
        with journal or nullcontext(), closing(batches):
            for judged in batches:
                if trace.best is not None and trace.curve[-1].evaluations > judged.first:
                    row = trace.curve[-1].evaluations - 1 - judged.first
                    self._best = self._evaluated(judged, row, trace.seconds)
                yield judged

    def _handed(self, judged: Judged, seconds: float) -> Iterator[Evaluated]:
        for row in range(len(judged.batch)):
            yield self._evaluated(judged, row, seconds)

    def _evaluated(self, judged: Judged, row: int, seconds: float) -> Evaluated:
        scores = judged.scores
        return Evaluated(
            number=judged.first + row + 1,
            valid=bool(scores.valid[row]),
            value=float(scores.value[row]),
            energy_pj=float(scores.energy_pj[row]),
            cycles=float(scores.cycles[row]),
            seconds=seconds,
            fabric=self.question.fabric,
            batch=judged.batch,
            row=row,
        )
