"""Which output elements one instance touches when outer levels split tiles among children."""

from __future__ import annotations

from functools import lru_cache
from math import prod

from optmap.errors import InputError, LimitError
from optmap.problem.halo import LARGEST_SPAN
from optmap.problem.mapping import Mapping
from optmap.problem.workload import Semantics, TensorAccess, Workload


def check_output(workload: Workload) -> None:
    """Refuse `assign` for an output whose tiles hold elements that are never computed.

    The tile of a tensor is the product of its axes' values. If a dim stands in two subscripts of
    the output that product is larger than what is computed, and first touches are not defined.

    Raises:
        InputError: naming the output.
    """
    dims = [d for axis in workload.output.axes for d in axis.dims]
    if workload.semantics is Semantics.ASSIGN and len(set(dims)) < len(dims):
        raise InputError(
            f"{workload.name or workload.expression}: a dim stands in two subscripts of {workload.output}; "
            "with '=' its first touches are not defined: use '+='"
        )


def first_touches(workload: Workload, mapping: Mapping, level: int) -> int:
    """Output elements that are created and not loaded at the boundary outside a level.

    Args:
        workload: what is computed; 0 under `accumulate`.
        mapping: splits outside `level` leave the first child only a part of the output.
        level: index of the level inside the boundary.

    Raises:
        InputError: as `check_output`.
        LimitError: as `touched_elements`.
    """
    check_output(workload)
    if workload.semantics is Semantics.ACCUMULATE:
        return 0
    outside = mapping.levels[level + 1 :]
    if not any(ways > 1 for at in outside for ways in at.spatial.values()):
        return workload.output.footprint(workload.extents)
    tiles = [[at.tile[d] for d in workload.dims] for at in outside]
    ways = [[at.spatial.get(d, 1) for d in workload.dims] for at in outside]
    return touched_elements(workload, workload.output, tiles, ways)


def touched_elements(workload: Workload, tensor: TensorAccess, tiles: list[list[int]], spatial: list[list[int]]) -> int:
    """Distinct elements of a tensor that the first child of every split touches in all.

    Args:
        workload: gives dims and extents.
        tensor: no dim in two of its subscripts.
        tiles: (levels, D) tile sizes of the levels that split, inner first.
        spatial: (levels, D) ways of splitting.

    Raises:
        LimitError: for a subscript of two or more dims with too wide an index range.
    """
    index = {d: i for i, d in enumerate(workload.dims)}
    factors: list[int] = []
    for axis in tensor.axes:
        steps = [
            (c, workload.extents[d], tuple((t[index[d]], s[index[d]]) for t, s in zip(tiles, spatial, strict=True)))
            for d, c in axis.terms
        ]
        if len(steps) == 1:
            factors.append(_count(steps[0][1], steps[0][2]))
        elif steps:
            factors.append(_values(steps).bit_count())
    return prod(factors)


def _count(extent: int, levels: tuple[tuple[int, int], ...]) -> int:
    """Iterations of one dim that the first child executes."""
    if not levels:
        return extent
    tile, ways = levels[-1]
    quotient, rest = divmod(extent, tile)
    count = quotient * _count(-(-tile // ways), levels[:-1])
    return count + (_count(-(-rest // ways), levels[:-1]) if rest else 0)


@lru_cache(maxsize=4096)
def _positions(extent: int, levels: tuple[tuple[int, int], ...]) -> int:
    """The iterations of one dim that the first child executes, as set bits."""
    if not levels:
        return (1 << extent) - 1
    tile, ways = levels[-1]
    mask = 0
    for start in range(0, extent, tile):
        size = min(tile, extent - start)
        mask |= _positions(-(-size // ways), levels[:-1]) << start
    return mask


def _values(steps: list[tuple[int, int, tuple[tuple[int, int], ...]]]) -> int:
    """Values of an affine index over the executed iterations, as set bits."""
    span = sum(c * (extent - 1) for c, extent, _ in steps) + 1
    if span > LARGEST_SPAN:
        raise LimitError(
            f"index range of {span:,} values is too wide to enumerate (limit {LARGEST_SPAN:,}); "
            "use smaller extents or do not split this dim"
        )
    values = 1
    for c, extent, levels in steps:
        positions = _positions(extent, levels)
        moved = 0
        for i in range(positions.bit_length()):
            if positions >> i & 1:
                moved |= values << (c * i)
        values = moved
    return values
