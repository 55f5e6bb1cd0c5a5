"""Which subscripts of a tensor move together, and where neighbouring tiles overlap.

The tile of a tensor is the product of the value sets of its axes. Axes that share a dim move
together, so traffic factorises over groups of axes connected by shared dims: one dim or a window
pair such as (h, r) in nearly every workload.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace
from functools import lru_cache

from optmap.workloads.workload import Subscript, TensorAccess


@lru_cache(maxsize=1024)
def axis_groups(tensor: TensorAccess) -> tuple[tuple[Subscript, ...], ...]:
    """The axes of a tensor in groups that share no dim; constant subscripts are left out.

    Args:
        tensor: any access.
    """
    groups: list[list[Subscript]] = []
    for axis in tensor.axes:
        if not axis.terms:
            continue
        joined = [g for g in groups if any(set(axis.dims) & set(other.dims) for other in g)]
        groups = [g for g in groups if all(g is not j for j in joined)]
        groups.append([*(a for g in joined for a in g), axis])
    return tuple(tuple(g) for g in groups)


@lru_cache(maxsize=1024)
def group_dims(group: tuple[Subscript, ...]) -> tuple[str, ...]:
    """The dims of a group of axes, each once, in the order written."""
    return tuple(dict.fromkeys(d for axis in group for d in axis.dims))


def moving(tensor: TensorAccess, dims: Container[str]) -> TensorAccess:
    """An access without its one-trip dims, so that they tie no subscripts together.

    Args:
        tensor: any access.
        dims: the dims that stay.
    """
    axes = (replace(axis, terms=tuple(t for t in axis.terms if t[0] in dims)) for axis in tensor.axes)
    return replace(tensor, axes=tuple(axes))


def touched_at_least(tensor: TensorAccess, tile: Mapping[str, int]) -> int:
    """Elements of a tensor that a box of iterations certainly touches.

    Values of subscripts without a common dim combine freely. Equal to the footprint unless a dim stands
    in two subscripts: of `A[i,i]` the footprint counts elements that no iteration touches, while smaller
    tiles leave out what is off the diagonal.
    """
    counted, used = 1, set[str]()
    for count, axis in sorted(((axis.count(tile), axis) for axis in tensor.axes), key=lambda pair: -pair[0]):
        if used.isdisjoint(axis.dims):
            counted *= count
            used.update(axis.dims)
    return counted


def window(tensor: TensorAccess, dim: str) -> bool:
    """Whether moving along `dim` makes neighbouring tiles of the tensor overlap partly.

    True if `dim` shares a subscript with another dim.
    """
    return any(len(axis.terms) > 1 for axis in tensor.axes if dim in axis.dims)


def overlaps(tensor: TensorAccess, dim: str) -> bool:
    """Whether two tiles that are neighbours along `dim` can share elements of the tensor.

    Stricter than `window`: in `A[x+y, x]` the second subscript keeps the tiles along x apart.
    """
    axes = [axis for axis in tensor.axes if dim in axis.dims]
    return bool(axes) and all(len(axis.terms) > 1 for axis in axes)
