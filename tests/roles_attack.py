"""Attack on bounds of statements of three tensors, one of which is kept: visits and passes."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from bounds_attack import loads_of_orders, some_orders
from bounds_oracles import least_memory, word_weights

from optmap.bounds import PassesProof, VisitsProof, digest, least_of_places, passes_proofs, visits_proofs
from optmap.checker import RefusedError, check_document
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Workload

WINDOWS = "O[k,x] += I[c,{}*x+{}*r] * F[k,c,r]"
FORMS = (
    "C[i,j] += A[i,k] * B[k,j]",
    WINDOWS,
    WINDOWS,
    "O[k,x,y] += I[c,{}*x+{}*r,y+s] * F[k,c,r,s]",
    "O[n,k,x] += I[n,{}*x+{}*r] * F[k,r]",
    "O[x] += I[{}*x+{}*r] * F[r]",
)


def visited_workload(rng: random.Random, *, most: int = 150) -> Workload:
    """A small matrix product or convolution, any stride and dilation, some with elements of several words or by `=`."""
    while True:
        text = rng.choice(FORMS)
        text = text.format(*(rng.choice([1, 1, 1, 2, 3]) for _ in range(text.count("{}"))))
        dims = sorted({c for c in text if c.islower()})
        extents = {d: rng.choice([1, 2, 2, 3, 4, 5]) for d in dims}
        sizes = {c: rng.choice([1, 1, 2, 4]) for c in text if c.isupper()} if rng.random() < 0.3 else 4
        statement = text.replace("+=", "=") if rng.random() < 0.25 else text
        workload = parse_workload(statement, extents, bytes=sizes)
        if most // 8 <= workload.operations <= most:
            return workload


def attack(
    workload: Workload,
    rng: random.Random,
    count: int = 24,
    bound: Callable[..., Sequence[VisitsProof | PassesProof]] = visits_proofs,
) -> int:
    """Trials: a bound against a schedule with optimal replacement. Every choice of roles, every memory."""
    weights = word_weights(workload)
    first = sum(weights.values())
    largest = max(weights[t.name] * t.footprint(workload.extents) for t in workload.tensors)
    memories = list(range(first, max(first + 1, largest)))
    loads = loads_of_orders(workload, some_orders(workload, rng, count), memories)
    trials = 0
    for at, memory in enumerate(memories):
        for proof in bound(workload, memory, beat=0):
            assert proof.loads_words <= loads[:, at].min(), (workload.expression, workload.extents, memory, proof)
            trials += count
    return trials


def improve(workload: Workload, rng: random.Random, rounds: int, batch: int = 24) -> tuple[int, float]:
    """Attack by schedules that are improved at one memory: random moves of blocks of the best so far.

    Returns:
        Trials, each a bound against a schedule, and the fewest loads found over the strongest bound.
    """
    memory = least_memory(workload) + rng.choice([0, 0, 1, 2, 4])
    proofs = [*passes_proofs(workload, memory, beat=0), *visits_proofs(workload, memory, beat=0)]
    if not proofs:
        return 0, float("inf")
    proved = max(proof.loads_words for proof in proofs)
    orders, fewest, trials = some_orders(workload, rng, 2 * batch), None, 0
    for _ in range(rounds):
        loads = loads_of_orders(workload, orders, [memory])[:, 0]
        trials += len(proofs) * len(orders)
        if fewest is None or loads.min() <= fewest:
            fewest, best = int(loads.min()), orders[int(loads.argmin())]
        assert proved <= fewest, (workload.expression, workload.extents, memory, proofs)
        orders = [_moved(best, rng) for _ in range(batch)]
    assert fewest is not None
    return trials, fewest / proved


def improve_cover(rng: random.Random, rounds: int) -> tuple[int, float]:
    """Attack on what a place pays by ways to do its pairs in segments, improved step by step.

    Returns:
        Trials, and the least price found over what is claimed.
    """
    rows, columns = rng.randint(1, 8), rng.randint(1, 10)
    row, column = rng.choice([1, 1, 2, 3, 9]), rng.choice([1, 1, 2])
    most = rng.randint(max(1, rows * columns // 8), rows * columns)
    prices = [column, *(column + rng.choice([0, 0, 1, 3, 8]) for _ in range(columns - 1))]
    rim = {Fraction(sum(prices) - column * columns): 1}
    claim = least_of_places(rim, row * rows, column * columns, row * column * most, range(64))
    x, y = rng.randint(1, rows), rng.randint(1, columns)
    pairs = sorted(itertools.product(range(rows), range(columns)), key=lambda p: (p[0] // x, p[1] // y, p))
    best: list[tuple[int, int] | None] = [*pairs, *[None] * (most + len(pairs) % most)]  # None: nothing is done

    def price(order: list[tuple[int, int] | None]) -> int:
        paid = 0
        for i in range(0, len(order), most):
            done = [pair for pair in order[i : i + most] if pair is not None]
            paid += row * len({r for r, _ in done}) + sum(prices[c] for c in {c for _, c in done})
        return paid

    fewest = price(best)
    for _ in range(rounds):
        order = _moved(best, rng)
        if rng.random() < 0.5:
            i, j = rng.randrange(len(order)), rng.randrange(len(order))
            order[i], order[j] = order[j], order[i]
        paid = price(order)
        assert claim <= paid, (rows, prices, row, most, claim, order)
        if paid <= fewest:
            fewest, best = paid, order
    return rounds, fewest / claim


def _moved(order: list[Any], rng: random.Random) -> list[Any]:
    """The order with one block, of any or of few entries, elsewhere or reversed."""
    left = list(order)
    i = rng.randrange(len(left))
    j = rng.randint(i + 1, min(len(left), i + rng.choice([3, 12, len(left)])))
    block = left[i:j]
    del left[i:j]
    k = rng.randint(0, len(left))
    left[k:k] = block if rng.random() < 0.5 else block[::-1]
    return left


def refusal(document: dict[str, Any]) -> str:
    document["digest"] = digest({key: value for key, value in document.items() if key != "digest"})
    try:
        check_document(document)
    except RefusedError as error:
        return str(error)
    return ""
