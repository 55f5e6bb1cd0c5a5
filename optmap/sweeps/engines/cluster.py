"""The engine for clusters: batches of points as tasks of a Dask scheduler that somebody else runs.

Scheduler and workers are Dask's own programs. A worker that is lost has its batches run again by the
scheduler; a batch that the scheduler drops with it is handed out again from here, as long as the
connection stands. On every worker the points are answered in a process that can be ended alone, as on
one computer.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from optmap.base.errors import InputError
from optmap.base.extras import install
from optmap.sweeps.engines.engine import ANSWER, EngineError, Outcome, PointTask
from optmap.sweeps.engines.local import LocalEngine

if TYPE_CHECKING:
    from distributed import Client

BATCH_SECONDS = 0.5
"""Work per task of the scheduler, about: its own overhead is milliseconds."""
MOST_PER_BATCH = 64
BATCHES_PER_THREAD = 3
"""Batches that wait at the scheduler per thread of its workers."""
MOST_TRIES = 10
"""How often a batch without an answer is handed out before the cluster counts as broken."""
TICK_SECONDS = 0.5
CONNECT_SECONDS = 15.0
Packed = list[tuple[int, str, float]]
"""Tasks as plain values: number, text, seconds."""

_mine = threading.local()
"""Per thread of a Dask worker: the engine with its running process."""


def answer_batch(function: str, batch: Packed) -> list[tuple[int, str | None, str, str, float]]:
    """Answer a batch on a Dask worker, in a process of its own that stays for the next batch.

    Args:
        function: what answers a task, as `function_of` takes it.
        batch: the tasks.

    Returns:
        Number, answer, stop, error and seconds per task.
    """
    engine = getattr(_mine, "engine", None)
    if engine is None or engine.function != function:
        engine = _mine.engine = LocalEngine(1, function, keep=True)
    tasks = [PointTask(number=number, text=text, seconds=seconds) for number, text, seconds in batch]
    found = [outcome for outcome in engine.run(tasks, lambda: False) if outcome is not None]
    return [(each.number, each.text, each.stop, each.error, each.seconds) for each in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """Tasks that go to the scheduler as one."""

    tasks: tuple[PointTask, ...]
    tries: int = 1
    """How often it has been handed out, this time included."""
    begun: float = 0.0
    """`time.monotonic()` when it was."""


class DaskEngine:
    """Workers of a Dask scheduler.

    Args:
        address: of the scheduler, such as `tcp://host:8786`.
        function: what answers a task, as `function_of` takes it; the workers import it.
        connect_seconds: how long to wait for the scheduler.
    """

    def __init__(self, address: str, function: str = ANSWER, *, connect_seconds: float = CONNECT_SECONDS) -> None:
        try:
            import distributed  # noqa: F401 - only whether it is there
        except ImportError as error:
            raise InputError(f"engine dask needs distributed; run: {install('distributed')}") from error
        self._address = address
        self._function = function
        self._connect_seconds = connect_seconds
        self._seconds = BATCH_SECONDS
        """Running mean of the time per point of one thread."""

    def run(self, tasks: Iterable[PointTask], stopping: Callable[[], bool]) -> Generator[Outcome | None, None, None]:
        """Answer tasks on the cluster (see `Engine`)."""
        client = self._connect()
        source = iter(tasks)
        again: deque[_Batch] = deque()
        out: dict[Any, _Batch] = {}
        try:
            while not stopping():
                self._submit(client, source, again, out)
                if not out:
                    return
                for future in self._ready(client, out):
                    batch = out.pop(future)
                    yield from self._outcomes(client, future, batch, again)
                    self._learn(len(batch.tasks), time.monotonic() - batch.begun)
                yield None
        finally:
            with contextlib.suppress(Exception):  # the scheduler may be gone; the rows are safe
                client.cancel(list(out))
                client.close(timeout=5)

    def session(self) -> contextlib.AbstractContextManager[None]:
        """The cluster's processes are its own (see `Engine`)."""
        return contextlib.nullcontext()

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
        self, client: Client, source: Iterator[PointTask], again: deque[_Batch], out: dict[Any, _Batch]
    ) -> None:
        """Keep a few batches per thread of the cluster at the scheduler."""
        try:
            threads = sum(client.nthreads().values())
        except (OSError, RuntimeError) as error:
            raise self._lost() from error
        size = max(1, min(MOST_PER_BATCH, round(BATCH_SECONDS / self._seconds)))
        while len(out) < BATCHES_PER_THREAD * max(1, threads):
            batch = again.popleft() if again else _Batch(tasks=tuple(islice(source, size)))
            if not batch.tasks:
                return
            packed = [(task.number, task.text, task.seconds) for task in batch.tasks]
            key = f"optmap-{batch.tasks[0].number}-{time.monotonic_ns()}"
            future = client.submit(answer_batch, self._function, packed, key=key, pure=False)
            out[future] = replace(batch, begun=time.monotonic())

    def _ready(self, client: Client, out: dict[Any, _Batch]) -> list[Any]:
        from distributed import wait

        with client.as_current(), contextlib.suppress(TimeoutError, CancelledError):
            wait(list(out), timeout=TICK_SECONDS, return_when="FIRST_COMPLETED")
        if client.status != "running":
            raise self._lost()
        return [future for future in out if future.status in ("finished", "error", "cancelled", "lost")]

    def _outcomes(self, client: Client, future: Any, batch: _Batch, again: deque[_Batch]) -> Iterator[Outcome]:
        """The outcomes of a batch; one whose workers died is tried point by point."""
        from distributed import KilledWorker

        results = self._results(future)
        if results is not None:
            for number, text, stop, error_text, seconds in results:
                yield Outcome(number=number, text=text, stop=stop, error=error_text, seconds=seconds)
        elif future.status == "error":
            error = future.exception(timeout=CONNECT_SECONDS)
            if not isinstance(error, KilledWorker):
                raise EngineError(f"the Dask workers cannot answer: {error}; is the same optmap installed there?")
            if len(batch.tasks) > 1:
                again.extend(_Batch(tasks=(task,)) for task in batch.tasks)
            else:
                number = batch.tasks[0].number
                yield Outcome(number=number, text=None, stop="crash", error="several Dask workers died with it")
        elif client.status != "running":
            raise self._lost()
        elif batch.tries >= MOST_TRIES:
            raise EngineError(
                f"the Dask scheduler at {self._address} dropped the same points {MOST_TRIES} times; what was answered "
                "is stored: look at its workers, then run the same sweep again"
            )
        else:
            again.append(replace(batch, tries=batch.tries + 1))

    def _results(self, future: Any) -> list[tuple[int, str | None, str, str, float]] | None:
        """What a batch was answered; None if the scheduler dropped it, or the answer died with its worker."""
        if future.status != "finished":
            return None
        try:
            made: list[tuple[int, str | None, str, str, float]] = future.result(timeout=CONNECT_SECONDS)
        except (CancelledError, Exception):  # noqa: BLE001 - its state says what became of it
            return None
        return made

    def _learn(self, points: int, seconds: float) -> None:
        """Update the mean time per point, an overestimate by the waiting time at the scheduler."""
        per_point = max(1e-4, seconds / points / BATCHES_PER_THREAD)
        self._seconds = 0.7 * self._seconds + 0.3 * per_point

    def _lost(self) -> EngineError:
        return EngineError(
            f"the connection to the Dask scheduler at {self._address} is lost; what was answered is stored: "
            "run the same sweep again, it continues where it stopped"
        )
