"""Kill a sweep at random moments, resume it, compare: `python tests/benchmarks/sweep_kill.py [ROUNDS [SEED [LAYERS]]]`.

Every round starts the sweep in a process of its own and ends that with SIGKILL after a random
time; when a run gets through, its rows are compared with those of an undisturbed run (times aside)
and the next one starts from nothing.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import optmap

SPEC = """
workloads: ["C[i,j] += A[i,k]*B[k,j]", "LAYERS"]
extents: {i: 96, j: 64, k: 80}
capacities: {from: 4KiB, to: 1MiB, points: 5}
methods: [bound, mopt]
"""


def start(spec: Path, folder: Path) -> subprocess.Popen[bytes]:
    """The sweep in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "optmap", "sweep", str(spec), "-o", str(folder)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        stdout=subprocess.DEVNULL,
    )


def main() -> None:
    """Rounds of killing, and what came of them."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    moments = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    layers = sys.argv[3] if len(sys.argv) > 3 else "yolo9000/*"
    kills = finished = 0
    with tempfile.TemporaryDirectory() as name:
        spec, straight, folder = Path(name, "spec.yaml"), Path(name, "straight"), Path(name, "killed")
        spec.write_text(SPEC.replace("LAYERS", layers), encoding="utf-8")
        if start(spec, straight).wait():
            raise SystemExit("the undisturbed run failed")
        expected = optmap.read_sweep(straight).drop(columns=["seconds"])
        while kills < rounds or finished == 0:
            process = start(spec, folder)
            try:
                code = process.wait(moments.uniform(1.0, 6.0) if kills < rounds else None)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                kills += 1
                continue
            if code:
                raise SystemExit(f"a resumed run ended with exit code {code}")
            if not optmap.read_sweep(folder).drop(columns=["seconds"]).equals(expected):
                raise SystemExit("the rows differ from those of the undisturbed run")
            finished += 1
            shutil.rmtree(folder)
        sys.stdout.write(f"{kills} kills, {finished} sweeps of {len(expected)} rows finished, all equal\n")


if __name__ == "__main__":
    main()
