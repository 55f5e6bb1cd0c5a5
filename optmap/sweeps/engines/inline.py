"""The simplest engine: one point after another in this process; and any other, for all that it can answer."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext

from optmap.sweeps.engines.engine import ANSWER, Engine, Outcome, PointTask, function_of


class InlineEngine:
    """Answers in this process: easy to debug, but nothing can end a stuck or crashing solve."""

    def __init__(self, function: str = ANSWER) -> None:
        self._function = function

    def run(self, tasks: Iterable[PointTask], stopping: Callable[[], bool]) -> Generator[Outcome | None, None, None]:
        """Answer tasks one by one (see `Engine`); time limits are those of the solvers only."""
        answer = function_of(self._function)
        for task in tasks:
            if stopping():
                return
            yield Outcome(number=task.number, text=answer(task.text))

    def session(self) -> AbstractContextManager[None]:
        """Nothing is started (see `Engine`)."""
        return nullcontext()


class OwnHere:
    """An engine, but for tasks that only this process can answer: these are answered here, after the others."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def run(self, tasks: Iterable[PointTask], stopping: Callable[[], bool]) -> Generator[Outcome | None, None, None]:
        """Answer tasks (see `Engine`)."""
        own: list[PointTask] = []

        def others() -> Iterator[PointTask]:
            for task in tasks:
                if task.here:
                    own.append(task)
                else:
                    yield task

        yield from self._engine.run(others(), stopping)
        yield from InlineEngine().run(own, stopping)

    def session(self) -> AbstractContextManager[None]:
        """That of the engine."""
        return self._engine.session()
