"""What a Keep of an input with windows takes in: its contents one iteration after the other, as boxes.

Contents of two iterations may share elements there, as `I[c,y+r]` does for neighbouring tiles of `y`, so that sizes of
steps do not say how many words enter. All iterations of the loops above the Keep are laid out as arrays, with the first
index value and the one beyond the last of every subscript; what an iteration has in common with the one before is the
box of what their ranges share. Where no two of the loops are over dims of one subscript, each is laid out by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from optmap.base.arrays import Ints
from optmap.count.trees.steps import step_from
from optmap.mappings.nodes import Loop
from optmap.workloads.access import Subscript, TensorAccess

MOST = 2**22
"""Iterations that are laid out at once."""


def iterations(loops: Sequence[Loop], extents: Mapping[str, int]) -> int:
    """Iterations of loops inside each other, an upper bound where last steps are shorter."""
    left, found = dict(extents), 1
    for loop in loops:
        found *= -(-(left[loop.dim] + loop.ahead) // loop.tile)
        left[loop.dim] = min(left[loop.dim], loop.tile)
    return found


def entered(access: TensorAccess, loops: Sequence[Loop], outside: int, extents: Mapping[str, int]) -> int | None:
    """Elements of an input that enter a Keep, all iterations together.

    None where a content is no box, or where there are more iterations than are laid out.

    Args:
        access: to the input.
        loops: above the Keep.
        outside: how many of them are outside the innermost sequence around it: there it starts empty every time.
        extents: iterations per dim.
    """
    own = [[place for place, axis in enumerate(access.axes) if loop.dim in axis.dims] for loop in loops]
    places = [each[0] for each in own if len(each) == 1]
    if len(set(places)) == len(loops):
        return _in_turn(access, dict(zip(places, loops, strict=True)), outside, extents)
    many = iterations(loops, extents)
    if many > MOST:
        return None
    kind = _kind(access, many, extents)
    start: dict[str, Ints] = {d: np.zeros(1, kind) for d in extents}
    size: dict[str, Ints] = {d: np.full(1, n, kind) for d, n in extents.items()}
    begins = np.ones(1, bool)
    for number, loop in enumerate(loops):
        trips = (-(-(size[loop.dim] + loop.ahead) // loop.tile)).astype(np.int64)
        rows = np.repeat(np.arange(len(trips)), trips)
        trip = (np.arange(len(rows)) - np.repeat(np.cumsum(trips) - trips, trips)).astype(kind)
        start, size = ({d: each[rows] for d, each in some.items()} for some in (start, size))
        begin, end = step_from(loop, trip * loop.tile - loop.ahead, 0, size[loop.dim])
        start[loop.dim], size[loop.dim] = start[loop.dim] + begin, end - begin
        begins = np.ones(len(rows), bool) if number < outside else begins[rows] & (trip == 0)
    content, shared = np.ones(len(begins), kind), np.where(begins, 0, 1).astype(kind)
    for axis in access.axes:
        values = _values(axis, start, size)
        if values is None:
            return None
        content *= values[1] - values[0]
        shared[1:] *= _common(values, slice(1, None), slice(-1))
    return int(content.sum() - shared.sum())


def _kind(access: TensorAccess, times: int, extents: Mapping[str, int]) -> Any:
    """Of numbers in arrays: Python's, where so many contents may be beyond 64 bits."""
    most = times * prod(axis.span(extents) for axis in access.axes)
    return np.int64 if max(most, *extents.values()) < 2**62 else object


def _values(axis: Subscript, start: Mapping[str, Ints], size: Mapping[str, Ints]) -> tuple[Ints, Ints] | None:
    """First values of a subscript and those beyond the last, per iteration; None if there are gaps in between."""
    first = 0 * next(iter(start.values()))
    span = first + 1
    for dim, factor in sorted(axis.terms, key=lambda term: term[1]):
        if ((size[dim] > 1) & (span < factor)).any():
            return None
        first, span = first + factor * start[dim], span + factor * (size[dim] - 1)
    return first, first + span


def _common(values: tuple[Ints, Ints], some: slice, others: slice) -> Ints:
    """How many values iterations have in common with others."""
    first, beyond = values
    found: Ints = np.maximum(0, np.minimum(beyond[some], beyond[others]) - np.maximum(first[some], first[others]))
    return found


def _in_turn(access: TensorAccess, loops: Mapping[int, Loop], outside: int, extents: Mapping[str, int]) -> int | None:
    """The same where every loop is over a dim of a subscript of its own: iterations are gone over dim by dim.

    From one iteration to the next a loop goes on, those inside it begin again, and those outside it stay where they
    are: what both contents have in common is a product over subscripts.

    Args:
        access: to the input.
        loops: by number of the subscript, outermost first.
        outside: as for `entered`.
        extents: iterations per dim.
    """
    every, going_on, again = list[int](), list[int](), list[int]()
    for place in (*(n for n in range(len(access.axes)) if n not in loops), *loops):
        loop, axis = loops.get(place), access.axes[place]
        trips = 1 if loop is None else iterations([loop], extents)
        if trips > MOST:
            return None
        kind = _kind(access, trips, extents)
        start: dict[str, Ints] = {d: np.zeros(trips, kind) for d in axis.dims}
        size: dict[str, Ints] = {d: np.full(trips, extents[d], kind) for d in axis.dims}
        if loop is not None:
            trip = np.arange(trips).astype(kind)
            begin, end = step_from(loop, trip * loop.tile - loop.ahead, 0, extents[loop.dim])
            start[loop.dim], size[loop.dim] = begin, end - begin
        values = _values(axis, start, size) if axis.dims else (np.zeros(1, kind), np.ones(1, kind))
        if values is None:
            return None
        every.append(int((values[1] - values[0]).sum()))
        going_on.append(int(_common(values, slice(1, None), slice(-1)).sum()))
        again.append(int(_common(values, slice(1), slice(-1, None))[0]))
    fixed = len(every) - len(loops)
    shared = (prod(every[:n]) * going_on[n] * prod(again[n + 1 :]) for n in range(fixed + outside, len(every)))
    return prod(every) - sum(shared)


def held(access: TensorAccess, left: Mapping[str, int]) -> int:
    """Elements of an input that a Keep holds.

    Args:
        access: to it.
        left: iterations of every dim.
    """
    return prod(axis.span(left) for axis in access.axes)
