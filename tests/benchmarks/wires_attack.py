"""Prices of wires on random accelerators, against an oracle that walks child by child.

    python tests/benchmarks/wires_attack.py --cases 10000 --seed 0

A case is a machine with one to three meshed levels (rows, columns, blocks; with places left over), prices of hops and
routers, who is held where, elements of one or of several sizes, with multicast and reduction or without, and a valid
mapping on it. Words and energies of wires must be the oracle's in both countings (`tests/wires_oracle.py`, which knows
nothing of the library): counted one by one, in a batch, and by the checker, which accepts the answer's document and
refuses one in which wires cost something else. Prints what was compared, kind by kind; ends with 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from math import isclose
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from wires_attack_cases import attacked
from wires_oracle import recorded_energies

RECORDS = Path(__file__).resolve().parents[1] / "data" / "wires_conformance.json"
"""Of timeloop-model, with wires; the oracle is held against these first."""


def main() -> int:
    """Try so many cases and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    found, wrong, begun = Counter[str](), 0, time.process_time()
    for record in json.loads(RECORDS.read_text(encoding="utf-8")):
        for place, expected, own in recorded_energies(record):
            found["Timeloop's energies of a mesh and tensor"] += 1
            if not isclose(own, expected, rel_tol=1e-9):
                wrong += 1
                sys.stdout.write(f"WRONG {place}: Timeloop {expected}, the oracle {own}\n")
    for seen, differs in attacked(asked.cases, asked.seed):
        found.update(seen)
        wrong += bool(differs)
        if differs:
            sys.stdout.write(f"WRONG {differs}\n")
        if differs or found["cases"] % 500 == 0:
            seconds = time.process_time() - begun
            sys.stdout.write(f"{found['cases']} cases, {wrong} wrong, {seconds:.0f} CPU seconds\n")
            sys.stdout.flush()
    seconds = time.process_time() - begun
    sys.stdout.write("".join(f"{number:8} {kind}\n" for kind, number in sorted(found.items())))
    sys.stdout.write(f"{found['cases']} cases, {wrong} wrong, seed {asked.seed}, {seconds:.0f} CPU seconds\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
