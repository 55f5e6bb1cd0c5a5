"""Signatures of loop orders as bit masks: all of them, or those that can be undominated.

A signature says of every tensor which dims are inside its reuse position (a mask) and along which
dim its tiles overlap there (a number, -1 for none). Walking from the innermost loop outwards, a
loop *meets* the tensors that contain its dim and have met none before; a signature is the sequence
of these meetings, so the walk goes from meeting to meeting over sets of unmet tensors.

`candidates` leaves out branches that another one dominates, before anything is compared:

- dims that occur in no unmet tensor go inside at once: later positions only grow;
- a loop whose meeting includes another loop's, without an overlap that the other one loses, goes
  after it: what the other one meets keeps its position, the rest moves outwards.

Under the `safe` rule the working set must not grow either. It depends on the outermost meeting: on
which tensors take part in it, and on whether the meeting before it is the very next loop. So the
outermost meeting is kept as it is, both with and without the free dims inside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optmap.loop_orders.structure import Structure
from optmap.mappings.reuse import Reuse, TensorRoom, rooms_at

Signature = tuple[tuple[int, int], ...]
"""Per tensor: mask of the dims inside the reuse position, and the dim of overlap there or -1."""
Compared = NDArray[np.int64]

NO_DIM = -1
_ONE_TILE, _TWO_NEIGHBOURS, _TWO_TILES = range(3)
"""How much of a tensor must fit, in increasing order."""


def _need(room: TensorRoom) -> int:
    if room.copies > 1:
        return _TWO_TILES
    return _ONE_TILE if room.along is None else _TWO_NEIGHBOURS


@dataclass(frozen=True, slots=True)
class _Meeting:
    """A loop that meets tensors for the first time."""

    dim: int
    tensors: int
    """Mask of the tensors met."""
    overlap: int
    """Mask of those whose neighbouring tiles along the loop overlap."""


class DimMasks:
    """The dims and tensors of a structure as masks."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self.everything = (1 << len(structure.dims)) - 1
        self.number = {d: i for i, d in enumerate(structure.dims)}
        self.dims = [sum(1 << self.number[d] for d in access.dims) for access in structure.accesses]
        """Mask of the dims of every tensor."""
        accesses = list(enumerate(structure.accesses))
        self.holders = [sum(1 << t for t, a in accesses if d in a.dims) for d in structure.dims]
        """Mask of the tensors of every dim."""
        self.sliding = [sum(1 << t for t, a in accesses if a.overlaps(d)) for d in structure.dims]
        """Mask of the tensors that overlap along a dim."""
        self.unmet = sum(1 << t for t, mask in enumerate(self.dims) if mask)
        self.start: Signature = tuple((self.everything, NO_DIM) for _ in accesses)

    def all(self) -> set[Signature]:
        """Every signature that some loop order has."""
        found: set[Signature] = set()
        open_ = {(0, self.unmet, self.start)}
        while open_:
            following = set()
            for placed, unmet, flows in open_:
                if not unmet:
                    found.add(flows)
                    continue
                for inside in _between(placed, self._free(unmet)):
                    for meeting in self._meetings(unmet):
                        after = self._after(flows, meeting, inside)
                        following.add((inside | 1 << meeting.dim, unmet & ~meeting.tensors, after))
            open_ = following
        return found

    def candidates(self, *, safe: bool, most: int | None = None) -> tuple[set[Signature], bool]:
        """Signatures among which are all that no other one dominates.

        Args:
            safe: whether working sets are compared, too.
            most: walks that go on after every meeting; of more, a sample spread evenly.

        Returns:
            The signatures, and whether none was left out by `most`.
        """
        found: set[Signature] = set()
        complete = True
        choices: dict[int, tuple[int, list[tuple[_Meeting, bool]]]] = {}
        open_ = {(0, self.unmet, self.start)}
        while open_:
            if most is not None and len(open_) > most:
                complete, ordered = False, sorted(open_)
                open_ = {ordered[i * len(ordered) // most] for i in range(most)}
            following = set()
            for placed, unmet, flows in open_:
                if not unmet:
                    found.add(flows)
                    continue
                if unmet not in choices:
                    choices[unmet] = self._free(unmet), self._worthwhile(unmet, safe=safe)
                free, meetings = choices[unmet]
                for meeting, last in meetings:
                    for inside in {placed, free} if last else (free,):
                        after = self._after(flows, meeting, inside)
                        following.add((inside | 1 << meeting.dim, unmet & ~meeting.tensors, after))
            open_ = following
        return found, complete

    def _worthwhile(self, unmet: int, *, safe: bool) -> list[tuple[_Meeting, bool]]:
        """The meetings that no other one should go before, and which are kept as they are."""
        meetings = self._meetings(unmet)
        marked = [(meeting, safe and meeting.tensors == unmet) for meeting in meetings]
        return [(m, last) for m, last in marked if last or not any(_before(other, m) for other in meetings)]

    def reuses(self, signature: Signature) -> tuple[Reuse, ...]:
        """A signature in terms of dims."""
        names = self.structure.dims
        return tuple(
            Reuse(
                free=frozenset(d for i, d in enumerate(names) if mask >> i & 1),
                at=None if at == NO_DIM else names[at],
            )
            for mask, at in signature
        )

    def masks(self, reuses: tuple[Reuse, ...]) -> Signature:
        """The way back from `reuses`."""
        return tuple(
            (sum(1 << self.number[d] for d in flow.free), NO_DIM if flow.at is None else self.number[flow.at])
            for flow in reuses
        )

    def compared(self, signature: Signature, *, safe: bool) -> list[int]:
        """A signature as numbers that `dominates` compares: masks, overlaps, weights, doubled dims."""
        masks = [mask for mask, _ in signature]
        overlaps = [at for _, at in signature]
        if not safe:
            return masks + overlaps
        count = len(self.structure.dims)
        positions = tuple(
            mask.bit_count() + 1 if dims else count + 1 for mask, dims in zip(masks, self.dims, strict=True)
        )
        partial = tuple(None if at == NO_DIM else self.structure.dims[at] for at in overlaps)
        rooms = rooms_at(positions, partial)
        along = [NO_DIM if room.along is None else self.number[room.along] for room in rooms]
        return masks + overlaps + [_need(room) for room in rooms] + along

    def _free(self, unmet: int) -> int:
        """Dims in no unmet tensor."""
        taken = 0
        for tensor, mask in enumerate(self.dims):
            if unmet >> tensor & 1:
                taken |= mask
        return self.everything & ~taken

    def _meetings(self, unmet: int) -> list[_Meeting]:
        return [
            _Meeting(dim, holders & unmet, sliding & unmet)
            for dim, (holders, sliding) in enumerate(zip(self.holders, self.sliding, strict=True))
            if holders & unmet
        ]

    def _after(self, flows: Signature, meeting: _Meeting, inside: int) -> Signature:
        return tuple(
            (inside, meeting.dim if meeting.overlap >> t & 1 else NO_DIM) if meeting.tensors >> t & 1 else flow
            for t, flow in enumerate(flows)
        )


def _before(other: _Meeting, meeting: _Meeting) -> bool:
    """Whether a loop that comes first loses nothing and leaves the rest of a meeting further outside."""
    if other.dim == meeting.dim or other.tensors & ~meeting.tensors or meeting.overlap & other.tensors:
        return False
    return other.tensors != meeting.tensors or other.overlap != 0


def _between(least: int, most: int) -> Iterator[int]:
    """Every mask between two nested ones."""
    spare = most & ~least
    part = spare
    while True:
        yield least | part
        if not part:
            return
        part = (part - 1) & spare


def dominates(better: Compared, worse: Compared, tensors: int) -> NDArray[np.bool_]:
    """Which signatures move at most as much of every tensor as which others, pointwise in all sizes.

    For one tensor: it must be reused over at least the same loops, and keep the overlap that the
    other one keeps; where working sets are compared, its share must not be larger. The difference
    of traffic is then a product of factors >= 0 (see `dominance.prove`).

    Args:
        better: (A, 2*tensors or 4*tensors) rows of `DimMasks.compared`.
        worse: (B, the same).
        tensors: how many.

    Returns:
        (A, B).
    """
    result = np.ones((len(better), len(worse)), dtype=bool)
    for t in range(tensors):
        result &= worse[None, :, t] & ~better[:, None, t] == 0
        kept = worse[:, tensors + t]
        result &= (kept[None, :] == NO_DIM) | (kept[None, :] == better[:, None, tensors + t])
        if better.shape[1] > 2 * tensors:
            left, right = better[:, None, 2 * tensors + t], worse[None, :, 2 * tensors + t]
            same = (left == right) & (better[:, None, 3 * tensors + t] == worse[None, :, 3 * tensors + t])
            result &= same | (left == _ONE_TILE) | (right == _TWO_TILES)
    return result


def undominated(rows: Compared, tensors: int) -> NDArray[np.bool_]:
    """Which of many signatures no other one dominates.

    Args:
        rows: (n, …) rows of `DimMasks.compared`, all different.
        tensors: how many.
    """
    kept = np.ones(len(rows), dtype=bool)
    absent = ~rows[:, :tensors].T
    for number, row in enumerate(rows):
        # Few share all but the first masks: what is left is compared in full.
        left = np.flatnonzero(absent[0] & row[0] == 0) if tensors else np.arange(len(rows))
        for t in range(1, tensors):
            if len(left) == 1:
                break
            left = left[absent[t, left] & row[t] == 0]
        if len(left) > 1:
            kept[number] = dominates(rows[left], row[None], tensors).sum() == 1  # it dominates itself
    return kept
