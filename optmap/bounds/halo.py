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
A run of links of two rows of four taps, eta more per row: two neighbouring rows u = 1 lose 3 + eta more than one of
them, which is more than L below grows from m-1 to m (2.93 at most for eta = 0, 4.63 for eta = 3), so leave one out.
Then a link costs 2e + max(0, 4 - 2 min(e, 2)) or more (4 for e < 2), which does not fall with e, and as before (an end
costs 2u, 2k is the sum of min(e, 2) on a side)
    cost >= 4W + (4+eta)H - 4 - 4(k1+k2),   m <= WH - k1(k1+1) - k2(k2+1),
so that L >= sqrt(32(m - 1/2)) for eta = 0, sqrt(80(m - 1/2)) for eta = 3; three taps with eta = 2: sqrt(40(m - 1/2)).

*Four rows.* Let c_h stand at place 2h of a sequence u and a_h at 2h+1: rows of taps at offsets -1, 0, 1, 2 link
places that are 1 or 3 apart. A link of 1 with four taps loses 3 + e (2u >= 3/2 + u/2 to an empty row), with three taps
2 + e/2 (3u/2 >= 1 + u/2): give 3 (2) to every nonempty row, half of each of its two links; |u_i - u_(i+1)|/2 is left.
Places of one residue modulo 3, of masses m0 >= m1 >= m2 and a + c together, are paths of the links of 3, with eta = 3
(2). As the sum of |u_i - u_(i+1)| is at least |m0-m1| + |m1-m2| + |m0-m2|, all lose L(m0) + L(m1) + L(m2) + m0 - m2,
concave in the m: least where one, two or three of them are equal and the others 0,
    four(L, M) = min(3 L(M/3), 2 L(M/2) + M/2, L(M) + M),   M = a + c.
- 16 of 4x4: four with sqrt(80..). 15: nine parallelograms, a ninth each, burden no tap with more than 1/3: 3/4 of
  that. 14: leave out those with the other missing tap, six or eight remain: no tap has more than 1 of both, half that.
- 12 of 3x4: four rows of three, sqrt(40..). 11: six parallelograms, a sixth each: 1/2 at most, 2/3 of that. 10: two
  missing in one row of three leave three each, a third each, and burden the third tap there with 2: 1/3 of that.
  In one column of four, or in no common row or column, no tap has more than 1.
- 2x4: 8 taps lose sqrt(32(a+c - 1/2)). 4 taps of one axis: 3 + e; 3 and 2 of them lose what two taps lose.
- 8 of 4x4, 7 of 3x4: two rows have two taps or more: diamond(a+c).

**Kappa.** For exponents x, y, z with x + z > 1 let kappa be such that for all whole a, b, c >= 1
    T <= kappa * a^x * b^y * c^z.
`optmap/checker/window.py` decides this in integers for all sizes at once (large sizes are trivial because
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
from math import ceil, exp, floor, inf, prod
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


def root(m: Number, q: int, parts: int = 1) -> Number:
    """What equal parts of m elements lose together if each of n loses sqrt(q(n - 1/2))."""
    return (q * parts * (m - parts / 2)) ** 0.5


def four(m: Number, q: int) -> Number:
    """What m elements lose under four rows of taps."""
    return less(less(root(m, q, 3), root(m, q, 2) + m / 2), root(m, q) + m)


def nine(a: Number, c: Number) -> Number:
    """What a outputs and c inputs, or the other way round, lose under all taps of a 3x3 window, a <= c."""
    return less(octagon(a) + octagon(c) + (c - a) / 2, octagon(a + c) + (a + c) / 2)


def less(one: Number, other: Number) -> Number:
    """The smaller of two numbers."""
    return (one + other - abs(one - other)) / 2


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
    (4, 4): {
        16: lambda a, c: four(a + c, 80),
        15: lambda a, c: four(a + c, 80) * 3 / 4,
        14: lambda a, c: four(a + c, 80) / 2,
        8: lambda a, c: diamond(a + c),
    },
    (3, 4): {
        12: lambda a, c: four(a + c, 40),
        11: lambda a, c: four(a + c, 40) * 2 / 3,
        10: lambda a, c: four(a + c, 40) / 3,
        7: lambda a, c: diamond(a + c),
    },
    (2, 4): {8: lambda a, c: root(a + c, 32)},
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
        kinds = [(n, loss) for n, loss in LOSSES[shape].items() if n >= b]
        held = min(_corners(cell, n, loss, powers) for n, loss in kinds)
        if cell[0] == cell[1] <= SMALL:
            held = min(held, max(_whole(b, cell[0], c, kinds, powers) for c in _larger(cell)))
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
    pairs, sizes = _samples(shape)
    return exp((pairs - sizes @ np.array([x, y, z])).max())


@lru_cache
def _samples(shape: tuple[int, ...]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Logs of T and of a, b, c: what losses leave of pairs at sizes close to each other."""
    few = np.array(list(itertools.takewhile(lambda s: s < LARGEST, _sizes())))[:, None]
    more = np.concatenate([np.zeros_like(few), np.ones_like(few), *(few // n for n in (32, 16, 8, 4))], axis=1)
    many = few + np.sort(more, axis=1)
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
    pairs = np.where(s < 2 * FINE, np.floor(pairs), pairs)  # larger sizes stand for those between
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


def _larger(cell: Cell) -> range:
    """Whole sizes of the larger set beside the only one of the smaller."""
    return range(cell[0], cell[0] * cell[2] // GRID + 1)


def _whole(taps: int, a: int, c: int, kinds: list[tuple[int, Loss]], powers: tuple[float, float, float]) -> float:
    """The least kappa b^y for sets of whole sizes a <= c."""
    pairs = min(taps * a, a * c, *(floor(n * (a + c) / 2 - loss(a, c) + SLACK) for n, loss in kinds))
    return float(pairs / (a ** powers[0] * c ** powers[2]))


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
