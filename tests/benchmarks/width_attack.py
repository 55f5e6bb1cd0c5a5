"""Random accelerators, sizes of elements and mappings: product against checker against counting one by one.

    python tests/benchmarks/width_attack.py --cases 10000 --seed 0

A case is a machine with prices per bit, ports in bytes and packed entries here and there, a workload with elements of
4, 8, 16, 32 and other bits, and a mapping, which may break its rules. Energy, cycles and room of all memories must be
the same on all three roads, in the counting of a walk and in Timeloop's, and on the first two in FactorFlow's; many
mappings at once must cost what they cost one at a time.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from width_roads import attacked


def main() -> None:
    """Try so many cases; the first that differs ends it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    sys.stdout.write(f"{dict(attacked(asked.cases, asked.seed))}\n")


if __name__ == "__main__":
    main()
