"""Overhead, memory and scaling of a sweep of cheap points: `python tests/benchmarks/sweep_cheap.py [POINTS]`.

The points are bounds of a matrix multiplication, one per capacity. Overhead is the time of all
processes per point less the time that the points themselves report.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

from optmap.sweeps import run
from optmap.sweeps.reading import read_sweep
from optmap.sweeps.spec_io import spec_from


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
    tally = run.run_sweep(spec, folder, engine=run.make_engine("local", jobs=jobs))
    wall = time.monotonic() - begun
    solving = float(read_sweep(folder)["seconds"].sum())
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    worker = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    begun = time.monotonic()
    again = run.run_sweep(spec, folder, engine=run.make_engine("local", jobs=jobs))
    sys.stdout.write(
        f"{tally.answered} points, {jobs} processes: {wall:.1f} s, {tally.answered / wall:.0f} points/s, "
        f"{1e3 * solving / tally.answered:.2f} ms solving per point, "
        f"{1e3 * (wall * jobs - solving) / tally.answered:.2f} ms overhead per point, "
        f"{own:.0f} MB here, {worker:.0f} MB in a worker; "
        f"again: {again.reused} reused in {time.monotonic() - begun:.1f} s\n"
    )


def main() -> None:
    """One and two processes."""
    points = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    for jobs in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            measure(points, jobs, Path(folder))


if __name__ == "__main__":
    main()
