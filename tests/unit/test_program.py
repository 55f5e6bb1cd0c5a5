"""The program that is exported is the one that was solved; a changed one is read back as a checked mapping."""

import json
import re
from math import ceil, log, prod

import pyomo.environ as pyo
import pytest

import optmap
from optmap.base.errors import InfeasibleError, InputError, LimitError, UnknownNameError
from optmap.checker import check_document
from optmap.machines.machine import Level, Machine
from optmap.report import Format, Which, exported
from optmap.search import Question
from optmap.solvers import from_pyomo, solve
from optmap.workloads.amounts import Capacity
from optmap.workloads.builders import conv2d, matmul

PRODUCT = matmul(i=40, j=24, k=60)
WINDOWS = conv2d(c=6, k=4, h=10, w=12, r=2, s=1)
TWO_LEVELS = Machine(
    name="two",
    levels=(
        Level(name="L1", capacity=Capacity(amount=96, unit="words"), bandwidth=8),
        Level(name="L2", capacity=Capacity(amount=700, unit="words"), bandwidth=2),
    ),
)


def arithmetic(text: str, values: dict[str, float]) -> dict[str, float]:
    """Named expressions of an exported text, computed with nothing but the text."""
    joined = re.sub(r"\n {6}", " ", text.split("\nwhere\n")[1])
    found = {}
    for line in joined.strip().splitlines():
        name, _, right = line.strip().partition(" = ")
        python = re.sub(r"T\[[^\]]*\]", lambda m: repr(values[m[0]]), right)
        assert re.fullmatch(r"[0-9.e+*/() -]+", python), python
        found[name] = float(eval(python))
    return found


@pytest.mark.parametrize("semantics", ["accumulate", "assign"])
@pytest.mark.parametrize("workload", [PRODUCT, WINDOWS], ids=["product", "windows"])
def test_the_text_at_the_relaxed_point_has_the_proved_value(workload, semantics) -> None:
    program = optmap.program(workload, machine=TWO_LEVELS, semantics=semantics)
    text = program.export("text")
    assert text == optmap.export(workload, machine=TWO_LEVELS, semantics=semantics)
    sizes = {
        f"T[{level.name},{d}]": size
        for level, tile in zip(TWO_LEVELS.levels, program.tiles, strict=True)
        for d, size in tile.items()
    }
    named = arithmetic(text, sizes)
    touched = prod(workload.extents[d] for d in workload.output.dims) if semantics == "assign" else 0
    costs = []
    for level, rate in zip(TWO_LEVELS.levels, (8, 2), strict=True):
        moved = sum(value for name, value in named.items() if name.startswith(f"traffic[{level.name},"))
        held = sum(value for name, value in named.items() if name.startswith(f"occupancy[{level.name},"))
        assert held <= float(level.capacity.amount) * (1 + 1e-6)
        costs.append((moved - touched) / rate)
    solved = optmap.solve(workload, machine=TWO_LEVELS, semantics=semantics)
    assert max(costs) == pytest.approx(solved.relaxation.value, rel=1e-6)
    assert program.value == pytest.approx(solved.relaxation.value, rel=1e-6)
    assert program.permutations == solved.relaxation.classes
    assert program.proved


def test_the_model_as_it_is_has_the_proved_value_and_reads_back_to_a_checked_mapping() -> None:
    program = optmap.program(WINDOWS, machine=TWO_LEVELS)
    found = program.solve()
    assert found.objective == pytest.approx(program.value, rel=1e-6)
    assert found.bound == pytest.approx(program.value, rel=1e-6)
    answer = program.read_back(found)
    best = optmap.solve(WINDOWS, machine=TWO_LEVELS)
    assert best.cost <= answer.cost <= 3 * best.cost
    assert answer.cost >= program.value * (1 - 1e-9)
    assert answer.bound is not None
    assert any("read back" in note for note in answer.notes)
    report = check_document(json.loads(json.dumps(answer.to_dict())))
    assert report


@pytest.mark.parametrize("limit", [3, 7.5])
def test_an_added_constraint_holds_in_the_point_and_in_whole_tiles(limit) -> None:
    program = optmap.program(PRODUCT, machine=TWO_LEVELS)
    model = program.pyomo()
    free = program.read_back(program.solve()).mapping.levels[1].tile
    dim = max(free, key=lambda d: free[d])
    assert free[dim] > limit
    model.narrow = pyo.Constraint(expr=model.T["L2", dim] <= limit)
    found = program.solve(model)
    assert pyo.value(model.T["L2", dim]) == pytest.approx(limit, rel=1e-6)
    assert found.objective >= program.value * (1 - 1e-9)
    answer = program.read_back(model)
    assert answer.mapping.levels[1].tile[dim] <= limit
    assert answer.cost >= found.objective * (1 - 1e-6)
    assert answer.integer_bound == pytest.approx(program.relaxation.bound)
    assert optmap.evaluate(answer).disagreements == []


