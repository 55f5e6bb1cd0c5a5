"""The relaxation by the batched interior point and through Pyomo and Ipopt: `python tests/benchmarks/two_roads.py`."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace

from optmap.files import library
from optmap.files.inputs import machine_of
from optmap.machines.machine import CapacityRule, Machine
from optmap.search import RelaxationResult, Setting
from optmap.search.relax.tree import relax
from optmap.workloads.workload import Semantics

SETS = ("yolo9000", "resnet18", "mobilenet")
AGREED = 1e-5
"""Relative distance of the two values that is asked for."""


def layers() -> list[str]:
    """The 32 layers of MOpt Table 1 as printed: the variants R8a and M1d … M9d left out."""
    return [name for name in library.list_workloads() if name.split("/")[0] in SETS and name[-1].isdigit()]


def main() -> int:
    """Solve every layer on both roads and print a row each; 1 if two values differ, or a proof is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory", default="8192w", help="one memory; ignored with --machine")
    parser.add_argument("--machine", default=None)
    parser.add_argument("--layers", default="", help="names, separated by commas; the 32 of Table 1 by default")
    parser.add_argument("--semantics", default="accumulate,assign")
    parser.add_argument("--capacity", default="tile,safe")
    chosen = parser.parse_args()
    machine = machine_of(chosen.machine, None if chosen.machine else chosen.memory)
    names = chosen.layers.split(",") if chosen.layers else layers()
    header = (
        f"{'layer':14}{'semantics':12}{'rule':6}{'programs':>9}{'batch':>16}{'ipopt':>16}{'differ':>10}{'bounds':>10}"
    )
    sys.stdout.write(f"{machine.name}\n{header}{'proved':>8}{'s':>7}{'s':>8}\n")
    failures, worst, count = 0, 0.0, 0
    for name in names:
        for semantics in chosen.semantics.split(","):
            for rule in chosen.capacity.split(","):
                apart, proved = row(name, machine, Semantics(semantics), CapacityRule(rule))
                failures += apart > AGREED or not proved
                worst, count = max(worst, apart), count + 1
    sys.stdout.write(
        f"{count} relaxations, largest difference {worst:.1e}, {failures} beyond {AGREED:.0e} or unproved\n"
    )
    return 1 if failures else 0


def row(name: str, machine: Machine, semantics: Semantics, rule: CapacityRule) -> tuple[float, bool]:
    """Both roads for one layer: the larger difference of values and bounds, and whether both are proved."""
    workload = replace(library.workload(name), semantics=semantics)
    base = Setting(workload=workload, machine=machine, rule=rule)
    ours, seconds = timed(base)
    theirs, more = timed(replace(base, solver="ipopt"))
    value = abs(theirs.best.value / ours.best.value - 1)
    bound = abs(theirs.bound / ours.bound - 1)
    proved = ours.proved and theirs.proved
    sys.stdout.write(
        f"{name:14}{semantics.value:12}{rule.value:6}{theirs.programs:9}{ours.best.value:16.1f}{theirs.best.value:16.1f}"
        f"{value:10.1e}{bound:10.1e}{'both' if proved else 'not':>8}{seconds:7.2f}{more:8.2f}\n"
    )
    sys.stdout.flush()
    return max(value, bound), proved


def timed(setting: Setting) -> tuple[RelaxationResult, float]:
    """The relaxation and its seconds of processor time."""
    begun = time.process_time()
    return relax(setting), time.process_time() - begun


if __name__ == "__main__":
    sys.exit(main())
