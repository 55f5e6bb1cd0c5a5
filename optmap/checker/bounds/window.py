"""The product inequality of a convolution whose windows overlap (proof: `optmap/bounds/windows/halo.py`).

For outputs A, taps B inside a window and inputs C of one feature and channel,
    |{(p, t): p in A, t in B, p + t in C}| <= kappa * |A|^outputs * |B|^taps * |C|^inputs.
This module knows the windows for which losses are proved, finds them in a statement, and decides the
inequality for all sizes at once, in integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, gcd, lcm, log, prod
from typing import Any

from ..core.tools import need, ratio
from .losses import GRID, LOSSES, ONE, Loss

FINE = 8
"""Smaller sets are taken in steps of this part of themselves, at first."""
SMALL = 256
"""Smaller sets of which larger ones are tried one after the other where corners do not decide."""
FINEST, CELLS, WIDEST = 1024, 512, 2**13
"""Largest denominator of exponents, most cells, and largest quotient of two sizes, in 1/GRID."""
ONE_BITS, GRID_BITS = ONE.bit_length() - 1, GRID.bit_length() - 1
"""ONE and GRID are powers of 2."""
Cell = tuple[int, int, int]
"""(s1, s2, i): sizes s1 <= s <= s2 of the smaller set, s to s*i/GRID of the larger one."""
Powers = tuple[dict[str, Fraction], list[tuple[Fraction, Fraction]]]
"""Exponents of the tensors; value and exponent of every other factor of a product inequality."""


@dataclass(frozen=True, slots=True)
class WindowedStatement:
    """A statement with windows, and how many there are of what shares two tensors."""

    windows: list[tuple[str, int]]
    """Tap and stride."""
    places: list[str]
    """Dims of output and image alone, those of windows among them."""
    features: int
    channels: int
    image: str
    kernel: str


def convolution(accesses: list[Any], extents: dict[str, int]) -> WindowedStatement:
    """The windows of a statement.

    Raises:
        RefusedError: if it is no convolution.
    """
    names = [access["tensor"] for access in accesses]
    terms = [[[d for d, _ in axis["terms"]] for axis in access["axes"]] for access in accesses]
    need(len(accesses) == len(set(names)) == 3, "a window needs an output and two inputs")
    sliding = [i for i in (1, 2) if any(len(axis) > 1 for axis in terms[i])]
    need(len(sliding) == 1 and all(len(axis) < 2 for axis in terms[0]), "one input alone slides under a window")
    image = sliding[0]
    out, img, ker = ([d for axis in terms[i] for d in axis] for i in (0, image, 3 - image))
    need(all(len(dims) == len(set(dims)) for dims in (out, img, ker)), "a dim stands in two subscripts of a tensor")
    windows = []
    for axis in accesses[image]["axes"]:
        coefficients = dict(axis["terms"])
        if len(coefficients) > 1:
            places = [d for d in coefficients if d in out and d not in ker]
            taps = [d for d in coefficients if d in ker and d not in out]
            need(len(coefficients) == 2 and len(places) == len(taps) == 1, "a window is an output dim plus a tap")
            windows.append((taps[0], coefficients[places[0]] // gcd(*coefficients.values())))
    # No place is of the kernel, and no tap is of the output; of the image they are in subscripts of two dims.
    need(all((d in out) + (d in img) + (d in ker) > 1 for d in extents), "a dim occurs in one tensor only")
    return WindowedStatement(
        windows=windows,
        places=[d for d in out if d in img and d not in ker],
        features=prod(extents[d] for d in out if d in ker and d not in img),
        channels=prod(extents[d] for d in img if d in ker and d not in out and d not in dict(windows)),
        image=names[image],
        kernel=names[3 - image],
    )


def window_of(found: WindowedStatement, extents: dict[str, int]) -> tuple[tuple[int, ...], int]:
    """Taps per window, and channels; with stride s taps of one residue mod s meet inputs of that residue alone.

    Raises:
        RefusedError: if the windows have no proved losses.
    """
    live = tuple(sorted(n for n in (-(-extents[tap] // stride) for tap, stride in found.windows) if n > 1))
    need(live in LOSSES, f"nothing is proved of a window of {live} taps")
    return live, found.channels * prod(min(stride, extents[tap]) for tap, stride in found.windows)


def check_window(doc: dict[str, Any]) -> Powers:
    """Exponents of the tensors, and (value, exponent) of the other factors of the product inequality."""
    need(not doc["maps"] and not doc["families"], "maps beside a window")
    entry = doc["window"]
    x, y, z, kappa = (ratio(entry[key], key) for key in ("outputs", "taps", "inputs", "kappa"))
    found = convolution(doc["accesses"], doc["workload"]["extents"])
    shape, residues = window_of(found, doc["workload"]["extents"])
    need(
        max(x, y, z) <= 1 < x + z and min(x, z, kappa) > 0, "exponents are at most 1, those of the pixels more together"
    )
    need(lcm(*(n.denominator for n in (x, y, z))) <= FINEST and kappa.denominator <= 2**30, "exponents are too fine")
    for smaller, larger in {(x, z), (z, x)}:
        decide(shape, smaller, y, larger, kappa)
    sums = {doc["accesses"][0]["tensor"]: x, found.image: z} | ({found.kernel: y} if y else {})
    features, channels = max(Fraction(0), 1 - x - y), max(Fraction(0), 1 - y - z)
    return sums, [(kappa, Fraction(1)), (Fraction(found.features), features), (Fraction(residues), channels)]


@lru_cache(maxsize=256)
def decide(shape: tuple[int, ...], u: Fraction, y: Fraction, v: Fraction, kappa: Fraction) -> None:
    """Refuse unless there are at most kappa s^u b^y l^v pairs for all sizes s <= l and numbers of taps b.

    There are at most b*s pairs, and at most b'(s+l)/2 - loss for any b' >= b. Once b <= kappa b^y s^(u+v-1) (l/s)^v
    the first is enough, for this s and every larger one. In the rest of s1 <= s <= s2, the trapezoid
    s <= l <= s*i/GRID, the second is convex; the right-hand side is at least its tangent in
    M = (s^u l^v)^(1/(u+v)), a concave function of s and l, because u + v > 1: the four corners decide. Where
    they do not, halves of s1 ... s2 may, or whole numbers of pairs for a small s.
    """
    for taps in range(1, prod(shape) + 1):
        power = Power(u, y, v, kappa, taps)
        losses = [(b, LOSSES[shape][b]) for b in sorted(LOSSES[shape]) if b >= taps]
        for cell in cells(power):
            need(fits(power, cell, losses), f"kappa is not proved for {taps} taps at {cell[0]} and more pixels")


class Power:
    """kappa * b^y * M^(u+v) for one number of taps."""

    def __init__(self, u: Fraction, y: Fraction, v: Fraction, kappa: Fraction, taps: int) -> None:
        self.q = q = lcm(u.denominator, y.denominator, v.denominator)
        self.taps, self.U, self.Y = taps, int(u * q), int(y * q)
        self.V: int = int(v * q)
        self.D: int = int((u + v) * q)
        self.kappa, self.factor = kappa, root_below(taps * GRID, int(y * q), q)
        self.left: int = taps ** (q - int(y * q)) * kappa.denominator**q * GRID**self.V
        self.right: int = kappa.numerator**q
        self.share = log(self.left) - log(self.right)

    def trivial(self, s: int, i: int) -> bool:
        """Is b*s enough for l >= s*i/GRID?"""
        right: int = self.right * s ** (self.D - self.q) * i**self.V
        return self.left <= right

    def narrowest(self, s: int) -> int:
        """An i from GRID on with which `trivial` holds, about the least, given that it holds for one up to WIDEST."""
        share = self.share - (self.D - self.q) * log(s)
        i = max(GRID, int(exp(min(share / self.V, log(WIDEST)))) + 1)
        while not self.trivial(s, i):
            i += 1
        return i

    def holds(self, s: int, more: int, pairs: int) -> bool:
        """Are there at most kappa s^u b^y more^v pairs?"""
        roots = self.factor * root_below(s * GRID, self.U, self.q) * root_below(more * GRID, self.V, self.q)
        if pairs * self.kappa.denominator * ONE**3 <= self.kappa.numerator * roots:
            return True
        left: int = (pairs * self.kappa.denominator) ** self.q
        right: int = self.right * s**self.U * self.taps**self.Y * more**self.V
        return left <= right

    def tangent(self, at: int) -> Callable[[int], int]:
        """M in 1/ONE -> a lower bound in 1/ONE^3 times kappa's denominator, q and `at`."""
        q, D = self.q, self.D
        scale = self.kappa.numerator * self.factor * root_below(at * GRID, D, q)
        return lambda M: scale * ((q - D) * at * ONE + D * M)

    def mean(self, s: int, n: int) -> int:
        """M of s and s*n/GRID, in 1/ONE."""
        return s * root_below(n, self.V, self.D)