def test_a_least_size_is_rounded_up_and_a_fixed_one_is_kept() -> None:
    program = optmap.program(PRODUCT, memory="250w")
    name = program.setting.machine.levels[0].name
    model = program.pyomo()
    model.wide = pyo.Constraint(expr=model.t[name, "k"] >= log(2.5))
    model.t[name, "i"].fix(log(7.0))
    assert program.solve(model).objective > program.value
    tile = program.read_back(model).mapping.levels[0].tile
    assert tile["k"] >= 3
    assert tile["i"] == 7
    assert tile["k"] == ceil(tile["k"])


def test_what_no_rounding_keeps_is_named() -> None:
    program = optmap.program(PRODUCT, memory="250w")
    name = program.setting.machine.levels[0].name
    model = program.pyomo()
    model.between = pyo.Constraint(expr=(log(4.2), model.t[name, "i"], log(4.8)))
    program.solve(model)
    with pytest.raises(InfeasibleError, match="between"):
        program.read_back(model)
    tight = program.pyomo()
    for d, size in (("i", 40), ("j", 20), ("k", 1)):
        tight.t[name, d].fix(log(size))
    assert program.solve(tight).objective is None
    with pytest.raises(InfeasibleError, match=f"capacity of {name} by 610"):
        program.read_back(tight)
    with pytest.raises(InputError, match=rf"no value for t\[{name},i\]"):
        program.read_back({f"T[{name},j]": 4.0})
    with pytest.raises(InputError, match="a solved Pyomo model"):
        program.read_back(3)


def test_rows_are_written_with_their_signs() -> None:
    text = optmap.export(PRODUCT, machine=TWO_LEVELS, semantics="assign")
    assert "bottleneck[L1]: traffic[L1,C] + traffic[L1,A] + traffic[L1,B] - 8 * z <= 960" in text
    assert "capacity[L2]: occupancy[L2,C] + occupancy[L2,A] + occupancy[L2,B] <= 700" in text
    assert "nest[L1,i]: T[L1,i] - T[L2,i] <= 0" in text


def test_another_solver_finds_the_proved_value() -> None:
    program = optmap.program(PRODUCT, machine=TWO_LEVELS)
    found = solve(program.program(), solver="scipy_slsqp")
    assert found.objective == pytest.approx(program.value, rel=1e-5)
    ours, theirs = program.read_back(found), program.read_back(program.solve())
    assert ours.cost == pytest.approx(theirs.cost, rel=0.1)


def test_values_by_name_are_read_back_too() -> None:
    program = optmap.program(PRODUCT, memory="250w")
    name = program.setting.machine.levels[0].name
    answer = program.read_back({f"T[{name},i]": 14, f"t[{name},j]": log(14.2), f"T[{name},k]": 1.0})
    assert answer.mapping.levels[0].tile == {"i": 14, "j": 14, "k": 1} or answer.cost < optmap.evaluate(answer).cost
    assert answer.levels[0].occupancy_words <= 250


def test_loop_orders_are_kept_and_their_value_is_their_own() -> None:
    best = optmap.program(PRODUCT, memory="250w")
    orders = [("i", "j", "k"), ("i", "k", "j"), ("j", "k", "i")]
    values = {}
    for order in orders:
        program = optmap.program(PRODUCT, memory="250w", permutations=[order])
        assert program.permutations == (order,)
        assert program.proved
        values[order] = program.value
        kept = program.read_back(program.solve())
        assert kept.mapping.levels[0].permutation == order
        assert "only" in kept.space
    assert min(values.values()) == pytest.approx(best.value, rel=1e-6)
    assert max(values.values()) > min(values.values()) * 1.01
    found = exported(Question(workload=PRODUCT, machine=best.setting.machine), Format.TEXT, Which.CLASSES)
    assert [each.proved.value for each in found] == pytest.approx(sorted(values.values()), rel=1e-6)


def test_programs_for_solvers_and_from_the_paper() -> None:
    program = optmap.program(WINDOWS, memory="250w")
    assert from_pyomo(program.pyomo()).convex
    nl = optmap.export(WINDOWS, memory="250w", format="nl")
    assert nl == program.export("nl")
    assert nl.startswith("g3")
    latex = optmap.export(WINDOWS, memory="250w", format="latex")
    assert r"\frac{" in latex
    paper = optmap.export(WINDOWS, memory="250w", program="paper")
    assert "one-level tile program" in paper
    assert "not known to be convex" in paper
    assert "convex in the logarithms of these variables" in program.export()
    with pytest.raises(UnknownNameError, match="unknown program 'clases'; did you mean classes"):
        optmap.export(WINDOWS, memory="250w", program="clases")
    with pytest.raises(InputError, match="one program"):
        optmap.export(WINDOWS, memory="250w", format="nl", program="classes")
    with pytest.raises(InputError, match="loop order"):
        optmap.export(WINDOWS, memory="250w", program="classes", permutations=[WINDOWS.dims])
    with pytest.raises(InputError, match="no classes"):
        optmap.export(PRODUCT, memory="250w", format="lp", program="classes")
    with pytest.raises(InfeasibleError):
        optmap.export(PRODUCT, memory="2w")
    with pytest.raises((LimitError, InputError)):
        optmap.program(PRODUCT, memory="250w", time_limit=-1)
