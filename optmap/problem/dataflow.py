"""Reuse: what a loop order means for each tensor, without any size."""

from __future__ import annotations

from dataclasses import dataclass

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


def window(tensor: TensorAccess, dim: str) -> bool:
    """Whether moving along `dim` makes neighbouring tiles of the tensor overlap partly.

    True if `dim` shares a subscript with another dim, or stands in two subscripts.
    """
    return any(len(axis.terms) > 1 for axis in tensor.axes if dim in axis.dims)
