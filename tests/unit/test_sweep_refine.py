"""Refinement looks where curves bend, and nowhere else."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import pytest

from optmap.sweeps import MethodValue, Refine, middle, more_capacities

FIRST = (256, 1024, 4096, 16384, 65536)
Curve = Callable[[int], tuple[float | None, float | None]]


def _refined(curve: Curve, refine: Refine, first: tuple[int, ...] = FIRST) -> dict[int, MethodValue]:
    """All values after refining to the end."""
    known: dict[int, dict[str, MethodValue]] = {}
    wanted = first
    while wanted:
        for capacity in wanted:
            assert capacity not in known
            found, bound = curve(capacity)
            known[capacity] = {
                "mopt": MethodValue(found=found, bound=bound),
                "bound": MethodValue(found=None, bound=bound),
            }
        wanted = more_capacities(first, known, refine)
    return {capacity: values["mopt"] for capacity, values in known.items()}


def test_middle_is_strictly_between() -> None:
    assert middle(4, 16) == 8
    for low, high in ((1, 3), (7, 9), (100, 102), (3, 10**18)):
        assert low < middle(low, high) < high


@pytest.mark.parametrize("metric", ["gap", "traffic", "bound"])
def test_a_plateau_costs_nothing(metric: str) -> None:
    assert sorted(_refined(lambda _: (900.0, 880.0), Refine(metric=metric, tolerance=0.03))) == list(FIRST)


@pytest.mark.parametrize("metric", ["gap", "traffic", "bound"])
def test_a_straight_curve_costs_one_look_per_interval(metric: str) -> None:
    made = _refined(lambda m: (1e9 / math.sqrt(m), 0.8e9 / math.sqrt(m)), Refine(metric=metric))
    assert len(made) == len(FIRST) + len(FIRST) - 1


def test_a_bend_gets_the_points() -> None:
    def curve(capacity: int) -> tuple[float, float]:
        return max(1e8 / math.sqrt(capacity), 1e6), max(0.8e8 / math.sqrt(capacity), 1e6)

    made = sorted(_refined(curve, Refine(metric="gap", tolerance=0.01)))
    added = [capacity for capacity in made if capacity not in FIRST]
    near = [capacity for capacity in added if 4096 <= capacity <= 16384]
    assert len(near) >= 6  # the gap falls from 25 % to nothing between 6400 and 10000 words
    assert len(near) > len(added) / 2
    points = sorted(made)
    for low, high in pairwise(points):  # and the line between the points is right everywhere
        between = middle(low, high) if high - low > 1 else low
        share = math.log(between / low) / math.log(high / low)
        gaps = [curve(at)[0] / curve(at)[1] for at in (low, high, between)]
        assert abs((1 - share) * gaps[0] + share * gaps[1] - gaps[2]) <= 0.02


def test_a_step_is_found_to_the_tolerance_in_capacity() -> None:
    made = sorted(_refined(lambda m: (2000.0 if m < 5000 else 1000.0, 900.0), Refine(metric="traffic", tolerance=0.02)))
    below = max(capacity for capacity in made if capacity < 5000)
    above = min(capacity for capacity in made if capacity >= 5000)
    assert above <= below * 1.02
    assert len(made) < 5 + 12


def test_the_smallest_feasible_capacity_is_found() -> None:
    made = _refined(lambda m: (None, 500.0) if m < 3000 else (1000.0, 500.0), Refine(metric="gap", tolerance=0.05))
    below = max(capacity for capacity in made if capacity < 3000)
    above = min(capacity for capacity in made if capacity >= 3000)
    assert above <= below * 1.05


def test_most_points_is_kept() -> None:
    made = _refined(
        lambda m: (1e9 / m * (2 + math.sin(m / 50)), 1e8 / m), Refine(metric="gap", tolerance=1e-4, most_points=40)
    )
    assert len(made) == 40


def test_neighbouring_integers_end_it() -> None:
    first = (10, 12)
    made = _refined(lambda m: (1000.0 / m, 10.0), Refine(metric="gap", tolerance=1e-9), first)
    assert sorted(made) == [10, 11, 12]
