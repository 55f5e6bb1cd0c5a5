"""Points of a statement that meet its conditions, counted one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

from ..core.statement import read_subscript
from ..core.tools import need
from .chain_text import RELATION, Said

MOST = 2**18
"""Values that are gone through, of all dims that conditions have in common but one."""
SENSES = {"<=": ((1, 0),), "<": ((1, 1),), ">=": ((-1, 0),), ">": ((-1, 1),), "==": ((1, 0), (-1, 0))}
"""Signs with which left less right and a constant are at most 0."""


@dataclass(frozen=True)
class Inequality:
    """Factors times values, and a constant, are at most 0."""

    factors: tuple[tuple[str, int], ...]
    """By dim, none of them 0."""
    constant: int

    @property
    def dims(self) -> frozenset[str]:
        """The dims that it is about."""
        return frozenset(d for d, _ in self.factors)


def rules_of(said: Said) -> frozenset[Inequality]:
    """The conditions of a statement."""
    found = []
    for text in said.conditions:
        left, relation, right = RELATION.split(text)
        sides = read_subscript(left), read_subscript(right)
        factors = Counter(dict(sides[0][0]))
        factors.subtract(dict(sides[1][0]))
        for sign, more in SENSES[relation]:
            terms = tuple(sorted((d, sign * c) for d, c in factors.items() if c))
            found.append(Inequality(terms, sign * (sides[0][1] - sides[1][1]) + more))
    return frozenset(found)


def values(dims: Iterable[str], rules: Iterable[Inequality], extents: dict[str, int]) -> int:
    """Values of some dims for which values of the others meet all rules."""
    wanted, total = set(dims), 1
    groups: list[tuple[frozenset[str], list[Inequality]]] = []
    for rule in rules:
        joined = [group for group in groups if group[0] & rule.dims]
        every = rule.dims.union(*(group for group, _ in joined))
        groups = [group for group in groups if group not in joined]
        groups.append((every, [rule, *(each for _, some in joined for each in some)]))
    for group, some in groups:
        total *= _values(group & wanted, frozenset(some), tuple((d, extents[d]) for d in sorted(group)))
    return total * prod(extents[d] for d in wanted.difference(*(group for group, _ in groups)))


@lru_cache(maxsize=256)
def _values(wanted: frozenset[str], rules: frozenset[Inequality], sizes: tuple[tuple[str, int], ...]) -> int:
    """The same for dims with their extents that rules tie together."""
    extents = dict(sizes)
    group = frozenset(extents)
    if not group:
        return int(all(rule.constant <= 0 for rule in rules))
    hidden = group - wanted
    last = max(sorted(hidden or group), key=lambda d: extents[d])
    others = sorted(group - {last})
    need(prod(extents[d] for d in others) <= MOST, "conditions tie too many values together")
    found, seen = 0, set()
    for point in product(*(range(extents[d]) for d in others)):
        at = dict(zip(others, point, strict=True))
        low, high = _left(last, at, rules, extents)
        if low <= high:
            found += high - low + 1
            seen.add(tuple(at[d] for d in others if d in wanted))
    return len(seen) if hidden else found


def met(one: str, other: str, rules: Iterable[Inequality], extents: dict[str, int]) -> dict[int, int]:
    """How many values of one dim meet so many of another one, under rules on the two; none that meet nothing."""
    need(extents[one] <= MOST, "conditions tie too many values together")
    return dict(_met(one, other, frozenset(rules), (extents[one], extents[other])))


@lru_cache(maxsize=256)
def _met(one: str, other: str, rules: frozenset[Inequality], sizes: tuple[int, int]) -> Counter[int]:
    """The same for dims of some sizes."""
    found, extents = Counter[int](), {one: sizes[0], other: sizes[1]}
    for value in range(sizes[0]):
        low, high = _left(other, {one: value}, rules, extents)
        if low <= high:
            found[high - low + 1] += 1
    return found


def _left(last: str, at: dict[str, int], rules: Iterable[Inequality], extents: dict[str, int]) -> tuple[int, int]:
    """First and last value of a dim that meet rules where the other dims are; the first is above the last if none."""
    low, high = 0, extents[last] - 1
    for rule in rules:
        factors = dict(rule.factors)
        slope, rest = factors.get(last, 0), rule.constant + sum(c * at[d] for d, c in rule.factors if d in at)
        if slope > 0:
            high = min(high, -rest // slope)
        elif slope < 0:
            low = max(low, -(rest // slope))
        elif rest > 0:
            high = -1
    return low, high
