"""Ranks and losses on numbers whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from optmap.base.errors import InputError
from optmap.native import crossed_loss, kendall, polished, spearman, top_loss


def test_ranks_of_known_orders():
    assert spearman([1, 2, 3, 4], [10, 20, 30, 400]) == pytest.approx(1)
    assert kendall([1, 2, 3, 4], [4, 3, 2, 1]) == pytest.approx(-1)
    # one neighbouring pair of five swapped: 1 - 6*2/(5*24), and (9 - 1)/10 pairs
    assert spearman([1, 2, 3, 4, 5], [1, 3, 2, 4, 5]) == pytest.approx(0.9)
    assert kendall([1, 2, 3, 4, 5], [1, 3, 2, 4, 5]) == pytest.approx(0.8)


def test_what_does_not_vary_has_no_rank():
    assert spearman([1, 1, 1], [1, 2, 3]) is None
    assert kendall([1, 2, 3], [2, 2, 2]) is None


def test_losses_are_shares_of_the_best_performance():
    predicted, measured = [1, 2, 3, 4, 5, 6], [4, 5, 2.5, 3, 9, 2]
    assert top_loss(predicted, measured, 1) == pytest.approx(0.5)  # 1/4 of 1/2
    assert top_loss(predicted, measured, 2) == pytest.approx(0.5)
    assert top_loss(predicted, measured, 5) == pytest.approx(0.2)
    assert top_loss(predicted, measured, 9) == 0


def test_lengths_that_differ_and_nothing_at_all_are_refused():
    with pytest.raises(InputError, match="cannot be ranked"):
        spearman([1, 2], [1])
    with pytest.raises(InputError, match="sample more"):
        top_loss([], [], 1)


def test_slow_rounds_and_single_bursts_do_not_change_times():
    own, rounds = np.array([2.0, 3.0, 5.0, 2.1, 9.0]), np.array([1.0, 1.7, 1.2, 1.1, 1.5])
    times = np.outer(own, rounds)
    assert polished(times) == pytest.approx(own)
    times[0, 0] *= 4  # the best one, in the quiet round
    times[2, 3] *= 2
    assert polished(times) == pytest.approx(own)
    assert np.argmin(times.min(axis=1)) == 3  # whose shortest time is now the shortest
    assert polished([[7.0]]) == pytest.approx([7])


def test_luck_is_no_loss_where_others_choose():
    """Equal samples lose nothing on average, however many of them there are."""
    draw = np.random.default_rng(5)
    lost, crossed = [], []
    for _ in range(200):
        times = draw.lognormal(0, 0.1, (40, 8))
        lost.append(top_loss(range(40), polished(times), 1))
        crossed.append(crossed_loss(range(40), times, 1))
    assert np.mean(lost) > 0.07
    assert abs(np.mean(crossed)) < 0.01


def test_what_is_really_lost_is_lost_whoever_chooses():
    times = np.outer([4.0, 5.0, 2.5, 3.0, 9.0, 2.0], [1.0, 1.3, 1.1])
    assert [crossed_loss(range(6), times, count) for count in (1, 2, 5, 9)] == pytest.approx([0.5, 0.5, 0.2, 0])
    assert crossed_loss([1, 2], [[1.0], [2.0]], 1) is None
    with pytest.raises(InputError, match="cannot be ranked"):
        crossed_loss([1], [[1.0, 2.0], [2.0, 2.0]], 1)
