"""Emitted code computes what the statement says, for any mapping."""

from __future__ import annotations

import ctypes
from itertools import product
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import machines, mappings, workloads

from optmap.errors import InputError
from optmap.native import build_library, emit_code, load_library
from optmap.problem import Machine, Mapping, Semantics, Workload

STRICT = ("-O1", "-Wall", "-Wextra", "-Werror", "-fopenmp")
TYPES = {32: np.float32, 64: np.float64}


def arrays(code, rng):
    """Small whole numbers, so that sums are exact, for every buffer; a tensor that is read again is one array."""
    known = {}
    for buffer in code.buffers:
        known.setdefault(buffer.tensor, np.asarray(rng.integers(-8, 9, buffer.shape), TYPES[buffer.bits]))
    return [known[buffer.tensor] for buffer in code.buffers]


def literal(workload, code, values):
    """The statement, point by point."""
    out = values[0].copy()
    if workload.semantics is Semantics.ASSIGN:
        out[...] = 0
    for point in product(*(range(n) for _, n in workload.sizes)):
        at = dict(zip(workload.dims, point, strict=True))
        places = []
        for tensor, buffer in zip(workload.tensors, code.buffers, strict=True):
            index = [axis.offset + sum(c * at[d] for d, c in axis.terms) for axis in tensor.axes]
            real = all(a.real is None or a.real[0] <= i <= a.real[1] for a, i in zip(tensor.axes, index, strict=True))
            places.append(tuple(i - o for i, o in zip(index, buffer.origin, strict=True)) if real else None)
        if None not in places:
            out[places[0]] += np.prod([value[place] for value, place in zip(values[1:], places[1:], strict=True)])
    return out


def called(code, values, folder):
    library = load_library(build_library(code.source, flags=STRICT, folder=folder))
    out = values[0].copy()
    pointers = [each.ctypes.data_as(ctypes.c_void_p) for each in (out, *values[1:])]
    getattr(library, code.entry)(*pointers)
    return out


@st.composite
def cases(draw):
    workload = draw(workloads(max_operations=512))
    machine = draw(machines(max_levels=4, max_fanout=3))
    return workload, machine, draw(mappings(workload, machine))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(case=cases(), seed=st.integers(0, 99))
def test_any_affine_workload_is_right(case: tuple[Workload, Machine, Mapping], seed: int, tmp_path: Path) -> None:
    workload, machine, mapping = case
    try:
        code = emit_code(workload, mapping, machine)
    except InputError as error:
        assert "no subscript of the output for itself" in str(error)  # noqa: PT017
        return
    values = arrays(code, np.random.default_rng(seed))
    assert np.array_equal(called(code, values, tmp_path), literal(workload, code, values))
