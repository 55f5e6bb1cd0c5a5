r"""How few operations a tile of a convolution has, because its windows overlap: the halo.

For one feature, channel, image and group let A be the outputs, B the taps and C the inputs that are
touched, points of Z^2 with B inside a window of R x S taps, a, b, c their numbers, and
    T = #{(p, t) : p in A, t in B, p + t in C}.
A tile of outputs needs a larger tile of inputs, so that T stays below b*min(a, c). This page proves by
how much, and what follows for the words of a segment. Nothing in it depends on a layer.

**Losses.** loss_B := b(a+c)/2 - T = 1/2 * sum over t in B of d_t, where d_t = |(A+t) symmetric difference C|.
More taps lose more, and T <= b min(a, c).

*One dimension* (P and Q subsets of Z, p and q their sizes, e = |p-q|). With p = 0 or q = 0 the loss is
b*e/2. For p, q >= 1 it is at least
- max(1, e) with two taps: pairs of P and Q that a tap joins form paths (each point has at most two
  neighbours, and there is no cycle), so T <= p+q-1; and T <= 2 min(p, q);
- max(3e/2, 2 + e/2) with three neighbouring taps: T <= 3 min(p, q) is the first. The second says more
  for e <= 1 only. Sort P and Q; (i, j) is related if |p_i - q_j| <= 1. Along an antidiagonal i + j = s
  the difference grows by 2 or more per step, so at most two pairs are related, with differences -1
  and 1; then p_(i+1) = p_i + 1 = q_j = q_(j-1) + 1, the pair between them on the next antidiagonal has
  difference 0 and is the only one there. So two consecutive antidiagonals have at most 3 related
  pairs, and the first and the last have one cell. Of p+q-1 antidiagonals: e = 0: T <= 1 + 3(p-1);
  e = 1: T <= 2 + 3(min(p, q) - 1).

*Runs of rows.* Let a_h, c_h be the sizes of the rows of A and C. Two rows of taps at different offsets
link the rows of A and C into paths, in which rows of A and C alternate and every row has one link of each
kind; the links lose what one dimension says. Let u_1 ... u_H > 0 be a run of a path between
empty rows, m its sum.
A link costs 3e/2 + max(0, 2-e) with three taps, and to an empty row 3u/2; with two taps e + max(0, 1-e)
and u. Replace u_i by min(max of u_1..u_i, max of u_i..u_H): no step e grows, the ends stay, m does
not fall, and the run rises to its greatest width W and falls. Then the steps and ends of the run add
up to 2W. Of the other terms, let 2k (three taps; k with two) be the sum of min(e, 2) (of min(e, 1)) on one
side of the widest row. A step that is i-th from its end takes e words from i rows, so that side is short of
a rectangle by k(k+1) (by k(k+1)/2) at least. With three taps in both rows and eta more per row:
    cost >= 3W + (2+eta)H - 2 - 2(k1+k2),   m <= WH - k1(k1+1) - k2(k2+1),
with two taps in both: cost >= 2W + H - 1 - (k1+k2), m <= WH - k1(k1+1)/2 - k2(k2+1)/2. The largest m of a given
cost L is a concave quadratic program: m <= L^2/28 + 1/2 for eta = 1, L^2/16 + 1/2 for eta = 0, L^2/4 + 1/4
with two taps. So L >= octagon(m) = sqrt(28(m - 1/2)), rectangle(m) = sqrt(16(m - 1/2)), diamond(m) =
sqrt(4(m - 1/4)). Below 1 (1/2) replace these roots by their tangents there, which go through 0: they
are concave, 0 at 0, so several runs, and several paths, of m elements together lose no less.

*Nine taps.* Offsets 1 and -1 link the rows to two paths a_0, c_1, a_2 ... and c_0, a_1, c_2 ...
of m1 and m2, m1 + m2 = a + c. The row of offset 0 joins a_h and c_h: it loses at least 1 per
nonempty row and |a_h - c_h|/2 besides. Give the first to the runs (eta = 1); the second is at least
max(|a-c|, |m1-m2|)/2 in all. As a function of |m1-m2| the sum octagon(m1) + octagon(m2) + that is
concave on [0, |a-c|], where it falls, and on [|a-c|, a+c]: it is least at an end of the latter.
    nine(a, c) = min(octagon(a) + octagon(c) + |a-c|/2, octagon(a+c) + (a+c)/2).

*Fewer taps.* d is a metric between shifted sets: if t0 - t1 = t2 - t3 then d_t0 <= d_t1 + d_t2 + d_t3 (go
from A+t0 to A+t1, as far as from A+t2 to A+t3, over C). For a missing tap t0 = (i, j) take (i, j'), (i', j), (i', j').
- 8 of 3x3: the four of these, a quarter each, burden no tap with more than 1/2:
  nine <= loss + loss/2, so loss >= 2/3 nine.
- 7: both missing ones in one row: the two full rows lose rectangle(a+c) (columns alike). Else leave out
  the parallelogram with the other missing tap and the one opposite to it: (1/2)+(1/2) at most, loss >= nine/2.
- 6: two rows have two taps or more each: diamond(a+c). 5: so have two rows or two columns, unless the taps are
  one row and one column; then the four parallelograms of the missing ones use the crossing four times
  and other taps twice, loss >= nine/5.
- 2x3: 6 taps lose rectangle(a+c), 5 diamond(a+c). 2x2: 4 lose diamond(a+c); 3 have nothing but the parallelogram,
  loss >= diamond/2. Windows of one axis: the losses of one dimension.

*Four taps in a row.* With p, q >= 1 the loss of one dimension is at least 3 + e, 2e, and 4 unless p = q = 1. For
along an antidiagonal the difference grows by 2 or more, so at most two pairs have one of four neighbouring values, and
the first and the last antidiagonal have one cell: T <= 2(p+q-1) - 2 unless they are the same, and T <= 1 then. And
T = 4 min(p, q) needs four partners of every point of the smaller set, e >= 3: so for e = 2 the loss is 2e + 1 at
least, and 3 + e for every e.
Take a path of rows of A and C under two rows of four taps, eta more per nonempty row, beta = 4 + eta. Leaving out its
empty rows costs nothing: a link of u and v costs no more than 2u + 2v. So the path is one run, with W and H as before,
and (alpha - 4) W shall come from elsewhere, alpha = 4 if nothing does. A link of two rows u = 1 loses 3. Without such
links one costs 2e + 4 - s(e) or more, s = 0, 2, 3, 4 for e = 0, 1, 2 and more; that does not fall with e. Let on one
side of the widest row k steps have e >= 1, and let l be the number of steps with e >= 2 and of those with e >= 3
together. A step that is i-th from its end takes e words from i rows:
    cost >= alpha W + beta H - 4 - sum of 2k + l,   m <= WH - sum of k(k+1)/2 + l(l+2)/4,
both sums over two sides. The largest m of a cost L is L^2/q + 3/4 with q = 4(alpha beta - 6). With such links H rows of
one element cost alpha + (beta-1)H - 3; and of other runs, where m >= 3 remain, every last such row adds 3 + eta, more
than L grows. So L >= sqrt(q(m - 3/4)) for (alpha, eta) = (38/9, 3), (4, 1/2), (4, 1/4), and sqrt(40(m - 4/5)) for
(4, 0), where two elements lose 7. With three taps alike: q = 4(alpha beta - 2), L >= sqrt(q(m - 1/2)), beta = 2 + eta.

*Four rows.* Let c_h stand at place 2h of a sequence u and a_h at 2h+1: rows of taps at offsets -1, 0, 1, 2 link
places that are 1 or 3 apart. A link of 1 with four taps loses 3 + e, or 2u to an empty row: give 3/2 to either end that
is not empty; e is left, or 2u - 3/2 >= max(u - 1/2, u/2). With three taps give 1 of 2 + e/2, or of 3u/2; e/2 or u/2 is
left. The sum of all |u_i - u_(i+1)| is at least 2W, W the widest row of all, and so much in its run of places alone; it
is at least |m0-m1| + |m1-m2| + |m0-m2|, where m0 >= m1 >= m2 are the masses of the places of one residue modulo 3; and
at least 2 delta, delta = |a-c|. So max(m0 - m2, delta) is left, and 2W - 1 with four taps, W with three: take a third
of 2W - 1 and two thirds of the other, or half of W and half of the other. The residues are paths of the links of 3,
with eta = 3 (2) and rows of W at most: a third of 2W/3 (W/2) is alpha - 4 = 2/9 (alpha - 3 = 1/6) for each. So all
lose L(m0) + L(m1) + L(m2) + nu max(m0 - m2, delta), nu = 2/3 (1/2), less 1/3 with four taps. L is concave, with its
tangent at 2 short through 0 and beyond, L = sqrt(q(m - short)). Where m0 - m2 <= delta the sum is concave, and where it
is more; so it is least in a corner of one of the two: at two equal m and m0 - m2 = delta, or where one or two m
are all, the others 0. (Equal m lose more, m0 - m2 = delta with m2 = 0 is between those two, one of
which has m2 < 0 then.) With M = a + c
    four(L, nu) = min(L((M+2 delta)/3) + 2 L((M-delta)/3) + nu delta,   2 L((M+delta)/3) + L((M-2 delta)/3) + nu delta,
                      2 L(M/2) + nu M/2,   L(M) + nu M),
- 16 of 4x4: four with sqrt(848/9 (m - 3/4)) and 2/3, less 1/3. 12 of 3x4: four rows of three, sqrt(128/3 (m - 1/2)).
- 2x4: 8 taps lose sqrt(40(a+c - 4/5)). 4 taps of one axis: 3 + e; 3 and 2 of them lose what two taps lose.
- 8 of 4x4, 7 of 3x4: two rows have two taps or more: diamond(a+c).

*Nearly all taps of 4x4, 3x4, 2x4.* Any t0 = t1 + t2 - t3 will do for d_t0 <= d_t1 + d_t2 + d_t3, t1 = t2 as well.
Multiples of these inequalities add up to: the d of the missing taps are at most 1 - p of all d together, so that the
taps in use keep p of the loss of all. Linear programming finds the multiples for every set of missing taps;
`tests/unit/test_missing_taps.py` does, and adds up in fractions. Kept are at least
- 15, 14, 13, 12 of 4x4: 5/6, 7/10, 7/12, 1/2;   7, 6, 5 of 2x4: 7/10, 1/2, 1/4;
- 11, 10, 9, 8 of 3x4: 11/14, 5/8, 1/2, 1/4, unless all that are missing are of the middle row of four. Then the outer
  rows link two paths, and the middle one, with 3, 2, 1, 0 taps of a_h and c_h, loses max(1, e) + e/2 >= 1 + e/2,
  max(1, e) >= 1/2 + e/2, e/2, 0: as with nine taps min(2 L(M/2), L(M) + M/2) with eta = 1/2, 1/4, 0, where the first
  is sqrt(96(M - 3/2)), sqrt(88(M - 3/2)), sqrt(80(M - 8/5)); and for 8 taps L(M) = sqrt(40(M - 4/5)). As b taps lose
  b delta/2 too, take p/b of that, p delta/2, and 1 - p/b of these, which are 13/14, 15/16, 17/18, 31/32:
  that is more than p (3 L(M/3) + delta/2) or p (L(M) + M/2), L of all taps, and so more than p of four.

**Kappa.** For exponents x, y, z with x + z > 1 let kappa be such that for all whole a, b, c >= 1
    T <= kappa * a^x * b^y * c^z.
`optmap/checker/bounds/window.py` decides this in integers for all sizes at once (large sizes are trivial because
x + z > 1); `kappa` here finds candidates in floats.

**From one feature and channel to a segment.** A finite set V of operations has one such triple per image
n, feature k, channel c, group g: |V| <= sum of kappa a_nkg^x b_kcg^y c_ncg^z. Hoelder's inequality over one index
after the other (Finner), for sums, where exponents may add up to more than 1, with the function 1 of the features
in the power f = max(0, 1-x-y), and of the channels in the power e = max(0, 1-y-z), gives for x, y, z <= 1
    |V| <= kappa * |Out|^x * |Ker|^y * |In|^z * features^f * channels^e,
since x + z >= 1 for n and x + y + z >= 1 for g. V may be any part of the iteration space, so padding may be
left out. This is one more product inequality for U(K) of `segments`, and everything after it stays.

**Stride and dilation.** Of s*p + d*t, s and d coprime, write t = s*t' + t'' and p = d*p' + p'': it is
s*d*(p' + t') + (s*p'' + d*t''), and the input determines p'' and t'' (the bracket modulo d and s). So p''
belongs to outputs and inputs like an image, t'' to inputs and taps like a channel (of min(s, R) values), and
p', t' are a unit window of ceil(R/s) taps. Where that is 1, p' is like p''.

Sources: Dinh's dissertation 4.1 for the segment argument; the isoperimetric inequalities are proved above.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from heapq import heappop, heappush
from math import ceil, exp, inf, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Cell = tuple[int, int, int]
"""(s1, s2, i): sizes s1 <= s <= s2 of the smaller set, s to s*i/GRID of the larger one."""
Number = Any
"""A float, or an array of them: losses are asked for one pair of sizes and for many."""
Loss = Callable[[Number, Number], Number]
"""Sizes a <= c of outputs and inputs, in either order -> the loss, at least."""

FINE, GRID = 8, 256
"""Steps of the sizes, as the checker takes them."""
SMALL = 256
"""Smaller sets beside which every size of the larger one is tried, as by the checker."""
SPLITS = 200
"""Cells that are halved where kappa is largest."""
SLACK = 1e-5
"""Pairs that roots may be rounded by."""
MARGIN = 1e-6
"""What kappa is above its float, relatively, so that integers accept it."""
LARGEST = 3 * 10**4
"""Sizes whose kappa is estimated."""


def octagon(m: Number) -> Number:
    """What m elements lose that three rows of three taps join."""
    return (28 * m - 14) ** 0.5


def rectangle(m: Number) -> Number:
    """What m elements lose that two rows of three taps join."""
    return (16 * m - 8) ** 0.5


def diamond(m: Number) -> Number:
    """What m elements lose that two rows of two taps join."""
    return (4 * m - 1) ** 0.5


def root(m: Number, q: float, short: float) -> Number:
    """At most what m elements lose that a path joins: sqrt(q(m - short)) and its tangent through 0, of 6 at most."""
    left = m - short
    return (q * (left + abs(left)) / 2) ** 0.5 + 3 * (m - abs(m))


def four(a: Number, c: Number, q: float, short: float, nu: float) -> Number:
    """What a outputs and c inputs, or the other way round, lose under four rows of taps, a <= c."""
    m, delta = a + c, c - a
    low, high = root((m - delta) / 3, q, short), root((m + delta) / 3, q, short)
    apart = less(root((m + 2 * delta) / 3, q, short) + 2 * low, 2 * high + root((m - 2 * delta) / 3, q, short))
    fewer = less(2 * root(m / 2, q, short) + nu * m / 2, root(m, q, short) + nu * m)
    return less(apart + nu * delta, fewer)


def all_of_4x4(a: Number, c: Number) -> Number:
    """What a outputs and c inputs lose under all taps of a 4x4 window."""
    return four(a, c, 848 / 9, 3 / 4, 2 / 3) - 1 / 3


def all_of_3x4(a: Number, c: Number) -> Number:
    """What a outputs and c inputs lose under all taps of a 3x4 window."""
    return four(a, c, 128 / 3, 1 / 2, 1 / 2)


def all_of_2x4(a: Number, c: Number) -> Number:
    """What a outputs and c inputs lose under all taps of a 2x4 window."""
    return root(a + c, 40, 4 / 5)


def kept(loss: Loss, parts: dict[int, Fraction]) -> dict[int, Loss]:
    """Per number of taps a part of the loss of all."""
    once = lru_cache(maxsize=2**12)(loss)

    def share(part: float) -> Loss:
        return lambda a, c: part * (loss(a, c) if isinstance(c, np.ndarray) else once(a, c))

    return {taps: share(float(part)) for taps, part in parts.items()}


def nine(a: Number, c: Number) -> Number:
    """What a outputs and c inputs, or the other way round, lose under all taps of a 3x3 window, a <= c."""
    return less(octagon(a) + octagon(c) + (c - a) / 2, octagon(a + c) + (a + c) / 2)


def less(one: Number, other: Number) -> Number:
    """The smaller of two numbers."""
    return (one + other - abs(one - other)) / 2


PARTS: dict[tuple[int, ...], dict[int, Fraction]] = {
    (4, 4): {16: Fraction(1), 15: Fraction(5, 6), 14: Fraction(7, 10), 13: Fraction(7, 12), 12: Fraction(1, 2)},
    (3, 4): {12: Fraction(1), 11: Fraction(11, 14), 10: Fraction(5, 8), 9: Fraction(1, 2), 8: Fraction(1, 4)},
    (2, 4): {8: Fraction(1), 7: Fraction(7, 10), 6: Fraction(1, 2), 5: Fraction(1, 4)},
}
"""Per window and number of taps in use the part of the loss of all that they keep."""
LOSSES: dict[tuple[int, ...], dict[int, Loss]] = {
    (3, 3): {
        9: nine,
        8: lambda a, c: nine(a, c) * 2 / 3,
        7: lambda a, c: less(rectangle(a + c), nine(a, c) / 2),
        6: lambda a, c: diamond(a + c),
        5: lambda a, c: less(diamond(a + c), nine(a, c) / 5),
    },
    (2, 3): {6: lambda a, c: rectangle(a + c), 5: lambda a, c: diamond(a + c)},
    (2, 2): {4: lambda a, c: diamond(a + c), 3: lambda a, c: diamond(a + c) / 2},
    (4, 4): kept(all_of_4x4, PARTS[4, 4]) | {8: lambda a, c: diamond(a + c)},
    (3, 4): kept(all_of_3x4, PARTS[3, 4]) | {7: lambda a, c: diamond(a + c)},
    (2, 4): kept(all_of_2x4, PARTS[2, 4]),
    (4,): {4: lambda a, c: 3 + c - a, 2: lambda a, c: 1},
    (3,): {3: lambda a, c: 2 + (c - a) / 2, 2: lambda a, c: 1},
    (2,): {2: lambda a, c: 1},
}
"""Per window (its taps per axis, sorted, 1 left out) and number of taps in use: what is lost."""


@lru_cache(maxsize=512)
def kappa(shape: tuple[int, ...], x: Fraction, y: Fraction, z: Fraction) -> Fraction:
    """A kappa close to the least one, of which integers prove that T <= kappa a^x b^y c^z.

    Args:
        shape: one of `LOSSES`.
        x: exponent of the outputs.
        y: exponent of the taps in use.
        z: exponent of the inputs; x + z > 1.
    """
    least = kappa_about(shape, float(x), float(y), float(z))
    cells: list[tuple[float, int, Cell, tuple[float, float, float]]] = []

    def add(b: int, cell: Cell, powers: tuple[float, float, float]) -> None:
        kinds = [(n, LOSSES[shape][n]) for n in sorted(LOSSES[shape]) if n >= b]
        held, enough = inf, least * b ** powers[1]
        for n, loss in kinds:
            if held <= enough:
                break  # less than the least changes nothing
            held = min(held, _corners(cell, n, loss, powers))
        if cell[0] == cell[1] <= SMALL and held > enough:
            held = min(held, _whole(b, cell, kinds, powers))
        heappush(cells, (-held / b ** powers[1], b, cell, powers))

    for powers in {(float(x), float(y), float(z)), (float(z), float(y), float(x))}:
        for b in range(1, prod(shape) + 1):
            for low in _sizes():
                i = _widest(b, low, least, powers)
                if i <= GRID:
                    break
                add(b, (low, low + low // FINE, i), powers)
    for _ in range(SPLITS):
        if not cells or -cells[0][0] <= least or cells[0][2][0] == cells[0][2][1]:
            break
        _, b, (low, high, i), powers = heappop(cells)
        middle = (low + high) // 2
        add(b, (low, middle, i), powers)
        add(b, (middle + 1, high, _widest(b, middle + 1, least, powers)), powers)
    needed = max(least, -cells[0][0]) if cells else least
    return Fraction(ceil(needed * (1 + MARGIN) * 10**6), 10**6)


def kappa_about(shape: tuple[int, ...], x: float, y: float, z: float) -> float:
    """The largest T that losses leave over a^x b^y c^z, among sizes that are tried: not above `kappa`."""
    pairs, sizes = samples(shape)
    return exp((pairs - sizes @ np.array([x, y, z])).max())


@lru_cache
def samples(shape: tuple[int, ...]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Logs of T and of a, b, c: what losses leave of pairs at sizes close to each other, one each to begin with.

    Up to `SMALL` every size a = c is among them: pairs are whole there, and kappa is often largest where they lose
    the least by that.

    Args:
        shape: taps per axis, sorted; of those without `LOSSES` there is only the first.
    """
    if shape not in LOSSES:
        return np.zeros(1), np.zeros((1, 3))
    steps = list(itertools.takewhile(lambda s: s < LARGEST, _sizes()))
    few = np.array(sorted({*steps, *range(1, SMALL + 1)}))[:, None]
    more = np.concatenate([np.zeros_like(few), np.ones_like(few), *(few // n for n in (32, 16, 8, 5, 4, 3, 2))], axis=1)
    many = few + np.where(np.isin(few, steps), np.sort(more, axis=1), 0)
    left, most = (few * many).astype(float), []
    for b in range(prod(shape), 0, -1):
        if b in LOSSES[shape]:
            left = np.minimum(left, b * (few + many) / 2 - LOSSES[shape][b](few, many))
        most.append(np.maximum(1.0, np.minimum(b * few, left)))
    real = np.array(most[::-1])
    # Where fewer taps or inputs have as many pairs, more of them are never the largest.
    told = np.diff(real, axis=0, prepend=0) > 0
    told[:, :, 1:] &= np.diff(real, axis=2) > 0
    taps, place, column = np.nonzero(told)
    s, pairs, larger = few[place, 0], real[told], many[place, column]
    # Where not all sizes of the larger set are tried, one stands for those between.
    alone = (s < 2 * FINE) | (s <= SMALL) & (larger <= s + 1)
    pairs = np.where(alone, np.floor(pairs + SLACK), pairs)
    logs = np.log([pairs, s, taps + 1, larger])
    every = np.concatenate([np.zeros((4, 1)), logs, logs[[0, 3, 2, 1]]], axis=1)
    return every[0], np.ascontiguousarray(every[1:].T)


def _sizes() -> Iterator[int]:
    s = 1
    while True:
        yield s
        s += s // FINE + 1


def _widest(taps: int, s: int, least: float, powers: tuple[float, float, float]) -> int:
    """The i with which larger sets of s*i/GRID and more are trivial beside s; powers of both, and of taps between."""
    u, y, v = powers
    quotient: float = (taps ** (1 - y) / (least * s ** (u + v - 1))) ** (1 / v)
    return max(GRID, ceil(GRID * quotient))


def _whole(taps: int, cell: Cell, kinds: list[tuple[int, Loss]], powers: tuple[float, float, float]) -> float:
    """The least kappa b^y for sets of whole sizes a <= c, a being the only size of the smaller one in a cell."""
    a, c = cell[0], np.arange(cell[0], cell[0] * cell[2] // GRID + 1)
    pairs = np.minimum(taps * a, a * c)
    for n, loss in kinds:
        pairs = np.minimum(pairs, np.floor(n * (a + c) / 2 - loss(a, c) + SLACK))
    return float((pairs / (a ** powers[0] * c ** powers[2])).max())


def _corners(cell: Cell, taps: int, loss: Loss, powers: tuple[float, float, float]) -> float:
    """The least kappa b^y that the checker accepts on one trapezoid."""
    (low, high, i), (u, _, v) = cell, powers
    middle, d = (low + high) // 2, u + v
    needed = -inf
    for s in (low, high):
        for n in (GRID, i):
            tangent = middle**d * (1 - d + d * s * (n / GRID) ** (v / d) / middle)
            needed = max(needed, (taps * s * (1 + n / GRID) / 2 - loss(s, s * n / GRID)) / tangent)
    return needed
