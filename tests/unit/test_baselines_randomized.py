"""Random matrix products: Theorem 22 with constants, and the tiling that attains it."""

from __future__ import annotations

import heapq
import itertools
import random
from fractions import Fraction
from math import ceil, sqrt

import pytest
from cases import some

from optmap.base.errors import InfeasibleError, InputError
from optmap.baselines import RandomizedProduct, randomized_bound, randomized_tiling
from optmap.workloads.workload import Semantics


def _walked(problem, tiling):
    """Loads, generated elements and stores of the tiling, counted loop by loop."""
    loads = generated = stores = 0
    kept = set()
    keep = problem.cost > 1
    for row in range(0, problem.d, tiling.rows):
        for column in range(0, problem.n, tiling.columns):
            rows = range(row, min(row + tiling.rows, problem.d))
            columns = range(column, min(column + tiling.columns, problem.n))
            loads += len(rows) * len(columns) if problem.semantics is Semantics.ACCUMULATE else 0
            for k in range(problem.m):
                loads += len(columns)
                for i in rows:
                    if keep and (i, k) in kept:
                        loads += 1
                        continue
                    generated += 1
                    if keep and tiling.columns < problem.n:
                        kept.add((i, k))
            stores += len(rows) * len(columns)
    return loads, generated, stores + len(kept)


def test_tilings_count_what_a_walk_counts_fit_and_respect_the_bound():
    rng = random.Random(5)
    for _ in range(150):
        problem = RandomizedProduct(
            d=rng.randint(1, 14),
            m=rng.randint(1, 9),
            n=rng.randint(1, 14),
            memory_words=rng.randint(3, 60),
            cost=rng.choice([Fraction(1, 500), Fraction(1, 30), Fraction(1, 3), Fraction(1), Fraction(7, 2)]),
            semantics=rng.choice(list(Semantics)),
        )
        tiling = randomized_tiling(problem)
        assert (tiling.loads_words, tiling.generated, tiling.stores_words) == _walked(problem, tiling)
        assert tiling.cost == tiling.loads_words + problem.cost * tiling.generated
        assert tiling.occupancy_words <= problem.memory_words
        bound = randomized_bound(problem)
        assert bound.cost <= tiling.cost
        assert bound.stores_words <= tiling.stores_words


@pytest.mark.parametrize("cost", [Fraction(1, 1000), Fraction(1, 100), Fraction(1, 9), Fraction(1, 2), Fraction(1)])
def test_the_dear_branch_attains_the_first_term(cost):
    problem = RandomizedProduct(
        d=10**6, m=10**5, n=10**5, memory_words=10_000, cost=cost, semantics=Semantics.ACCUMULATE
    )
    assert not problem.cheap
    ideal = 2 * problem.operations * sqrt(cost / problem.memory_words)
    assert float(randomized_tiling(problem).cost) == pytest.approx(ideal, rel=0.08)
    assert float(randomized_bound(problem).cost) == pytest.approx(ideal, rel=0.08)


def test_the_cheap_branch_attains_the_second_term_within_two():
    problem = RandomizedProduct(d=4000, m=300, n=200, memory_words=1000, cost=Fraction(1, 10_000))
    tiling = randomized_tiling(problem)
    assert problem.cheap
    assert (tiling.rows, tiling.columns) == (998, 1)  # M - 2: the element of S takes a word here
    g = problem.operations
    assert tiling.cost == 300 * 200 * ceil(4000 / 998) + g * problem.cost
    terms = dict(randomized_bound(problem).terms)
    assert terms["d*m*n/M + h*d*m - d*n"] == Fraction(g, 1000) + problem.cost * 4000 * 300 - 4000 * 200
    accumulated = RandomizedProduct(
        d=4000, m=300, n=200, memory_words=1000, cost=problem.cost, semantics=Semantics.ACCUMULATE
    )
    assert g / 1000 <= randomized_bound(accumulated).cost
    assert tiling.cost <= 2.01 * Fraction(g, 1000) + 300 * 200


def test_dear_generation_is_stored_once_and_loaded_again():
    problem = RandomizedProduct(d=50, m=40, n=60, memory_words=100, cost=Fraction(9))
    tiling = randomized_tiling(problem)
    assert tiling.generated == 50 * 40
    assert tiling.stores_words == 50 * 60 + 50 * 40


