"""Random workloads, machines and options against `solve`: `python tests/benchmarks/search_fuzz.py --help`.

Every outcome is an answer that the independent checker and the recount accept, or a typed error.
Tiny instances are compared with the best of all mappings (`tests/brute_force.py`).
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from brute_force import best_held, best_nest, best_stationary, count
from written_files import shuffled

from optmap import api
from optmap.answers.documents.recount import disagreements, evaluate_solution
from optmap.answers.documents.solution import read_solution, solution_document
from optmap.base.errors import CheckError, ContradictionError, OptmapError
from optmap.base.writing import to_json
from optmap.checker import RefusedError
from optmap.machines.machine import CapacityRule, Level, LevelKind, Machine, Partition
from optmap.search import METHODS, Answer
from optmap.solvers import Stop
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload
from optmap.workloads.sizes import parse_bandwidth
from optmap.workloads.workload import Workload

EXTENTS = (1, 1, 2, 3, 4, 5, 7, 8, 12, 13, 16, 31, 64, 97)
HUGE = (128, 1000, 4099, 65_537, 1_000_003, 2**31 - 1, 2**20, 10**12, 999_999_999_989)
SIZES = (0.125, 0.5, 1, 2, 4, 8, 0.375)
SLACK_S = 1.0
"""Seconds beyond the limit, and a fifth of it, that no search may take."""
MOST_TRIED = 4000
"""Mappings that are tried one by one."""
CLOSE = 1e-9
STATIONARY = ("gemmini", "gemmini-greedy")
"""Methods with output-stationary tiles of one memory."""


def statement(rng: random.Random, dims: str) -> str:
    """A statement over some of the dims: windows, repeated tensors, implicit padding."""

    ranged = rng.choice(("", "", "", " in 1..6"))

    def subscript() -> str:
        first = rng.choice(dims)
        if rng.random() < 0.25 and len(dims) > 1:
            second = rng.choice([d for d in dims if d != first])
            return f"{rng.choice(('', '2*', '3*'))}{first}+{second}{ranged}"
        return first

    names = rng.choice(("ABC", "ABC", "AAB"))
    rank = {name: rng.randint(1, 3) for name in "ABC"}
    factors = [f"{name}[{','.join(subscript() for _ in range(rank[name]))}]" for name in names[: rng.randint(1, 3)]]
    used = [d for d in dims if any(d in factor for factor in factors)]
    output = rng.sample(used, rng.randint(1, len(used)))
    return f"O[{','.join(output)}] {rng.choice(('+=', '+=', '='))} {'*'.join(factors)}"


def workload(rng: random.Random, *, tiny: bool) -> Workload:
    """A workload over one to eight dims, tiny ones over at most three."""
    text = statement(rng, "abcdefgh"[: rng.randint(1, 3 if tiny else rng.choice((4, 4, 8)))])
    used = [d for d in "abcdefgh" if d in text.replace(" in ", "")]
    choices = (1, 2, 3, 3, 4, 5, 6) if tiny else EXTENTS if rng.random() < 0.9 else (*EXTENTS, *HUGE)
    extents = dict.fromkeys(used, 1) if rng.random() < 0.03 else {d: rng.choice(choices) for d in used}
    sizes: Any = 4 if rng.random() < 0.5 else {name: rng.choice(SIZES) for name in "OABC" if f"{name}[" in text}
    return parse_workload(text, extents, bytes=sizes)


def capacity(rng: random.Random, words: int, word_bits: int) -> Capacity:
    """About so many words, in words or in bytes."""
    if rng.random() < 0.5:
        return Capacity(amount=words, unit="words")
    return Capacity(amount=-(-words * word_bits // 8))


def partitions(rng: random.Random, whole: Capacity) -> tuple[Partition, ...]:
    """Two parts of a capacity, for inputs and output."""
    first = rng.randint(1, whole.amount - 1)
    return tuple(
        Partition(name=name, tensors=(name,), capacity=Capacity(amount=amount, unit=whole.unit))
        for name, amount in (("inputs", first), ("output", whole.amount - first))
    )


def machine(rng: random.Random, target: Workload, depth: int) -> Machine:
    """Levels that mostly hold the workload's least tile, growing outwards, all units and sharings."""
    least = sum(target.weight(tensor) for tensor in target.tensors)
    words, levels, shared = least + rng.randint(-1, 3 * least + 8), [], False
    mixed, clock = rng.random() < 0.3, rng.choice((None, 10**9))
    for number in range(depth):
        before, shared = shared, shared or rng.random() < 0.35
        size = capacity(rng, max(1, words), target.word_bits if mixed else 8 * (target.word_bits // 8 or 1))
        if not mixed:
            size = Capacity(amount=max(1, words), unit="words")
        rates = ("1w", "2w", "7w", "0.3w", "16B", "3B", *(("40GB/s", "333MB/s") if clock else ()))
        levels.append(
            Level(
                name=f"L{number}",
                capacity=size,
                bandwidth=parse_bandwidth(rng.choice(rates), clock),
                kind=rng.choice(list(LevelKind)),
                shared=shared,
                fanout=rng.choice((2, 6, 8)) if shared and not before else 1,
                inclusive=rng.random() < 0.7,
                buffering=rng.choice((1, 1, 1, 2)),
                partitions=partitions(rng, size) if depth == 1 and size.amount > 1 and rng.random() < 0.2 else (),
            )
        )
        words *= rng.choice((2, 5, 16))
    return Machine(name="fuzz", levels=tuple(levels), memory="M", clock_hz=clock)


def request(rng: random.Random, target: Machine) -> dict[str, Any]:
    """Options that mostly go together."""
    methods = [name for name, method in METHODS.items() if method.minimises(target)]
    method = rng.choice(("mopt", *(m for m in methods if m != "mopt-artifact" or rng.random() < 0.1)))
    if target.levels[0].partitions and rng.random() < 0.9:
        method = rng.choice(("iooub", *STATIONARY))
    alone = method in ("iooub", *STATIONARY)
    children = max(level.fanout for level in target.levels)
    return {
        "machine": target,
        "method": method,
        "objective": rng.choice((None, *METHODS[method].minimises(target))),
        "tiles": "any" if method.startswith("mopt-") else rng.choice(("any", "divisors")),
        "capacity": "tile" if alone else rng.choice(("tile", "tile", "safe")),
        "cores": 1 if alone else rng.choice([n for n in (1, 1, 2, 3, 6) if n <= children]),
        "integers": rng.choice(("exact",) * 9 + ("floor",)) if method == "mopt" else "exact",
        "time_limit": rng.choice((0.01, 0.1, 1.0, 5.0)),
    }


def least(result: Answer, asked: dict[str, Any]) -> float | None:
    """The best of the space that the answer claims, by trying all; None if that is too much."""
    made, target, divisors = result.workload, result.machine, asked["tiles"] == "divisors"
    if len(made.dims) > 3 or count(made, len(target.levels)) > MOST_TRIED:
        return None
    if result.method in STATIONARY:
        return best_stationary(made, target, divisors=divisors)
    if result.method == "iooub" and len(target.levels) == 1:
        return best_held(made, target, result.objective, divisors=divisors)
    rule = CapacityRule(asked["capacity"])
    return best_nest(made, target, result.objective, rule, divisors=divisors, cores=asked["cores"])


def wrong(result: Answer, asked: dict[str, Any]) -> str:
    """What is claimed of a tiny instance and is not so; empty if nothing is."""
    best = least(result, asked)
    if best is None:
        return ""
    if result.cost < best * (1 - CLOSE):
        return f"cost {result.cost} is less than the best of all, {best}"
    if result.integer_bound > best * (1 + CLOSE):
        return f"integer bound {result.integer_bound} is above the best of all, {best}"
    if result.relaxation.proved and result.relaxation.value > best * (1 + CLOSE):
        return f"relaxation {result.relaxation.value} is above the best of all, {best}"
    if result.stop is Stop.OPTIMAL and result.cost > best * (1 + 1e-5):
        return f"optimal at {result.cost}, the best of all is {best}"
    return "" if result.cost <= best * 1.5 or asked["time_limit"] < 1 else f"poor: {result.cost}, best {best}"


def assert_written(result: Answer, folder: Path, rng: random.Random) -> None:
    """The file, half of the time under another order of its keys, passes the checker and the recount."""
    document = json.loads(to_json(solution_document(result)))
    file = folder / "solution.json"
    file.write_text(json.dumps(shuffled(document, rng) if rng.random() < 0.5 else document), encoding="utf-8")
    evaluation = evaluate_solution(read_solution(file))
    assert disagreements(evaluation) == []
    assert evaluation.exact.value == result.exact
    assert evaluation.cost.value == result.cost
    assert str(result)
    assert result.loop_nest()


def trial(rng: random.Random, folder: Path) -> str:
    """One solve; what became of it, or `TRACEBACK`, `REFUSED`, `LATE`, `WRONG`, `POOR`."""
    tiny = rng.random() < 0.4
    asked: dict[str, Any] = {}
    made: Any = None
    try:
        made = workload(rng, tiny=tiny)
        depth = rng.choice((1, 1, 2)) if tiny else rng.randint(1, 6)
        asked = request(rng, machine(rng, made, depth))
        shown = f"{made.expression} {made.sizes} {[t.bits for t in made.tensors]} {asked}"
        begun, spent = time.monotonic(), time.process_time()
        result = api.solve(made, **asked)
        seconds = time.process_time() - spent
        assert_written(result, folder, rng)
        problem = wrong(result, asked) if tiny else ""
    except (CheckError, ContradictionError) as error:
        sys.stdout.write(f"REFUSED {shown}: {error}\n")
        return "REFUSED"
    except OptmapError as error:
        return f"{type(error).__name__}: {' '.join(str(error).split(':')[0].split()[:5])}"
    except (RefusedError, AssertionError) as error:
        sys.stdout.write(f"REFUSED {shown}: {error!r}\n{traceback.format_exc()[-1500:]}\n")
        return "REFUSED"
    except Exception:  # noqa: BLE001 - what the attack looks for
        sys.stdout.write(f"TRACEBACK {made!r} {asked}\n{traceback.format_exc()}\n")
        return "TRACEBACK"
    if problem:
        sys.stdout.write(f"WRONG {shown}: {problem}\n")
        return "POOR" if problem.startswith("poor") else "WRONG"
    if seconds > 1.2 * asked["time_limit"] + SLACK_S:
        searched = f"{result.seconds:.1f} s of search"
        sys.stdout.write(f"LATE {seconds:.1f} s ({time.monotonic() - begun:.1f}, {searched}) {shown}\n")
        return "LATE"
    return f"{result.method} {result.stop.value}"


def main() -> int:
    """Run the trials and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first trial")
    chosen = parser.parse_args()
    outcomes = Counter[str]()
    for method in ("mopt", "mopt-algorithm1"):  # imports are not its time
        api.solve("C[i,j] += A[i,k]*B[k,j]", extents={"i": 9, "j": 9, "k": 9}, memory="20w", method=method)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(chosen.first, chosen.first + chosen.trials):
            found = trial(random.Random(f"{chosen.seed}/{number}"), Path(folder))
            outcomes[found] += 1
            if found.isupper():
                sys.stdout.write(f"  in trial {chosen.seed}/{number}\n")
            sys.stdout.flush()
    sys.stdout.write("".join(f"{n:6} {what}\n" for what, n in sorted(outcomes.items())))
    return int(any(what.isupper() for what in outcomes))


if __name__ == "__main__":
    sys.exit(main())
