"""Sets of elements as sums of boxes: what parts of a tensor a level pins, and what is left of it.

A box has a first and a beyond per subscript. A region is a sum of boxes with whole factors that is 1 at the
elements of a set and 0 at all others; so a sum over the set is that of sums over boxes, whatever is summed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import prod

Box = tuple[tuple[int, int], ...]
Region = dict[Box, int]


def whole(sizes: list[int]) -> Region:
    """All elements of a tensor."""
    return {tuple((0, n) for n in sizes): 1}


def either(boxes: Iterable[Box]) -> Region:
    """What is in one of some boxes or in several."""
    found = Counter[Box]()
    for box in boxes:
        found.update(without({box: 1}, found))
    return {box: factor for box, factor in found.items() if factor}


def both(one: Region, other: Region) -> Region:
    """What is in two sets."""
    found = Counter[Box]()
    for first, a in one.items():
        for second, b in other.items():
            box = tuple((max(x[0], y[0]), min(x[1], y[1])) for x, y in zip(first, second, strict=True))
            if all(low < high for low, high in box):
                found[box] += a * b
    return {box: factor for box, factor in found.items() if factor}


def without(one: Region, other: Region) -> Region:
    """What is in the first set and not in the second."""
    found = Counter(one)
    found.subtract(both(one, other))
    return {box: factor for box, factor in found.items() if factor}


def size(region: Region) -> int:
    """How many elements a set has."""
    return sum(factor * prod(high - low for low, high in box) for box, factor in region.items())
