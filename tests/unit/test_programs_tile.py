"""Tile programs: one source of expressions, equal to the symbolic ones, and honest about convexity."""

import math
import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyomo.environ as pyo
import pytest
import sympy

from optmap.base.errors import InfeasibleError, InputError
from optmap.machines.machine import CapacityRule
from optmap.programs import (
    Form,
    axis_values,
    first_touches,
    minmax_level_program,
    minmax_program,
    one_level_program,
    run_elements,
    tiles,
)
from optmap.programs.tile import Scale, TileLevel
from optmap.solvers import from_pyomo
from optmap.symbolic import occupancy, safe_occupancy
from optmap.symbolic import tiles as symbols
from optmap.symbolic.traffic import traffic
from optmap.workloads.builders import conv2d, matmul
from optmap.workloads.workload import Semantics

CNN = conv2d(c=64, k=128, h=136, w=136, r=3, s=3)


def levels(workload, permutations, fixed=None, rule=CapacityRule.TILE):
    return [
        TileLevel(name=f"L{i + 1}", capacity=c, bandwidth=b, permutation=p, fixed=fixed or {}, rule=rule)
        for i, ((c, b), p) in enumerate(zip(((1024, 57), (8192, 28), (65536, 16)), permutations, strict=False))
    ]


def number_of(expression, values):
    """An expression of SymPy at values by name, in exact arithmetic."""
    return float(expression.xreplace({s: sympy.Rational(values[s.name]) for s in expression.free_symbols}))


def cases():
    rng = random.Random(5)
    for stride, dilation, r in ((1, 1, 3), (2, 1, 3), (2, 1, 1), (4, 1, 3), (1, 2, 3), (3, 1, 2)):
        for semantics in Semantics:
            workload = conv2d(
                n=2, c=6, k=8, h=24, w=36, r=r, s=r, stride=stride, dilation=dilation, semantics=semantics
            )
            yield workload, {"r": r, "s": r}, rng
            if r > 1 and dilation == 1:
                yield workload, {"r": 1, "s": r}, rng
    yield matmul(i=40, j=60, k=20), {}, rng


@pytest.mark.parametrize("rule", list(CapacityRule))
def test_expressions_equal_the_symbolic_ones(rule: CapacityRule) -> None:
    checked = 0
    for workload, fixed, rng in cases():
        permutations = [tuple(rng.sample(workload.dims, len(workload.dims))) for _ in range(2)]
        program = minmax_program(workload, levels(workload, permutations, fixed, rule), scale=Scale.RAW)
        model = program.pyomo()
        inner = {d: fixed.get(d, float(rng.randint(2, 4))) for d in workload.dims}
        outer = {d: fixed.get(d, inner[d] * rng.randint(1, 3)) for d in workload.dims}
        point = {1: inner, 2: outer, 3: workload.extents}
        for (level, dim), variable in model.T.items():
            variable.set_value(point[1 if level == "L1" else 2][dim])
        known = dict(program.fixed)
        values = {}
        for level in (1, 2, 3):
            for dim, symbol in symbols(workload.dims, level, 2).items():
                values[symbol.name] = known.get(f"T[L{level},{dim}]", float(point[level][dim]))
        for level, permutation in enumerate(permutations, start=1):
            moved = sum(pyo.value(e) for k, e in model.traffic.items() if k[0] == f"L{level}")
            expected = number_of(traffic(workload, permutation, level, 2), values)
            assert moved - first_touches(workload) == pytest.approx(expected, rel=1e-12), (workload, permutation)
            held = sum(pyo.value(e) for k, e in model.occupancy.items() if k[0] == f"L{level}")
            of = occupancy(workload, level, 2)
            if rule is CapacityRule.SAFE:
                of = safe_occupancy(workload, permutation, level, 2)
            assert held == pytest.approx(number_of(of, values), rel=1e-12), (workload, permutation)
            checked += 1
    assert checked > 20


def test_log_and_raw_models_agree() -> None:
    levels_ = levels(CNN, [("k", "c", "r", "s", "n", "h", "w"), ("n", "k", "h", "w", "c", "r", "s")], {"r": 3, "s": 3})
    raw, logarithmic = (minmax_program(CNN, levels_, scale=s).pyomo() for s in (Scale.RAW, Scale.LOG))
    rng = np.random.default_rng(3)
    for key, variable in raw.T.items():
        variable.set_value(float(rng.uniform(1, variable.ub)))
        logarithmic.t[key].set_value(math.log(variable.value))
    for name in ("traffic", "occupancy"):
        for key, expression in getattr(raw, name).items():
            assert pyo.value(getattr(logarithmic, name)[key]) == pytest.approx(pyo.value(expression), rel=1e-12)


def test_axis_with_parameters_counts_exactly() -> None:
    (axis,) = (a for a in conv2d(c=1, k=1, h=30, w=8, r=7, s=1, stride=3).inputs[0].axes if "h" in a.dims)
    for r in range(1, 8):
        for h in range(1, 12):
            model = pyo.ConcreteModel()
            model.h = pyo.Var(initialize=h)
            assert pyo.value(axis_values(axis, {"h": model.h, "r": r})) == axis.count({"h": h, "r": r})


