"""The simplest engine: one point after another in this process."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable

from optmap.sweeps.engine import ANSWER, Outcome, Task, function_of


class InlineEngine:
    """Answers in this process: easy to debug, but nothing can end a stuck or crashing solve."""

    def __init__(self, function: str = ANSWER) -> None:
        self._function = function

    def run(self, tasks: Iterable[Task], stopping: Callable[[], bool]) -> Generator[Outcome | None, None, None]:
        """Answer tasks one by one (see `Engine`); time limits are those of the solvers only."""
        answer = function_of(self._function)
        for task in tasks:
            if stopping():
                return
            yield Outcome(number=task.number, text=answer(task.text))
