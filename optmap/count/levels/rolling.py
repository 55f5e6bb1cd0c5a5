"""Rolling buffers: how many words an access that is streamed through a tile holds at most, exactly.

A streamed access holds the words of the tile that some slice up to now had and some slice from now on has
(`optmap.mappings.held`). Slices follow each other in the order of the streamed loops, outermost first, and every
streamed dim is alone with dims that are not streamed in one subscript. So a word is one value per subscript, a
subscript's value v is in the slices of a set of iterations of its dim, with a first one f(v) and a last one l(v),
and the word is held from (f, f', ...) to (l, l', ...) in lexicographic order.

At iteration t of the outermost of these dims the values of its subscript are of five kinds: not held, and
    mid: f < t < l,   new: f = t < l,   old: f < t = l,   only: f = t = l.
With the subscripts further in (X values, S that have begun at the time there, D that have not ended, P both) held are
    mid*X + new*S + old*D + only*P,
and so on inwards. For h+r, then w+s, both of stride 1, that is R-1 rows and S words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod

import numpy as np
import numpy.typing as npt

from optmap.base.errors import LimitError
from optmap.count.levels.cutting import Array
from optmap.workloads.workload import Subscript, TensorAccess

LARGEST = 2**22
"""Pairs of an iteration of a streamed dim and a value of the other dims beside it, at most."""
EXACT = 2**60
"""Words above which whole numbers of Python count."""
Profile = npt.NDArray[np.int64]
"""Per iteration of a streamed dim a row: values mid, new, old, only, begun before it, ended after it."""
START = np.ones((1, 4), dtype=np.int64)
"""X, S, D and P of no subscripts at all."""


def slice_words(tensor: TensorAccess, sizes: Mapping[str, int], streamed: Sequence[str]) -> int:
    """Elements that an access streamed through a tile holds at the same time, at most.

    Args:
        tensor: the access.
        sizes: extent of the tile per dim.
        streamed: dims of which one iteration at a time is held, in the order of their loops.

    Raises:
        LimitError: for windows of too many values.

    Source: a rolling buffer by element; the proof is at the top of this module.
    """
    live = [d for d in streamed if sizes[d] > 1 and d in tensor.dims]
    of = {d: next(axis for axis in tensor.axes if d in axis.dims) for d in live}
    while live and _beside(of[live[0]], live[0], sizes) == ():
        del of[live.pop(0)]  # slices that differ in it have no word in common
    rest = prod(axis.count({**sizes, **dict.fromkeys(streamed, 1)}) for axis in tensor.axes if axis not in of.values())
    if len(live) == 1 and steady(of[live[0]], live[0], sizes):
        return rest * of[live[0]].count({**sizes, live[0]: 1})
    kind: type = object if tensor.footprint(sizes) > EXACT else np.int64
    inner: Array = START.astype(kind)
    for d in reversed(live):
        rows: Array = axis_profile(of[d], d, sizes).astype(kind)
        inner = folded(distinct(rows) if d == live[0] else rows, inner)
    return rest * int(inner[:, 3].max())


def steady(axis: Subscript, dim: str, sizes: Mapping[str, int]) -> bool:
    """Whether the slices of a value along a dim are a run, with at most one dim beside it.

    Args:
        axis: the subscript.
        dim: its streamed dim.
        sizes: extent of the tile per dim.
    """
    beside = _beside(axis, dim, sizes)
    return len(beside) < 2 and all(dict(axis.terms)[dim] % c == 0 for c, _ in beside)


def axis_profile(axis: Subscript, dim: str, sizes: Mapping[str, int]) -> Profile:
    """What the values of a subscript do at every iteration of its streamed dim; of a dim alone, at the ends.

    Args:
        axis: the subscript.
        dim: its streamed dim.
        sizes: extent of the tile per dim.

    Raises:
        LimitError: for more than `LARGEST` pairs of an iteration and a value beside it.
    """
    return profile(dict(axis.terms)[dim], sizes[dim], tuple(sorted(_beside(axis, dim, sizes))))


@lru_cache(maxsize=4096)
def profile(step: int, size: int, beside: tuple[tuple[int, int], ...]) -> Profile:
    """`axis_profile` of step*x + sum of c*y over the pairs (c, extent of y) in `beside`."""
    if not beside:  # linear in the iteration, and so is what is held: one of the ends holds most
        return np.array([(0, 0, 0, 1, t, size - 1 - t) for t in {0, size - 1}], dtype=np.int64)
    if size * prod(n for _, n in beside) > LARGEST:
        raise LimitError(
            f"a window of {size:,} by {prod(n for _, n in beside):,} values is too large to be streamed "
            f"(limit {LARGEST:,}); use a smaller tile"
        )
    values = np.zeros(1, dtype=np.int64)
    for c, n in beside:
        values = np.unique(values[:, None] + c * np.arange(n))
    touched = (step * np.arange(size)[:, None] + values).ravel()
    _, begin = np.unique(touched, return_index=True)
    _, end = np.unique(touched[::-1], return_index=True)
    first, last = begin // len(values), size - 1 - end // len(values)
    begun, ended = np.bincount(first, minlength=size), np.bincount(last, minlength=size)
    only = np.bincount(first[first == last], minlength=size)
    before, after = np.cumsum(begun) - begun, len(first) - np.cumsum(ended)
    mid = (
        len(first)
        - (begun - only)
        - (ended - only)
        - only
        - (np.cumsum(ended) - ended)
        - (len(first) - np.cumsum(begun))
    )
    return np.stack([mid, begun - only, ended - only, only, before, after], axis=1)


def distinct(rows: Profile) -> Array:
    """The rows of an outermost profile that differ in what is held."""
    kept: Array = np.unique(rows[:, :4].astype(np.int64), axis=0).astype(rows.dtype)
    return np.concatenate([kept, np.zeros((len(kept), 2), dtype=rows.dtype)], axis=1)


def folded(rows: Array, inner: Array) -> Array:
    """X, S, D and P with one more subscript outside, for every pair of iterations; (pairs, 4).

    Args:
        rows: its profile.
        inner: X, S, D and P of the subscripts inside it, a row per time.
    """
    mid, new, old, only, before, after = (column[:, None] for column in rows.T)
    X, S, D, P = (column[None, :] for column in inner.T)
    total = (before + new + only).max()
    parts = (
        0 * mid + total * X,
        before * X + (new + only) * S,
        after * X + (old + only) * D,
        mid * X + new * S + old * D + only * P,
    )
    return np.stack([part.ravel() for part in parts], axis=1)


def buffer_table(profiles: Sequence[Sequence[Profile]]) -> npt.NDArray[np.float64]:
    """Most words held, for every combination of one profile per streamed dim.

    Args:
        profiles: per dim, outermost first, the profiles to combine; one dim or two.

    Returns:
        Array of one axis per dim.
    """
    heads = [distinct(rows)[:, :4] for rows in profiles[0]]
    kinds, owner = np.unique(np.concatenate(heads), axis=0, return_inverse=True)
    starts = np.cumsum([0, *(len(rows) for rows in heads[:-1])])
    columns = []
    for rows in profiles[1] if len(profiles) > 1 else [None]:
        inner = START if rows is None else folded(rows, START)
        most = (kinds.astype(np.float64) @ inner.T.astype(np.float64)).max(axis=1)
        columns.append(np.maximum.reduceat(most[owner.ravel()], starts))
    table = np.stack(columns, axis=1)
    return table if len(profiles) > 1 else table[:, 0]


def _beside(axis: Subscript, dim: str, sizes: Mapping[str, int]) -> tuple[tuple[int, int], ...]:
    """(coefficient, extent) of the dims beside one in a subscript that move in the tile."""
    return tuple((c, sizes[d]) for d, c in axis.terms if d != dim and sizes[d] > 1)
