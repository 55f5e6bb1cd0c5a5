"""How a tensor is kept: the words for it, each in one place.

- *Reuse position*: a place among the loops of a level, counted from the innermost one. The loops inside it
  reload nothing of a tensor, the loop at it brings in what the next tile adds, every loop outside brings the
  tile in again.
- `Reuse`: what a reuse position means for one access, by dims and without sizes. `reuse` takes the innermost
  loop that occurs in the access, as MOpt does in every level; `reuse_at` any position, as IOOpt does in one
  memory. `dataflow` is the reuse of every access of a loop order.
- `TensorRoom`: what a level must have room for so that this happens: one tile (a scratchpad), the union of two
  neighbours or two tiles (enough for LRU, `safe_working_set`).
- `Held` (`mappings.held`): what a mapping of one memory says beyond its tile and loop order: a reuse position per
  access and the dims it is streamed along. Its words are counted by `count.levels.held`.

Where millions of them are compared, sets of dims become bit masks: `search.iooub.flows.Hold` is a `Reuse`
of units, `loop_orders.signatures` has one per access of a class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from optmap.base.shown import Concise
from optmap.workloads.axes import overlaps
from optmap.workloads.workload import TensorAccess, Workload


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Reuse:
    """How the loops of a level treat one access."""

    free: frozenset[str]
    """Dims that the access does not have, whose loops reload nothing: those inside the reuse position."""
    full: frozenset[str] = frozenset()
    """Dims of the access inside the reuse position: their whole extent is kept."""
    at: str | None
    """The dim of the access at the reuse position, if there is one: neighbours along it may overlap partly."""


def reuse(tensor: TensorAccess, permutation: tuple[str, ...]) -> Reuse:
    """The reuse of a tensor at the innermost loop that occurs in it (MOpt section 3, position R_A).

    Args:
        tensor: the access whose reuse is asked for.
        permutation: dims, outermost first.
    """
    inner = reversed(permutation)
    lacking = next((i for i, dim in enumerate(inner) if dim in tensor.dims), len(permutation))
    return reuse_at(tensor, permutation, lacking + 1)


def reuse_at(tensor: TensorAccess, permutation: tuple[str, ...], position: int) -> Reuse:
    """What a reuse position means for a tensor.

    Args:
        tensor: the access.
        permutation: dims, outermost first.
        position: 1 for the innermost loop; the number of dims plus 1 to hold everything used; 0 to
            keep nothing between tiles.
    """
    if position == 0:
        return Reuse(free=frozenset(), at=None)
    inner = tuple(reversed(permutation))
    inside = frozenset(inner[: position - 1])
    here = inner[position - 1] if position <= len(inner) else None
    free = inside - tensor.dims
    if here is not None and here not in tensor.dims:
        free |= {here}
        here = None
    return Reuse(free=free, full=inside & tensor.dims, at=here)


def dataflow(workload: Workload, permutation: tuple[str, ...]) -> tuple[Reuse, ...]:
    """The reuse of every tensor (output first): all that traffic depends on besides sizes."""
    return tuple(reuse(tensor, permutation) for tensor in workload.tensors)


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorRoom(Concise):
    """What of one tensor must fit into a level: one tile unless said otherwise."""

    copies: int = 1
    """Whole tiles: 2 if neither of two consecutive ones is part of the other."""
    along: str | None = None
    """The dim along which two neighbours overlap partly: their union is one tile of twice its size there."""

    def tile(self, tile: Mapping[str, Any]) -> dict[str, Any]:
        """The tile, or the union of two neighbours, whose words count `copies` times.

        Args:
            tile: size per dim: numbers, arrays or expressions.
        """
        return dict(tile) if self.along is None else {**tile, self.along: 2 * tile[self.along]}

    def elements(self, tensor: TensorAccess, tile: Mapping[str, int]) -> int:
        """Elements of `tensor` in the working set for a tile (extent per dim, in iterations)."""
        return self.copies * tensor.footprint(self.tile(tile))


def safe_working_set(workload: Workload, permutation: tuple[str, ...]) -> tuple[TensorRoom, ...]:
    """What must fit into an LRU memory so that it moves no more than the model counts.

    Let loop K be the outermost one at which some tensor claims reuse: it is inside the tensor's
    reuse position, or at it with partial overlap. Whatever is reused is touched in one tile and
    again in the next tile of the execution, so at most the words of two consecutive tiles are
    touched in between; LRU keeps them if that union fits. Between two tiles that differ by a
    step of loop k, a tensor whose reuse position is outside k holds one tile, one whose reuse
    position is k holds two neighbours along that dim, and every other holds two tiles. The union
    grows with k, hence K alone decides. If no tensor claims reuse one tile of each is enough.

    Args:
        workload: the tensors.
        permutation: dims, outermost first.

    Returns:
        One entry per tensor, output first.
    """
    flows = dataflow(workload, permutation)
    positions = tuple(len(permutation) + 1 if flow.at is None else len(flow.free) + 1 for flow in flows)
    pairs = zip(workload.tensors, flows, strict=True)
    partial = tuple(flow.at if flow.at is not None and overlaps(tensor, flow.at) else None for tensor, flow in pairs)
    rooms = rooms_at(positions, partial)
    # F(2T) along a dim in two subscripts is a box around both tiles, not their union.
    joined = tuple(
        sum(room.along in axis.dims for axis in t.axes) > 1 for t, room in zip(workload.tensors, rooms, strict=True)
    )
    return tuple(TensorRoom(copies=2) if many else room for many, room in zip(joined, rooms, strict=True))


def rooms_at(positions: tuple[int, ...], partial: tuple[str | None, ...]) -> tuple[TensorRoom, ...]:
    """The safe working set from reuse positions alone (see `safe_working_set`).

    Args:
        positions: per tensor the reuse position, 1 for the innermost loop.
        partial: per tensor the dim there if neighbouring tiles overlap along it, else None.
    """
    last = max(p if dim is not None else p - 1 for p, dim in zip(positions, partial, strict=True))
    rooms: list[TensorRoom] = []
    for position, dim in zip(positions, partial, strict=True):
        if position > last:
            rooms.append(TensorRoom())
        elif position == last and dim is not None:
            rooms.append(TensorRoom(along=dim))
        else:
            rooms.append(TensorRoom(copies=2))
    return tuple(rooms)
