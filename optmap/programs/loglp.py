"""The tiling LP in logarithms: the largest tile whose every tensor fits.

With t_d = log T_d, the largest number of operations per tile is
max sum_d t_d subject to sum_{d in tensor} t_d <= log M for every tensor, 0 <= t_d <= log N_d.
Source: Dinh's dissertation, section 3.2.1 (projective nested loops).
"""

from __future__ import annotations

from fractions import Fraction

from optmap.base.errors import InputError
from optmap.programs.lifted import LiftedLp, whole_dims
from optmap.programs.program import Program
from optmap.workloads.workload import Workload, access_names


def log_tiling_program(workload: Workload, *, capacity: float) -> Program:
    """The log-space tiling LP of a projective workload (every subscript is a single dim).

    Each tensor alone must fit into the capacity, as in the source: all together they take up to
    the number of tensors times that.

    Args:
        workload: gives dims, extents and tensors.
        capacity: words M, at least 1.

    Raises:
        InputError: for a subscript of several dims, or a capacity below one word.
    """
    if not 1 <= capacity < float("inf"):
        raise InputError(f"capacity is {capacity} words; the tiling LP needs a finite number, at least 1")
    for tensor in workload.tensors:
        for axis in tensor.axes:
            if len(axis.terms) > 1:
                raise InputError(
                    f"{workload.title}: subscript {axis} of {tensor.name} has several dims; "
                    "the tiling LP is for projective workloads and convolutions; use --format text, latex or nl"
                )
    names = zip(access_names(workload, "_"), workload.tensors, strict=True)
    rows = (
        (label, tuple(d for d in workload.dims if d in tensor.dims), Fraction(capacity) / workload.weight(tensor))
        for label, tensor in names
    )
    return LiftedLp(digits=whole_dims(workload), rows=tuple(rows)).program(f"log-space tiling LP of {workload.title}")
