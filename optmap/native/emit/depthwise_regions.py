"""What differs among the regions that a nest hands to its leaf: sizes, and where padding begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from itertools import product

from optmap.workloads.access import Subscript

MOST = 65_536
"""Regions of a group of dims that are looked at; beyond, others may exist."""

Region = tuple[int, int]
"""First iteration and number of iterations."""
Sizes = tuple[tuple[str, int], ...]
"""Iterations per dim."""
Ranges = tuple[tuple[int, tuple[int, int]], ...]
"""Per subscript with padding its number and the half-open range of index values that are real, counted from the
region's first; nothing is if it ends before it begins."""
Kind = tuple[Sizes, Ranges]
"""What matters to a kernel."""


def region_kinds(
    regions: dict[str, tuple[Region, ...]], axes: tuple[Subscript, ...], padded: Collection[int]
) -> tuple[Counter[Kind], bool]:
    """How often which kinds of regions occur.

    Args:
        regions: per dim, as `Pieces.all`.
        axes: subscripts of the image.
        padded: numbers of those with implicit padding, in order.

    Returns:
        The kinds, sizes in the order of `regions` and ranges in that of `padded`, the most frequent first; and whether
        they are all.
    """
    total: Counter[Kind] = Counter({((), ()): 1})
    complete = True
    for names, numbers in _tied(regions, axes, padded):
        some, all_seen = _together({d: regions[d] for d in names}, axes, numbers)
        complete = complete and all_seen
        total = Counter(
            {
                (sizes + more, ranges + others): times * many
                for (sizes, ranges), times in total.items()
                for (more, others), many in some.items()
            }
        )
    places = {dim: place for place, dim in enumerate(regions)}
    ordered = Counter(
        {
            (tuple(sorted(sizes, key=lambda size: places[size[0]])), tuple(sorted(ranges))): times
            for (sizes, ranges), times in total.items()
        }
    )
    return Counter(dict(ordered.most_common())), complete


def _tied(
    dims: Collection[str], axes: tuple[Subscript, ...], padded: Collection[int]
) -> list[tuple[tuple[str, ...], tuple[int, ...]]]:
    """Groups of dims that subscripts with padding tie together, and those subscripts."""
    groups: list[tuple[tuple[str, ...], tuple[int, ...]]] = []
    for dim in dims:
        mine = {n for n in padded if dim in axes[n].dims}
        joined = [group for group in groups if mine & set(group[1])]
        names = (*(each for group in joined for each in group[0]), dim)
        numbers = mine.union(*(group[1] for group in joined))
        groups = [*(group for group in groups if group not in joined), (names, tuple(sorted(numbers)))]
    return groups


def _together(
    regions: dict[str, tuple[Region, ...]], axes: tuple[Subscript, ...], numbers: tuple[int, ...]
) -> tuple[Counter[Kind], bool]:
    """Kinds of the regions of dims that are tied, and whether they are all."""
    found: Counter[Kind] = Counter()
    for seen, choice in enumerate(product(*regions.values())):
        if seen == MOST:
            return found, False
        at = dict(zip(regions, choice, strict=True))
        sizes = tuple((dim, size) for dim, (_, size) in at.items())
        found[sizes, tuple((n, real_range(axes[n], at)) for n in numbers)] += 1
    return found, True


def real_range(axis: Subscript, at: dict[str, Region]) -> tuple[int, int]:
    """Index values of a region that are real, as a half-open range counted from the region's first.

    Args:
        axis: a subscript with a range of real values.
        at: region per dim of the subscript; dims left out are 0.
    """
    base = axis.offset + sum(c * at[d][0] for d, c in axis.terms if d in at)
    span = 1 + sum(c * (at[d][1] - 1) for d, c in axis.terms if d in at)
    low, high = axis.real or (base, base + span - 1)
    return max(0, low - base), min(span, high + 1 - base)
