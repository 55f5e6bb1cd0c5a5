"""Constraints on every road: loop orders derived again, programs of both solvers, documents, sweeps, refusals."""

from __future__ import annotations

import json
from copy import deepcopy
from itertools import permutations
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import optmap
from optmap.answers.documents.recount import disagreements, evaluate_solution
from optmap.answers.documents.solution import solution_from
from optmap.base.errors import CheckError, InfeasibleError, InputError, UnknownNameError
from optmap.checker import RefusedError, check_document
from optmap.checker.core.tools import digest
from optmap.cli.app import app
from optmap.count.levels.per_level import level_model
from optmap.files.fields import Fields
from optmap.loop_orders import allowed_orders
from optmap.machines.machine import CapacityRule, Level, Machine, two_level
from optmap.machines.relations import follows
from optmap.mappings.constraint_texts import constraints_of
from optmap.mappings.constraints import NO_CONSTRAINTS
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.mappings.reuse import dataflow
from optmap.search import Found, Question, Setting, assemble
from optmap.sweeps import Options, answer_point, make_point, read_task, spec_from, task_text
from optmap.workloads.parser import parse_workload
from optmap.workloads.sizes import parse_bandwidth, parse_capacity

PRODUCT = parse_workload("C[i,j] += A[i,k]*B[k,j]", {"i": 12, "j": 10, "k": 8})
DEMANDS = ["Fast.i=4", "Fast.k%2=0", "Fast.order=...,j"]
CONVOLUTION = parse_workload("O[n,k,x] += I[n,c,x+r]*K[k,c,r]", {"n": 1, "k": 6, "x": 7, "c": 5, "r": 3})


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """The document of a constrained answer."""
    found: dict[str, Any] = optmap.solve(PRODUCT, memory="40w", constraints=DEMANDS).to_dict()
    return found


@pytest.mark.parametrize("pattern", ["...,x", "x,...", "...,n,...", "...,r,c", "k,...,x,...,r", "n,k,x,c,r", "...,n"])
@pytest.mark.parametrize("rule", list(CapacityRule))
def test_the_orders_kept_move_as_little_as_all_that_follow_a_pattern(pattern: str, rule: CapacityRule) -> None:
    """Over random tiles: some kept order moves no more, and under `safe` needs no more room, than each allowed one."""
    wanted = tuple(pattern.split(","))
    kept = allowed_orders(CONVOLUTION, (wanted,), rule=rule).permutations
    every = [order for order in permutations(CONVOLUTION.dims) if follows(order, wanted)]
    assert kept
    assert set(kept) <= set(every)
    model, rng = level_model(CONVOLUTION), np.random.default_rng(1)
    extents = np.array([n for _, n in CONVOLUTION.sizes])
    chains = rng.integers(1, extents + 1, size=(40, 1, len(extents)))
    setting = Setting(workload=CONVOLUTION, machine=two_level(parse_capacity("64w")), rule=rule)

    def rows(orders: list[tuple[str, ...]]) -> tuple[np.ndarray, np.ndarray]:
        moved = [model.traffic(chains, 0, dataflow(CONVOLUTION, order)) for order in orders]
        needs = [model.safe_occupancy(chains[:, 0], setting.working(setting.order(order), 0)) for order in orders]
        return np.array(moved), np.array(needs)

    moved, needs = rows(list(kept))
    for words, room in zip(*rows(every), strict=True):
        assert ((moved <= words) & (needs <= room)).any(axis=0).all()


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_constraints_only_raise_the_relaxation_and_never_the_bound(data: st.DataObject) -> None:
    dim = data.draw(st.sampled_from(CONVOLUTION.dims))
    size = data.draw(st.integers(1, CONVOLUTION.extents[dim]))
    sign = data.draw(st.sampled_from(("=", ">=", "<=")))
    free = optmap.solve(CONVOLUTION, memory="64w")
    try:
        bound = optmap.solve(
            CONVOLUTION, memory="64w", constraints=[f"Fast.{dim}{sign}{size}", f"Fast.order=...,{dim}"]
        )
    except InfeasibleError:
        reject()
    assert bound.relaxation.value >= free.relaxation.value * (1 - 2e-6)
    assert bound.integer_bound >= free.relaxation.value * (1 - 2e-6)
    assert bound.bound is not None
    assert bound.bound == free.bound


