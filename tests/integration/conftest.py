"""The real command line in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a command left behind."""

    code: int
    out: str
    err: str

    def document(self) -> dict[str, Any]:
        """stdout as one JSON document."""
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


LIMITED = 'ulimit -v 6000000 && exec "$@"'
"""Input that makes a command eat memory fails its own test, not the machine; in KiB."""

Command = Callable[..., Run]


@pytest.fixture(scope="session")
def optmap(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Run `optmap ARGS…` from an empty folder; no run may leave a traceback."""
    empty = tmp_path_factory.mktemp("elsewhere")
    root = Path(__file__).resolve().parents[2]

    def run(*args: str | Path, code: int | None = 0, cwd: Path = empty, path: Path = root) -> Run:
        done = subprocess.run(
            ["/bin/sh", "-c", LIMITED, "sh", sys.executable, "-m", "optmap", *map(str, args)],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1"},
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        if code is not None:
            assert done.returncode == code, (
                f"{args}: exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
            )
        return Run(code=done.returncode, out=done.stdout, err=done.stderr)

    return run
