"""A worker process that can be ended at any moment, and what was waiting in it.

Standard pools end all their processes when one dies or cannot end one at all; here a stuck or
crashing solve must cost its own point only.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import deque

from optmap.sweeps.engines import worker
from optmap.sweeps.engines.engine import EngineError, Outcome, PointTask
from optmap.sweeps.engines.worker import READY, STOP

START_SECONDS = 120.0
"""Time that a process may take to start and import everything."""
PIPE_BYTES = 32_768
"""Text waiting in a pipe at most: half of what it holds, so that writing never blocks."""
READ_BYTES = 1 << 16
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1")
"""One solver thread per process: the processes are what runs in parallel."""


class Slot:
    """One worker process; `start` makes a new one after an end."""

    def __init__(self, function: str) -> None:
        self._function = function
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting: deque[PointTask] = deque()
        self._bytes = 0
        self._buffer = bytearray()
        self._ready = False
        self._since = 0.0
        """When the work on the first waiting task began, or the process if it is not ready."""
        self.failed_starts = 0

    def start(self) -> None:
        """Start the process; it is not waited for."""
        path = os.pathsep.join(entry for entry in sys.path if entry)
        self._process = subprocess.Popen(
            # -P: the current folder must not shadow modules.
            [sys.executable, "-P", "-m", worker.__name__, self._function],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C at the terminal reaches the parent only
        )
        os.set_blocking(self.output, False)
        self._buffer.clear()
        self._bytes = 0
        self._ready = False
        self._since = time.monotonic()

    @property
    def output(self) -> int:
        """File descriptor that becomes readable when there is an answer or an end."""
        if self._process is None or self._process.stdout is None:
            raise EngineError("a worker process is used before it was started")
        return self._process.stdout.fileno()

    @property
    def ready(self) -> bool:
        """Whether the process has said that it has everything imported."""
        return self._ready

    @property
    def waiting(self) -> int:
        """Tasks in the process."""
        return len(self._waiting)

    def fits(self, task: PointTask) -> bool:
        """Whether the task can be sent without any risk of blocking."""
        return not self._waiting or self._bytes + len(task.text) < PIPE_BYTES

    def send(self, task: PointTask) -> None:
        """Give a task to the process; a process that is gone is noticed when reading."""
        if not self._waiting and self._ready:
            self._since = time.monotonic()
        self._waiting.append(task)
        self._bytes += len(task.text)
        if self._process is not None and self._process.stdin is not None:
            try:
                self._process.stdin.write(task.text.encode() + b"\n")
                self._process.stdin.flush()
            except OSError:
                return

    def receive(self) -> tuple[list[Outcome], bool]:
        """Answers that are there, and whether the process has ended."""
        ended = False
        try:
            while chunk := os.read(self.output, READ_BYTES):
                self._buffer += chunk
                if len(chunk) < READ_BYTES:
                    break
            else:
                ended = True
        except BlockingIOError:
            pass
        return self._complete_lines(), ended

    def _complete_lines(self) -> list[Outcome]:
        *lines, rest = self._buffer.split(b"\n")
        self._buffer = bytearray(rest)
        made = []
        for line in lines:
            if not self._ready:
                self._ready = line.decode(errors="replace") == READY
                self.failed_starts = 0
            elif self._waiting:
                task = self._waiting.popleft()
                self._bytes -= len(task.text)
                made.append(Outcome(number=task.number, text=line.decode()))
            self._since = time.monotonic()
        return made

    @property
    def seconds_left(self) -> float:
        """Time until the first waiting task, or the start, is overdue."""
        if not self._ready:
            return self._since + START_SECONDS - time.monotonic()
        if not self._waiting:
            return float("inf")
        return self._since + self._waiting[0].seconds - time.monotonic()

    def end(self, *, overdue: bool = False) -> tuple[list[Outcome], list[PointTask]]:
        """End the process: the task in work is lost, the others go back.

        Args:
            overdue: it is ended because of its limit; otherwise it has ended by itself.

        Returns:
            The outcome of the task in work (none if the process had not got ready), and the
            tasks that it had not begun.

        Raises:
            EngineError: if processes end again and again before they get ready.
        """
        spent = time.monotonic() - self._since
        code = self._kill()
        tasks = list(self._waiting)
        self._waiting.clear()
        if not self._ready:
            self.failed_starts += 1
            if self.failed_starts >= 3:
                raise EngineError(
                    f"worker processes end before they start ({_how(code)}); "
                    f"try: {sys.executable} -m {worker.__name__} {self._function}"
                )
            return [], tasks
        if not tasks:
            return [], []
        first = tasks[0]
        if overdue:
            error = f"ended after {first.seconds:g} s, its limit (kill_after)"
            return [Outcome(number=first.number, text=None, stop="killed", error=error, seconds=spent)], tasks[1:]
        error = f"its process {_how(code)}"
        return [Outcome(number=first.number, text=None, stop="crash", error=error, seconds=spent)], tasks[1:]

    def _kill(self) -> int:
        process = self._process
        if process is None:
            return 0
        ended = process.poll() is not None
        if not ended:
            # A process that closed its pipe is about to end by itself: let it say how.
            try:
                code = process.wait(0.2) if self._closed() else None
            except subprocess.TimeoutExpired:
                code = None
            if code is None:
                process.kill()
        code = process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue
        self._process = None
        return code

    def _closed(self) -> bool:
        try:
            return os.read(self.output, 1) == b""
        except BlockingIOError:
            return False

    def ask(self) -> None:
        """Ask the process for the best answer so far to the task in work."""
        if self._process is not None and self._ready:
            with contextlib.suppress(OSError):
                self._process.send_signal(STOP)

    def stop(self) -> None:
        """End the process without looking at what it does."""
        self._waiting.clear()
        self._kill()


def _how(code: int) -> str:
    if code < 0:
        try:
            return f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"was ended by signal {-code}"
    return f"ended with exit code {code}"
