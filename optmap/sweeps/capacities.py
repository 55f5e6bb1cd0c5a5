"""Mappings and floors of one workload at many capacities of one memory, in as many processes as are of use."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from optmap.answers.documents.carried import carried_document, floor_document, read_carried, read_floor
from optmap.base.clock import SEARCHED, Clock, limited
from optmap.base.errors import InfeasibleError
from optmap.base.texts import several
from optmap.bounds.methods import bounds
from optmap.bounds.result import LowerBound
from optmap.files.fields import Fields
from optmap.files.workloads import read_workload, workload_document
from optmap.search.methods import METHODS
from optmap.search.question import Question
from optmap.search.result import Answer
from optmap.sweeps.engines.beside import Beside
from optmap.sweeps.engines.engine import CAPACITIES
from optmap.sweeps.engines.local import default_jobs
from optmap.workloads.workload import Workload

AnyAnswer = Answer[Any, Any]
LEAST_SECONDS = 1.0
"""That an answer has, however late it is begun."""
USUAL = ""
"""In a task, the method that is usual for the workload."""
FLOOR = "floor"
"""In place of a method, the best lower bound."""


@dataclass(frozen=True, slots=True)
class CapacityTask:
    """What is asked for at a capacity."""

    words: int
    method: str
    """A key of `METHODS`, `USUAL` or `FLOOR`."""


class Capacities:
    """Answers at capacities of one memory; each is found once.

    Args:
        workload: that is mapped.
        objective: of words.
        clock: when to stop.
        jobs: number of processes, this one among them; None for one per core.
        tell: is told which capacity was answered.
    """

    def __init__(
        self, workload: Workload, objective: str, clock: Clock, *, jobs: int | None, tell: Callable[[str], None]
    ) -> None:
        self._workload, self._objective, self._clock, self._tell = workload, objective, clock, tell
        self._known: dict[CapacityTask, AnyAnswer | LowerBound | None] = {}
        self._later: list[CapacityTask] = []
        self._beside = Beside[CapacityTask, AnyAnswer | LowerBound | None](
            CAPACITIES, here=self._here, text=self._text, read=self._read, others=(jobs or default_jobs()) - 1
        )

    @contextmanager
    def session(self) -> Iterator[None]:
        """While it lasts, processes that were started stay."""
        with self._beside.session():
            yield

    def mappings(self, capacities: Sequence[int], method: str = USUAL) -> list[AnyAnswer | None]:
        """The best mappings that a method finds, without their floors; None where nothing fits, or it is late.

        Args:
            capacities: in words.
            method: a key of `METHODS`, or `USUAL`.
        """
        found = self._all([CapacityTask(words, method) for words in capacities])
        return [each if isinstance(each, Answer) else None for each in found]

    def floors(self, capacities: Sequence[int]) -> list[LowerBound]:
        """The best lower bounds of all schedules, whatever the time.

        Args:
            capacities: in words.
        """
        tasks = [CapacityTask(words, FLOOR) for words in capacities]
        found = self._all(tasks)
        return [
            each if isinstance(each, LowerBound) else floor_of(self._workload, task.words)
            for task, each in zip(tasks, found, strict=True)
        ]

    def prepare(self, capacities: Sequence[int], methods: Sequence[str]) -> None:
        """Say what will be asked for later, which other processes find while they have nothing else to do.

        Args:
            capacities: in words.
            methods: keys of `METHODS`, `USUAL` or `FLOOR`.
        """
        self._later = [CapacityTask(words, method) for method in methods for words in capacities]

    def _all(self, tasks: Sequence[CapacityTask]) -> list[AnyAnswer | LowerBound | None]:
        new, later = (
            [task for task in dict.fromkeys(some) if task not in self._known] for some in (tasks, self._later)
        )
        for task, answer in self._beside.run(new, lambda: self._clock.late, later):
            self._known[task] = answer
            self._tell(several(task.words, "word"))
        return [self._known.get(task) for task in tasks]

    def _question(self, task: CapacityTask) -> Question:
        from optmap.api import question_of

        time = max(self._clock.left, LEAST_SECONDS)
        return question_of(
            self._workload,
            memory=f"{task.words}w",
            objective=self._objective,
            method=task.method or None,
            time_limit=time,
        )

    def _here(self, task: CapacityTask) -> AnyAnswer | LowerBound | None:
        if task.method == FLOOR:
            return floor_of(self._workload, task.words)
        try:
            question = self._question(task)
            with limited(Clock.after(max(self._clock.left, LEAST_SECONDS)).share(SEARCHED)):
                return METHODS[question.method].run(question)
        except InfeasibleError:
            return None

    def _text(self, task: CapacityTask) -> str:
        return json.dumps(
            {
                "workload": workload_document(self._workload),
                "objective": self._objective,
                "words": task.words,
                "method": task.method,
                "seconds": max(self._clock.left, LEAST_SECONDS),
            },
            separators=(",", ":"),
        )

    def _read(self, task: CapacityTask, line: str) -> AnyAnswer | LowerBound | None:
        """The answer of another process; words and room of a mapping are counted here."""
        fields = Fields.of(json.loads(line), "answer")
        if not fields.values:
            return None
        if task.method == FLOOR:
            return read_floor(fields)
        question = self._question(task)
        found = read_carried(fields, self._workload, question.machine)
        return METHODS[question.method].hand_in(question, found, seconds=found.seconds)


def floor_of(workload: Workload, words: int) -> LowerBound:
    """The best lower bound of what every schedule moves in a memory of so many words."""
    (floor,) = bounds(workload, words, ("best",))
    return floor


def answer_line(text: str) -> str:
    """The answer to a task, a line of text in and one out: an empty document where nothing fits."""
    fields = Fields.of(json.loads(text), "task")
    workload = _workload(json.dumps(fields.get("workload")))
    clock = Clock.after(fields.number("seconds"))
    task = CapacityTask(fields.integer("words"), fields.text("method"))
    here = Capacities(workload, fields.text("objective"), clock, jobs=1, tell=lambda _: None)
    if task.method == FLOOR:
        (floor,) = here.floors([task.words])
        return json.dumps(floor_document(floor))
    (found,) = here.mappings([task.words], task.method)
    return json.dumps({} if found is None else carried_document(found))


@lru_cache(maxsize=4)
def _workload(text: str) -> Workload:
    """Tasks of one workload come one after another; it is read once."""
    return read_workload(Fields.of(json.loads(text), "task: workload"))
