"""Statistics of paired samples, against what is known of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optmap.base.errors import InputError
from optmap.native import geometric_mean, order, paired_ratio

TIMES = st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=12)


@given(TIMES, st.floats(0.25, 4.0))
def test_a_constant_factor_is_found_exactly(times: list[float], factor: float) -> None:
    found = paired_ratio(times, [factor * each for each in times])
    assert (found.minima, found.median, found.low, found.high) == pytest.approx((factor,) * 4)


def test_load_that_meets_both_in_a_round_cancels() -> None:
    load = np.random.default_rng(3).uniform(1, 10, 40)
    found = paired_ratio(load, 1.25 * load)
    assert found.low == pytest.approx(1.25)
    assert found.high == pytest.approx(1.25)


def test_the_interval_is_the_same_every_time_and_holds_the_median() -> None:
    rng = np.random.default_rng(1)
    ours, theirs = rng.normal(1, 0.05, 30), rng.normal(1.1, 0.05, 30)
    found = paired_ratio(ours, theirs)
    assert found == paired_ratio(ours, theirs)
    assert found.low < found.median < found.high
    assert found != paired_ratio(ours, theirs, seed=1)


def test_intervals_cover_as_often_as_they_say() -> None:
    covered = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        found = paired_ratio(np.ones(25), rng.lognormal(0, 0.1, 25), seed=seed)
        covered += found.low <= 1 <= found.high
    assert covered >= 50  # of 57 expected: six standard deviations


def test_a_moment_of_a_faster_clock_makes_no_way_faster() -> None:
    drift = np.array([1.0, 1.0, 0.5, 1.0, 1.0, 1.0])
    slow, fast = 1.1 * drift, 1.0 * np.ones(6)
    assert min(slow) < min(fast)
    assert order([slow, fast]) == (1, 0)
    assert order([fast, slow, 0.9 * fast]) == (2, 0, 1)
    assert order([[2.0, 2.0]]) == (0,)


@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=8))
def test_the_geometric_mean_is_that_of_products_and_of_inverses(values: list[float]) -> None:
    mean = geometric_mean(values)
    assert mean ** len(values) == pytest.approx(np.prod(values))
    assert geometric_mean([1 / each for each in values]) == pytest.approx(1 / mean)


@pytest.mark.parametrize(("ours", "theirs"), [([], []), ([1.0], [1.0, 2.0]), ([0.0], [1.0]), ([1.0], [float("nan")])])
def test_samples_that_are_none_are_refused(ours: list[float], theirs: list[float]) -> None:
    with pytest.raises(InputError):
        paired_ratio(ours, theirs)


def test_no_mean_of_nothing() -> None:
    with pytest.raises(InputError, match="at least one"):
        geometric_mean([])
