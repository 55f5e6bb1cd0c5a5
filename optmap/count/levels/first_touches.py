"""Which output elements one instance touches when outer levels split tiles among children."""

from __future__ import annotations

from functools import lru_cache
from math import prod

from optmap.base.errors import InputError, LimitError
from optmap.mappings.cutting import TileDescent
from optmap.mappings.levels import Mapping
from optmap.workloads.halo import LARGEST_SPAN, repeated, span
from optmap.workloads.workload import Semantics, Workload


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
            f"{workload.title}: a dim stands in two subscripts of {workload.output}; "
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
        LimitError: as `touched_values`.
    """
    check_output(workload)
    if workload.semantics is Semantics.ACCUMULATE:
        return 0
    if all(at.ways == 1 for at in mapping.levels[level + 1 :]):
        return workload.output.footprint(workload.extents)
    return prod(
        touched_values(
            tuple(c for _, c in axis.terms),
            tuple(TileDescent.of(workload, mapping, d, level, placed=len(axis.terms) > 1) for d in axis.dims),
        )
        for axis in workload.output.axes
    )


@lru_cache(maxsize=4096)
def touched_values(coefficients: tuple[int, ...], descents: tuple[TileDescent, ...]) -> int:
    """Distinct values of one subscript over what the first child of every split executes.

    Args:
        coefficients: factor of each dim.
        descents: of each dim; placed if there are several.

    Raises:
        LimitError: for a subscript of two or more dims with too wide an index range.
    """
    if len(descents) < 2:
        return prod(descent.executed for descent in descents)
    wide = span(coefficients, tuple(descent.extent for descent in descents))
    if wide > LARGEST_SPAN:
        raise LimitError(
            f"index range of {wide:,} values is too wide to enumerate (limit {LARGEST_SPAN:,}); "
            "use smaller extents or do not split this dim"
        )
    values = 1
    for c, descent in zip(coefficients, descents, strict=True):
        moved = 0
        for at, size in descent.grids(descent.base + 1):
            part = repeated(values, c, size)
            for step, times in at.rows:
                part = repeated(part, c * step, times)
            moved |= part << (c * at.first)
        values = moved
    return values.bit_count()
