"""Mappings and floors of one workload at many capacities of one memory, in as many processes as are of use."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from optmap.answers.documents.carried import carried_document, floor_document, read_carried, read_floor
from optmap.answers.over_capacity.capacity_curve import AnyAnswer, room_of
from optmap.base.clock import SEARCHED, Clock, limited
from optmap.base.errors import InfeasibleError, LimitError
from optmap.base.texts import several
from optmap.bounds.methods import bounds
from optmap.bounds.result import LowerBound
from optmap.files.fields import Fields
from optmap.files.workloads import read_workload, workload_document
from optmap.search.chains.chain_methods import APART
from optmap.search.methods import METHODS
from optmap.search.question import Question
from optmap.search.result import Answer
from optmap.sweeps.engines.beside import Beside
from optmap.sweeps.engines.engine import CAPACITIES
from optmap.sweeps.engines.local import default_jobs
from optmap.workloads.workload import Workload

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
        self._beside = Beside[CapacityTask, AnyAnswer | LowerBound | None](
            CAPACITIES, here=self.answer, text=self._text, read=self._read, others=(jobs or default_jobs()) - 1
        )

    @contextmanager
    def session(self) -> Iterator[None]:
        """While it lasts, processes that were started stay."""
        with self._beside.session():
            yield

    def mappings(self, capacities: Sequence[int]) -> list[AnyAnswer | None]:
        """The best mappings, without their floors; None where nothing fits, or where it is late, but for the first one.

        Args:
            capacities: in words.
        """
        return self._mappings(capacities, USUAL, lambda: self._clock.late)

    def apart(self, capacities: Sequence[int]) -> list[AnyAnswer | None]:
        """The best mappings of a chain with nothing fused, whatever the time; None where none fits.

        Args:
            capacities: in words.
        """
        return self._mappings(capacities, APART.name, never)

    def floors(self, capacities: Sequence[int]) -> list[LowerBound]:
        """The best lower bounds of all schedules, whatever the time.

        Args:
            capacities: in words.
        """
        found = self._all([CapacityTask(words, FLOOR) for words in capacities], never)
        return [each for each in found if isinstance(each, LowerBound)]

    def _mappings(self, capacities: Sequence[int], method: str, stopping: Callable[[], bool]) -> list[AnyAnswer | None]:
        found = self._all([CapacityTask(words, method) for words in capacities], stopping)
        return [each if isinstance(each, Answer) else None for each in found]

    def _all(self, tasks: Sequence[CapacityTask], stopping: Callable[[], bool]) -> list[AnyAnswer | LowerBound | None]:
        new = [task for task in dict.fromkeys(tasks) if task not in self._known]
        for task, answer in self._beside.run(new, stopping, self._later()):
            self._known[task] = answer
            self._tell(several(task.words, "word"))
        return [self._known.get(task) for task in tasks]

    def _later(self) -> list[CapacityTask]:
        """What is likely asked for: floors of the rooms of mappings, and of a chain mappings with nothing fused."""
        rooms = dict.fromkeys(room_of(each) for each in self._known.values() if isinstance(each, Answer))
        beside = (FLOOR, APART.name) if len(self._workload.statements) > 1 else (FLOOR,)
        later = (CapacityTask(room, method) for room in rooms for method in beside)
        return [task for task in later if task not in self._known]

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

    def answer(self, task: CapacityTask) -> AnyAnswer | LowerBound | None:
        """The answer to a task, found in this process; None where nothing fits.

        Raises:
            LimitError: if the time was over before there was the first answer; later ones are None then.
        """
        if task.method == FLOOR:
            return floor_of(self._workload, task.words)
        try:
            question = self._question(task)
            with limited(Clock.after(max(self._clock.left, LEAST_SECONDS)).share(SEARCHED)):
                return METHODS[question.method].run(question)
        except InfeasibleError:
            return None
        except LimitError:
            if not any(isinstance(each, Answer) for each in self._known.values()):
                raise
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


def never() -> bool:
    """Of what is answered whatever the time."""
    return False


def floor_of(workload: Workload, words: int) -> LowerBound:
    """The best lower bound of what every schedule moves in a memory of so many words.

    Once somebody asked to stop it is what is compulsory, which takes no time.
    """
    try:
        (floor,) = bounds(workload, words, ("best",))
    except LimitError:
        (floor,) = bounds(workload, words, ("compulsory",))
    return floor


def answer_line(text: str) -> str:
    """The answer to a task, a line of text in and one out: an empty document where nothing fits, or it is late."""
    fields = Fields.of(json.loads(text), "task")
    workload = _workload(json.dumps(fields.get("workload")))
    clock = Clock.after(fields.number("seconds"))
    here = Capacities(workload, fields.text("objective"), clock, jobs=1, tell=lambda _: None)
    try:
        found = here.answer(CapacityTask(fields.integer("words"), fields.text("method")))
    except LimitError:
        found = None
    if isinstance(found, LowerBound):
        return json.dumps(floor_document(found))
    return json.dumps({} if found is None else carried_document(found))


@lru_cache(maxsize=4)
def _workload(text: str) -> Workload:
    """Tasks of one workload come one after another; it is read once."""
    return read_workload(Fields.of(json.loads(text), "task: workload"))
