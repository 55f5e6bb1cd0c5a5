"""Ranks and losses on numbers whose answer is known."""

from __future__ import annotations

import pytest

from optmap.errors import InputError
from optmap.native import kendall, spearman, top_loss


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
