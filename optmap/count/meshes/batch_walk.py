"""Words that enter memories while the loops outside them run, a column of many nests per number.

The words that a memory's tile of an operand needs from outside are, over all steps of the loops outside it,
the tile, less what is there already. With the loops outside numbered from the innermost, V_j the shift of
the operand's axes in one step of loop j and n_j its trips, a step of j moves the tile by
S_j = V_j - sum over i inside j of (n_i - 1) V_i (Timeloop looks at two trips of each loop only: of V_i). All
of the tile stays if S_j = 0; what overlaps stays if S_j is a shift along one axis and equals V_r, the shift of
the innermost relevant loop r; otherwise nothing does. Loop j makes (n_j - 1) steps for each step of the loops
outside it. An axis of one dim never overlaps with itself, so only axes of two dims or more save anything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optmap.count.meshes.batch_columns import Column, Columns, Mask, Places
from optmap.machines.operands import Operand


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandDims:
    """An operand's dims, those that have more than one iteration in some nest."""

    number: int
    operand: Operand
    axes: tuple[tuple[tuple[int, int], ...], ...]
    """(dim, coefficient) pairs per axis."""
    relevant: tuple[int, ...]
    irrelevant: tuple[int, ...]


class TileWords:
    """Words that tiles need from outside."""

    def __init__(self, columns: Columns, *, extrapolate: bool = False) -> None:
        self.columns = columns
        self.extrapolate = extrapolate
        self.live = tuple(int(dim) for dim in np.flatnonzero((columns.tiles[-1] > 1).any(axis=1)))
        self.several = columns.trips > 1
        self.placed = np.where(self.several, columns.place, np.int8(-1))
        memories, _, nests = columns.trips.shape
        self.steps = np.ones((memories, nests))
        """Steps of all temporal loops outside a memory, per instance."""
        self.instances = np.ones((memories, nests))
        """Instances in use."""
        for number in reversed(range(memories - 1)):
            np.multiply(self.steps[number + 1], columns.trips[number + 1].prod(axis=0), out=self.steps[number])
            np.multiply(self.instances[number + 1], columns.ways[number + 1].prod(axis=0), out=self.instances[number])
        self.largest = np.zeros(nests)
        """No number that was worked with so far is larger."""
        self._outside: dict[tuple[int, int], Column] = {}

    def note(self, numbers: Column) -> None:
        """Remember how large numbers were, (…, nests)."""
        np.maximum(self.largest, numbers.reshape(-1, numbers.shape[-1]).max(axis=0), out=self.largest)

    def shape(self, number: int, operand: Operand) -> OperandDims:
        """An operand without the dims that have one iteration in every nest."""
        live = (tuple((dim, factor) for dim, factor in axis if dim in self.live) for axis in operand.axes)
        axes = tuple(axis for axis in live if axis)
        dims = {dim for axis in axes for dim, _ in axis}
        return OperandDims(
            number=number,
            operand=operand,
            axes=axes,
            relevant=tuple(sorted(dims.intersection(self.live))),
            irrelevant=tuple(dim for dim in self.live if dim not in dims),
        )

    def outside(self, number: int, dim: int) -> Column:
        """Steps of all loops outside one temporal loop."""
        key = (number, dim)
        if key not in self._outside:
            trips, place = self.columns.trips[number], self.columns.place[number]
            found = self.steps[number]
            for other in self.live:
                if other != dim:
                    found = found * np.where(place[other] < place[dim], trips[other], 1.0)
            self._outside[key] = found
        return self._outside[key]

    def innermost(self, number: int, dims: tuple[int, ...]) -> Places:
        """Place of the innermost of some loops of a memory, -1 if none has two trips."""
        found = np.full(self.placed.shape[2], -1, np.int8)
        for dim in dims:
            np.maximum(found, self.placed[number, dim], out=found)
        return found

    def reuse(self, shape: OperandDims) -> list[Column]:
        """Per memory, the trips of the loops outside it over which its tile stays: inside all relevant ones."""
        memories = len(self.columns.trips)
        found = [np.ones(self.columns.trips.shape[2])] * memories
        for number in reversed(range(1, memories)):
            last = self.innermost(number, shape.relevant)
            own = np.where(last < 0, found[number], 1.0)
            for dim in shape.irrelevant:
                own *= np.where(self.columns.place[number, dim] > last, self.columns.trips[number, dim], 1.0)
            found[number - 1] = own
        return found


class Slide:
    """What tiles keep along one axis of several dims while it is the only one that moves."""

    def __init__(self, walk: TileWords, shape: OperandDims, axis: tuple[tuple[int, int], ...]) -> None:
        self.walk = walk
        self.axis = axis
        dims = tuple(dim for dim, _ in axis)
        others = tuple(dim for dim in shape.relevant if dim not in dims)
        columns = walk.columns
        memories = len(columns.trips)
        self.other = [walk.innermost(number, others) for number in range(memories)]
        """Per memory, place of the innermost relevant loop that moves another axis."""
        self.shifts: list[list[Column]] = []
        """Per memory and dim, what a step of its loop adds to the index; 0 without a loop."""
        self.back: list[list[Column]] = []
        """Per memory and dim, what the loops of the axis inside it, in this memory, have added before."""
        self.total: list[Column] = []
        """Per memory, what all its loops of the axis have added."""
        self.first: list[Column] = [np.zeros(columns.trips.shape[2])] * memories
        """Per memory, the shift of the innermost loop of the axis outside it."""
        for number in range(memories):
            self._memory(number, dims)
        for number in reversed(range(1, memories)):
            last = walk.innermost(number, dims)
            own = self.first[number].copy()
            for (dim, _), shift in zip(axis, self.shifts[number], strict=True):
                np.copyto(own, shift, where=(walk.placed[number, dim] == last) & walk.several[number, dim])
            self.first[number - 1] = own

    def _memory(self, number: int, dims: tuple[int, ...]) -> None:
        columns, walk = self.walk.columns, self.walk
        shifts = [factor * columns.strides[number, dim] * walk.several[number, dim] for dim, factor in self.axis]
        if walk.extrapolate:
            added = shifts
        else:
            added = [shift * (columns.trips[number, dim] - 1) for dim, shift in zip(dims, shifts, strict=True)]
        place = columns.place[number]
        back = []
        for dim in dims:
            inside = np.zeros_like(added[0])
            for other, amount in zip(dims, added, strict=True):
                if other != dim:
                    inside += amount * (place[other] > place[dim])
            back.append(inside)
        self.shifts.append(shifts)
        self.back.append(back)
        self.total.append(sum(added[1:], added[0]))

    def saved(self, child: int, words: Column, overlap: Column) -> Column:
        """Words that one instance of a memory need not fetch again.

        Args:
            child: the memory.
            words: of its tile.
            overlap: those that its tile shares with the next along this axis, by the shift `first`.
        """
        walk, columns = self.walk, self.walk.columns
        found = np.zeros_like(words)
        clean: Mask | None = None
        before: Column | None = None
        first = self.first[child]
        for number in range(child + 1, len(columns.trips)):
            for (dim, _), shift, back in zip(self.axis, self.shifts[number], self.back[number], strict=True):
                moved = shift - back if before is None else shift - back - before
                kept = overlap * (moved == first) + words * (moved == 0)
                alone = self.other[number] < columns.place[number, dim]
                kept *= alone if clean is None else alone & clean
                kept *= columns.trips[number, dim] - 1
                kept *= walk.outside(number, dim)
                found += kept
            none = self.other[number] < 0
            clean = none if clean is None else clean & none
            before = self.total[number] if before is None else before + self.total[number]
        return found
