"""The command line, in this process (`optmap`) or in one of its own (`optmap_process`)."""

from __future__ import annotations

import contextlib
import ctypes
import json
import logging
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rich.style  # noqa: F401 - draws a random number as it loads, whichever command loads it
from schemas import hold

from optmap.cli import main

ROOT = Path(__file__).resolve().parents[2]
for variable, value in {"KMP_DUPLICATE_LIB_OK": "True", "KMP_INIT_AT_FORK": "FALSE"}.items():
    os.environ.setdefault(variable, value)  # scikit-learn does so as it loads, whichever command loads it
MEMORY_KIB = 6_000_000
"""Input that makes a command eat memory fails its own test, not the machine; in KiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a command left behind."""

    code: int
    out: str
    err: str

    def document(self) -> dict[str, Any]:
        """stdout as one JSON document, which is as its schema says."""
        value = json.loads(self.out)
        assert isinstance(value, dict)
        hold(value)
        return value


Command = Callable[..., Run]


def _checked(run: Run, args: tuple[str | Path, ...], code: int | None) -> Run:
    assert "Traceback" not in run.err, run.err
    if code is not None:
        assert run.code == code, f"{args}: exit {run.code}\n{run.out[-2000:]}\n{run.err[-2000:]}"
    return run


@pytest.fixture(scope="session")
def optmap_process(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Run `python -m optmap ARGS…` from an empty folder: for tests of the process itself."""
    empty = tmp_path_factory.mktemp("elsewhere")
    limited = f'ulimit -v {MEMORY_KIB} && exec "$@"'

    def run(*args: str | Path, code: int | None = 0, cwd: Path = empty, path: Path = ROOT) -> Run:
        done = subprocess.run(
            ["/bin/sh", "-c", limited, "sh", sys.executable, "-m", "optmap", *map(str, args)],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(path)},
            check=False,
        )
        return _checked(Run(code=done.returncode, out=done.stdout, err=done.stderr), args, code)

    return run


@pytest.fixture(scope="session")
def optmap(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Run the command line with ARGS in this process, from an empty folder.

    What a process of its own would hide is an error here: an exception that is not turned into
    an exit code, a warning, and anything of the process that a command leaves changed.
    """
    empty = tmp_path_factory.mktemp("elsewhere")

    def run(*args: str | Path, code: int | None = 0, cwd: Path = empty) -> Run:
        with _written() as texts, _memory_limited(), _left_as_found(cwd):
            found = main([str(arg) for arg in args])
        return _checked(Run(code=found, out=texts[0], err=texts[1]), args, code)

    return run


@contextlib.contextmanager
def _written() -> Iterator[list[str]]:
    """At the end, all of stdout and stderr: of Python, of compiled solvers and of child processes."""
    texts: list[str] = []
    kept = sys.stdout, sys.stderr
    with contextlib.ExitStack() as after:
        files = [after.enter_context(tempfile.TemporaryFile()) for _ in kept]
        for stream, descriptor, file in zip(kept, (1, 2), files, strict=True):
            stream.flush()
            copy = os.dup(descriptor)
            after.callback(os.close, copy)
            after.callback(os.dup2, copy, descriptor)
            os.dup2(file.fileno(), descriptor)
        sys.stdout, sys.stderr = (open(d, "w", encoding="utf-8", closefd=False) for d in (1, 2))  # noqa: SIM115
        try:
            yield texts
        finally:
            sys.stdout.close()
            sys.stderr.close()
            sys.stdout, sys.stderr = kept
            ctypes.CDLL(None).fflush(None)
            for file in files:
                file.seek(0)
                texts.append(file.read().decode("utf-8"))


@contextlib.contextmanager
def _memory_limited() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_KIB * 1024, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextlib.contextmanager
def _left_as_found(cwd: Path) -> Iterator[None]:
    """Work in `cwd`; the command must leave the process as it was."""
    home = Path.cwd()
    os.chdir(cwd)
    try:
        modules, before = len(sys.modules), _process_state()
        yield
        after = _process_state()
        if len(sys.modules) != modules:  # libraries add filters of their own as they load
            del before["warning filters"], after["warning filters"]
        assert after == before
    finally:
        os.chdir(home)


def _process_state() -> dict[str, object]:
    loggers = {name: logging.getLogger(name) for name in ("", "optmap")}
    return {
        "folder": os.getcwd(),  # noqa: PTH109
        "environment": dict(os.environ),
        "arguments": list(sys.argv),
        "warning filters": [str(entry) for entry in warnings.filters],
        "loggers": {name: (log.level, list(log.handlers), log.disabled) for name, log in loggers.items()},
        "interrupt": signal.getsignal(signal.SIGINT),
        "recursion": sys.getrecursionlimit(),
        "streams": (sys.stdout, sys.stderr),
        "random": random.getstate(),
        "numpy random": _numbers_drawn(),
        "numpy errors": np.geterr(),
    }


def _numbers_drawn() -> tuple[object, ...]:
    """NumPy's own generator; as bytes, for printing its array took longer than most commands."""
    kind, state, *rest = np.random.get_state()
    return kind, state.tobytes(), *rest