def cells(power: Power) -> Iterator[Cell]:
    """Cells that cover all sizes s <= l where b*s is not enough."""
    s = 1
    need(power.trivial(s, WIDEST), "kappa is far too small")
    for _ in range(CELLS):
        i = power.narrowest(s)
        if i == GRID:
            return
        yield s, s + s // FINE, i
        s += s // FINE + 1
    need(False, "the exponents of the pixels are too small for this kappa")


def fits(power: Power, cell: Cell, losses: list[tuple[int, Loss]]) -> bool:
    """Does one of the losses hold at the corners of a cell, or of its halves?"""
    low, high, i = cell
    if corners(power, cell, losses):
        return True
    if low == high:
        return low <= SMALL and all(
            any(power.holds(low, c, n) for n in most(power.taps, low, c, losses)) for c in sizes(low, i)
        )
    middle = (low + high) // 2
    halves = (low, middle, i), (middle + 1, high, power.narrowest(middle + 1))
    return all(fits(power, half, losses) for half in halves)


def sizes(s: int, i: int) -> range:
    """Whole sizes from s to s*i/GRID."""
    return range(s, s * i // GRID + 1)


def most(taps: int, a: int, c: int, losses: list[tuple[int, Loss]]) -> Iterator[int]:
    """Most pairs of sets of whole sizes a <= c, by each of the losses and without any."""
    for b, loss in losses:
        yield (b * (a + c) * ONE // 2 - loss(a * GRID, c * GRID)) // ONE
    yield min(taps * a, a * c)


def corners(power: Power, cell: Cell, losses: list[tuple[int, Loss]]) -> bool:
    """Are there at most kappa b^y M^(u+v) pairs at the corners of a cell, by one of the losses?"""
    low, high, i = cell
    middle = (low + high) // 2
    tangent, unit = power.tangent(middle), power.kappa.denominator * ONE * ONE * power.q * middle
    ends = [(s, n, tangent(power.mean(s, n)) // unit) for s in {low, high} for n in (GRID, i)]
    return any(
        all(taps * s * (GRID + n) * ONE // (2 * GRID) - loss(s * GRID, s * n) <= most for s, n, most in ends)
        for taps, loss in losses
    )


@lru_cache(maxsize=4096)
def root_below(n: int, p: int, q: int) -> int:
    """A number r with (r/ONE)^q <= (n/GRID)^p, close to the largest one."""
    p, q = p // gcd(p, q), q // gcd(p, q)
    r, most = int(ONE * exp(p / q * log(n / GRID))), n**p << ONE_BITS * q >> GRID_BITS * p
    while r**q > most:
        r -= 1 + (r >> 40)
    return r
