"""Points that refinement saves: `python tests/benchmarks/sweep_refine.py --help`.

The error of a set of capacities is the largest distance, over a fine grid, between the gap and the
line through the points (both axes logarithmic). The uniform grid is the smallest of 2^k+1 points
that stays below the error of the refined one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from optmap.sweeps import read_sweep, run, spec_from

RANGE = {"from": "16384B", "to": "4194304B"}


def rows(workload: str, folder: Path, **changes: object) -> pd.DataFrame:
    """The mapping rows of one sweep of one workload."""
    document = {"workloads": [workload], "capacities": {**RANGE, "points": 5}, "methods": ["mopt"], **changes}
    run.run_sweep(spec_from(document), folder, engine=run.make_engine("local"))
    return read_sweep(folder)


def error(points: pd.DataFrame, fine: pd.DataFrame) -> float:
    """Largest distance of the gap from the line through the points."""
    at, known = np.log(fine["capacity_words"].astype(float)), np.log(points["capacity_words"].astype(float))
    lines = [np.interp(at, known, np.log(points[name].astype(float))) for name in ("traffic_words", "bound_words")]
    return float(np.abs(np.exp(lines[0] - lines[1]) - 1 - fine["gap"]).max())


def compare(workload: str, fine_points: int, tolerances: list[float]) -> None:
    """One line for one workload."""
    with tempfile.TemporaryDirectory() as name:
        fine = rows(workload, Path(name, "fine"), capacities={**RANGE, "points": fine_points})
        for tolerance in tolerances:
            refined = rows(workload, Path(name, f"t{tolerance}"), refine={"metric": "gap", "tolerance": tolerance})
            reached = error(refined, fine)
            size = 2
            while size < fine_points - 1 and error(fine.iloc[:: (fine_points - 1) // size], fine) > reached:
                size *= 2
            sys.stdout.write(
                f"{workload} to {100 * tolerance:g} %: refined {len(refined)} points, largest error "
                f"{100 * reached:.2f} %; a uniform grid needs {size + 1} points for that\n"
            )


def main() -> None:
    """The workloads named, or three layers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workloads", nargs="*", default=["yolo9000/Y4", "yolo9000/Y12", "yolo9000/Y23"])
    parser.add_argument("--fine", type=int, default=257, help="points of the fine grid, a power of two and one")
    parser.add_argument("--tolerances", type=float, nargs="*", default=[0.05, 0.02], help="largest errors aimed at")
    chosen = parser.parse_args()
    for workload in chosen.workloads:
        compare(workload, chosen.fine, chosen.tolerances)


if __name__ == "__main__":
    main()
