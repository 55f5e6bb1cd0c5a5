"""What windows with missing taps keep of the loss of all, in fractions; rows of four taps on every short sequence."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import highspy
import numpy as np
import pytest

from optmap.bounds.windows.halo import LOSSES, PARTS, root
from optmap.checker.bounds import losses as checker

Tap = tuple[int, int]
Multiples = dict[tuple[int, ...], Fraction]


@cache
def parallelograms(rows: int, columns: int) -> np.ndarray:
    """Per inequality d_t0 <= d_t1 + d_t2 + d_t3 with t0 = t1 + t2 - t3 the difference of its sides, per tap."""
    window = list(itertools.product(range(rows), range(columns)))
    found = set()
    for t0, t1, t2 in itertools.product(range(len(window)), repeat=3):
        (i, j), (h, k), (f, g) = window[t0], window[t1], window[t2]
        t3 = (h + f - i, k + g - j)
        if t3 in window and t0 not in (t1, t2):
            row = [0] * len(window)
            row[t0] = 1
            for t in (t1, t2, window.index(t3)):
                row[t] -= 1
            found.add(tuple(row))
    return np.array(sorted(found))


def missing_sets(rows: int, columns: int, count: int) -> Iterator[tuple[int, ...]]:
    """Sets of missing taps, one of those that mirrors (and turns of a square) make of each other."""
    window = list(itertools.product(range(rows), range(columns)))
    seen = set()
    for without in itertools.combinations(window, count):
        turned = [without, [(j, i) for i, j in without]] if rows == columns else [without]
        mirrored = (
            tuple(sorted((rows - 1 - i if up else i, columns - 1 - j if left else j) for i, j in taps))
            for taps, up, left in itertools.product(turned, (0, 1), (0, 1))
        )
        first = min(mirrored)
        if first not in seen:
            seen.add(first)
            yield tuple(window.index(tap) for tap in first)


@cache
def program(rows: int, columns: int) -> highspy.Highs:
    """Multiples of parallelograms and the most that they leave to a tap: one program for all sets of missing taps."""
    given, solver = parallelograms(rows, columns), highspy.Highs()
    solver.setOptionValue("output_flag", False)
    for _ in given:
        solver.addVar(0, highspy.kHighsInf)
    solver.addVar(-highspy.kHighsInf, highspy.kHighsInf)
    solver.changeColCost(len(given), 1)
    for tap in given.T:
        entries = np.append(tap, 1)
        used = np.flatnonzero(entries)
        solver.addRow(0, highspy.kHighsInf, len(used), used.astype(np.int32), entries[used].astype(np.float64))
    return solver


def kept(rows: int, columns: int, without: tuple[int, ...]) -> Fraction:
    """The part of the loss that multiples of parallelograms, added up in fractions, leave to the taps in use."""
    left, solver = [Fraction(t in without) for t in range(rows * columns)], program(rows, columns)
    for t, share in enumerate(left):
        solver.changeRowBounds(t, float(share), highspy.kHighsInf)
    solver.run()
    given, found = parallelograms(rows, columns), np.array(solver.getSolution().col_value[:-1])
    # Whatever the floats are: fractions that are not negative prove what is left of them.
    for number in np.flatnonzero(found > 0):
        times = Fraction(found[number]).limit_denominator(840)
        for t in np.flatnonzero(given[number]):
            left[t] -= times * int(given[number, t])
    return 1 - max(left)


@pytest.mark.parametrize(("shape", "taps"), [(shape, taps) for shape in PARTS for taps in PARTS[shape]])
def test_parallelograms_leave_the_part_that_is_claimed(shape, taps):
    rows, columns = shape
    # Rows of four lose more where all that are missing are of the middle one, see below.
    parts = [
        kept(rows, columns, without)
        for without in missing_sets(rows, columns, rows * columns - taps)
        if shape != (3, 4) or not without or any(t // columns != 1 for t in without)
    ]
    assert min(parts) == PARTS[shape][taps]


def test_what_misses_taps_of_the_middle_row_alone_loses_more_than_a_part_of_all():
    a = np.arange(1, 400)[:, None]
    c = a + np.arange(400)[None, :]
    m, delta = a + c, c - a
    for taps, q, short in ((11, 48, 3 / 4), (10, 44, 3 / 4), (9, 40, 4 / 5), (8, 40, 4 / 5)):
        one = root(m, q, short)
        rows = np.minimum(2 * root(m / 2, q, short), one + m / 2) if taps > 8 else one
        part = float(PARTS[3, 4][taps])
        lost = (1 - part / taps) * rows + part * delta / 2
        assert (lost >= LOSSES[3, 4][taps](a, c)).all()


def sequences(places: int, most: int) -> Iterator[np.ndarray]:
    """All sequences of so many sizes of rows, up to so many elements together."""
    for bars in itertools.combinations(range(most + places), places):
        ends = np.array((-1, *bars))
        yield np.diff(ends) - 1


def link(p: np.ndarray, q: np.ndarray, taps: int) -> np.ndarray:
    """What rows of p and of q elements lose at least: b(p+q)/2 less the most pairs of one dimension."""
    e = np.abs(p - q)
    both = np.maximum(3 * e / 2, 2 + e / 2) if taps == 3 else np.maximum(np.maximum(3 + e, 2 * e), 4 - (p + q == 2))
    return np.where((p > 0) & (q > 0), both, taps * e / 2)


def of_four_rows(u: np.ndarray, taps: int) -> np.ndarray:
    """What links of places that are 1 or 3 apart lose, per sequence."""
    wide = np.pad(u, ((0, 0), (3, 3)))
    return sum(link(wide[:, :-by], wide[:, by:], taps).sum(axis=1) for by in (1, 3))


@pytest.mark.parametrize("taps", [3, 4])
def test_no_sequence_of_rows_loses_less_than_four_rows_of_taps(taps):
    shape, number = ((3, 4), 12) if taps == 3 else ((4, 4), 16)
    u = np.array([np.pad(s, (0, 9 - n)) for n, most in ((3, 14), (5, 10), (7, 8), (9, 6)) for s in sequences(n, most)])
    rng = np.random.default_rng(5)
    slopes = np.sort(rng.choice([0, 0, 0, 1, 1, 2, 3, 4, 6], (40_000, 2, 12)), axis=2)
    tops = rng.integers(1, 60, (40_000, 1))
    large = np.concatenate([tops - np.cumsum(slopes[:, 0], axis=1)[:, ::-1], tops - np.cumsum(slopes[:, 1], axis=1)], 1)
    nearest = 0.0
    for rows in (u, np.maximum(large, 0)):
        a, c = rows[:, 1::2].sum(axis=1), rows[:, ::2].sum(axis=1)
        real = (a > 0) & (c > 0)
        few, many = np.minimum(a, c)[real], np.maximum(a, c)[real]
        lost, claimed = of_four_rows(rows[real], taps), LOSSES[shape][number](few, many)
        assert (claimed <= lost + 1e-9).all(), rows[real][(claimed > lost).argmax()]
        nearest = max(nearest, float((claimed / lost).max()))
    assert nearest > 0.85


@pytest.mark.parametrize(("eta", "q", "short"), [(3, 94.3, 0.75), (0.5, 48, 0.75), (0.25, 44, 0.75), (0, 40, 0.8)])
def test_no_path_of_rows_of_four_taps_loses_less_than_its_root(eta, q, short):
    alpha = 38 / 9 if eta == 3 else 4
    least = least_of_paths(16, 44, eta, alpha)
    for m in range(1, 45):
        assert least[m] >= root(m, q, short) - 0.02 * (eta == 3)  # 848/9 is 94.2
    assert min(least[m] / root(m, q, short) for m in range(4, 45)) < 1.12


def least_of_paths(width: int, mass: int, eta: float, alpha: float) -> dict[int, float]:
    """Per mass what one run of a path loses at least, with (alpha - 4) of its greatest width: an exact program."""
    best = dict.fromkeys(range(1, mass + 1), float("inf"))
    sizes = np.arange(1, width + 1)
    costs = link(sizes[:, None], sizes[None, :], 4)
    for widest in range(1, width + 1):
        at = np.full((mass + 1, widest), np.inf)
        for u in range(1, widest + 1):
            if u <= mass:
                at[u, u - 1] = 2 * u + eta
        for m in range(1, mass + 1):
            for u in range(1, min(widest, m - 1) + 1):
                at[m, u - 1] = min(at[m, u - 1], (at[m - u] + costs[u - 1, :widest]).min() + eta)
            end = (at[m] + 2 * sizes[:widest]).min() + (alpha - 4) * widest
            # Runs that do not reach `widest` cost less with a smaller one, so that no sum is too small.
            best[m] = min(best[m], float(end))
    return best


def test_the_checker_rounds_losses_of_many_inputs_down():
    for shape, few in itertools.product(((4, 4), (3, 4)), (1, 3, 10, 40)):
        for many in range(few, 12 * few + 5):
            for taps, loss in LOSSES[shape].items():
                exact = checker.LOSSES[shape][taps](few * checker.GRID, many * checker.GRID) / checker.ONE
                assert exact <= loss(few, many) + 1e-9
                assert loss(few, many) <= taps * (many + few) / 2 - 1 + 1e-9  # one pair is always possible
