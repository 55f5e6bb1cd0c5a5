"""Best mapping of attention over its floor, point by point: python tests/benchmarks/attention_points.py [OPTIONS].

One head without softmax statistics, queries and keys being as many, semantics assign, loads and stores in words;
memory of 4,096 words times 1, 2, 4, ..., 128. Per point the methods whose floor is the largest, and the mapping; at
the end the geometric mean of all quotients. `--tokens 512,1024 --heads 64` asks for some.
"""

from __future__ import annotations

import argparse
import sys
from math import exp, log

from optmap.bounds import bounds
from optmap.search.chains.corner import LateCorner, best_late_corner
from optmap.search.chains.pair import pair_of, steps_of
from optmap.search.chains.runs import Run, best_run
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics, Workload

STATEMENTS = "S[m,l] = Q[m,k]*K[k,l]; O[m,n] = S[m,l]*V[l,n]"
HEAD = (
    f"{'tokens':>6}{'head':>5}{'words':>8}{'tokens held':>12}{'floor':>13}{'found':>13}{'over':>7}  floor by; mapping\n"
)


def attention(tokens: int, head: int) -> Workload:
    """One head."""
    extents = {"m": tokens, "l": tokens, "k": head, "n": head}
    return parse_workload(STATEMENTS, extents, semantics=Semantics.ASSIGN)


def row(tokens: int, head: int, memory: int) -> tuple[str, float]:
    """One line of the table, and the quotient in it."""
    workload = attention(tokens, head)
    steps = steps_of(workload)
    tried = best_run(workload, steps, memory), best_late_corner(pair_of(workload, *steps), memory)
    found = min((each for each in tried if each is not None), key=lambda each: each.words)
    floors = {bound.method: bound.total_words for bound in bounds(workload, memory)}
    floor = floors.pop("best")
    by = ", ".join(name for name, words in floors.items() if words == floor) or "groups"
    over = found.words / floor
    line = f"{tokens:>6}{head:>5}{memory:>8}{memory / (2 * head):>12.1f}{floor:>13,}{found.words:>13,}{over:>7.4f}"
    return f"{line}  {by}; {_mapping(found)}\n", over


def _mapping(found: Run | LateCorner) -> str:
    """The members of a mapping in short."""
    return str(found) if isinstance(found, LateCorner) else " | ".join(str(part.member) for part in found.parts)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", default="512,1024,2048,4096")
    parser.add_argument("--heads", default="64,128")
    parser.add_argument("--memories", default=",".join(str(4096 << step) for step in range(8)))
    asked = parser.parse_args()
    sys.stdout.write(HEAD)
    overs = []
    for tokens, head, memory in (
        (tokens, head, memory)
        for tokens in map(int, asked.tokens.split(","))
        for head in map(int, asked.heads.split(","))
        for memory in map(int, asked.memories.split(","))
    ):
        line, over = row(tokens, head, memory)
        overs.append(over)
        sys.stdout.write(line)
        sys.stdout.flush()
    mean = exp(sum(map(log, overs)) / len(overs))
    sys.stdout.write(f"{len(overs)} points: geometric mean {mean:.4f}, largest {max(overs):.4f}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
