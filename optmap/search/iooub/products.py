"""Products of tables over a grid of candidates, and those that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from optmap.base.arrays import Floats, Ints

N = TypeVar("N", bound=np.generic)
Product = tuple[Floats | float, bool]
"""A product of tables over the grid, and whether the last unit is still to be multiplied in."""


class GridProducts:
    """Products of tables, as many as there is room for.

    Args:
        room: words for all of them.
    """

    def __init__(self, room: float) -> None:
        self.found: dict[object, Product] = {}
        self.room = room

    def keep(self, asked: object, product: Product) -> bool:
        """Keep one; False where the room is over."""
        size = np.size(product[0])
        if size > self.room:
            return False
        self.found[asked] = product
        self.room -= size
        return True


def over(values: NDArray[N] | float, shape: tuple[int, ...]) -> NDArray[N]:
    """Values over a whole grid: themselves where they are that already, which takes no time.

    Args:
        values: that broadcast to the grid.
        shape: of the grid.
    """
    return values if isinstance(values, np.ndarray) and values.shape == shape else np.broadcast_to(values, shape)


def spread(table: Floats, axes: tuple[int, ...], lists: Sequence[Ints]) -> Floats:
    """A table over its units' chosen candidates, shaped to broadcast over the grid of all units.

    Args:
        table: an axis per unit.
        axes: the units.
        lists: per unit of the grid, the chosen candidates.
    """
    if not axes:
        return table
    if len(axes) == 1:
        (u,) = axes
        return table[lists[u]].reshape((*(1,) * u, -1, *(1,) * (len(lists) - u - 1)))
    picked: Floats = table[np.ix_(*(lists[u] for u in axes))]
    order = np.argsort(axes)
    shape = [1] * len(lists)
    for u in axes:
        shape[u] = len(lists[u])
    return picked.transpose(order).reshape(shape)
