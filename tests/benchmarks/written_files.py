"""Files of every method on every named workload: python tests/benchmarks/written_files.py [PART OF A NAME].

Each is written, checked and evaluated, with its keys in the order written and shuffled.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from importlib import import_module
from pathlib import Path

from optmap.base.errors import OptmapError
from optmap.files import library

sys.path.insert(0, str(Path(__file__).parent.parent))
solved = import_module("written_files").solved
CASES = (
    *({"method": "mopt", "memory": "8192w", "tiles": tiles} for tiles in ("any", "divisors")),
    {"method": "mopt", "machine": "balanced", "semantics": "assign"},
    *({"method": "iooub", "memory": memory} for memory in ("700w", "8192w", "1MiB")),
    {"method": "iooub", "memory": "4KiB", "tiles": "divisors", "semantics": "assign"},
    *({"method": "gemmini", "memory": memory} for memory in ("700w", "4KiB", "64KiB")),
    {"method": "gemmini", "machine": "gemmini-buffers", "tiles": "divisors"},
    {"method": "mopt-algorithm1", "machine": "balanced"},
    {"method": "mopt-artifact", "machine": "balanced"},
)


def main(part: str = "") -> int:
    seen = Counter[str]()
    names = (name for name in library.list_workloads() if part in name and library.workload(name).is_product)
    for name in names:
        for options in CASES:
            began = time.process_time()
            try:
                with tempfile.TemporaryDirectory() as folder:
                    outcome = solved(name, Path(folder), **options)
            except (AssertionError, OptmapError, ArithmeticError, LookupError, TypeError, ValueError) as error:
                outcome = f"WRONG {type(error).__name__}: {error}"[:300]
            seen[outcome.partition(" ")[0]] += 1
            sys.stdout.write(f"{name:24} {outcome:10} {time.process_time() - began:6.1f} s  {options}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{dict(seen)}\n")
    return 1 if seen["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