def test_everything_fits():
    problem = RandomizedProduct(d=3, m=5, n=4, memory_words=1000, cost=Fraction(1, 2))
    tiling = randomized_tiling(problem)
    assert tiling.cost == 5 * 4 + Fraction(1, 2) * 15
    assert randomized_bound(problem).cost == tiling.cost


def _cheapest(problem):
    """Least load cost of any schedule by Dijkstra over (operations done, memory, words seen), for tiny problems.

    An element of S that was there before is had for a load if that is cheaper, as if it had been stored.
    """
    points = list(itertools.product(range(problem.d), range(problem.m), range(problem.n)))
    words = sorted({w for i, k, j in points for w in (("R", i, j), ("S", i, k), ("A", k, j))})
    bit = {w: 1 << i for i, w in enumerate(words)}
    need = [bit["R", i, j] | bit["S", i, k] | bit["A", k, j] for i, k, j in points]
    generated = sum(bit[w] for w in words if w[0] == "S")
    queue, settled, order = [(Fraction(0), 0, 0, 0, 0)], set(), itertools.count(1)
    while True:
        cost, _, done, held, seen = heapq.heappop(queue)
        if (done, held, seen) in settled:
            continue
        settled.add((done, held, seen))
        if done == (1 << len(points)) - 1:
            return cost
        drops = [0] if held.bit_count() < problem.memory_words else [b for b in bit.values() if b & held]
        for word, drop in itertools.product((b for b in bit.values() if not b & held), drops):
            price = problem.cost if word & generated else Fraction(1)
            now = held & ~drop | word
            ready = sum(1 << i for i, group in enumerate(need) if group & now == group)  # operations are free
            kept = seen | word & generated if problem.cost > 1 else 0
            state = (done | ready, now, kept)
            if state not in settled:
                heapq.heappush(queue, (cost + (min(price, Fraction(1)) if word & seen else price), next(order), *state))


SIZES = ((2, 2, 1, 3), (2, 1, 2, 3), (1, 2, 2, 3), (2, 2, 1, 4))
COSTS = (Fraction(1, 4), Fraction(3, 4), Fraction(1), Fraction(2), Fraction(7))
TINY = [*itertools.product(SIZES, COSTS)]


@pytest.mark.parametrize(("sizes", "cost"), some(TINY[::2], [*TINY, ((1, 2, 3, 3), COSTS[3])]))
def test_no_schedule_of_a_tiny_product_is_cheaper_than_the_bound(sizes, cost):
    d, m, n, memory = sizes
    problem = RandomizedProduct(d=d, m=m, n=n, memory_words=memory, cost=cost, semantics=Semantics.ACCUMULATE)
    assert randomized_bound(problem).cost <= _cheapest(problem) <= randomized_tiling(problem).cost


def _cheapest_tile(problem):
    """Least cost over all tiles that fit, each cost counted tile by tile."""
    found = []
    for rows, columns in itertools.product(range(1, problem.d + 1), range(1, problem.n + 1)):
        if rows * columns + columns + 1 <= problem.memory_words:
            down, across = len(range(0, problem.d, rows)), len(range(0, problem.n, columns))
            again = problem.cost if problem.cost <= 1 else 1  # stored once, loaded later
            results = problem.d * problem.n if problem.semantics is Semantics.ACCUMULATE else 0
            first = problem.d * problem.m * problem.cost
            found.append(problem.m * problem.n * down + first + problem.d * problem.m * (across - 1) * again + results)
    return min(found)


def test_the_tiling_is_the_cheapest_of_its_kind():
    rng = random.Random(8)
    for _ in range(300):
        problem = RandomizedProduct(
            d=rng.randint(1, 40),
            m=rng.randint(1, 20),
            n=rng.randint(1, 40),
            memory_words=rng.randint(3, 500),
            cost=rng.choice([Fraction(1, 500), Fraction(1, 30), Fraction(1, 3), Fraction(1), Fraction(7, 2)]),
            semantics=rng.choice(list(Semantics)),
        )
        assert randomized_tiling(problem).cost == _cheapest_tile(problem)


def test_bad_problems_are_refused():
    with pytest.raises(InputError, match="whole number"):
        RandomizedProduct(d=0, m=1, n=1, memory_words=3, cost=Fraction(1))
    with pytest.raises(InputError, match="Fraction above 0"):
        RandomizedProduct(d=1, m=1, n=1, memory_words=3, cost=Fraction(0))
    with pytest.raises(InfeasibleError, match="3 words"):
        randomized_tiling(RandomizedProduct(d=1, m=1, n=1, memory_words=2, cost=Fraction(1)))
