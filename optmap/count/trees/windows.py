"""What a Keep of an input with windows takes in: its contents one iteration after the other, as boxes.

Contents of two iterations may share elements there, as `I[c,y+r]` does for neighbouring tiles of `y`, so that sizes of
steps do not say how many words enter. All iterations of the loops above the Keep are laid out as arrays, with the first
index value and the one beyond the last of every subscript; what an iteration has in common with the one before is the
box of what their ranges share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from optmap.mappings.nodes import Loop
from optmap.workloads.chain import TensorRole
from optmap.workloads.workload import TensorAccess, Workload

Ints = NDArray[np.int64]
MOST = 2**22
"""Iterations that are laid out at once."""


def windows_of(workload: Workload) -> dict[str, TensorAccess]:
    """Inputs that are read once, with subscripts of several dims or strides: by name, with the access."""
    names = [access.name for access in workload.accesses]
    return {
        access.name: access
        for access in workload.accesses
        if workload.roles[access.name] is TensorRole.INPUT
        and names.count(access.name) == 1
        and any(len(axis.terms) != 1 or axis.terms[0][1] != 1 for axis in access.axes)
        and sum(len(axis.terms) for axis in access.axes) == len(access.dims)
        and all(axis.real is None for axis in access.axes)
    }


def iterations(loops: Sequence[Loop], extents: Mapping[str, int]) -> int:
    """Iterations of loops inside each other, an upper bound where last steps are shorter."""
    left, found = dict(extents), 1
    for loop in loops:
        found *= -(-left[loop.dim] // loop.tile)
        left[loop.dim] = min(left[loop.dim], loop.tile)
    return found


def entered(access: TensorAccess, loops: Sequence[Loop], outside: int, extents: Mapping[str, int]) -> int | None:
    """Elements of an input that enter a Keep, all iterations together; None where a content is no box.

    Args:
        access: to the input.
        loops: above the Keep.
        outside: how many of them are outside the innermost sequence around it: there it starts empty every time.
        extents: iterations per dim.
    """
    start = {d: np.zeros(1, np.int64) for d in extents}
    size = {d: np.full(1, n, np.int64) for d, n in extents.items()}
    begins = np.ones(1, bool)
    for number, loop in enumerate(loops):
        trips = -(-size[loop.dim] // loop.tile)
        rows = np.repeat(np.arange(len(trips)), trips)
        trip = np.arange(len(rows)) - np.repeat(np.cumsum(trips) - trips, trips)
        start, size = ({d: each[rows] for d, each in some.items()} for some in (start, size))
        start[loop.dim] = start[loop.dim] + trip * loop.tile
        size[loop.dim] = np.minimum(loop.tile, size[loop.dim] - trip * loop.tile)
        begins = np.ones(len(rows), bool) if number < outside else begins[rows] & (trip == 0)
    content, shared = np.ones(len(begins), np.int64), np.where(begins, 0, 1)
    for axis in access.axes:
        span = np.ones(len(begins), np.int64)
        for dim, factor in sorted(axis.terms, key=lambda term: term[1]):
            if ((size[dim] > 1) & (span < factor)).any():
                return None  # there are gaps
            span += factor * (size[dim] - 1)
        first = sum((factor * start[dim] for dim, factor in axis.terms), np.zeros(len(begins), np.int64))
        beyond = first + span
        content *= span
        shared[1:] *= np.maximum(0, np.minimum(beyond[1:], beyond[:-1]) - np.maximum(first[1:], first[:-1]))
    return int(content.sum() - shared.sum())


def held(access: TensorAccess, left: Mapping[str, int]) -> int:
    """Elements of an input that a Keep holds.

    Args:
        access: to it.
        left: iterations of every dim.
    """
    return prod(axis.span(left) for axis in access.axes)
