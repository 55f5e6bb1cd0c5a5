"""Gap and seconds over the 32 layers of MOpt Table 1: `python tests/benchmarks/table1.py --help`."""

from __future__ import annotations

import argparse
import sys
from math import nan
from statistics import median

from optmap import api
from optmap.files import library

SETS = ("yolo9000", "resnet18", "mobilenet")


def layers() -> list[str]:
    """The 32 layers as printed: the variants R8a and M1d … M9d left out."""
    return [name for name in library.list_workloads() if name.split("/")[0] in SETS and name[-1].isdigit()]


def main() -> None:
    """Solve every layer on every machine and print a table per machine and kind of tiles."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", default="i7-9700k,i9-10980xe,balanced")
    parser.add_argument("--tiles", default="any,divisors")
    parser.add_argument("--methods", default="mopt")
    parser.add_argument("--layers", default="", help="names, separated by commas; all by default")
    chosen = parser.parse_args()
    names = chosen.layers.split(",") if chosen.layers else layers()
    for machine in chosen.machines.split(","):
        for method in chosen.methods.split(","):
            for tiles in chosen.tiles.split(","):
                table(names, machine, method, tiles)


def table(names: list[str], machine: str, method: str, tiles: str) -> None:
    """Print cost over relaxed bound, cost over integer bound, and seconds of every layer."""
    out = sys.stdout
    out.write(
        f"\n{machine}, {method}, tiles {tiles}\n{'layer':16}{'cycles':>14}{'/relaxed':>10}{'/bound':>10}{'s':>8}\n"
    )
    rows = []
    for name in names:
        try:
            result = api.solve(name, machine=machine, method=method, tiles=tiles)
        except api.InputError as error:
            out.write(f"{name:16}{str(error)[:60]}\n")
            continue
        gaps = (
            nan if result.integer_gap is None else 1 + result.integer_gap,
            result.cost / result.integer_bound,
            result.seconds,
        )
        rows.append(gaps)
        out.write(f"{name:16}{result.cost:14.1f}{gaps[0]:10.4f}{gaps[1]:10.4f}{gaps[2]:8.2f}\n")
        out.flush()
    for text, pick in (("median", median), ("worst", max)):
        if rows:
            columns = [pick(column) for column in zip(*rows, strict=True)]
            out.write(f"{text:16}{'':14}{columns[0]:10.4f}{columns[1]:10.4f}{columns[2]:8.2f}\n")


if __name__ == "__main__":
    main()
