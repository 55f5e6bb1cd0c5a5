"""Overhead, memory and scaling of a sweep of cheap points: `python tests/benchmarks/sweep_cheap.py [POINTS]`.

The points are bounds of a matrix multiplication, one per capacity. Overhead is the time of all
processes per point less the time that the points themselves report.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from pathlib import Path

from optmap.sweeps import read_sweep, run, spec_from


class Memory:
    """Largest memory of this process and its children together, shared pages counted once."""

    def __init__(self) -> None:
        self.most = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.5):
            children = Path("/proc/self/task").glob("*/children")
            names = ["self", *(name for file in children for name in file.read_text().split())]
            self.most = max(self.most, sum(self._megabytes(name) for name in names))

    @staticmethod
    def _megabytes(process: str) -> float:
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            return 0.0
        return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def measure(points: int, jobs: int, folder: Path) -> None:
    """Sweep once and say what it took."""
    spec = spec_from(
        {
            "workloads": ["C[i,j] += A[i,k]*B[k,j]"],
            "extents": {"i": 960, "j": 640, "k": 800},
            "capacities": {"from": "16w", "to": f"{16 + 2 * points}w", "points": points, "scale": "linear"},
            "methods": ["bound"],
        }
    )
    begun = time.monotonic()
    with Memory() as memory:
        tally = run.run_sweep(spec, folder, engine=run.make_engine("local", jobs=jobs))
    wall = time.monotonic() - begun
    solving = float(read_sweep(folder)["seconds"].sum())
    begun = time.monotonic()
    again = run.run_sweep(spec, folder, engine=run.make_engine("local", jobs=jobs))
    sys.stdout.write(
        f"{tally.answered} points, {jobs} processes: {wall:.1f} s, {tally.answered / wall:.0f} points/s, "
        f"{1e3 * solving / tally.answered:.2f} ms solving per point, "
        f"{1e3 * (wall * jobs - solving) / tally.answered:.2f} ms overhead per point, "
        f"{memory.most:.0f} MB at most in all processes; "
        f"again: {again.reused} reused in {time.monotonic() - begun:.1f} s\n"
    )


def main() -> None:
    """One and two processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("points", type=int, nargs="?", default=10_000, help="bounds of matrix products")
    points: int = parser.parse_args().points
    for jobs in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            measure(points, jobs, Path(folder))


if __name__ == "__main__":
    main()