@pytest.mark.parametrize(
    "demands",
    [
        ["L1.k=2"],
        ["L1.k=2", "L2.c<=3", "L2.x>=2", "L2.order=...,k"],
        ["L1.r=1", "L2.r=3", "L1.order=k,...,x", "L1.x%2=0"],
    ],
)
def test_both_solvers_find_the_same_relaxation(demands: list[str]) -> None:
    levels = [
        Level(name=name, capacity=parse_capacity(size), bandwidth=parse_bandwidth(rate))
        for name, size, rate in (("L1", "20w", "4w"), ("L2", "60w", "1w"))
    ]
    machine = Machine(name="test", levels=tuple(levels))
    batch = optmap.solve(CONVOLUTION, machine=machine, constraints=demands)
    ipopt = optmap.solve(CONVOLUTION, machine=machine, constraints=demands, solver="ipopt")
    assert batch.relaxation.proved
    assert isclose(batch.relaxation.value, ipopt.relaxation.value, rel_tol=1e-5)
    assert batch.constraints.admits(batch.mapping)
    assert ipopt.constraints.admits(ipopt.mapping)


def test_the_microkernel_stays_where_the_machine_imposes_it() -> None:
    found = optmap.solve("resnet18/R9", machine="i7-9700k", constraints={"L1.k": 16, "L1.order": ["...", "k"]})
    assert found.mapping.levels[1].tile["k"] == 16
    assert found.mapping.levels[1].permutation[-1] == "k"
    with pytest.raises(InfeasibleError, match=r"Reg\.k=4 cannot be met.*imposes the tile of Reg.*Reg\.k=16 would do"):
        optmap.solve("resnet18/R9", machine="i7-9700k", constraints="Reg.k=4")


@pytest.mark.parametrize(
    ("demands", "message"),
    [
        (
            ["Fast.i=12"],
            r"constraint Fast.i=12 cannot be met: .*short by 5 words.*\(i=12\).*needs 25; Fast.i=9 would do",
        ),
        (["Fast.i=6", "Fast.j=6"], r"Fast.i=6; Fast.j=6 cannot be met together.*Fast.i=2 or Fast.j=2 would do"),
        (["Fast.i=3", "Fast.i%2=0", "Fast.k=1"], r"Fast.i=3; Fast.i%2=0 cannot.*Fast.i=2 would do"),
        (["Fast.i>=12", "Fast.j=1"], r"constraint Fast.i>=12 cannot be met:.*Fast.i>=9 would do with the other"),
        (["Fast.i<=3", "Fast.i>=5"], r"Fast.i<=3; Fast.i>=5 cannot.*Fast.i<=5 or Fast.i>=3 would do"),
        (["Fast.order=...,i", "Fast.order=...,j"], r"no loop order of Fast is left"),
        (["Fast.i=13"], r"Fast.i=13 cannot be met: i has 12 iterations"),
    ],
)
def test_what_cannot_be_met_is_named(demands: list[str], message: str) -> None:
    with pytest.raises(InfeasibleError, match=message):
        optmap.solve(PRODUCT, memory="20w", constraints=demands)


