"""A batch of nests turned for counting: one contiguous column of all nests per number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optmap.mappings.nest_batch import NestBatch

Column = NDArray[np.float64]
"""(..., nests): numbers, whole ones if nothing else is said."""
Mask = NDArray[np.bool_]
"""(..., nests): yes or no."""
Places = NDArray[np.int8]
"""(..., nests): small whole numbers."""


@dataclass(slots=True, kw_only=True, eq=False)
class Columns:
    """Nests of a batch with the nests along the last axis."""

    x: Column
    """(memories, dims, nests), as all others but `keeps`: ways along the first axis of a mesh."""
    y: Column
    """Ways along the second axis."""
    trips: Column
    """Of temporal loops."""
    order: Places
    """Dims in the order of a memory's temporal loops, outermost first."""
    place: Places
    """Of a dim among the temporal loops of a memory, outermost 0."""
    keeps: Mask
    """(memories, operands, nests)"""
    ways: Column
    """Along both axes."""
    tiles: Column
    """Extents of the tile of every memory."""
    strides: Column
    """Iterations by which one step of a temporal loop moves its dim."""

    @classmethod
    def of(cls, batch: NestBatch) -> Columns:
        """The columns of a batch."""
        x, y, trips = (
            np.ascontiguousarray(part.transpose(1, 2, 0), np.float64) for part in (batch.x, batch.y, batch.temporal)
        )
        order = np.ascontiguousarray(batch.order.transpose(1, 2, 0), np.int8)
        place = np.zeros_like(order)
        for position in range(1, order.shape[1]):
            for dim in range(order.shape[1]):
                place[:, dim] += (order[:, position] == dim).view(np.int8) * np.int8(position)
        ways = x * y
        tiles: Column = np.cumprod(ways * trips, axis=0, dtype=np.float64)
        strides = ways.copy()
        strides[1:] *= tiles[:-1]
        keeps = np.ascontiguousarray(batch.keeps.transpose(1, 2, 0))
        return cls(
            x=x, y=y, trips=trips, order=order, place=place, keeps=keeps, ways=ways, tiles=tiles, strides=strides
        )
