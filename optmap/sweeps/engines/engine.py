"""What an engine is: it takes lines of text and hands back what became of each."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from optmap.base.errors import OptmapError
from optmap.base.registry import Registry

ANSWERS: Registry[Callable[[str], str]] = Registry("way to answer")
"""What answers a task, a line of text in and a line of text out, by key."""
ANSWER = "points"
"""Key of what answers the points of sweeps, networks and races."""
ITEM_POINTS = "items"
"""Key of what answers the points of items of papers."""
CAPACITIES = "capacities"
"""Key of what answers one workload at capacities of one memory."""


class EngineError(OptmapError):
    """The engine itself is broken: its processes do not start or the scheduler is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointTask:
    """A point on its way to an engine."""

    number: int
    """What the outcome is recognised by."""
    text: str
    """One line that says everything."""
    seconds: float
    """Limit after which the work on it is ended, whatever it does."""
    here: bool = False
    """Whether this process has to answer it: its method is registered in no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a task."""

    number: int
    text: str | None
    """The answer, one line; None if there is none."""
    stop: str = ""
    """Without an answer: `killed` at its limit, or `crash` of its process."""
    error: str = ""
    """The same in words."""
    seconds: float = 0.0
    """Time spent without an answer."""


class Engine(Protocol):
    """Anything that answers tasks."""

    def run(self, tasks: Iterable[PointTask], stopping: Callable[[], bool]) -> Generator[Outcome | None, None, None]:
        """Answer tasks, in any order.

        Args:
            tasks: taken only as fast as they are answered.
            stopping: asked often; once it is true, no more tasks are taken, what is being worked on is answered
                with the best so far or dropped, and the iteration ends.

        Yields:
            An outcome per task; None now and then while nothing is ready.

        Raises:
            EngineError: if the engine is broken.
        """
        ...

    def session(self) -> AbstractContextManager[None]:
        """While it lasts, what one call of `run` starts serves the next one; a session may be inside another."""
        ...


def function_of(name: str) -> Callable[[str], str]:
    """The function that a text means: a key of `ANSWERS`, or `module:name` of another one."""
    if name in ANSWERS:
        return ANSWERS[name]
    from importlib import import_module

    module, _, attribute = name.partition(":")
    found: Callable[[str], str] = getattr(import_module(module), attribute)
    return found
