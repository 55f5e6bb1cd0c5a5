"""The engine for one computer: as many processes as cores, one solver thread each."""

from __future__ import annotations

import os
import select
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager

from optmap.sweeps.engines.engine import ANSWER, Outcome, PointTask
from optmap.sweeps.engines.slots import Slot

AHEAD_SECONDS = 0.1
"""Work that a process has waiting, about: enough never to be idle, little enough to share."""
MOST_AHEAD = 32
TICK_SECONDS = 0.2
"""How often time limits and interruption are looked at."""


LAST_SECONDS = 5.0
"""What answers are waited for once somebody asked to stop."""


def default_jobs() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


class LocalEngine:
    """Processes on this computer, each of which can be ended alone.

    Args:
        jobs: number of processes; None for one per core.
        function: what answers a task, as `function_of` takes it.
        keep: leave the processes running between two calls of `run`; they end with this one.
    """

    def __init__(self, jobs: int | None = None, function: str = ANSWER, *, keep: bool = False) -> None:
        self.jobs = jobs or default_jobs()
        self.function = function
        self._keep = keep
        self._slots: list[Slot] = []
        self._seconds = 1.0
        """Running mean of the time per point."""

    def run(self, tasks: Iterable[PointTask], stopping: Callable[[], bool]) -> Generator[Outcome | None, None, None]:
        """Answer tasks in processes (see `Engine`)."""
        source = iter(tasks)
        again: deque[PointTask] = deque()
        slots = self._slots
        try:
            while not stopping():
                more = self._feed(slots, source, again)
                if not more and not any(slot.waiting for slot in slots):
                    return
                begun = time.monotonic()
                found = self._collect(slots, again)
                self._learn(len(found), time.monotonic() - begun)
                if found:
                    yield from found
                else:
                    yield None
            yield from self._last(slots)
        finally:
            if not self._keep or any(slot.waiting for slot in slots):
                self._end()

    @contextmanager
    def session(self) -> Iterator[None]:
        """Leave the processes running between calls of `run`, and end them at its end (see `Engine`)."""
        kept, self._keep = self._keep, True
        try:
            yield
        finally:
            self._keep = kept
            if not kept:
                self._end()

    def _end(self) -> None:
        for slot in self._slots:
            slot.stop()
        self._slots.clear()

    def _feed(self, slots: list[Slot], source: Iterator[PointTask], again: deque[PointTask]) -> bool:
        """Fill the processes, starting as many as there is work for; False if no task is left."""
        ahead = max(1, min(MOST_AHEAD, round(AHEAD_SECONDS / self._seconds))) + 1
        for depth in range(1, ahead + 1):  # first one for every process, then a second one, …
            for number in range(self.jobs):
                if number < len(slots) and slots[number].waiting >= depth:
                    continue
                task = again.popleft() if again else next(source, None)
                if task is None:
                    return False
                if number == len(slots):
                    slots.append(Slot(self.function))
                    slots[number].start()
                if not slots[number].fits(task):
                    again.appendleft(task)
                    return True
                slots[number].send(task)
        return True

    def _collect(self, slots: list[Slot], again: deque[PointTask]) -> list[Outcome]:
        """Wait for answers, ends and overdue tasks; a process that ended is started anew."""
        wait = min([TICK_SECONDS, *(max(0.0, slot.seconds_left) for slot in slots)])
        poll = select.poll()
        for slot in slots:
            poll.register(slot.output, select.POLLIN)
        readable = {descriptor for descriptor, _ in poll.poll(1000 * wait)}
        found: list[Outcome] = []
        for slot in slots:
            ended = False
            if slot.output in readable:
                answers, ended = slot.receive()
                found += answers
            overdue = not ended and slot.seconds_left <= 0
            if ended or overdue:
                lost, waiting = slot.end(overdue=overdue)
                found += lost
                again.extend(waiting)
                slot.start()
        return found

    def _last(self, slots: list[Slot]) -> Iterator[Outcome]:
        """The best answers so far to the tasks in work, as far as they come soon."""
        asked = [slot for slot in slots if slot.waiting]
        for slot in asked:
            slot.ask()
        until = time.monotonic() + LAST_SECONDS
        while asked and time.monotonic() < until:
            poll = select.poll()
            for slot in asked:
                poll.register(slot.output, select.POLLIN)
            readable = {descriptor for descriptor, _ in poll.poll(1000 * TICK_SECONDS)}
            for slot in [each for each in asked if each.output in readable]:
                answers, ended = slot.receive()
                yield from answers[:1]  # what came after it was not begun
                if answers or ended:
                    asked.remove(slot)

    def _learn(self, answers: int, seconds: float) -> None:
        """Update the mean time per point of one process."""
        if answers:
            self._seconds = 0.8 * self._seconds + 0.2 * max(1e-5, seconds * self.jobs / answers)
