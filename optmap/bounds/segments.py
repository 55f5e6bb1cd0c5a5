r"""From exponents to loads: the exact integer U(K) and the segment argument.

With exponents inside the polytope, a segment of a schedule that touches K units holds at most
    U(K) = floor( prod_t (S_t K / (sigma w_t))^S_t * prod_i size_i^z_i )
operations. The memory starts empty, so cut after the first M+T units and then after every T:
n U(M+T) + U(M+t) < G with 0 <= t <= T implies that every schedule costs at least M + nT + t + 1.
Everything here is in integers; logarithms only seed searches that integers decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp, floor, inf, lcm, log

import numpy as np

from optmap.base.arrays import Floats

DENSE = 24
"""Optimal segment lengths below which every length up to twice as long is tried."""
LARGEST_BITS = 900
"""Bits of an operation count up to which floats can seed the search; beyond, nothing is proposed."""
DECIDED = 3
"""Lengths decided in integers."""
ROUNDED = 1e-9
"""What estimates in floats may be off, relatively."""
TINY = 1e-12
"""What floats near a whole number may be off it, relatively."""
MOST = 600.0
"""Logs that floats hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """U in floats, of several choices side by side: the largest of parts exp(constant) * K^sigma."""

    constants: Floats
    """(parts, 1, choices)."""
    sigmas: Floats
    """(parts, 1, choices)."""

    def log_value(self, units: Floats) -> Floats:
        """Log U(units)."""
        return np.asarray((self.constants + self.sigmas * np.log(units)).max(axis=0))

    def units_at(self, operations: Floats) -> Floats:
        """The real K with U(K) = operations + 1, capped where floats end."""
        levels = (np.log(operations + 1) - self.constants) / self.sigmas
        return np.asarray(np.exp(np.minimum(levels, MOST)).min(axis=0))


@dataclass(frozen=True, kw_only=True)
class SegmentBound:
    """U as an exact function of K: U(K)^root <= constant * K^power, with a rational constant."""

    sums: tuple[tuple[Fraction, int], ...]
    """(S_t, units per element) of every tensor with S_t > 0; at least one."""
    sizes: tuple[tuple[Fraction, int | Fraction], ...] = ()
    """(exponent, size) of the size maps and of other constant factors."""

    @cached_property
    def sigma(self) -> Fraction:
        """Sum of the tensors' exponents."""
        return sum((s for s, _ in self.sums), Fraction(0))

    @cached_property
    def root(self) -> int:
        """q, a common denominator of all exponents."""
        return lcm(*(s.denominator for s, _ in self.sums), *(z.denominator for z, _ in self.sizes))

    @cached_property
    def power(self) -> int:
        """Exponent of K: root * sigma."""
        return int(self.sigma * self.root)

    @cached_property
    def constant(self) -> Fraction:
        """U(1)^root as a rational number."""
        value = Fraction(1)
        for s, weight in self.sums:
            value *= (s / (self.sigma * weight)) ** int(s * self.root)
        for z, size in self.sizes:
            value *= size ** int(z * self.root)
        return value

    @cached_property
    def log_constant(self) -> float:
        """Log of U(1) as a real number, as a seed."""
        tensors = sum(float(s) * log(s / (self.sigma * weight)) for s, weight in self.sums)
        return tensors + sum(float(z) * log(size) for z, size in self.sizes)

    @property
    def curves(self) -> Curves:
        """U in floats."""
        return Curves(constants=np.full((1, 1, 1), self.log_constant), sigmas=np.full((1, 1, 1), float(self.sigma)))

    def at_most(self, units: int, operations: int) -> bool:
        """Exactly: is U(units) <= operations?"""
        left: int = self.constant.numerator * units**self.power
        right: int = self.constant.denominator * (operations + 1) ** self.root
        return left < right

    def __call__(self, units: int) -> int:
        """U(units), the exact floor, by bisection around a logarithmic seed."""
        if units < 1:
            return 0
        seed = self.log_constant + float(self.sigma) * log(units)
        guess = max(int(exp(seed)) if seed < 700 else 1 << floor(seed / log(2)), 0)
        return _least(lambda u: self.at_most(units, u), guess)

    def largest_units(self, operations: int) -> int:
        """The largest K >= 0 with U(K) <= operations (operations >= 0, sigma > 0)."""
        guess = int(exp(min((log(operations + 1) - self.log_constant) / float(self.sigma), MOST)))
        return _least(lambda k: not self.at_most(k, operations), guess) - 1


@dataclass(frozen=True, kw_only=True)
class LargestBound:
    """The largest of several U."""

    parts: tuple[SegmentBound, ...]
    """At least one."""

    @property
    def curves(self) -> Curves:
        """U in floats."""
        parts = [part.curves for part in self.parts]
        constants, sigmas = [p.constants for p in parts], [p.sigmas for p in parts]
        return Curves(constants=np.concatenate(constants), sigmas=np.concatenate(sigmas))

    def __call__(self, units: int) -> int:
        """U(units), exactly."""
        return max(part(units) for part in self.parts)

    def largest_units(self, operations: int) -> int:
        """The largest K >= 0 with U(K) <= operations (operations >= 0)."""
        return min(part.largest_units(operations) for part in self.parts)


