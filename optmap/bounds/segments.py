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
from math import exp, floor, lcm, log

DENSE = 24
"""Optimal segment lengths below which every length up to twice as long is tried."""
LARGEST_BITS = 900
"""Bits of an operation count up to which floats can seed the search; beyond, nothing is proposed."""
DECIDED = 3
"""Lengths decided in integers."""


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

    def log_value(self, units: float) -> float:
        """Log U(units) as a float."""
        return self.log_constant + float(self.sigma) * log(units)

    def units_at(self, operations: int) -> float:
        """The real K with U(K) = operations + 1, capped where floats end."""
        level = (log(operations + 1) - self.log_constant) / float(self.sigma)
        return exp(min(level, 600.0))

    def at_most(self, units: int, operations: int) -> bool:
        """Exactly: is U(units) <= operations?"""
        left: int = self.constant.numerator * units**self.power
        right: int = self.constant.denominator * (operations + 1) ** self.root
        return left < right

    def __call__(self, units: int) -> int:
        """U(units), the exact floor, by bisection around a logarithmic seed."""
        if units < 1:
            return 0
        seed = self.log_value(units)
        guess = max(int(exp(seed)) if seed < 700 else 1 << floor(seed / log(2)), 0)
        return _least(lambda u: self.at_most(units, u), guess)

    def largest_units(self, operations: int) -> int:
        """The largest K >= 0 with U(K) <= operations (operations >= 0, sigma > 0)."""
        guess = int(self.units_at(operations))
        return _least(lambda k: not self.at_most(k, operations), guess) - 1


@dataclass(frozen=True, kw_only=True)
class LargestBound:
    """The largest of several U."""

    parts: tuple[SegmentBound, ...]
    """At least one."""

    @cached_property
    def sigma(self) -> Fraction:
        """The largest power of K."""
        return max(part.sigma for part in self.parts)

    def log_value(self, units: float) -> float:
        """Log U(units) as a float."""
        return max(part.log_value(units) for part in self.parts)

    def units_at(self, operations: int) -> float:
        """The real K with U(K) = operations + 1, capped where floats end."""
        return min(part.units_at(operations) for part in self.parts)

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
    for _, T in ranked_lengths(bound, memory, operations, near)[:DECIDED]:
        found = _with_length(bound, memory, operations, T)
        if found is not None and (best is None or found.cost_units > best.cost_units):
            best = found
    return best


def ranked_lengths(bound: AnyBound, memory: int, operations: int, near: Iterable[int] = ()) -> list[tuple[float, int]]:
    """(estimated cost, segment length T) from the best down.

    Lengths are tried around the real optimum (memory + T = memory sigma/(sigma-1)), the longest T at
    which a whole number of segments does not hold all operations for few segments, and every T where
    segments are short, because integrality matters there.
    """
    if not 0 < operations.bit_length() <= LARGEST_BITS:
        return []
    counts = {1, 2, 3}
    lengths = {*near} | (set(range(1, 2 * DENSE)) if memory <= DENSE else set())
    sigma = float(bound.sigma)
    if sigma > 1 + 1e-6:
        middle = memory / (sigma - 1)
        lengths |= {int(middle) + i for i in range(-2, 4)}
        if middle < DENSE:
            lengths |= set(range(1, int(2 * middle) + 4))
        segments = log(operations) - bound.log_value(memory + middle)
        centre = floor(exp(segments)) if segments < 60 else 0
        counts |= {max(1, centre + i) for i in range(-1, 4)}
    for count in counts:
        share = -(-operations // count) - 1
        if share > 0:
            longest = int(bound.units_at(share)) - memory
            lengths |= {longest - 1, longest, longest + 1}
    ranked = [(_estimate(bound, memory, operations, T), T) for T in lengths if T >= 1]
    return sorted((pair for pair in ranked if pair[0] > 0), key=lambda pair: (-pair[0], pair[1]))


def _estimate(bound: AnyBound, memory: int, operations: int, T: int) -> float:
    """What `_with_length` will prove, in floats; 0 for nothing."""
    level = bound.log_value(memory + T)
    if level > log(operations) + 1:
        return 0.0
    full = floor(exp(level) * (1 + 1e-12)) if level < 600 else exp(level)
    n = (operations - 1) // max(full, 1)
    left = operations - 1 - n * full
    t = min(T, int(bound.units_at(int(left))) - memory)
    return float(memory + n * T + max(t, 0) + 1) if n else 0.0


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