def test_moving_along_a_filter_under_a_stride_counts_every_reload() -> None:
    workload = conv2d(c=1, k=1, h=40, w=1, r=6, s=1, stride=4, padding="valid")
    image = workload.inputs[0]
    axis = next(a for a in image.axes if "h" in a.dims)
    model = pyo.ConcreteModel()
    model.h = pyo.Var(initialize=5)
    ones = dict.fromkeys(workload.dims, 1)
    for r in (1, 2, 3, 6):
        tile = {**ones, "h": model.h, "r": r}
        seen = [{4 * h + q * r + i for h in range(5) for i in range(r)} for q in range(6 // r)]
        loads = len(seen[0]) + sum(len(b - a) for a, b in pairwise(seen))
        assert pyo.value(run_elements(image, "r", tile, {**ones, "h": 9, "r": 6})) == loads
    assert axis.count({"h": 5, "r": 6}) == 4 * 4 + 6


@pytest.mark.parametrize(
    ("stride", "fixed", "convex"),
    [(1, {"r": 3, "s": 3}, True), (2, {"r": 3, "s": 3}, True), (1, {}, False), (1, {"r": 3}, False)],
)
def test_convexity_is_claimed_only_where_the_structure_shows_it(stride: int, fixed: dict, convex: bool) -> None:
    workload = conv2d(c=8, k=8, h=16, w=16, r=3, s=3, stride=stride)
    permutations = [workload.dims, workload.dims[::-1]]
    program = minmax_program(workload, levels(workload, permutations, fixed))
    assert program.convex is convex
    assert from_pyomo(program.pyomo()).convex is convex
    assert not minmax_program(workload, levels(workload, permutations, fixed), scale=Scale.RAW).convex
    decomposed = minmax_level_program(workload, levels(workload, permutations, fixed), objective_level=0)
    assert not decomposed.convex
    assert not from_pyomo(decomposed.pyomo()).convex


def test_fixed_sizes_are_parameters_and_bound_the_others() -> None:
    chain = levels(CNN, [CNN.dims] * 3)
    chain[1] = replace(chain[1], fixed=dict.fromkeys(CNN.dims, 1.0) | {"k": 4.5})
    program = minmax_level_program(CNN, chain, objective_level=0, against=(2,))
    names = {v.quantity: v for v in program.variables}
    assert "T[L2,k]" not in names
    assert dict(program.fixed)["T[L2,k]"] == 4.5
    assert names["T[L1,k]"].upper == pytest.approx(math.log(4.5))
    assert names["T[L3,k]"].lower == pytest.approx(math.log(4.5))
    assert "T[L1,c]" not in names, "a size between 1 and 1 has no choice"
    rows = [c.name for c in program.pyomo().component_data_objects(pyo.Constraint)]
    assert "largest[L3]" in rows
    assert "largest[L2]" not in rows
    assert "capacity[L2]" not in rows


def test_read_back_undoes_logarithms_and_is_complete() -> None:
    program = one_level_program(CNN, capacity=8192, permutation=CNN.dims, fixed={"r": 3, "s": 3})
    values = {v.name: v.upper for v in program.variables}
    quantities = program.read_back(values)
    (tile,) = tiles(CNN, (), quantities)
    assert tile == pytest.approx(CNN.extents)
    assert program.form is Form.NLP
    with pytest.raises(InputError, match=r"no value for t\[k\]"):
        program.read_back({n: v for n, v in values.items() if n != "t[k]"})


def test_infeasible_and_wrong_input_is_refused_before_solving() -> None:
    with pytest.raises(InfeasibleError, match="short by 2 words"):
        one_level_program(matmul(i=4, j=4, k=4), capacity=1, permutation=("i", "j", "k"))
    with pytest.raises(InputError, match="permutation"):
        one_level_program(CNN, capacity=8192, permutation=("k", "c"))
    with pytest.raises(InputError, match="unknown dim q"):
        one_level_program(CNN, capacity=8192, permutation=CNN.dims, fixed={"q": 1})
    with pytest.raises(InputError, match="must lie in 1"):
        one_level_program(CNN, capacity=8192, permutation=CNN.dims, fixed={"r": 4})
    with pytest.raises(InputError, match="capacity is nan"):
        one_level_program(CNN, capacity=float("nan"), permutation=CNN.dims)
    chain = [replace(level, fixed={"k": k}) for level, k in zip(levels(CNN, [CNN.dims] * 2), (8, 4), strict=True)]
    with pytest.raises(InputError, match="must not shrink"):
        minmax_level_program(CNN, chain, objective_level=0)
    with pytest.raises(InputError, match="out of range"):
        minmax_level_program(CNN, levels(CNN, [CNN.dims] * 2), objective_level=2)
    with pytest.raises(InputError, match="level names repeat"):
        minmax_program(CNN, [TileLevel(capacity=10, permutation=CNN.dims)] * 2)


def test_an_estimate_is_noted() -> None:
    dilated = conv2d(c=4, k=4, h=16, w=16, r=3, s=3, dilation=2)
    program = one_level_program(dilated, capacity=500, permutation=dilated.dims, fixed={"r": 3, "s": 3})
    assert any("not exact while the tile of h is below 2" in note for note in program.notes)
    strided = conv2d(c=4, k=4, h=16, w=16, r=3, s=3, stride=2)
    assert one_level_program(strided, capacity=500, permutation=strided.dims, fixed={"r": 3, "s": 3}).notes == ()
    assert one_level_program(strided, capacity=500, permutation=strided.dims).notes != ()
