"""The one deadline of an answer, and the wish to have the answer now.

Everything that may take long asks a clock, or is given the time that a clock has left. An answer that is being
made has its clock in the context (`limited`, `current`), so that what is solved deep inside need not be told. All
clocks are late once somebody asked to stop: the best so far is the answer then, as at a time limit.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import inf

from optmap.base.errors import LimitError

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""What asks to stop: Ctrl-C, and what `kill`, `timeout` and batch systems send."""
INTERRUPTED = "interrupted before it began"
"""Why something that was asked for has no answer."""
SEARCHED = 0.9
"""Part of the time of an answer that its search may take; the rest is for counts, bounds and checks."""
ENDING_S = 0.25
"""Time for them however late the search ended, in seconds."""
_ASKED = threading.Event()


@dataclass(frozen=True, slots=True)
class Clock:
    """When to stop looking.

    A clock decides whether there is an answer, never which one. So all clocks are equal, and what was
    computed and kept under one of them is the answer under every other.
    """

    deadline: float = field(default=inf, compare=False)
    """`time.monotonic()` value, in seconds."""

    @classmethod
    def after(cls, seconds: float) -> Clock:
        """A clock that is late after some time, and no later than the one of the answer that is being made."""
        return cls(min(current().deadline, time.monotonic() + seconds))

    @property
    def late(self) -> bool:
        """Whether the time is over, or somebody asked to stop."""
        return _ASKED.is_set() or time.monotonic() > self.deadline

    @property
    def left(self) -> float:
        """Seconds until it is late, at least 0."""
        return 0.0 if _ASKED.is_set() else max(0.0, self.deadline - time.monotonic())

    def share(self, part: float) -> Clock:
        """A clock with a part of the time that is left."""
        return Clock(time.monotonic() + part * self.left)

    def ending(self, least: float = ENDING_S) -> Clock:
        """The clock of what follows a search, such as its bounds: there is a moment for it however late that ended.

        Args:
            least: the moment, in seconds.
        """
        return Clock(max(self.deadline, time.monotonic() + least))

    def check(self) -> None:
        """Go on only if there is time.

        Raises:
            LimitError: if the time is over.
        """
        if self.late:
            raise LimitError("the time was over; raise the time limit")


NO_LIMIT = Clock()
"""The clock that stops nothing unless somebody asks to stop."""
_CURRENT: ContextVar[Clock] = ContextVar("clock", default=NO_LIMIT)


def current() -> Clock:
    """The clock of the answer that is being made; `NO_LIMIT` outside of one."""
    return _CURRENT.get()


@contextmanager
def limited(clock: Clock) -> Iterator[Clock]:
    """Make an answer under a clock."""
    before = _CURRENT.set(clock)
    try:
        yield clock
    finally:
        _CURRENT.reset(before)


def stopping() -> bool:
    """Whether somebody asked to stop."""
    return _ASKED.is_set()


def stop() -> None:
    """Ask every answer that is being made in this process to end now, with the best so far."""
    _ASKED.set()


def _interrupt(number: int) -> None:
    del number
    raise KeyboardInterrupt


@contextmanager
def stop_on_signals(
    told: Callable[[], None] = lambda: None, again: Callable[[int], None] = _interrupt
) -> Iterator[None]:
    """Let the first signal of `SIGNALS` ask to stop while a block runs; only in the main thread, which hears signals.

    The command line does this; a program that uses optmap decides for itself. Afterwards the handlers are what they
    were, and nobody has asked.

    Args:
        told: called at the first signal.
        again: called at every further one, with its number; raises `KeyboardInterrupt` if left out.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def heard(number: int, _frame: object) -> None:
        if _ASKED.is_set():
            again(number)
        _ASKED.set()
        told()

    before = {number: signal.signal(number, heard) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _ASKED.clear()
