"""Closed forms against the LP and against schedules: `python tests/benchmarks/regimes_attack.py [--points N] ...`.

Per workload: seconds to derive it, its regimes and tiles; that its cones cover everything and share borders only,
proved on their facets; at random whole logarithms the operations of the largest tile, the tile itself and the regimes
that claim the point, exactly, against the LP by all vertices of its dual. Then nests of 7 dims at random, timed and
attacked alike. Then bounds: small nests of every kind, many schedules each, none of which may load less than any
regime says, inside its region or outside. Any violation ends it with an error.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from math import ceil, prod
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from optmap.answers.closed_forms.regime_lookup import sizes_of
from optmap.answers.closed_forms.regimes import Regimes, regimes_of
from optmap.base.errors import InputError
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics, Workload
from tests.bounds_oracles import found_loads, least_memory, template_workload
from tests.regimes_oracle import LIFTED, PROJECTIVE, Rows, agree, dims_of, proved_cover, random_points, supports


def say(line: str) -> None:
    """A line of the report."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Run the attack."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=10_000, help="per workload")
    parser.add_argument("--nests", type=int, default=20, help="random nests of 7 dims")
    parser.add_argument("--schedules", type=int, default=300, help="small nests whose schedules are searched")
    parser.add_argument("--only", help="workloads by name, with commas")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rng = random.Random(asked.seed)
    names = asked.only.split(",") if asked.only else [*PROJECTIVE, *LIFTED]
    say(f"{'workload':>18} {'seconds':>8} {'regimes':>8} {'tiles':>6} {'points':>8} {'inside':>8} {'on borders':>10}")
    for name in names:
        text, rows = supports(name)
        against_the_lp(name, text, rows, asked.points, rng)
    for number, (text, rows) in enumerate(random_nests(rng, asked.nests)):
        against_the_lp(f"7 dims, no. {number + 1}", text, rows, max(1, asked.points // 10), rng)
    tried, tightest = against_schedules(asked.schedules, rng)
    say(f"bounds: {tried:,} of regimes against the best schedule found of {asked.schedules:,} nests, 0 violations;")
    say(f"at best a bound was {100 * tightest:.1f} % of what a schedule loads")


def against_the_lp(name: str, text: str, rows: Rows, count: int, rng: random.Random) -> None:
    """Derive a closed form, hold it against the LP, and print a line."""
    workload = parse_workload(text, dict.fromkeys(dims_of(text), 4))
    start = time.perf_counter()
    answer = regimes_of(workload)
    seconds = time.perf_counter() - start
    found = agree(answer, rows, random_points(rng, len(answer.names), count))
    tiles = proved_cover(answer)
    numbers = f"{seconds:>8.2f} {len(answer.regimes):>8} {tiles:>6} {count:>8,} {found.inside:>8,} {found.shared:>10,}"
    say(f"{name:>18} {numbers}")


def random_nests(rng: random.Random, count: int) -> Iterator[tuple[str, Rows]]:
    """Statements of 7 dims with 3 to 6 tensors, every dim in one of them."""
    dims = "abcdefg"
    while count:
        share = rng.choice([0.3, 0.5, 0.7])
        rows = [tuple(d for d in dims if rng.random() < share) for _ in range(rng.randint(3, 6))]
        if all(rows) and {d for row in rows for d in row} == set(dims):
            tensors = [f"T{i}[{','.join(row)}]" for i, row in enumerate(rows)]
            yield f"{tensors[0]} += {' * '.join(tensors[1:])}", tuple(rows)
            count -= 1


def against_schedules(count: int, rng: random.Random) -> tuple[int, float]:
    """Bounds tried and the largest share of a schedule's loads that one reached."""
    tried, tightest, done = 0, 0.0, 0
    while done < count:
        workload = template_workload(rng, longest=6, most=120)
        try:
            answer = regimes_of(workload)
        except InputError:
            continue
        done += 1
        memory = least_memory(workload) + rng.choice([0, 1, 3, 8, 20])
        loads = found_loads(workload, memory, rng, 12, 40)
        for bound in bounds_of(answer, workload, memory):
            if ceil(bound - 1e-9) > loads:
                raise SystemExit(f"{workload.expression} {workload.extents} M={memory}: {bound} > {loads}")
            tried += 1
            tightest = max(tightest, bound / loads)
    return tried, tightest


def bounds_of(answer: Regimes, workload: Workload, memory: int) -> Iterator[float]:
    """What every regime says at a capacity."""
    values = dict(zip(answer.names, sizes_of(answer, memory), strict=True)) | workload.extents
    created = workload.weight(workload.output) * workload.output.footprint(workload.extents)
    for regime in answer.regimes:
        powers = answer.loads(regime)
        if regime.proof is not None and powers is not None:
            formula = regime.proof.factor_value * prod(values[name] ** float(q) for name, q in powers.items())
            yield formula - (created if workload.semantics is Semantics.ASSIGN else 0)


if __name__ == "__main__":
    main()
