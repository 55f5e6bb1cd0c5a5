"""Tasks that are answered here and in other processes at the same time.

The processes are started while the work goes on here, and get tasks once they are ready: this process never waits for
one that begins. One that ends before its answers are there is not started anew; its tasks are answered here.
"""

from __future__ import annotations

import select
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar

from optmap.sweeps.engines.engine import PointTask
from optmap.sweeps.engines.slots import Slot

ENOUGH_SECONDS = 0.5
"""Work after which other processes are started: what takes longer altogether is worth their beginning."""
AHEAD = 2
"""Tasks that a process has at once, so that it need not wait for this one."""
WAIT_SECONDS = 0.1
"""How often interruption is looked at."""

T = TypeVar("T")
R = TypeVar("R")


class Beside(Generic[T, R]):
    """Answers tasks here, and in other processes once that is worth it.

    Args:
        function: what answers a task in another process, as `function_of` takes it.
        here: what answers it in this one.
        text: a task as one line.
        read: the answer to a task from the line of another process.
        others: number of other processes, at most.
    """

    def __init__(
        self,
        function: str,
        *,
        here: Callable[[T], R],
        text: Callable[[T], str],
        read: Callable[[T, str], R],
        others: int,
    ) -> None:
        self._function, self._here, self._text, self._read = function, here, text, read
        self._others = others
        self._slots: list[Slot] = []
        self._spent = 0.0

    @contextmanager
    def session(self) -> Iterator[None]:
        """While it lasts, processes that were started stay."""
        try:
            yield
        finally:
            for slot in self._slots:
                slot.stop()
            self._slots.clear()

    def run(self, tasks: Sequence[T], stopping: Callable[[], bool]) -> Iterator[tuple[int, R]]:
        """Answer tasks, in any order.

        Args:
            tasks: all of them.
            stopping: once it is true no more tasks are begun here, and no answers of others are waited for.

        Yields:
            Number of a task, and its answer.
        """
        left = deque(range(len(tasks)))
        while (left or any(slot.waiting for slot in self._slots)) and not stopping():
            self._send(tasks, left)
            yield from self._received(tasks, left)
            if left:
                number = left.popleft()
                begun = time.monotonic()
                yield number, self._here(tasks[number])
                self._spent += time.monotonic() - begun
                if self._spent > ENOUGH_SECONDS and len(left) > AHEAD:
                    self._start()
            elif any(slot.waiting for slot in self._slots):
                self._wait()
        for slot in [each for each in self._slots if each.waiting]:  # late: nobody asks for its answers any more
            slot.stop()
            self._slots.remove(slot)

    def _start(self) -> None:
        while len(self._slots) < self._others:
            self._slots.append(Slot(self._function))
            self._slots[-1].start()

    def _send(self, tasks: Sequence[T], left: deque[int]) -> None:
        """Give processes that are ready the last ones of the tasks that are left, but not what is next here."""
        for slot in self._slots:
            while slot.ready and len(left) > 1 and slot.waiting < AHEAD:
                number = left.pop()
                slot.send(PointTask(number=number, text=self._text(tasks[number]), seconds=float("inf")))

    def _received(self, tasks: Sequence[T], left: deque[int]) -> Iterator[tuple[int, R]]:
        for slot in list(self._slots):
            outcomes, ended = slot.receive()
            if ended:
                lost, waiting = slot.end()
                left.extend([each.number for each in lost] + [each.number for each in waiting])
                self._slots.remove(slot)
                self._others -= 1
            for outcome in outcomes:
                if outcome.text is not None:
                    yield outcome.number, self._read(tasks[outcome.number], outcome.text)

    def _wait(self) -> None:
        poll = select.poll()
        for slot in self._slots:
            poll.register(slot.output, select.POLLIN)
        poll.poll(1000 * WAIT_SECONDS)
