"""Exchanges of dims that leave a workload's rows as they are, such as an image's rows against its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from optmap.programs.geometric import TileSpace
from optmap.programs.linear_subscripts import LineAxis


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """Dims that change places, and the tensors with them."""

    dims: Mapping[str, str]
    """Where every live dim goes; twice gives it back."""
    tensors: tuple[int, ...]
    """Where every access goes, the output to itself."""


def exchanges(space: TileSpace) -> tuple[Exchange, ...]:
    """The exchanges of two subscripts' dims after which every access stands where there was one just like it.

    Rows depend on an access's weight, its subscripts, and along which dims its tiles overlap. Where all that
    is the same, they are the same but for the order of their columns.

    Args:
        space: free and branch dims of a workload, of which every one has at most one place in an access.
    """
    extents, live = space.extents, space.free + space.branch
    axes = dict.fromkeys(axis for axes in space.axes for axis in axes)
    found: dict[tuple[str, ...], Exchange] = {}
    for first, second in combinations(axes, 2):
        alike = first.coefficients == second.coefficients and not set(first.dims) & set(second.dims)
        if not alike or [extents[d] for d in first.dims] != [extents[d] for d in second.dims]:
            continue
        there = dict(zip(first.dims, second.dims, strict=True))
        dims = {d: d for d in live} | there | {b: a for a, b in there.items()}
        tensors = _tensors(space, dims)
        if tensors is not None:
            found[tuple(dims.values())] = Exchange(dims=dims, tensors=tensors)
    return tuple(found.values())


def _tensors(space: TileSpace, dims: Mapping[str, str]) -> tuple[int, ...] | None:
    """Where every access goes with its dims; None if there is none like it."""
    same = {d: d for d in dims}
    open_ = list(range(len(space.axes)))
    places = []
    for index in range(len(space.axes)):
        image = _access(space, index, dims)
        place = next((i for i in open_ if _access(space, i, same) == image), None)
        if place is None:
            return None
        open_.remove(place)
        places.append(place)
    return tuple(places)


def _access(space: TileSpace, index: int, dims: Mapping[str, str]) -> tuple[object, ...]:
    """All that rows depend on of an access whose dims have gone elsewhere."""
    weight = space.workload.weight(space.workload.tensors[index])
    overlapping = frozenset(dims[d] for d in space.overlapping[index])
    return index == 0, weight, overlapping, frozenset(_axis(axis, dims) for axis in space.axes[index])


def _axis(axis: LineAxis, dims: Mapping[str, str]) -> tuple[object, ...]:
    terms = frozenset(zip((dims[d] for d in axis.dims), axis.coefficients, strict=True))
    return terms, None if axis.main is None else dims[axis.main]
