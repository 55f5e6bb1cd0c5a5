"""The structure of a workload without sizes: the key under which derivations are cached."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from optmap.workloads.workload import Subscript, TensorAccess, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The subscripts of one tensor, reduced to what traffic depends on."""

    name: str
    axes: tuple[tuple[tuple[str, int], ...], ...]
    """Per subscript the (dim, coefficient) pairs, divided by their common factor."""

    @property
    def dims(self) -> frozenset[str]:
        """Every dim of the tensor."""
        return frozenset(dim for axis in self.axes for dim, _ in axis)

    def moving(self, dim: str | None) -> tuple[int, ...]:
        """Indices of the subscripts in which `dim` occurs."""
        return tuple(i for i, axis in enumerate(self.axes) if any(dim == d for d, _ in axis))

    def overlaps(self, dim: str) -> bool:
        """Whether neighbours along `dim` can share elements: it never stands alone in a subscript."""
        moving = self.moving(dim)
        return bool(moving) and all(len(self.axes[i]) > 1 for i in moving)


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """Dims in canonical order and the accesses, output first: hashable, without extents."""

    dims: tuple[str, ...]
    accesses: tuple[Access, ...]


def reduced(axis: Subscript, dropped: frozenset[str] = frozenset()) -> tuple[tuple[str, int], ...]:
    """The terms of an axis divided by their common factor; the number of values is the same.

    Args:
        axis: the subscript.
        dropped: dims left out because their extent is 1.
    """
    terms = [(d, c) for d, c in axis.terms if d not in dropped]
    divisor = gcd(*(c for _, c in terms))
    return tuple((d, c // divisor) for d, c in terms)


def access_of(tensor: TensorAccess, dropped: frozenset[str] = frozenset()) -> Access:
    """The structure of one tensor; subscripts that have become constant are left out."""
    axes = (reduced(axis, dropped) for axis in tensor.axes)
    return Access(name=tensor.name, axes=tuple(axis for axis in axes if axis))


def structure_of(workload: Workload, dropped: frozenset[str] = frozenset()) -> Structure:
    """The structure of a workload, without the `dropped` dims."""
    dims = tuple(d for d in workload.dims if d not in dropped)
    return Structure(dims=dims, accesses=tuple(access_of(t, dropped) for t in workload.tensors))
