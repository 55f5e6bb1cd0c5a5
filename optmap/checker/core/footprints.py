"""Distinct words of boxes of iterations: of tiles, of what a tile reaches, of children of a mesh.

Subscripts that share dims are counted together as one: with weights so far apart that different index tuples
give different numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from .tools import count

Axis = dict[str, int]
"""Coefficient per dim of a subscript."""
Steps = Sequence[tuple[str, int, int]]
"""(dim, iterations between values, values): a dim may come more than once, its values are added up."""


def together(axes: Sequence[Axis]) -> list[list[Axis]]:
    """The subscripts, those that share dims in one list."""
    parts: list[list[Axis]] = []
    for axis in axes:
        linked = [part for part in parts if any(set(axis) & set(other) for other in part)]
        parts = [part for part in parts if part not in linked]
        parts.append([other for part in linked for other in part] + [axis])
    return parts


def distinct(part: Sequence[Axis], steps: Steps, shift: Sequence[int] = ()) -> int:
    """Index tuples of subscripts that share dims, over all values that the steps reach.

    Args:
        part: the subscripts.
        steps: the values of the dims.
        shift: count the tuples moved by this much, too (one number per subscript); none if empty.
    """
    terms = [(dim, step, n) for dim, step, n in steps if n > 1 and any(dim in axis for axis in part)]
    moved = shift or (0,) * len(part)
    row, extents = {f"{i}": 0 for i in range(len(terms) + 1)}, {f"{i}": n for i, (_, _, n) in enumerate(terms)}
    extents[f"{len(terms)}"] = 2 if any(moved) else 1
    weight = 1
    for axis, far in zip(part, moved, strict=True):
        span = 1
        for i, (dim, step, n) in enumerate(terms):
            row[f"{i}"] += weight * axis.get(dim, 0) * step
            span += axis.get(dim, 0) * step * (n - 1)
        row[f"{len(terms)}"] += weight * far
        weight *= span + abs(far)
    row = {key: abs(value) for key, value in row.items() if value}
    return count(row, extents) if row else 1


def reached(axes: Sequence[Axis], steps: Steps) -> int:
    """Distinct words over all values that the steps reach."""
    return prod(distinct(part, steps) for part in together(axes))


def words(axes: Sequence[Axis], tile: Mapping[str, int]) -> int:
    """Distinct words of a tile."""
    return reached(axes, [(dim, 1, n) for dim, n in tile.items()])


def hull(axes: Sequence[Axis], tile: Mapping[str, int]) -> int:
    """Words from the first to the last value of every subscript of a tile, needed or not."""
    return prod(1 + sum(c * (tile[dim] - 1) for dim, c in axis.items()) for axis in axes)


def common(axes: Sequence[Axis], tile: Mapping[str, int], shift: Sequence[int]) -> int:
    """Words that a tile shares with itself moved by so much along every subscript: A and B = A + B - (A or B)."""
    steps = [(dim, 1, n) for dim, n in tile.items()]
    found = 1
    for part in together(axes):
        far = [shift[axes.index(axis)] for axis in part]
        own = distinct(part, steps)
        found *= 2 * own - distinct(part, steps, far) if any(far) else own
    return found


def common_hull(axes: Sequence[Axis], tile: Mapping[str, int], shift: Sequence[int]) -> int:
    """The same of hulls."""
    return prod(max(0, hull([axis], tile) - abs(far)) for axis, far in zip(axes, shift, strict=True))
