"""Attack the rows behind proofs of relaxations: python tests/benchmarks/proof_rows.py 100000 7.

Arguments: cases, seed. Case number i is made from seed and i alone. A row above what a mapping moves or
holds, or a refuted set that has a mapping, ends the script with the case: refuted by rows, or by looking at every tile.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from proof_attack import attack, look_at_every_tile


def main() -> None:
    """Run the cases and say how many rows there were."""
    cases, seed = (int(text) for text in sys.argv[1:3])
    found = [attack(random.Random(f"{seed} {number}")) for number in range(cases)]
    tried = [exact for exact in found if exact is not None]
    looked = [look_at_every_tile(random.Random(f"{seed} {number}")) for number in range(cases)]
    few = [nothing for nothing in looked if nothing is not None]
    sys.stdout.write(f"{len(few)} cases looked at tile by tile, {sum(few)} with nothing left at a word less\n")
    sys.stdout.write(f"{len(tried)} cases of {cases}, {sum(tried)} rows exact, none too high, nothing refuted\n")


if __name__ == "__main__":
    main()
