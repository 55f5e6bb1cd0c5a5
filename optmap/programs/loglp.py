"""The tiling LP in logarithms: the largest tile whose every tensor fits.

With t_d = log T_d, the largest number of operations per tile is
max sum_d t_d subject to sum_{d in tensor} t_d <= log M for every tensor, 0 <= t_d <= log N_d.
Source: Dinh's dissertation, section 3.2.1 (projective nested loops).
"""

from __future__ import annotations

from functools import partial
from math import log
from typing import Any

import pyomo.environ as pyo

from optmap.base.errors import InputError
from optmap.programs.program import Form, Program, Sense, Variable
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
    if not capacity >= 1:
        raise InputError(f"capacity is {capacity} words; the tiling LP needs at least 1")
    for tensor in workload.tensors:
        for axis in tensor.axes:
            if len(axis.terms) > 1:
                raise InputError(
                    f"{workload.title}: subscript {axis} of {tensor.name} has several dims; "
                    "the tiling LP is for projective workloads and convolutions; use --format text, latex or nl"
                )
    variables = tuple(
        Variable(name=f"t[{d}]", quantity=f"T[{d}]", lower=0.0, upper=log(n), log=True, unit="iterations")
        for d, n in workload.sizes
    )
    return Program(
        name=f"log-space tiling LP of {workload.title}",
        form=Form.LP,
        convex=True,
        sense=Sense.MAXIMIZE,
        variables=variables,
        build=partial(_build, workload, capacity),
        objective_unit="operations per tile",
        objective_log=True,
    )


def _build(workload: Workload, capacity: float) -> Any:
    model = pyo.ConcreteModel(name=f"log-space tiling LP of {workload.title}")
    dims = list(workload.dims)
    model.t = pyo.Var(dims, bounds={d: (0.0, log(n)) for d, n in workload.sizes}, initialize=0.0)
    rows = {}
    for label, tensor in zip(access_names(workload, "_"), workload.tensors, strict=True):
        if tensor.dims:
            held = sum(model.t[d] for d in dims if d in tensor.dims)
            rows[label] = held <= log(capacity / workload.weight(tensor))
    model.footprint = pyo.Constraint(list(rows), rule=lambda _, k: rows[k])
    model.operations = pyo.Objective(expr=sum(model.t[d] for d in dims), sense=pyo.maximize)
    return model
