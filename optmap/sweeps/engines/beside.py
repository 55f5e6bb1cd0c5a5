"""Tasks that are answered here and in other processes at the same time.

The processes are started while the work goes on here, and get tasks once they are ready: this process never waits for
one that begins. One that ends before its answers are there is not started anew; its tasks are answered here.
"""

from __future__ import annotations

import select
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Generic, TypeVar

from optmap.sweeps.engines.engine import PointTask
from optmap.sweeps.engines.slots import Slot

ENOUGH_SECONDS = 0.5
"""Work after which other processes are started: what takes longer altogether is worth their beginning."""
LONG_SECONDS = 0.1
"""Of one task, after which they are started: there are many."""
AHEAD = 2
"""Tasks that a process has at once, so that it need not wait for this one."""
STUCK_SECONDS = 600.0
"""After so long without an answer a process is ended, and its tasks are answered here."""
WAIT_SECONDS = 0.1
"""How often interruption is looked at."""

T = TypeVar("T", bound=Hashable)
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
        self._sent: dict[int, T] = {}
        """What other processes work on, by number."""
        self._numbers = count()
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
            self._sent.clear()

    def run(self, tasks: Sequence[T], stopping: Callable[[], bool], spare: Sequence[T] = ()) -> Iterator[tuple[T, R]]:
        """Answer tasks, in any order.

        Args:
            tasks: different ones.
            stopping: once it is true no more tasks are begun here than the first one, and no answers of others are
                waited for.
            spare: tasks that another process begins if it has nothing else to do; nobody waits for them.

        Yields:
            A task, and its answer; spare ones and those of a call before this one, too.
        """
        open_, sent = set(tasks), set(self._sent.values())
        left = deque(each for each in tasks if each not in sent)
        more = deque(each for each in reversed(spare) if each not in sent)
        begun = False
        while open_ and not (begun and stopping()):
            begun = True
            self._send(left, more)
            for task, answer in self._received(left, open_):
                open_.discard(task)
                yield task, answer
            if left:
                task = left.popleft()
                open_.discard(task)
                yield task, self._timed(task, len(left) + len(more))
            elif open_:
                self._wait()

    def _timed(self, task: T, waiting: int) -> R:
        """The answer to a task, found here; other processes are started where that took long.

        Args:
            task: that is answered.
            waiting: number of tasks that another process could have.
        """
        begun = time.monotonic()
        answer = self._here(task)
        seconds = time.monotonic() - begun
        self._spent += seconds
        if seconds > LONG_SECONDS or self._spent > ENOUGH_SECONDS:
            self._start(waiting)
        return answer

    def _start(self, waiting: int = 0) -> None:
        """Start processes: one that is there for what comes next, and no more than could have a task now."""
        while len(self._slots) < min(self._others, 1 + waiting):
            slot = Slot(self._function)
            try:
                slot.start()
            except OSError:  # no process may be started here
                self._others = 0
                break
            self._slots.append(slot)

    def _send(self, left: deque[T], more: deque[T]) -> None:
        """Give processes that are ready the last ones of the tasks that are left, but not what is next here."""
        for slot in self._slots:
            while slot.ready and slot.waiting < AHEAD and (len(left) > 1 or (more and not slot.waiting)):
                tasks = left if len(left) > 1 else more
                sent = PointTask(number=next(self._numbers), text=self._text(tasks[-1]), seconds=STUCK_SECONDS)
                if not slot.fits(sent):
                    break
                self._sent[sent.number] = tasks.pop()
                slot.send(sent)

    def _received(self, left: deque[T], open_: set[T]) -> Iterator[tuple[T, R]]:
        """What other processes have answered; what one had that has ended goes back to what is left."""
        for slot in list(self._slots):
            outcomes, ended = slot.receive()
            for outcome in outcomes:
                if outcome.text is not None:
                    task = self._sent.pop(outcome.number)
                    yield task, self._read(task, outcome.text)
            stuck = not ended and slot.ready and slot.seconds_left <= 0
            if ended or stuck:
                lost, waiting = slot.end(overdue=stuck)
                numbers = [*(each.number for each in lost), *(each.number for each in waiting)]
                back = [self._sent.pop(number) for number in numbers]
                left.extend(task for task in back if task in open_)
                self._slots.remove(slot)
                self._others -= 1

    def _wait(self) -> None:
        poll = select.poll()
        for slot in self._slots:
            poll.register(slot.output, select.POLLIN)
        poll.poll(1000 * WAIT_SECONDS)
