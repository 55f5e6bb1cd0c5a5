"""A sweep on a real Dask scheduler with two real workers, one of which is killed on the way."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from distributed import Client, Future
from distributed.client import FutureCancelledError

import optmap
from optmap.sweeps import MOST_TRIES, DaskEngine, PointTask, Tally, run, spec_from
from optmap.sweeps.engines.cluster import _Batch

HERE = Path(__file__).resolve().parents[1]
ROOT = HERE.parent
SPEC = spec_from(
    {
        "workloads": ["C[i,j] += A[i,k]*B[k,j]"],
        "extents": {"i": 96, "j": 64, "k": 80},
        "capacities": {"from": "256w", "to": "16384w", "points": 40},
        "methods": ["bound", "mopt"],
    }
)
# Importing Dask's command line warns about pieces of its own.
pytestmark = pytest.mark.filterwarnings("ignore")


def _dask(*args: str, folder: Path) -> subprocess.Popen[bytes]:
    path = os.pathsep.join([str(ROOT), str(HERE / "unit")])
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *args],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@contextmanager
def _cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two workers on loopback, ended at the end whatever happens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    started = [
        _dask("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard", folder=folder),
    ]
    worker = ("worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
    started += [_dask(*worker, folder=folder) for _ in range(2)]
    try:
        with Client(address, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
        yield address, started[1:]
    finally:
        for process in reversed(started):
            process.kill()
        for process in started:
            process.wait()


def _without_times(folder: Path) -> Any:
    return optmap.read_sweep(folder).drop(columns=["seconds"])


@pytest.mark.longer
def test_a_worker_that_is_killed_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    run.run_sweep(SPEC, tmp_path / "here", engine=run.make_engine("local"))
    with _cluster(tmp_path) as (address, workers):
        killed: list[float] = []

        def kill_one(tally: Tally) -> None:
            if tally.answered >= 10 and not killed:
                workers[0].send_signal(signal.SIGKILL)
                killed.append(time.monotonic())

        engine = DaskEngine(address, "sweep_workers:answer_slowly")
        tally = run.run_sweep(SPEC, tmp_path / "there", engine=engine, progress=kill_one)
        assert killed
        assert workers[0].wait() == -signal.SIGKILL
        assert workers[1].poll() is None
    assert tally.answered == tally.points == 80
    assert tally.failed == 0
    pd.testing.assert_frame_equal(_without_times(tmp_path / "there"), _without_times(tmp_path / "here"))


@pytest.mark.longer
def test_a_batch_that_the_scheduler_drops_is_handed_out_again(tmp_path: Path) -> None:
    run.run_sweep(SPEC, tmp_path / "here", engine=run.make_engine("local"))
    with _cluster(tmp_path) as (address, _), Client(address, set_as_default=False) as other:
        dropped: list[int] = []

        def drop_all(tally: Tally) -> None:
            if tally.answered >= 10 and not dropped:
                keys = other.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))
                mine = [key for key in keys if key.startswith("optmap-")]
                other.cancel([Future(key, client=other) for key in mine], force=True)
                dropped.append(len(mine))

        engine = DaskEngine(address, "sweep_workers:answer_slowly")
        tally = run.run_sweep(SPEC, tmp_path / "there", engine=engine, progress=drop_all)
        assert dropped[0] > 0
    assert tally.answered == tally.points == 80
    assert tally.failed == 0
    pd.testing.assert_frame_equal(_without_times(tmp_path / "there"), _without_times(tmp_path / "here"))


@pytest.mark.longer
def test_a_race_over_a_cluster_is_the_one_in_process(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"machine": "gemmini", "methods": "random", "evaluations": 100, "extents": "i=16,j=8,k=16"}
    inside = optmap.race("C[i,j] += A[i,k]*B[k,j]", **asked)
    with _cluster(tmp_path) as (address, _):
        there = optmap.race(
            "C[i,j] += A[i,k]*B[k,j]", engine="dask", scheduler=address, directory=tmp_path / "race", **asked
        )
    found = [
        [(run.value, run.evaluations, run.valid, run.ended) for run in race.layers[0].runs.values()]
        for race in (inside, there)
    ]
    assert found[0] == found[1]
    assert there.side_by_side is None
    assert "workers of the cluster" in str(there)


class _Dropped:
    """A future that never comes to anything, or whose answer is gone when it is asked for."""

    def __init__(self, status: str, result: BaseException | None = None) -> None:
        self.status = status
        self._result = result

    def result(self, timeout: float) -> None:
        assert timeout > 0
        assert self._result is not None
        raise self._result


@pytest.mark.parametrize(
    "future",
    [
        _Dropped("cancelled"),
        _Dropped("lost"),
        _Dropped("finished", FutureCancelledError("key", "released")),
        _Dropped("finished", TimeoutError()),
    ],
    ids=["cancelled", "lost", "gone", "late"],
)
def test_only_a_client_without_connection_ends_a_sweep(future: _Dropped) -> None:
    engine = DaskEngine("tcp://127.0.0.1:9")
    batch = _Batch(tasks=(PointTask(number=1, text="a", seconds=1.0), PointTask(number=2, text="b", seconds=1.0)))
    again: deque[_Batch] = deque()
    connected: Any = SimpleNamespace(status="running")
    for tries in range(2, MOST_TRIES + 1):
        assert not list(engine._outcomes(connected, future, batch, again))
        batch = again.pop()
        assert (len(batch.tasks), batch.tries) == (2, tries)
    with pytest.raises(run.EngineError, match="dropped the same points 10 times"):
        list(engine._outcomes(connected, future, batch, again))
    lost: Any = SimpleNamespace(status="connecting")
    with pytest.raises(run.EngineError, match="run the same sweep again"):
        list(engine._outcomes(lost, future, batch, again))


@pytest.mark.longer
def test_a_lost_scheduler_is_a_clear_error_and_nothing_is_lost(tmp_path: Path) -> None:
    with _cluster(tmp_path) as (address, workers):
        answered: list[int] = []

        def end_all(tally: Tally) -> None:
            if tally.answered >= 10 and not answered:
                answered.append(tally.answered)
                Client(address, set_as_default=False).shutdown()
                for worker in workers:
                    worker.wait()

        engine = DaskEngine(address, "sweep_workers:answer_slowly")
        with pytest.raises(run.EngineError, match="run the same sweep again"):
            run.run_sweep(SPEC, tmp_path / "out", engine=engine, progress=end_all)
    assert len(optmap.read_sweep(tmp_path / "out")) >= answered[0]
    rest = run.run_sweep(SPEC, tmp_path / "out", engine=run.make_engine("local"))
    assert rest.reused >= answered[0]
    assert rest.done == rest.points == 80


def test_no_scheduler_is_a_clear_error(tmp_path: Path) -> None:
    engine = DaskEngine("tcp://127.0.0.1:9", connect_seconds=0.5)
    with pytest.raises(run.EngineError, match="start one with: dask scheduler"):
        run.run_sweep(SPEC, tmp_path, engine=engine)
