"""Reuse: what a loop order means for each tensor, without any size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from optmap.problem.axes import overlaps
from optmap.problem.workload import TensorAccess, Workload


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Reuse:
    """How a loop order treats one tensor.

    The loops inside the innermost loop that occurs in the tensor reuse its tile whole; that
    innermost loop itself (at the reuse position) moves the tile, with partial overlap if its
    subscript has other dims; every loop outside multiplies the traffic.
    """

    inside: frozenset[str]
    """Dims inside the reuse position: absent from the tensor."""
    at: str | None
    """The dim at the reuse position; None for a tensor without dims."""


def reuse(tensor: TensorAccess, permutation: tuple[str, ...]) -> Reuse:
    """The reuse of a tensor under a loop order (MOpt section 3, position R_A).

    Args:
        tensor: the access whose reuse is asked for.
        permutation: dims, outermost first.
    """
    inside: list[str] = []
    for dim in reversed(permutation):
        if dim in tensor.dims:
            return Reuse(inside=frozenset(inside), at=dim)
        inside.append(dim)
    return Reuse(inside=frozenset(inside), at=None)


def dataflow(workload: Workload, permutation: tuple[str, ...]) -> tuple[Reuse, ...]:
    """The reuse of every tensor (output first): all that traffic depends on besides sizes."""
    return tuple(reuse(tensor, permutation) for tensor in workload.tensors)


class Residence(StrEnum):
    """How much of a tensor lives in a memory while data is being reused across two tiles."""

    SINGLE = "single"
    """One tile: both tiles touch the same data."""
    ALONG = "along"
    """The union of two tiles that are neighbours along one dim and overlap partly."""
    DOUBLE = "double"
    """Two whole tiles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """The share of one tensor in the safe working set."""

    residence: Residence
    """Which of the three cases applies."""
    dim: str | None = None
    """The dim whose tile extent doubles (`along` only): the share is F(T_dim := 2*T_dim)."""

    def elements(self, tensor: TensorAccess, tile: Mapping[str, int]) -> int:
        """Elements of `tensor` in the working set for a tile (extent per dim, in iterations)."""
        if self.residence is Residence.SINGLE:
            return tensor.footprint(tile)
        if self.dim is None:
            return 2 * tensor.footprint(tile)
        return tensor.footprint({**tile, self.dim: 2 * tile[self.dim]})


def safe_working_set(workload: Workload, permutation: tuple[str, ...]) -> tuple[Resident, ...]:
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
    positions = tuple(len(permutation) + 1 if flow.at is None else len(flow.inside) + 1 for flow in flows)
    pairs = zip(workload.tensors, flows, strict=True)
    partial = tuple(flow.at if flow.at is not None and overlaps(tensor, flow.at) else None for tensor, flow in pairs)
    residents = residents_at(positions, partial)
    # F(2T) along a dim in two subscripts is a box around both tiles, not their union.
    joined = tuple(
        sum(r.dim in axis.dims for axis in t.axes) > 1 for t, r in zip(workload.tensors, residents, strict=True)
    )
    double = Resident(residence=Residence.DOUBLE)
    return tuple(double if many else r for many, r in zip(joined, residents, strict=True))


def residents_at(positions: tuple[int, ...], partial: tuple[str | None, ...]) -> tuple[Resident, ...]:
    """The safe working set from reuse positions alone (see `safe_working_set`).

    Args:
        positions: per tensor the reuse position, 1 for the innermost loop.
        partial: per tensor the dim there if neighbouring tiles overlap along it, else None.
    """
    last = max(p if dim is not None else p - 1 for p, dim in zip(positions, partial, strict=True))
    residents: list[Resident] = []
    for position, dim in zip(positions, partial, strict=True):
        if position > last:
            residents.append(Resident(residence=Residence.SINGLE))
        elif position == last and dim is not None:
            residents.append(Resident(residence=Residence.ALONG, dim=dim))
        else:
            residents.append(Resident(residence=Residence.DOUBLE))
    return tuple(residents)