AnyBound = SegmentBound | LargestBound
"""What bounds the operations of a segment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments:
    """One instance of the segment argument."""

    n: int
    """Full segments."""
    T: int
    """Units loaded per full segment."""
    t: int
    """Units loaded in the last segment, at most T."""
    U_full: int
    """U(memory + T)."""
    U_last: int
    """U(memory + t)."""
    cost_units: int
    """memory + n*T + t + 1."""


def best_segments(bound: AnyBound, memory: int, operations: int, near: Iterable[int] = ()) -> Segments | None:
    """The strongest segment argument of one U, or None if not even one segment fits.

    The lengths that look best in floats, `near` among them, are decided in integers.
    """
    best: Segments | None = None
    for promised, T in ranked_lengths(bound, memory, operations, near)[:DECIDED]:
        if best is None or promised * (1 + ROUNDED) > best.cost_units:
            found = _with_length(bound, memory, operations, T)
            if found is not None and (best is None or found.cost_units > best.cost_units):
                best = found
    return best


def ranked_lengths(bound: AnyBound, memory: int, operations: int, near: Iterable[int] = ()) -> list[tuple[float, int]]:
    """(estimated cost, segment length T) from the best down, `near` and `_lengths` tried."""
    if not 0 < operations.bit_length() <= LARGEST_BITS:
        return []
    curves = bound.curves
    lengths = np.concatenate([_lengths(curves, memory, operations)[:, 0], np.array([*near], dtype=float)])
    costs = _estimates(curves, memory, operations, lengths[:, None])[:, 0]
    ranked = {(cost, int(T)) for cost, T in zip(costs.tolist(), lengths.tolist(), strict=True) if cost > 0}
    return sorted(ranked, key=lambda pair: (-pair[0], pair[1]))


def estimated_units(curves: Curves, memory: int, operations: int) -> Floats:
    """What `best_segments` will prove with each of several U, in floats; 0 for nothing."""
    return np.asarray(_estimates(curves, memory, operations, _lengths(curves, memory, operations)).max(axis=0))


def _lengths(curves: Curves, memory: int, operations: int) -> Floats:
    """Lengths T worth trying, a column per choice; 0 for none.

    Lengths are tried around the real optimum (memory + T = memory sigma/(sigma-1)), the longest T at
    which a whole number of segments does not hold all operations for few segments, and every T where
    segments are short, because integrality matters there.
    """
    sigmas = curves.sigmas.max(axis=0)
    steep = sigmas > 1 + 1e-6
    middle = memory / np.where(steep, sigmas - 1, 1.0)
    segments = log(operations) - curves.log_value(memory + middle)
    centre = np.floor(np.exp(np.where(steep & (segments < 60), segments, -inf)))
    around = np.where(steep, np.maximum(1, centre + np.arange(-1, 4)[:, None]), 1)
    counts = np.concatenate([np.full_like(middle, count) for count in (1, 2, 3)] + [around])
    shares = np.ceil(float(operations) / counts) - 1
    longest = np.where(shares > 0, np.floor(curves.units_at(shares)) - memory, 0)
    short = np.arange(1, 2 * DENSE + 3)[:, None]
    dense = np.where(steep & (middle < DENSE), np.floor(2 * middle) + 3, 0)
    dense = np.maximum(dense, 2 * DENSE - 1 if memory <= DENSE else 0)
    whole = np.where(steep, np.floor(middle) + np.arange(-2, 4)[:, None], 0)
    every = np.where(short <= dense, short, 0)[: int(dense.max())]
    return np.asarray(np.maximum(np.concatenate([whole, longest - 1, longest, longest + 1, every]), 0))


def _estimates(curves: Curves, memory: int, operations: int, lengths: Floats) -> Floats:
    """What `_with_length` will prove, in floats; 0 for nothing."""
    levels = curves.log_value(memory + lengths)
    full = np.maximum(np.floor(np.exp(np.minimum(levels, MOST)) * (1 + TINY)), 1)
    n = np.floor((float(operations) - 1) / full)
    left = np.maximum(float(operations) - 1 - n * full, 0)
    t = np.maximum(np.minimum(lengths, np.floor(curves.units_at(left) * (1 - TINY)) - memory), 0)
    proved = (lengths >= 1) & (n >= 1) & (levels <= log(operations) + 1)
    return np.asarray(np.where(proved, memory + n * lengths + t + 1, 0))


def _with_length(bound: AnyBound, memory: int, operations: int, T: int) -> Segments | None:
    """As many segments of T units as cannot hold all operations, and the longest last one."""
    full = bound(memory + T)
    n = (operations - 1) // full if full else 0
    if n == 0:
        return None
    left = operations - 1 - n * full
    t = min(T, bound.largest_units(left) - memory)
    if t >= 0:
        last = bound(memory + t)
        return Segments(n=n, T=T, t=t, U_full=full, U_last=last, cost_units=memory + n * T + t + 1)
    return Segments(n=n - 1, T=T, t=T, U_full=full, U_last=full, cost_units=memory + n * T + 1)


def _least(holds: Callable[[int], bool], guess: int) -> int:
    """The least integer >= 0 at which a monotone predicate holds, searched outwards from a guess."""
    step = max(1, guess >> 48)
    low, high = guess, guess
    while high and holds(high):
        low, high = high, max(0, high - step)
        step *= 2
    if high < guess:
        if holds(high):
            return high
        low, high = high, low
    elif holds(high):
        return high
    else:
        while not holds(high):
            low, high = high, high + step
            step *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
