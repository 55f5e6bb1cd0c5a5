"""Constraints on random tiny accelerators against every mapping: `python tests/benchmarks/constraints_attack.py`.

The exact search by itself, in both countings and for every merit, and then methods as `solve` asks them: whatever is
found meets the constraints, costs no less than the best that does, and no proved bound is above it; where no mapping
meets them the error names one.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from math import isclose
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from constrained_brute_force import Problem, best_that_meet, constrained_problem, rows_that_meet
from spatial_strategies import WALKED

import optmap
from optmap.base.clock import NO_LIMIT
from optmap.base.errors import InfeasibleError, LimitError
from optmap.mappings.nest_batch import batch_of
from optmap.questions.options import Merit
from optmap.search import METHODS
from optmap.search.exact import search_nest

SEARCHES = ("random", "quickflow", "sunstone", "bayesian")
"""Methods that may meet no mapping although there is one."""


HOUR = 3600.0
"""Seconds: no answer depends on how busy the computer is."""


def attack(problem: Problem, seed: int) -> str:
    """What became of the exact search, held against all mappings, in words; they start with `!` if it was wrong."""
    draw = random.Random(seed)
    merit, counting = draw.choice(list(Merit)), draw.choice(WALKED)
    best = best_that_meet(problem.fabric, problem.texts, counting, merit)
    if problem.bound is None:
        return "refused" if best is None else "! a mapping meets what is refused"
    found = search_nest(problem.bound, merit=merit, counting=counting, clock=NO_LIMIT)
    if best is None or found.nest is None:
        return "no mapping" if best is None and found.nest is None else f"! {found.value}, but {best} is the best"
    if not found.proved or not isclose(found.value, best, rel_tol=1e-9):
        return f"! {found.value}, but {best} is the best"
    free = best_that_meet(problem.fabric, [], counting, merit)
    return "best, as without constraints" if free == best else "best, dearer than without"


def asked(problem: Problem, method: str, evaluations: int) -> str:
    """The same of a method as `solve` asks it."""
    best = best_that_meet(problem.fabric, problem.texts, WALKED[0], Merit.EDP)
    budget: dict[str, Any] = {"evaluations": evaluations} if method in SEARCHES else {}
    budget |= {"tiles": "divisors", "time_limit": HOUR}
    machine, workload = problem.fabric.machine, problem.fabric.workload
    try:
        found = optmap.solve(workload, machine=machine, method=method, constraints=problem.texts, **budget)
    except InfeasibleError as error:
        if best is not None:
            return f"! {error}"
        alone = best_that_meet(problem.fabric, [], WALKED[0], Merit.EDP) is None
        return "no mapping" if alone or any(text in str(error) for text in problem.texts) else f"! unnamed: {error}"
    except LimitError as error:
        return "none met" if method in SEARCHES or best is None else f"! {error}"
    if best is None or not rows_that_meet(batch_of([found.nest], problem.fabric), problem.fabric, problem.texts).all():
        return "! the answer does not meet them"
    if found.cost < best * (1 - 1e-9) or found.integer_bound > best * (1 + 1e-9):
        return f"! {found.cost} with bound {found.integer_bound}, but {best} is the best"
    if method not in SEARCHES and not isclose(found.cost, best, rel_tol=1e-3):
        return f"! {found.cost}, but {best} is the best"
    return "best" if isclose(found.cost, best, rel_tol=1e-3) else "met"


def main() -> int:
    """Attack, print what is wrong and how often what became of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="seed")
    parser.add_argument("--most", type=int, default=20_000, help="mappings of a problem at most")
    parser.add_argument("--methods", default="", help="names with commas, or all")
    parser.add_argument("--evaluations", type=int, default=1000)
    options = parser.parse_args()
    every = [n for n, way in METHODS.items() if any(each.meshes and each.constraints for each in way.routes)]
    methods = every if options.methods == "all" else [name for name in options.methods.split(",") if name]
    tally: Counter[str] = Counter()
    for seed in range(options.first, options.first + options.cases):
        problem = constrained_problem(seed, options.most)
        came = {f"exactly: {attack(problem, seed)}"} if not methods else set()
        came |= {f"{method}: {asked(problem, method, options.evaluations)}" for method in methods}
        for text in sorted(came):
            tally[text.partition(" !")[0] + " !" * (" !" in text)] += 1
            if " !" in text:
                sys.stdout.write(f"seed {seed}, {'; '.join(problem.texts)}: {text}\n")
    for text, count in sorted(tally.items()):
        sys.stdout.write(f"{count:6} {text}\n")
    bad = sum(count for text, count in tally.items() if text.endswith("!"))
    sys.stdout.write(f"{options.cases} problems, {bad} contradictions\n")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
