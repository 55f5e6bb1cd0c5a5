"""Implicit padding: the points of a nest that are done, and the values that they touch.

A subscript with a range ties its dims together. Every range is an interval of the longest of tied dims
once the others are fixed; the others are enumerated.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from math import prod
from operator import add
from typing import Any

from .tools import SPAN, count, need

ENUMERATED, WORK = 2**16, 2**32
"""Most points that are enumerated, and most bits that are combined for one subscript."""
Line = tuple[dict[str, int], int, int]
"""Values of all tied dims but the longest, with the first and the last value of that one."""


class Done:
    """The points of a nest at which no access is padding."""

    def __init__(self, accesses: list[Any], extents: dict[str, int]) -> None:
        self.extents = extents
        self.ranged = [axis for access in accesses for axis in access["axes"] if "real" in axis]
        self.tied: list[set[str]] = []
        for axis in self.ranged:
            joined = {d for d, _ in axis["terms"]}.union(*(g for g in self.tied if g & {d for d, _ in axis["terms"]}))
            self.tied = [g for g in self.tied if not g & joined] + [joined]
        self.nothing = self.points() == 0

    def scope(self, axes: Iterable[Any]) -> set[str]:
        """The dims of some subscripts and all that are tied to them."""
        dims = {d for axis in axes for d, _ in axis["terms"]}
        return dims.union(*(group for group in self.tied if group & dims)) if self.tied else dims

    def points(self) -> int:
        """How many points are done."""
        free = prod(n for d, n in self.extents.items() if not any(d in group for group in self.tied))
        return free * prod(sum(last - first + 1 for _, first, last in self.lines(group)) for group in self.tied)

    def lines(self, dims: set[str]) -> list[Line]:
        """What is done of tied dims, as runs of the longest one."""
        *others, longest = sorted(dims, key=lambda d: (self.extents[d], d))
        need(prod(self.extents[d] for d in others) <= ENUMERATED, "padding ties too many points together")
        found = []
        for values in itertools.product(*(range(self.extents[d]) for d in others)):
            at, low, high = dict(zip(others, values, strict=True)), 0, self.extents[longest] - 1
            for axis in self.ranged:
                terms = dict(axis["terms"])
                if set(terms) <= dims:
                    here = axis["offset"] + sum(c * at[d] for d, c in terms.items() if d in at)
                    first, last = (n - here for n in axis["real"])
                    if longest in terms:
                        low, high = max(low, -(-first // terms[longest])), min(high, last // terms[longest])
                    elif not first <= 0 <= last:
                        high = -1
            if low <= high:
                found.append((at, low, high))
        return found

    def tuples(self, axes: list[Any]) -> set[tuple[int, ...]]:
        """The values that some subscripts take together."""
        dims = sorted(self.scope(axes))
        need(prod(self.extents[d] for d in dims) <= ENUMERATED, "too many points to enumerate")
        if self.nothing:
            return set()
        seen = {tuple(int(axis["offset"]) for axis in axes)}
        if not any(group & set(dims) for group in self.tied):
            for d in dims:  # dim by dim, since most points agree in what they touch
                step = [dict(axis["terms"]).get(d, 0) for axis in axes]
                shifts = [[x * s for s in step] for x in range(self.extents[d])]
                seen = {tuple(map(add, at, shift)) for at in seen for shift in shifts}
            return seen
        seen = set()
        for values in itertools.product(*(range(self.extents[d]) for d in dims)):
            at = dict(zip(dims, values, strict=True))

            def value(axis: Any, at: dict[str, int] = at) -> int:
                return int(axis["offset"] + sum(c * at[d] for d, c in axis["terms"]))

            inside = (axis for axis in self.ranged if all(d in at for d, _ in axis["terms"]))
            if all(axis["real"][0] <= value(axis) <= axis["real"][1] for axis in inside):
                seen.add(tuple(value(axis) for axis in axes))
        return seen

    def together(self, axes: list[Any]) -> int:
        """How many different tuples of values some subscripts take."""
        total, left = int(not self.nothing), [(axis, self.scope([axis])) for axis in axes if axis["terms"]]
        while left:
            axis, scope = left.pop()
            block = [axis]
            while more := [(a, own) for a, own in left if own & scope]:
                block, scope = block + [a for a, _ in more], scope.union(*(own for _, own in more))
                left = [pair for pair in left if pair not in more]
            total *= len(self.tuples(block)) if len(block) > 1 else self.values(axis)
        return total

    def values(self, axis: Any) -> int:
        """How many different values a subscript takes."""
        terms, scope = dict(axis["terms"]), self.scope([axis])
        if not any(group & scope for group in self.tied):
            return count(terms, self.extents)
        span = 1 + sum(c * (self.extents[d] - 1) for d, c in terms.items())
        limits = [other for other in self.ranged if scope & {d for d, _ in other["terms"]}]
        if limits == [axis] and count(terms, self.extents) == span:
            first, last = (n - axis["offset"] for n in axis["real"])
            return int(max(0, min(last, span - 1) - max(first, 0) + 1))
        longest = max(scope, key=lambda d: (self.extents[d], d))
        step, runs = terms.get(longest, 0), self.lines(scope)
        others = prod(self.extents[d] for d in scope) // self.extents[longest]
        need(span <= SPAN and others * span <= WORK, "a subscript is too wide to enumerate")
        seen = 0
        for at, first, last in runs:
            start = sum(c * at[d] for d, c in terms.items() if d in at) + step * first
            seen |= (progression(step, last - first + 1) if step else 1) << start
        return seen.bit_count()


def progression(step: int, length: int) -> int:
    """The bits 0, step, 2*step ..., so many of them."""
    bits, reached = 1, 1
    while reached < length:
        more = min(reached, length - reached)
        bits, reached = bits | bits << (step * more), reached + more
    return bits
