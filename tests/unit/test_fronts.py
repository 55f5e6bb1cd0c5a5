"""Bounds on weighted sums of energy and cycles: against points, and against what the checker makes of them."""

import random
from fractions import Fraction
from itertools import product

import pytest
from cases import some

from optmap.bounds.fronts import Front, chord, summed
from optmap.checker.turns.fronts import BoundedSums, one_after_other

PRICES = (Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(9))


def drawn(rng):
    """Some points of energy and cycles, and the bounds that hold for all of them."""
    points = [(Fraction(rng.randint(1, 60)), Fraction(rng.randint(1, 40))) for _ in range(rng.randint(1, 6))]
    prices = rng.sample(PRICES, rng.randint(0, len(PRICES)))
    lines = tuple((w, min(energy + w * cycles for energy, cycles in points) - rng.choice((0, 0, 2))) for w in prices)
    ends = min(energy for energy, _ in points), min(cycles for _, cycles in points)
    return points, ends, lines


@pytest.mark.parametrize("seed", some(20, range(60)))
def test_a_front_holds_for_its_points_and_is_what_the_checker_says(seed):
    rng = random.Random(seed)
    points, ends, lines = drawn(rng)
    front, stated = Front(*ends, lines), BoundedSums(*ends, lines)
    assert set(front.corners) == set(stated.points)
    assert min(energy * cycles for energy, cycles in front.corners) == stated.product
    assert stated.product <= min(energy * cycles for energy, cycles in points)
    for price in (Fraction(0), Fraction(2), *PRICES):
        assert front.least(price) == stated.sum_at(price)
        assert front.least(price) <= min(energy + price * cycles for energy, cycles in points)


@pytest.mark.parametrize("seed", some(20, range(60)))
def test_sums_of_fronts_hold_for_all_sums_of_points(seed):
    rng = random.Random(seed)
    parts = [(rng.randint(1, 4), *drawn(rng)) for _ in range(rng.randint(1, 3))]
    beside = Fraction(rng.randint(0, 9)), Fraction(rng.randint(0, 9))
    front = summed([(times, Front(*ends, lines)) for times, _, ends, lines in parts], beside)
    stated = one_after_other(beside, [(times, BoundedSums(*ends, lines)) for times, _, ends, lines in parts])
    assert set(front.corners) == set(stated.points)
    sums = [
        tuple(beside[n] + sum(part[0] * point[n] for part, point in zip(parts, points, strict=True)) for n in (0, 1))
        for points in product(*(points for _, points, _, _ in parts))
    ]
    assert stated.product <= min(energy * cycles for energy, cycles in sums)
    corners = [list(Front(*ends, lines).corners) for _, _, ends, lines in parts]
    least = min(
        (beside[0] + sum(part[0] * point[0] for part, point in zip(parts, points, strict=True)))
        * (beside[1] + sum(part[0] * point[1] for part, point in zip(parts, points, strict=True)))
        for points in product(*corners)
    )
    assert stated.product == least  # sums of corners are all that there is


@pytest.mark.parametrize("seed", some(20, range(60)))
def test_chords_find_the_least_product_of_points(seed):
    """Each line is searched among the points: none below it, or the lowest point is new, until nothing is open."""
    rng = random.Random(seed)
    points, ends, _ = drawn(rng)
    front, best = Front(*ends), Fraction(10**6)
    for _ in range(20):
        line = chord(front, best * (1 - Fraction(1, 10**9)))
        if line is None:
            break
        price, limit = line
        energy, cycles = min(points, key=lambda point: point[0] + price * point[1])
        least = min(limit, energy + price * cycles)
        if least < limit:
            best = min(best, energy * cycles)
        front = Front(*ends, (*front.lines, (price, least)))
    assert line is None
    assert best == min(energy * cycles for energy, cycles in points)


def test_no_line_helps_where_energy_has_no_bound():
    assert chord(Front(Fraction(0), Fraction(3)), Fraction(5)) is None
