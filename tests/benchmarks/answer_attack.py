"""Attack the answers to small random questions: `python tests/benchmarks/answer_attack.py --help`.

Machines and options are those of `search_fuzz.py`; the workloads have offsets, ranges, repeated tensors and
elements of less than a byte. Every answer is walked point by point and recounted, and its file, the keys in
any order, checked. Its bounds stay below what Belady's rule moves on the walked nest, its claims are compared
with the best of all mappings, and the same question under other names and orders has the same answer.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from search_fuzz import machine, request, wrong
from strategies import renamed
from written_files import assert_file_holds

from optmap import api
from optmap.base.errors import CheckError, ContradictionError, OptmapError
from optmap.count.reference.simulate import simulate
from optmap.search import Answer
from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.amounts import Capacity
from optmap.workloads.workload import Semantics, Workload

BITS = (32, 32, 8, 4, 1, 16, 12)
SECONDS = 20.0
"""Time limit of a question: all of it where the search comes to its end."""
CLOSE = 1e-5
EVERY = 50
"""Trials between two lines of output."""


def axis(rng: random.Random, extents: dict[str, int]) -> Subscript:
    """A subscript of up to three dims, with an offset and a range at times."""
    dims = rng.sample(sorted(extents), min(len(extents), rng.choice((1, 1, 1, 2, 2, 3))))
    terms = tuple((d, rng.choice((1, 1, 1, 2, 3, 4))) for d in dims)
    least = rng.choice((0, 0, 0, 1, 2, 5))
    if rng.random() < 0.7:
        return Subscript(terms=terms, offset=least)
    most = least + sum(c * (extents[d] - 1) for d, c in terms)
    low = rng.randint(least, most)
    return Subscript(terms=terms, offset=least, real=(low, rng.randint(low, most + 1)))


def workload(rng: random.Random) -> Workload:
    """A workload of about 36 points over one to four dims.

    Raises:
        InputError: for one that means nothing, as a dim without a subscript.
    """
    dims = "abcd"[: rng.choice((1, 2, 2, 3, 3, 4))]
    extents = {d: rng.randint(1, max(2, int(36 ** (1 / len(dims))) + 1)) for d in dims}
    ranks = {name: rng.choice((0, 1, 1, 2, 2, 3)) for name in "OABC"}
    bits = dict.fromkeys("OABC", 32) if rng.random() < 0.4 else {name: rng.choice(BITS) for name in "OABC"}

    def access(name: str) -> TensorAccess:
        return TensorAccess(name=name, axes=tuple(axis(rng, extents) for _ in range(ranks[name])), bits=bits[name])

    names = rng.choice(("A", "A", "AB", "AA", "ABC", "AAB", "ABA", "AAA"))
    inputs = [access(name) for name in names]
    if names.startswith("AA") and rng.random() < 0.5:  # the same elements, moved
        moved = (replace(a, offset=a.offset + rng.choice((0, 1, 2)), real=None) for a in inputs[0].axes)
        inputs[1] = replace(inputs[0], axes=tuple(moved))
    kept = rng.sample(dims, rng.randint(0 if rng.random() < 0.1 else 1, len(dims)))
    plain = TensorAccess(name="O", axes=tuple(Subscript(terms=((d, 1),), offset=0) for d in kept), bits=bits["O"])
    return Workload.product(
        name="",
        output=access("O") if rng.random() < 0.25 else plain,
        inputs=tuple(inputs),
        sizes=tuple(extents.items()),
        semantics=rng.choice((Semantics.ACCUMULATE, Semantics.ACCUMULATE, Semantics.ASSIGN)),
    )


def assert_below_belady(result: Answer) -> None:
    """Every bound of every boundary is at most what the best replacement moves on the walked nest."""
    target, made = result.machine, result.workload
    moved = simulate(made, target, result.mapping, policy="belady")
    for level, between in zip(target.levels, target.boundaries, strict=True):
        loads = sum(row.loads_words for row in moved if row.between == between)
        stores = sum(row.stores_words for row in moved if row.between == between)
        memory = Capacity(amount=level.words(made.word_bits), unit="words")
        for row in api.bound(made, memory=memory).outermost.bounds:
            if row.certificate is not None:
                assert row.loads_words <= loads, f"{row.method}: {row.loads_words} loads, Belady {loads} at {between}"
                total = row.loads_words + row.stores_words
                assert total <= loads + stores, f"{row.method}: {total} words, Belady {loads + stores} at {between}"


def different(one: Answer, other: Answer, *, split: bool) -> str:
    """What the answer to the renamed question says differently; empty if nothing."""
    if abs(one.cost - other.cost) > CLOSE * one.cost:
        return f"cost {one.cost} and {other.cost}"
    proved = max(one.relaxation.tolerance, other.relaxation.tolerance) <= CLOSE
    if proved and abs(one.relaxation.value - other.relaxation.value) > CLOSE * one.relaxation.value:
        return f"relaxation {one.relaxation.value} and {other.relaxation.value}"
    bounds = [[(c.between, c.words) for c in result.certificates] for result in (one, other)]
    return "" if split or bounds[0] == bounds[1] else f"bounds {bounds}"


def attack(rng: random.Random, made: Workload, asked: dict[str, Any], folder: Path) -> str:
    """Solve and test the answer; what became of it.

    Raises:
        AssertionError: for anything that does not hold.
    """
    result = api.solve(made, **asked)
    assert_file_holds(result, folder, simulate=True)
    if result.held is None and asked["cores"] == 1:
        assert_below_belady(result)
    problem = wrong(result, asked)
    assert not problem or problem.startswith("poor"), problem
    if result.method != "gemmini-greedy" and rng.random() < 0.5:  # its dims grow in turns, in their order
        again = renamed(made, rng)
        problem = different(result, api.solve(again, **asked), split=asked["cores"] > 1)
        late = result.stop.value == "time_limit"
        assert late or not problem, f"{problem} as {again.expression} {again.sizes}"
    return f"{result.method} {result.stop.value}"


def trial(rng: random.Random, folder: Path) -> str:
    """One question; what became of it, `WRONG` or `TRACEBACK`."""
    try:
        made = workload(rng)
    except OptmapError:
        return "no workload"
    shown = f"{made.expression} {made.semantics} {made.sizes} {[t.bits for t in made.tensors]}"
    try:
        asked = {**request(rng, machine(rng, made, rng.choice((1, 1, 2, 2, 3)))), "time_limit": SECONDS}
        asked["solver"] = "ipopt" if asked["method"] == "mopt" and rng.random() < 0.05 else None
        shown += f" {asked}"
        return attack(rng, made, asked, folder)
    except (AssertionError, CheckError, ContradictionError) as error:
        sys.stdout.write(f"WRONG {shown}: {error!r}\n")
        return "WRONG"
    except OptmapError as error:
        return f"{type(error).__name__}: {' '.join(str(error).split(':')[0].split()[:5])}"
    except Exception:  # noqa: BLE001 - what the attack looks for
        sys.stdout.write(f"TRACEBACK {shown}\n{traceback.format_exc()}\n")
        return "TRACEBACK"


def main() -> int:
    """Run the trials and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0, help="number of the first trial")
    chosen = parser.parse_args()
    outcomes, began = Counter[str](), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        for done, number in enumerate(range(chosen.first, chosen.first + chosen.trials), start=1):
            found = trial(random.Random(f"{chosen.seed}/{number}"), Path(folder))
            outcomes[found] += 1
            if found.isupper():
                sys.stdout.write(f"  in trial {chosen.seed}/{number}\n")
            if done % EVERY == 0 or found.isupper():
                failed = sum(n for what, n in outcomes.items() if what.isupper())
                sys.stdout.write(f"{done} trials, {failed} failed; {time.process_time() - began:.0f} s\n")
            sys.stdout.flush()
    sys.stdout.write("".join(f"{n:6} {what}\n" for what, n in sorted(outcomes.items())))
    return int(any(what.isupper() for what in outcomes))


if __name__ == "__main__":
    sys.exit(main())
