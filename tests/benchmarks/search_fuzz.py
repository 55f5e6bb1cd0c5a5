"""Random workloads, machines and options against `solve`: `python tests/benchmarks/search_fuzz.py --help`.

Every outcome is an answer that the independent checker and the recount accept, or a typed error.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
import traceback
from collections import Counter

from optmap import api
from optmap.checker import RefusedError, check_document
from optmap.errors import OptmapError
from optmap.problem import Level, Machine
from optmap.problem.sizes import parse_capacity
from optmap.report.jsonio import to_json
from optmap.report.solution import solution_document
from optmap.search.methods import METHODS, OBJECTIVES

EXTENTS = (1, 1, 2, 3, 4, 5, 7, 8, 12, 13, 16, 31, 64, 97, 128, 1000, 4099)
SLACK_S = 1.0
"""Seconds beyond the limit, and a fifth of it, that no search may take."""


def workload(rng: random.Random) -> tuple[str, dict[str, int]]:
    """A statement over one to eight dims and its extents."""
    dims = "abcdefgh"[: rng.randint(1, 8)]

    def subscript() -> str:
        first = rng.choice(dims)
        if rng.random() < 0.25 and len(dims) > 1:
            second = rng.choice([d for d in dims if d != first])
            return f"{rng.choice(('', '2*', '3*'))}{first}+{second}"
        return first

    factors = [
        f"{name}[{','.join(subscript() for _ in range(rng.randint(1, 3)))}]" for name in "ABC"[: rng.randint(1, 3)]
    ]
    used = [d for d in dims if any(d in factor for factor in factors)]
    output = rng.sample(used, rng.randint(1, len(used)))
    sign = rng.choice(("+=", "+=", "="))
    extents = dict.fromkeys(used, 1) if rng.random() < 0.05 else {d: rng.choice(EXTENTS) for d in used}
    return f"O[{','.join(output)}] {sign} {'*'.join(factors)}", extents


def machine(rng: random.Random) -> Machine:
    """One to six levels, some shared, growing outwards."""
    words, levels, shared = rng.choice((4, 9, 32, 200)), [], False
    for number in range(rng.randint(1, 6)):
        before, shared = shared, shared or rng.random() < 0.2
        levels.append(
            Level(
                name=f"L{number}",
                capacity=parse_capacity(f"{words}w"),
                bandwidth=rng.choice((1, 2, 7, 16)),
                shared=shared,
                fanout=rng.choice((2, 6, 8)) if shared and not before else 1,
            )
        )
        words *= rng.choice((2, 5, 16))
    return Machine(name="fuzz", levels=tuple(levels), memory="M")


def trial(rng: random.Random) -> str:
    """One solve; what became of it, or `TRACEBACK`, `REFUSED`, `LATE`."""
    statement, extents = workload(rng)
    limit = rng.choice((0.01, 0.1, 1.0, 5.0))
    asked = {
        "extents": extents,
        "method": rng.choice(("mopt", "mopt", *METHODS)),
        "objective": rng.choice((None, None, *OBJECTIVES)),
        "tiles": rng.choice(("any", "divisors")),
        "capacity": rng.choice(("tile", "safe")),
        "cores": rng.choice((1, 1, 2, 3, 6)),
        "time_limit": limit,
    }
    begun, spent = time.monotonic(), time.process_time()
    try:
        target = machine(rng)
        result = api.solve(statement, machine=target, **asked)
        seconds = time.process_time() - spent
        check_document(json.loads(to_json(solution_document(result))))
    except OptmapError as error:
        return type(error).__name__
    except RefusedError as error:
        sys.stdout.write(f"REFUSED {statement} {asked}: {error}\n")
        return "REFUSED"
    except Exception:  # noqa: BLE001 - what the attack looks for
        sys.stdout.write(f"TRACEBACK {statement} {asked}\n{traceback.format_exc()}\n")
        return "TRACEBACK"
    if seconds > 1.2 * limit + SLACK_S:
        sys.stdout.write(f"LATE {seconds:.1f} s ({time.monotonic() - begun:.1f}) {statement} {asked} {target}\n")
        return "LATE"
    return result.stop.value


def main() -> int:
    """Run the trials and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    outcomes = Counter[str]()
    api.solve("C[i,j] += A[i,k]*B[k,j]", extents={"i": 9, "j": 9, "k": 9}, memory="20w")  # imports are not its time
    for number in range(chosen.trials):
        outcomes[trial(random.Random(f"{chosen.seed}/{number}"))] += 1
        sys.stdout.flush()
    sys.stdout.write(f"{dict(outcomes)}\n")
    return int(any(outcomes[name] for name in ("TRACEBACK", "REFUSED", "LATE")))


if __name__ == "__main__":
    sys.exit(main())
