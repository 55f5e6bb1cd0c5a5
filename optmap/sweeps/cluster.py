"""The engine for clusters: batches of points as tasks of a Dask scheduler that somebody else runs.

Scheduler and workers are Dask's own programs; a worker that is lost has its batches run again by
the scheduler. On every worker the points are answered in a process that can be ended alone, as on
one computer.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from optmap.errors import InputError
from optmap.sweeps.engine import ANSWER, EngineError, Outcome, Task
from optmap.sweeps.local import LocalEngine

if TYPE_CHECKING:
    from distributed import Client

BATCH_SECONDS = 0.5
"""Work per task of the scheduler, about: its own overhead is milliseconds."""
MOST_PER_BATCH = 64
BATCHES_PER_THREAD = 3
"""Batches that wait at the scheduler per thread of its workers."""
TICK_SECONDS = 0.5
CONNECT_SECONDS = 15.0
Packed = list[tuple[int, str, float]]
"""Tasks as plain values: number, text, seconds."""

_mine = threading.local()
"""Per thread of a Dask worker: the engine with its running process."""


def answer_batch(function: str, batch: Packed) -> list[tuple[int, str | None, str, str, float]]:
    """Answer a batch on a Dask worker, in a process of its own that stays for the next batch.

    Args:
        function: what answers a task, as `module:name`.
        batch: the tasks.

    Returns:
        Number, answer, stop, error and seconds per task.
    """
    engine = getattr(_mine, "engine", None)
    if engine is None or engine.function != function:
        engine = _mine.engine = LocalEngine(1, function, keep=True)
    tasks = [Task(number=number, text=text, seconds=seconds) for number, text, seconds in batch]
    found = [outcome for outcome in engine.run(tasks, lambda: False) if outcome is not None]
    return [(each.number, each.text, each.stop, each.error, each.seconds) for each in found]


class DaskEngine:
    """Workers of a Dask scheduler.

    Args:
        address: of the scheduler, such as `tcp://host:8786`.
        function: what answers a task, as `module:name`; the workers import it.
        connect_seconds: how long to wait for the scheduler.
    """

    def __init__(self, address: str, function: str = ANSWER, *, connect_seconds: float = CONNECT_SECONDS) -> None:
        try:
            import distributed  # noqa: F401 - only whether it is there
        except ImportError as error:
            raise InputError("engine dask needs distributed; install with: pip install 'optmap[dask]'") from error
        self._address = address
        self._function = function
        self._connect_seconds = connect_seconds
        self._seconds = BATCH_SECONDS
        """Running mean of the time per point of one thread."""

    def run(self, tasks: Iterable[Task], stopping: Callable[[], bool]) -> Generator[Outcome | None, None, None]:
        """Answer tasks on the cluster (see `Engine`)."""
        client = self._connect()
        source = iter(tasks)
        again: deque[list[Task]] = deque()
        out: dict[Any, tuple[list[Task], float]] = {}
        try:
            while not stopping():
                self._submit(client, source, again, out)
                if not out:
                    return
                for future in self._ready(client, out):
                    batch, begun = out.pop(future)
                    yield from self._outcomes(future, batch, again)
                    self._learn(len(batch), time.monotonic() - begun)
                yield None
        finally:
            with contextlib.suppress(Exception):  # the scheduler may be gone; the rows are safe
                client.cancel(list(out))
                client.close(timeout=5)

    def _connect(self) -> Client:
        from distributed import Client

        try:
            client = Client(self._address, timeout=self._connect_seconds, set_as_default=False)
        except (OSError, ValueError) as error:  # TimeoutError is an OSError
            raise EngineError(
                f"no Dask scheduler answers at {self._address}: {' '.join(str(error).split())[:200]}; "
                "start one with: dask scheduler"
            ) from error
        return client

    def _submit(
        self, client: Client, source: Iterator[Task], again: deque[list[Task]], out: dict[Any, tuple[list[Task], float]]
    ) -> None:
        """Keep a few batches per thread of the cluster at the scheduler."""
        try:
            threads = sum(client.nthreads().values())
        except (OSError, RuntimeError) as error:
            raise self._lost() from error
        size = max(1, min(MOST_PER_BATCH, round(BATCH_SECONDS / self._seconds)))
        while len(out) < BATCHES_PER_THREAD * max(1, threads):
            batch = again.popleft() if again else list(islice(source, size))
            if not batch:
                return
            packed = [(task.number, task.text, task.seconds) for task in batch]
            future = client.submit(
                answer_batch, self._function, packed, key=f"optmap-{batch[0].number}-{time.monotonic_ns()}", pure=False
            )
            out[future] = (batch, time.monotonic())

    def _ready(self, client: Client, out: dict[Any, tuple[list[Task], float]]) -> list[Any]:
        from distributed import wait

        with client.as_current(), contextlib.suppress(TimeoutError):
            wait(list(out), timeout=TICK_SECONDS, return_when="FIRST_COMPLETED")
        if client.status != "running":
            raise self._lost()
        return [future for future in out if future.status in ("finished", "error", "cancelled", "lost")]

    def _outcomes(self, future: Any, batch: list[Task], again: deque[list[Task]]) -> Iterator[Outcome]:
        """The outcomes of a batch; one whose workers died is tried point by point."""
        from distributed import KilledWorker

        if future.status == "finished":
            try:
                results = future.result(timeout=CONNECT_SECONDS)
            except (OSError, RuntimeError) as failed:
                raise self._lost() from failed
            for number, text, stop, error_text, seconds in results:
                yield Outcome(number=number, text=text, stop=stop, error=error_text, seconds=seconds)
            return
        if future.status in ("cancelled", "lost"):
            raise self._lost()
        error = future.exception(timeout=CONNECT_SECONDS)
        if not isinstance(error, KilledWorker):
            raise EngineError(f"the Dask workers cannot answer: {error}; is the same optmap installed there?")
        if len(batch) > 1:
            again.extend([task] for task in batch)
            return
        yield Outcome(number=batch[0].number, text=None, stop="crash", error="several Dask workers died with it")

    def _learn(self, points: int, seconds: float) -> None:
        """Update the mean time per point, an overestimate by the waiting time at the scheduler."""
        per_point = max(1e-4, seconds / points / BATCHES_PER_THREAD)
        self._seconds = 0.7 * self._seconds + 0.3 * per_point

    def _lost(self) -> EngineError:
        return EngineError(
            f"the connection to the Dask scheduler at {self._address} is lost; what was answered is stored: "
            "run the same sweep again, it continues where it stopped"
        )
