"""Where to look next along a capacity axis.

Every first interval of the grid is the root of a tree of bisections at the geometric mean. An
interval needs nothing inside if

- its ends prove it: traffic and bound never grow with the capacity, so inside lie traffic in
  [T(b), T(a)], bound in [B(b), B(a)], and the gap between T(b)/B(a) - 1 (at least 0) and
  T(a)/B(b) - 1; the plateau at compulsory traffic costs no point at all; or
- it is half of an interval whose curve goes straight: the middle lies where the line between the
  ends (both axes logarithmic) says, to half the tolerance (no proof: integer tilings move in steps,
  and a step beside a middle that happens to fit stays unseen); or
- its ends are closer than the tolerance in capacity: what is left is a step of the curve.

The decisions depend on values only, so that a sweep that was killed goes on as it would have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from optmap.sweeps.spec import BOUND, Refine

STRAIGHT = 1
"""Middles in a row that must lie on the line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodValue:
    """What one method says at one capacity; None where it has no answer."""

    found: float | None
    """Traffic of the mapping, in the unit of the bound; None for a bound."""
    bound: float | None
    """Lower bound on it."""


Values = Mapping[int, Mapping[str, MethodValue]]
"""Per capacity (in the unit of the axis) and method."""


def more_capacities(first: tuple[int, ...], known: Values, refine: Refine) -> tuple[int, ...]:
    """Capacities to look at next; empty if the curve is known well enough.

    Args:
        first: the capacities of the grid, ascending.
        known: what is known so far, at these and at earlier answers of this function.
        refine: metric, tolerance and the most points of one curve.
    """
    wanted: list[int] = []
    for low, high in pairwise(first):
        _bisect(low, high, known, refine, wanted, straight=0)
    room = max(0, refine.most_points - len(known))
    return tuple(sorted(wanted)[:room])


def middle(low: int, high: int) -> int:
    """The geometric mean, rounded down; strictly between two numbers that are not neighbours."""
    return min(max(math.isqrt(low * high), low + 1), high - 1)


def _bisect(low: int, high: int, known: Values, refine: Refine, wanted: list[int], *, straight: int) -> None:
    if high - low <= 1 or straight >= STRAIGHT or high <= low * (1 + refine.tolerance):
        return
    methods = [method for method in known.get(low, {}) if method in known.get(high, {})]
    if all(_proved(known[low][method], known[high][method], method, refine) for method in methods):
        return
    between = middle(low, high)
    if between not in known:
        wanted.append(between)
        return
    share = math.log(between / low) / math.log(high / low)
    good = all(
        _predicted([known[place].get(method) for place in (low, between, high)], share, method, refine)
        for method in methods
    )
    straight = straight + 1 if good else 0
    _bisect(low, between, known, refine, wanted, straight=straight)
    _bisect(between, high, known, refine, wanted, straight=straight)


def _relevant(value: MethodValue, method: str, refine: Refine) -> tuple[float, ...] | None:
    """The numbers that the metric is made of; () if the method has none, None without an answer."""
    if refine.metric == BOUND:
        return None if value.bound is None else (value.bound,)
    if method == BOUND:
        return ()
    if value.found is None:
        return None
    if refine.metric == "traffic":
        return (value.found,)
    return None if not value.bound else (value.found, value.bound)


def _proved(low: MethodValue, high: MethodValue, method: str, refine: Refine) -> bool:
    """Whether everything between two capacities is known to the tolerance."""
    a, b = _relevant(low, method, refine), _relevant(high, method, refine)
    if a is None or b is None:
        return a is None and b is None
    if len(a) == 2:
        most = max(a[0], b[0]) / min(a[1], b[1]) - 1
        least = max(0.0, min(a[0], b[0]) / max(a[1], b[1]) - 1)
        return most - least <= refine.tolerance
    return all(max(x, y) <= min(x, y) * (1 + refine.tolerance) for x, y in zip(a, b, strict=True))


def _predicted(values: list[MethodValue | None], share: float, method: str, refine: Refine) -> bool:
    """Whether the line between the first and the last capacity meets the curve at the one between them."""
    a, m, b = (None if value is None else _relevant(value, method, refine) for value in values)
    if a is None or b is None or m is None:
        return False
    line = [_line(x, y, share) for x, y in zip(a, b, strict=True)]
    if len(line) == 2:
        return abs(line[0] / line[1] - m[0] / m[1]) <= refine.tolerance / 2
    return all(abs(x / y - 1) <= refine.tolerance / 2 for x, y in zip(line, m, strict=True))


def _line(low: float, high: float, share: float) -> float:
    """Value between two on a line with both axes logarithmic."""
    return math.exp((1 - share) * math.log(low) + share * math.log(high)) if low > 0 and high > 0 else low
