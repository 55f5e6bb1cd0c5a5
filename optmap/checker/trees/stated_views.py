"""How the statements of a chain touch its tensors: through which subscripts, and what of a tensor that is together.

A statement whose dims have ranges touches through each access a box of index values (`window_box`): subscripts of one
access share no dim, so that every point of the ranges of one meets every point of those of the others. A tensor that is
touched through several accesses, of one statement or of several, is touched in the union of their boxes.
"""

from __future__ import annotations

from typing import Any

from ..chains.chain import StatedChain, dims_of
from ..core.tools import need
from .regions import Box, either, size, without
from .stated_rows import StatedRows

Axes = Any
"""The subscripts of an access."""
Views = dict[str, dict[int, list[Axes]]]
"""By the name under which a tensor is stored and by statement: the subscripts of its accesses, each once."""
PLAIN = {"terms", "offset"}
"""What is said of a subscript without padding."""
Places = dict[str, tuple[int, int]]
"""Per dim the first iteration and the one beyond the last."""


def by_dims(dims: list[str]) -> Axes:
    """Subscripts of one dim each."""
    return [{"terms": [[d, 1]], "offset": 0} for d in dims]


def dims_alone(axes: Axes) -> list[str] | None:
    """The dims of subscripts, if these are dims alone."""
    dims = dims_of({"axes": axes})
    return dims if axes == by_dims(dims) else None


def window_box(axes: Axes, places: Places) -> Box:
    """The index values that a product of ranges touches along every subscript, without gaps."""
    found = []
    for axis in axes:
        first, span = axis["offset"], 1
        for dim, factor in sorted(axis["terms"], key=lambda term: int(term[1])):
            low, high = places[dim]
            need(high - low == 1 or factor <= span, f"not counted: a content with gaps along {dim}")
            first += factor * low
            span += factor * (high - low - 1)
        found.append((first, first + span))
    return tuple(found)


def stated_views(chain: StatedChain, rows: list[StatedRows], *, alike: bool) -> Views:
    """The subscripts through which every statement touches every tensor, statistics of rows as well.

    Args:
        chain: the statements.
        rows: their statistics.
        alike: whether subscripts are dims alone, those of what is made the same ones everywhere.

    Raises:
        RefusedError: for a dim twice in an access, padding, or a statement that does not read all of what is made.
    """
    found: Views = {}
    for number, accesses in enumerate(chain.accesses):
        for place, access in enumerate(accesses):
            tensor, axes, dims = access["tensor"], access["axes"], dims_of(access)
            windows = place > 0 and not alike and all(axis["terms"] and set(axis) == PLAIN for axis in axes)
            fine = len(set(dims)) == len(dims) and (windows or dims_alone(axes) is not None)
            need(fine, f"not counted: {tensor} has subscripts that are no dims alone")
            mine = found.setdefault(chain.held[tensor], {}).setdefault(number, [])
            mine += [axes] * (axes not in mine)
    for tensor, views in found.items():
        writers = [number for number, name in enumerate(chain.names) if chain.held[name] == tensor]
        if not writers:
            twice = alike and any(len(view) > 1 for view in views.values())
            need(not twice, f"not counted: {tensor} is touched with other dims elsewhere")
            continue
        made = chain.accesses[writers[0]][0]["axes"]
        for number, view in views.items():
            if view != [made]:
                apart = number not in writers and not alike
                need(apart, f"not counted: {tensor} is touched with other dims elsewhere")
                need(_reads_all(chain, made, view), f"not counted: {chain.names[number]} does not read all of {tensor}")
    for each in rows:
        _check_rows(chain, each)
        found[each.name] = {number: [by_dims(each.dims)] for number in (each.made, *each.readers)}
    return found


def _reads_all(chain: StatedChain, made: Axes, view: list[Axes]) -> bool:
    """Whether accesses touch together what one touches that makes a tensor."""
    places = {d: (0, n) for d, n in chain.extents.items()}
    every, touched = {window_box(made, places): 1}, either(window_box(axes, places) for axes in view)
    return size(without(every, touched)) == 0 == size(without(touched, every))


def _check_rows(chain: StatedChain, rows: StatedRows) -> None:
    """Whoever reads rows touches the statistic with the dims that make it."""
    for number in rows.readers:
        for access in chain.accesses[number][1:]:
            if access["tensor"] in chain.names:
                made = chain.accesses[chain.names.index(access["tensor"])][0]["axes"]
                same = all(
                    one == other
                    for one, other in zip(made, access["axes"], strict=True)
                    if not {d for d, _ in one["terms"]}.isdisjoint(rows.dims)
                )
                need(same, f"not counted: {chain.names[number]} reads rows of {access['tensor']} by other dims")
