"""Attack the rows behind proofs of relaxations: python tests/benchmarks/proof_rows.py 100000 7.

Arguments: cases, seed. Case number i is made from seed and i alone. A row above what a mapping moves or
holds, or a refuted set that has a mapping, ends the script with the case.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from proof_attack import attack


def main() -> None:
    """Run the cases and say how many rows there were."""
    cases, seed = (int(text) for text in sys.argv[1:3])
    found = [attack(random.Random(f"{seed} {number}")) for number in range(cases)]
    tried = [exact for exact in found if exact is not None]
    sys.stdout.write(f"{len(tried)} cases of {cases}, {sum(tried)} rows exact, none too high, nothing refuted\n")


if __name__ == "__main__":
    main()
