"""Conditions on the points of a statement, and how many points meet them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import product
from math import prod

from optmap.base.errors import LimitError
from optmap.workloads.access import Subscript

LARGEST_BOX = 2**18
"""Points that are enumerated, of all tied dims but the longest one."""


class Comparator(StrEnum):
    """How the two sides of a condition compare."""

    AT_MOST = "<="
    LESS = "<"
    AT_LEAST = ">="
    MORE = ">"
    EQUAL = "=="


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A comparison of two affine functions of dims that restricts the points of a statement, such as `l <= m`."""

    left: Subscript
    relation: Comparator
    right: Subscript

    @property
    def dims(self) -> frozenset[str]:
        """Every dim that it names."""
        return frozenset((*self.left.dims, *self.right.dims))

    def interval(self, dim: str, point: Mapping[str, int], extent: int) -> tuple[int, int]:
        """First and last value of one dim that meet it; the first is above the last if none does.

        Args:
            dim: the dim that is left open.
            point: values of all others that it names.
            extent: iterations of `dim`.
        """
        step = dict(self.left.terms).get(dim, 0) - dict(self.right.terms).get(dim, 0)
        rest = _value(self.left, point) - _value(self.right, point)
        first, last = 0, extent - 1
        for sign in _SIGNS[self.relation]:  # sign * (step * x + rest) + strict <= 0
            strict = self.relation in (Comparator.LESS, Comparator.MORE)
            slope, most = sign * step, -sign * rest - strict
            if slope > 0:
                last = min(last, most // slope)
            elif slope < 0:
                first = max(first, -(most // -slope))
            elif most < 0:
                last = -1
        return first, last

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"


_SIGNS = {
    Comparator.AT_MOST: (1,),
    Comparator.LESS: (1,),
    Comparator.AT_LEAST: (-1,),
    Comparator.MORE: (-1,),
    Comparator.EQUAL: (1, -1),
}
"""Signs with which left minus right is at most 0 (below 0 where the comparison is strict)."""


def points(dims: Iterable[str], domain: Sequence[Condition], extents: Mapping[str, int]) -> int:
    """Points of a box that meet every condition, exactly.

    Conditions tie their dims together; tied dims are counted by enumerating all of them but the longest.

    Args:
        dims: of the box; with more of them in conditions, values of those of the box with which some point meets all.
        domain: conditions on some of the dims.
        extents: iterations per dim.

    Raises:
        LimitError: if too many dims are tied together to be enumerated.
    """
    box = frozenset(dims)
    groups = _tied(domain)
    total = prod(extents[d] for d in box.difference(*groups))
    for tied in groups:
        mine = tuple(each for each in domain if each.dims <= tied)
        total *= _inside(tuple((d, extents[d]) for d in sorted(tied)), box & tied, mine)
    return total


def _tied(domain: Iterable[Condition]) -> list[frozenset[str]]:
    """Dims that conditions tie together, directly or through others."""
    groups: list[frozenset[str]] = []
    for condition in domain:
        joined = condition.dims.union(*(group for group in groups if group & condition.dims))
        groups = [*(group for group in groups if not group & joined), joined]
    return groups


@lru_cache(maxsize=256)
def _inside(sizes: tuple[tuple[str, int], ...], box: frozenset[str], domain: tuple[Condition, ...]) -> int:
    """Values of tied dims, with their extents, that are of the box with which some point meets their conditions."""
    extents = dict(sizes)
    dims = list(extents)
    hidden = [d for d in dims if d not in box]
    longest = max(hidden or dims, key=lambda d: extents[d])
    others = [d for d in dims if d != longest]
    if prod(extents[d] for d in others) > LARGEST_BOX:
        raise LimitError(
            f"the conditions {', '.join(map(str, domain))} tie more than {LARGEST_BOX:,} points together; "
            "use smaller extents"
        )
    total, seen = 0, set[tuple[int, ...]]()
    for values in product(*(range(extents[d]) for d in others)):
        point = dict(zip(others, values, strict=True))
        ends = [condition.interval(longest, point, extents[longest]) for condition in domain]
        many = max(0, min(last for _, last in ends) - max(first for first, _ in ends) + 1)
        if not hidden:
            total += many
        elif many:
            seen.add(tuple(point[d] for d in others if d in box))
    return len(seen) if hidden else total


def _value(side: Subscript, point: Mapping[str, int]) -> int:
    """What an affine function is without the dims that a point leaves open."""
    return side.offset + sum(c * point[d] for d, c in side.terms if d in point)
