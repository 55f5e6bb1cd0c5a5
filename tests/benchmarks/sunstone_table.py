"""Sunstone's Table VI: how the order of its choices changes the space it looks at and the EDP it ends with.

usage: sunstone_table.py [--layers resnet18/R1,...] [--machine eyeriss_like] [--set NAME=VALUE] [--exact SECONDS]

Per direction and order within a memory: mappings looked at, EDP summed over the layers (pJ*cycles), seconds, and what
each rule left out. With --exact every layer's EDP beside the optimum, or the bound where it is not proved in time.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence

import optmap
from optmap.search import Answer

KINDS = (
    ("bottom-up", "unrolling-tiling-ordering"),
    ("bottom-up", "tiling-unrolling-ordering"),
    ("bottom-up", "ordering-tiling-unrolling"),
    ("top-down", "unrolling-tiling-ordering"),
)
"""Direction and order within a memory: the rows of the table."""


def answered(layer: str, machine: str, method: str, limit: float, settings: Mapping[str, object]) -> Answer:
    """The answer of a method over mappings with perfect factors."""
    found = optmap.solve(
        layer,
        machine=machine,
        method=method,
        semantics="assign",
        tiles="divisors",
        time_limit=limit,
        settings=settings,
    )
    assert isinstance(found, Answer)
    return found


def row(layers: Sequence[str], machine: str, settings: Mapping[str, object]) -> str:
    """One row of the table and, below it, what the rules left out."""
    begun = time.process_time()
    found = [answered(layer, machine, "sunstone", 600, settings) for layer in layers]
    seconds = time.process_time() - begun
    cuts: dict[str, tuple[int, int]] = {}
    for answer in found:
        for cut in answer.found.trace.cuts if answer.found.trace is not None else ():
            seen, left_out = cuts.get(cut.rule, (0, 0))
            cuts[cut.rule] = (seen + cut.seen, left_out + cut.cut)
    looked = sum(answer.found.evaluations for answer in found)
    edp = float(sum(answer.cost for answer in found))
    lines = [f"{settings['direction']:10} {settings['within']:27} {looked:10,} {edp:12.5g} {seconds:7.1f} s"]
    lines += [f"    {rule:34} {left_out:12,} of {seen:12,}" for rule, (seen, left_out) in cuts.items()]
    return "\n".join(lines)


def beside(layer: str, machine: str, limit: float, settings: Mapping[str, object]) -> str:
    """A layer's EDP beside the proven optimum."""
    found, best = answered(layer, machine, "sunstone", 600, settings), answered(layer, machine, "exact", limit, {})
    gap = float(found.cost / best.integer_bound) - 1
    meant = "to the optimum" if best.proved else "to the bound"
    return f"{layer:28} {float(found.cost):12.5g} {found.found.evaluations:9,} gap {gap:8.2%} {meant}"


def show(text: str) -> None:
    """Prints at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    """Prints the table, a row as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", default=",".join(f"resnet18/R{number}" for number in range(1, 13)))
    parser.add_argument("--machine", default="eyeriss_like")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="chosen")
    parser.add_argument("--exact", type=float, default=0, metavar="SECONDS")
    asked = parser.parse_args()
    layers = asked.layers.split(",")
    chosen: dict[str, object] = dict(text.split("=", 1) for text in asked.chosen)
    for direction, within in KINDS:
        show(row(layers, asked.machine, {**chosen, "direction": direction, "within": within}))
    for layer in layers if asked.exact else ():
        show(beside(layer, asked.machine, asked.exact, chosen))
    return 0


if __name__ == "__main__":
    sys.exit(main())
