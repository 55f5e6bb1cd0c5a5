"""Bound, best mapping and their quotient for library layers: python tests/benchmarks/frontier_table.py [NAME...].

One memory of 1, 4, 64 and 1,024 Ki words, loads counted. Names are prefixes of library workloads; by default the
layers of Table 1, the contractions and the convolutions of ResNet-50. With `--before FILE`, the output of an earlier
run, mappings are taken from it and its bounds are the column `before`. With `--resume FILE`, the output of a run that
was interrupted, its rows are printed again and only the others are made. stderr has what is under way.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from optmap import solve
from optmap.bounds.best import best
from optmap.files import library

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from printed_rows import rows_made

PREFIXES = ("yolo9000/", "resnet18/", "mobilenet/", "tccg/", "resnet50/")
MEMORIES = (1024, 4096, 65536, 2**20)
HEAD = f"{'layer':<28}{'words':>9}{'found':>14}{'before':>14}{'after':>14}{'was':>7}{'is':>7}{'ms':>7}\n"


def known(file: Path | None) -> dict[tuple[str, int], tuple[int, int]]:
    """(layer, words) -> found and bound of an earlier run."""
    lines = file.read_text(encoding="utf-8").splitlines() if file else []
    rows = (line.split() for line in lines)
    return {(row[0], int(row[1])): (int(row[2]), int(row[4])) for row in rows if len(row) == 8 and row[1].isdigit()}


def row(name: str, words: int, before: tuple[int, int] | None) -> str:
    """One line of the table."""
    workload = library.workload(name)
    start = time.perf_counter()
    bound = best(workload, words).loads_words
    spent = 1000 * (time.perf_counter() - start)
    found, was = before or (int(solve(workload, memory=f"{words}w", method="iooub", time_limit=3600).cost), bound)
    quotients = f"{found / was:>7.3f}{found / bound:>7.3f}"
    return f"{name:<28}{words:>9}{found:>14}{was:>14}{bound:>14}{quotients}{spent:>7.0f}\n"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("prefixes", nargs="*", default=PREFIXES)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--resume", type=Path)
    asked = parser.parse_args()
    before, made = known(asked.before), rows_made(asked.resume)
    names = [name for prefix in asked.prefixes for name in library.list_workloads() if name.startswith(prefix)]
    sys.stdout.write(HEAD)
    every = [(words, name) for words in MEMORIES for name in names]
    for number, (words, name) in enumerate(every, 1):
        sys.stderr.write(f"{number} of {len(every)}: {name} in {words} words\n")
        sys.stdout.write(made.get((name, str(words))) or row(name, words, before.get((name, words))))
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
