"""Whether tiles fit the rooms of memories, many at once: by what a policy says that they take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optmap.base.arrays import Flags, Ints
from optmap.count.meshes.batch_axes import axis_sizes
from optmap.count.meshes.words import tile_words
from optmap.machines.elements import whole
from optmap.machines.fabric import Fabric
from optmap.machines.operands import Operand
from optmap.questions.policy import Footprint

Words = NDArray[np.float64]
"""(nests,): words, whole numbers."""


@dataclass(frozen=True, slots=True)
class Fitting:
    """The capacities of a fabric."""

    fabric: Fabric
    room: Footprint
    """Of a tile (`Policy.room`)."""

    def words(self, operand: Operand, tiles: Ints) -> Words:
        """(nests,): words of an operand that tiles (nests, dims) need."""
        dims = [dim for axis in operand.axes for dim, _ in axis]
        if len(set(dims)) == len(dims):
            found = np.ones(len(tiles))
            for axis in operand.axes:
                columns = [tiles[:, dim].astype(np.float64) for dim, _ in axis]
                found = found * axis_sizes([factor for _, factor in axis], columns, self.room)
            return found
        rows, back = np.unique(tiles, axis=0, return_inverse=True)
        each = [tile_words(operand, tuple(map(int, row)), self.room) for row in rows]
        return np.array(each, np.float64)[back.reshape(-1)]

    def fit(self, number: int, tiles: Ints, keeps: Flags) -> Flags:
        """(nests,): whether tiles (nests, dims) of a memory fit.

        Sum over kept T of whole(words(T, tile), weight(T)) <= capacity, in each of its rooms.

        Args:
            number: of the memory.
            tiles: (nests, dims).
            keeps: the operands that it keeps, (nests, operands), or (operands,) for all nests.
        """
        found = np.ones(len(tiles), bool)
        for room in self.fabric.memories[number].rooms:
            held = np.zeros(len(tiles))
            for operand, weight in zip(room.operands, room.weights, strict=True):
                kept = keeps[..., operand]
                if kept.any():
                    held += whole(kept * self.words(self.fabric.operands[operand], tiles), weight)
            found &= held <= room.capacity
        return found

    def fit_from(self, number: int, tiles: Ints, keeps: Flags) -> Flags:
        """Likewise for a memory and all outside it, tiles and keeps as (nests, memories, ...)."""
        found = np.ones(len(tiles), bool)
        for outer in range(number, len(self.fabric.memories)):
            found &= self.fit(outer, tiles[:, outer], keeps[:, outer])
        return found