@pytest.mark.parametrize(
    ("demands", "options", "error", "message"),
    [
        ("Fast.z=1", {}, UnknownNameError, "unknown dim 'z'"),
        ("Slow.i=1", {}, UnknownNameError, "unknown level 'Slow'"),
        ("Fast.order=i,j", {}, InputError, "leaves out k"),
        ([3], {}, InputError, "constraint 3 is no text"),
        (7, {}, InputError, "constraints is 7"),
        ("Fast.i=2", {"method": "iooub"}, InputError, "method iooub searches tiles and loop orders of its own"),
        ("Fast.i=2", {"method": "gemmini"}, InputError, "or --method mopt"),
        ("Fast.i=2", {"method": "mopt-algorithm1"}, InputError, "or --method mopt"),
        ("Fast.i=2", {"integers": "floor"}, InputError, "--integers floor"),
    ],
)
def test_what_is_refused(demands: Any, options: dict[str, str], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        optmap.solve(PRODUCT, memory="64w", constraints=demands, **options)  # type: ignore[arg-type]


def test_a_method_of_ones_own_is_held_to_the_constraints() -> None:
    machine = two_level(parse_capacity("64w"))
    question = Question(workload=PRODUCT, machine=machine, constraints=constraints_of("Fast.i=4"))
    level = LevelMapping(level="Fast", tile={"i": 2, "j": 1, "k": 1}, permutation=("i", "j", "k"), spatial={})
    with pytest.raises(CheckError, match=r"does not meet the constraint Fast.i=4: the tile of i at Fast is 2"):
        assemble(question, Found(mapping=Mapping(levels=(level,))), seconds=0.0)


def test_documents_say_what_was_demanded(document: dict[str, Any]) -> None:
    assert document["constraints"] == [
        {"level": "Fast", "dim": "i", "relation": "=", "value": 4},
        {"level": "Fast", "dim": "k", "relation": "%", "value": 2},
        {"level": "Fast", "order": ["...", "j"]},
    ]
    assert "among mappings with the constraints Fast.i=4; Fast.k%2=0; Fast.order=...,j" in document["status"]["space"]
    assert any(
        "meets the constraints Fast.i=4; Fast.k%2=0; Fast.order=...,j" in v for v in check_document(document).verified
    )
    read = solution_from(Fields.of(document, "file"))
    assert read.constraints.texts == tuple(DEMANDS)
    assert disagreements(evaluate_solution(read)) == []
    assert "constraints" not in optmap.solve(PRODUCT, memory="40w").to_dict()


@pytest.mark.parametrize(
    ("place", "change", "reason"),
    [
        (0, {"value": 5}, "does not meet the constraint Fast.i=5"),
        (0, {"relation": ">=", "value": 5}, "does not meet the constraint Fast.i>=5"),
        (0, {"relation": "<=", "value": 3}, "does not meet the constraint Fast.i<=3"),
        (1, {"value": 3}, "does not meet the constraint Fast.k%3=0"),
        (0, {"relation": "<"}, "relation is '<'"),
        (0, {"value": 0}, "value is 0"),
        (0, {"dim": "z"}, "no such dim"),
        (0, {"level": "Slow"}, "no such level"),
        (2, {"order": ["...", "i"]}, "does not meet the constraint"),
        (2, {"order": ["j", "..."]}, "does not meet the constraint"),
        (2, {"order": ["j", "...", "j"]}, "not the dims, once"),
        (2, {"order": []}, "order must be a list"),
        (2, {"more": 1}, "more, order unknown"),
    ],
)
def test_the_checker_and_evaluate_refuse_what_is_not_met(
    document: dict[str, Any], place: int, change: dict[str, Any], reason: str
) -> None:
    changed = deepcopy(document)
    changed["constraints"][place] |= change
    changed["digest"] = digest({key: value for key, value in changed.items() if key != "seconds"})
    with pytest.raises(RefusedError, match=reason):
        check_document(changed)
    try:
        said = disagreements(evaluate_solution(solution_from(Fields.of(changed, "file"))))
    except InputError as error:
        said = [str(error)]
    assert any("constraint" in line for line in said)


def test_no_constraints_is_no_key(document: dict[str, Any]) -> None:
    changed = {**document, "constraints": []}
    changed["digest"] = digest({key: value for key, value in changed.items() if key != "seconds"})
    with pytest.raises(RefusedError, match="constraints must be a list of 1"):
        check_document(changed)


def test_the_shell_takes_them(tmp_path: Path) -> None:
    statement, file = "C[i,j] += A[i,k]*B[k,j]", tmp_path / "out.json"
    given_ = [part for text in DEMANDS for part in ("--constraint", text)]
    common = ["solve", statement, "--extents", "i=12,j=10,k=8", "--memory", "40w"]
    done = CliRunner().invoke(app, [*common, *given_, "-o", str(file)])
    assert done.exit_code == 0, done.output
    written = json.loads(file.read_text(encoding="utf-8"))
    (level,) = written["mapping"]["levels"]
    assert (level["tile"]["i"], level["tile"]["k"] % 2, level["permutation"][-1]) == (4, 0, "j")
    assert CliRunner().invoke(app, ["check", str(file)]).exit_code == 0
    assert CliRunner().invoke(app, [*common, "--constraint", "Fast.i=12", "--constraint", "Fast.j=10"]).exit_code == 3
    assert CliRunner().invoke(app, [*common, "--constraint", "Fast.i"]).exit_code == 2


def test_comparisons_take_them() -> None:
    found = optmap.compare(PRODUCT, memory=["40w", "80w"], methods="mopt,gemmini", constraints="Fast.i=4")
    assert "searches tiles and loop orders of its own" in found.left_out["gemmini"]
    free = optmap.compare(PRODUCT, memory=["40w", "80w"], methods="mopt")
    assert [row.bound_words for row in found.rows] == [row.bound_words for row in free.rows]


def test_sweeps_take_them() -> None:
    common = {"workloads": ["C[i,j] += A[i,k]*B[k,j]"], "extents": {"i": 12, "j": 10, "k": 8}}
    common |= {"capacities": {"values": ["20w", "40w"]}, "methods": ["bound", "mopt"]}
    spec = spec_from({**common, "options": {"constraints": {"Fast.i": 9, "Fast.j": "<=1"}}})
    assert spec.options.constraints.texts == ("Fast.i=9", "Fast.j<=1")
    points = {
        options: make_point(
            spec.workloads[0], two_level(parse_capacity("20w")), level="Fast", method="mopt", options=options, seed=0
        )
        for options in (spec.options, Options(constraints=("Fast.i=12",)), Options())
    }
    assert len({point.input_hash for point in points.values()}) == 3
    demanded, beyond, free = points.values()
    assert read_task(task_text(demanded)) == demanded
    row = answer_point(demanded).row
    assert row.constraints == "Fast.i=9; Fast.j<=1"
    assert json.loads(row.mapping)[0]["tile"]["i"] == 9
    assert answer_point(beyond).row.stop == "infeasible"
    assert answer_point(free).row.constraints == ""
    for wrong, message in (
        ("Fast.z=1", "unknown dim"),
        ("Slow.i=1", "unknown level"),
        ("Fast.i", "constraints: expected"),
    ):
        with pytest.raises(InputError, match=message):
            spec_from({**common, "options": {"constraints": wrong}})


def test_nothing_is_demanded_by_default() -> None:
    assert optmap.solve(PRODUCT, memory="40w").constraints == NO_CONSTRAINTS


@pytest.mark.parametrize("demands", [["L2.i>=60"], ["L2.i%64=0", "L2.j>=33"], ["L2.j=64", "L1.order=...,k"]])
def test_cores_share_tiles_that_cannot_be_small(demands: list[str]) -> None:
    """A chunk of a large tile starts beside it: the smallest chunks would take more cores than there are."""
    inner = Level(name="L1", capacity=parse_capacity("300w"))
    outer = Level(name="L2", capacity=parse_capacity("9000w"), shared=True, fanout=4)
    work = parse_workload("C[i,j] += A[i,k]*B[k,j]", {"i": 64, "j": 64, "k": 64})
    machine = Machine(name="test", levels=(inner, outer))
    free = optmap.solve(work, machine=machine, cores=4)
    found = optmap.solve(work, machine=machine, cores=4, constraints=demands)
    assert found.relaxation.proved
    assert free.relaxation.value * (1 - 2e-6) <= found.relaxation.value <= found.cost
    assert found.constraints.admits(found.mapping)
