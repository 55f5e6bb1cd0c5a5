"""Where QuickFlow's search ends beside the proven optimum: layers x machines, EDP, mappings looked at, seconds.

usage: quickflow_table.py [--layers I,II] [--machines eyeriss,simba] [--exact SECONDS] [--set NAME=VALUE]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping

import optmap
from optmap.base.errors import LimitError
from optmap.search import Answer

LAYERS = (
    *("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII", "XIII", "XIV", "XV", "XVI", "XVII"),
    *("XVIII", "XIX", "XX"),
)


def answered(layer: str, machine: str, method: str, limit: float, settings: Mapping[str, object]) -> Answer:
    """The answer of a method over mappings with perfect factors."""
    found = optmap.solve(
        f"quickflow/{layer}",
        machine=machine,
        method=method,
        tiles="divisors",
        time_limit=limit,
        settings=settings,
    )
    assert isinstance(found, Answer)
    return found


def line(layer: str, machine: str, limit: float, settings: Mapping[str, object]) -> str:
    """One row of the table: EDP in J*cycles; the gap is to the optimum, or to the bound where it is not proved."""
    begun = time.monotonic()
    quick = answered(layer, machine, "quickflow", 600, settings)
    seconds = time.monotonic() - begun
    row = f"{layer:6} {machine:8} {quick.cost / 1e12:16.6g} {quick.found.evaluations:9,} {seconds:6.1f} s"
    if not limit:
        return row
    begun = time.monotonic()
    try:
        exact = answered(layer, machine, "exact", limit, {})
    except LimitError:
        return f"{row}   exact: no mapping within {limit:g} s"
    seconds = time.monotonic() - begun
    proved = exact.proved
    gap = float(quick.cost / exact.integer_bound) - 1
    found = f"{exact.cost / 1e12:16.6g} {seconds:6.1f} s {'proved' if proved else 'open  '}"
    return f"{row} {found} gap {gap:9.4%} {'to the optimum' if proved else 'to the bound'}"


def main() -> int:
    """Prints the table, a row as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", default=",".join(LAYERS), help="of the paper's Table I")
    parser.add_argument("--machines", default="eyeriss,simba,tpuv1", help="names of accelerators")
    parser.add_argument("--exact", type=float, default=60, help="seconds for the proven optimum; 0 to leave it out")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of quickflow")
    given = parser.parse_args()
    settings = dict(each.split("=", 1) for each in given.set)
    for machine in given.machines.split(","):
        for layer in given.layers.split(","):
            sys.stdout.write(line(layer, machine, given.exact, settings) + "\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
