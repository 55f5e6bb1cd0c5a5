"""A user's constraints on accelerators: the best of all that meet them, by every method, and refused by name."""

from __future__ import annotations

import json
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import cases, some
from constrained_brute_force import best_that_meet, constrained_problem, rows_that_meet
from spatial_strategies import WALKED

import optmap
from optmap.base.clock import NO_LIMIT
from optmap.base.errors import InfeasibleError, InputError, LimitError, ParseError, UnknownNameError
from optmap.checker import RefusedError, check_document
from optmap.checker.core.tools import digest
from optmap.checker.nests.nest_solution import TIMES
from optmap.count.meshes.batch import evaluate_batch
from optmap.count.meshes.count import count_nest
from optmap.machines.fabric import Fabric
from optmap.machines.machine import Level, Machine
from optmap.mappings.constraint_texts import constraints_of, parse_constraint
from optmap.mappings.demanded import as_demanded
from optmap.mappings.nest import mapping_of, nest_of
from optmap.mappings.nest_batch import batch_of
from optmap.questions.options import Merit
from optmap.search import METHODS, Answer, random_nests
from optmap.search.accelerators.paddings import paddings
from optmap.search.exact import search_nest
from optmap.workloads.amounts import Capacity
from optmap.workloads.parser import parse_workload
from optmap.workloads.sizes import parse_bandwidth

PRODUCT = parse_workload("C[i,j] = A[i,k]*B[k,j]", {"i": 12, "j": 8, "k": 16})
DEMANDS = ["RegisterFile.k=4", "RegisterFile.order=k,...", "GlobalBuffer.x.i=3", "GlobalBuffer.keeps=A,..."]
ROUTES = {
    name: next((each for each in way.routes if each.meshes), None) for name, way in METHODS.items() if not way.chains
}
KEEPING = [name for name, route in ROUTES.items() if route is not None and route.constraints]


@pytest.mark.parametrize("seed", some(6, range(24)))
def test_the_best_of_all_that_meet_them_is_found(seed: int) -> None:
    problem = constrained_problem(seed, 8_000)
    fabric, texts, bound = problem.fabric, problem.texts, problem.bound
    counting, merit = WALKED[seed % len(WALKED)], list(Merit)[seed % 4]
    best = best_that_meet(fabric, texts, counting, merit)
    found = None if bound is None else search_nest(bound, merit=merit, counting=counting, clock=NO_LIMIT)
    if best is None:
        assert found is None or found.nest is None
        return
    assert found is not None
    assert found.nest is not None
    assert found.proved
    assert isclose(found.value, best, rel_tol=1e-9)
    assert rows_that_meet(batch_of([found.nest], fabric), fabric, texts).all()


def test_that_they_are_met_is_said_by_both_counts() -> None:
    """By the one in words and the one for many: of mappings that only constraints make invalid, too."""
    judged = 0
    for seed in range(cases(30, 60)):
        problem = constrained_problem(seed, 8_000)
        fabric, texts, bound = problem.fabric, problem.texts, problem.bound
        if bound is None:
            continue
        batch = random_nests(fabric, 40, np.random.default_rng(seed))
        met = rows_that_meet(batch, fabric, texts)
        free, held = (evaluate_batch(batch, each, WALKED[0]).valid for each in (fabric, bound))
        assert (held == (free & met)).all(), texts
        for row in range(0, len(batch), 8):
            broken = count_nest(batch.nest(row), bound).broken
            assert (not broken) == bool(held[row])
            judged += bool(broken) and bool(free[row])
    assert judged > 10


def answered(method: str, fabric: Fabric, texts: list[str]) -> Answer | str:
    """What a method finds, or what it says instead."""
    setting = {"evaluations": 3_000} if ROUTES[method].explores and method != "exhaustive" else {}
    try:
        return optmap.solve(
            fabric.workload,
            machine=fabric.machine,
            method=method,
            tiles="divisors",
            constraints=texts,
            time_limit=120,
            **setting,
        )
    except (InfeasibleError, LimitError) as error:
        return str(error)


@pytest.mark.parametrize("seed", some(3, range(200, 208)))
@pytest.mark.parametrize("method", KEEPING)
def test_every_method_keeps_to_them(method: str, seed: int) -> None:
    problem = constrained_problem(seed, 4_000)
    fabric, texts, bound = problem.fabric, problem.texts, problem.bound
    best = best_that_meet(fabric, texts, WALKED[0], Merit.EDP)
    found = answered(method, fabric, texts)
    if best is None:
        assert isinstance(found, str)
        free = best_that_meet(fabric, [], WALKED[0], Merit.EDP)
        assert free is None or any(text in found for text in texts)
        return
    assert bound is not None
    if isinstance(found, str):
        assert method in ("random", "quickflow", "sunstone", "bayesian")  # that may meet none
        return
    assert rows_that_meet(batch_of([found.nest], fabric), fabric, texts).all()
    assert found.constraints.admits(found.mapping)
    assert found.cost >= best * (1 - 1e-9)
    if method in ("exact", "exhaustive"):
        assert found.proved
        assert isclose(found.cost, best, rel_tol=1e-9)
    if method == "allocation":  # its solver is trusted to 0.03 %
        assert best * (1 - 1e-3) <= found.integer_bound <= best
        assert isclose(found.cost, best, rel_tol=1e-3)
    assert check_document(json.loads(json.dumps(found.to_dict()))).verified


def test_loops_of_one_trip_stand_where_an_order_wants_them() -> None:
    """So that the order in a document reads like the constraint."""
    placed = 0
    for seed in range(40):
        problem = constrained_problem(seed, 8_000)
        fabric, texts, bound = problem.fabric, problem.texts, problem.bound
        constraints = constraints_of([text for text in texts if ".order=" in text])
        if not constraints or bound is None:
            continue
        batch = random_nests(bound, 20, np.random.default_rng(seed))
        for row in range(len(batch)):
            nest = batch.nest(row)
            if any("order" in reason for reason in count_nest(nest, bound).broken):
                continue
            plain = mapping_of(nest, fabric)
            mapping = as_demanded(plain, constraints)
            assert constraints.admits(mapping)
            assert nest_of(mapping, fabric) == nest_of(plain, fabric)
            placed += not constraints.admits(plain)
    assert placed > 20


@pytest.fixture(scope="module")
def answer() -> Answer:
    return optmap.solve(PRODUCT, machine="eyeriss_like", constraints=DEMANDS)


def test_the_answer_says_what_was_demanded(answer: Answer) -> None:
    free = optmap.solve(PRODUCT, machine="eyeriss_like")
    assert answer.cost > free.cost
    assert answer.proved
    assert answer.floor == free.floor  # that of every schedule
    document = json.loads(json.dumps(answer.to_dict()))
    assert document["constraints"] == [
        {"level": "RegisterFile", "dim": "k", "relation": "=", "value": 4},
        {"level": "RegisterFile", "order": ["k", "..."]},
        {"level": "GlobalBuffer", "axis": "x", "dim": "i", "relation": "=", "value": 3},
        {"level": "GlobalBuffer", "keeps": ["A", "..."]},
    ]
    assert document["status"]["space"].endswith(f"among mappings with the constraints {'; '.join(DEMANDS)}")
    assert any(f"meets the constraints {'; '.join(DEMANDS)}" in line for line in check_document(document).verified)
    assert "; ".join(DEMANDS) in str(answer)
    assert "constraints" not in free.to_dict()


@pytest.mark.parametrize(
    ("place", "change", "reason"),
    [
        (0, {"value": 2}, "does not meet the constraint RegisterFile.k=2"),
        (0, {"level": "DRAM"}, "no such level"),
        (1, {"order": ["...", "k"]}, "does not meet the constraint RegisterFile.order"),
        (2, {"value": 2}, "does not meet the constraint GlobalBuffer.x.i=2"),
        (2, {"axis": "y"}, "does not meet the constraint GlobalBuffer.y.i=3"),
        (2, {"axis": "z"}, "axis is 'z'"),
        (2, {"level": "L9"}, "no such level"),
        (2, {"dim": "q"}, "no such dim"),
        (3, {"keeps": ["Z"]}, "not the tensors, once"),
        (3, {"keeps": ["A", "A"]}, "not the tensors, once"),
        (3, {"more": 1}, "more unknown|unknown"),
    ],
)
def test_check_and_evaluate_refuse_what_is_not_met(
    answer: Answer, place: int, change: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    document = json.loads(json.dumps(answer.to_dict()))
    document["constraints"][place] |= change
    search = {key: value for key, value in document["search"].items() if key not in TIMES}
    document["digest"] = digest(
        {**{key: value for key, value in document.items() if key not in ("seconds", "digest")}, "search": search}
    )
    with pytest.raises(RefusedError, match=reason):
        check_document(document)
    file = tmp_path / "changed.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    try:
        said = optmap.evaluate(file).disagreements
    except InputError as error:
        said = [str(error)]
    assert any("constraint" in line for line in said)


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (["RegisterFile.i=5"], r"RegisterFile.i=5 cannot be met on eyeriss_like: no factors of i=12.*i=6 would do"),
        (["GlobalBuffer.x.k=8", "GlobalBuffer.spatial.k<=4"], r"together.*x.k=4 or GlobalBuffer.spatial.k<=8 would do"),
        (["RegisterFile.i=12", "RegisterFile.k=16", "RegisterFile.keeps=C,A,B", "RegisterFile.j=8"], "is short by"),
        (["GlobalBuffer.keeps=A", "GlobalBuffer.bypass=A"], "constraint GlobalBuffer.keeps=A has A kept in"),
        (["DRAM.bypass=A"], "eyeriss_like has A kept in DRAM"),
        (["RegisterFile.i=13"], "at most that"),
    ],
)
@pytest.mark.parametrize("method", ["exact", "quickflow", "allocation"])
def test_what_no_mapping_meets_is_named(texts: list[str], reason: str, method: str) -> None:
    with pytest.raises(InfeasibleError, match=reason):
        optmap.solve(PRODUCT, machine="eyeriss_like", method=method, constraints=texts, tiles="divisors")


def test_padding_makes_room_for_what_does_not_divide() -> None:
    found = optmap.solve(PRODUCT, machine="eyeriss_like", constraints=["RegisterFile.i=5", "GlobalBuffer.spatial.i=3"])
    assert found.mapping.levels[-1].tile["i"] == 15
    assert found.proved
    assert "padded: i from 12 to 15" in " ".join(found.notes)


@pytest.mark.parametrize(
    ("text", "error", "reason"),
    [
        ("DRAM.i=4", UnknownNameError, "known are RegisterFile, GlobalBuffer"),
        ("RegisterFile.q=4", UnknownNameError, "known are i, j, k"),
        ("RegisterFile.x.q=4", UnknownNameError, "known are i, j, k"),
        ("L7.keeps=A", UnknownNameError, "known are RegisterFile, GlobalBuffer, DRAM"),
        ("GlobalBuffer.keeps=X", UnknownNameError, "known are C, A, B|Known are C, A, B"),
        (["RegisterFile.order=i,...", "RegisterFile.order=...,k"], InputError, "write them as one order"),
    ],
)
def test_what_does_not_belong_is_refused(text: Any, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        optmap.solve(PRODUCT, machine="eyeriss_like", constraints=text)


def test_a_machine_that_orders_its_loops_is_not_overruled() -> None:
    with pytest.raises(InputError, match="tpuv1 says itself in which order DRAM runs the loops"):
        optmap.solve(PRODUCT, machine="tpuv1", constraints=f"{_outermost(optmap.machine('tpuv1'))}.order=...,k")


def _outermost(machine: Machine) -> str:
    return machine.levels[-1].name


def test_a_method_that_cannot_says_who_can() -> None:
    assert [name for name, route in ROUTES.items() if route is not None and name not in KEEPING] == ["cosa"]
    with pytest.raises(InputError, match=r"cosa .*leave out --constraint .*--method exact"):
        optmap.solve(PRODUCT, machine="eyeriss_like", method="cosa", constraints=DEMANDS)
    compared = optmap.compare(PRODUCT, machine="eyeriss_like", methods="exact,cosa", constraints=DEMANDS)
    assert compared.results["exact"].constraints.texts == tuple(DEMANDS)
    assert "--method exact" in compared.left_out["cosa"]


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("L2.x.k", 6),
        ("L2.x.order=k", 11),
        ("L2.keeps=", 9),
        ("L2.keeps=...", 9),
        ("L2.keeps=...,A", 9),
        ("L2.bypass=A,...", 10),
        ("L2.keeps=A,A", 11),
        ("L2.keeps=A B", 11),
        ("L2.keeps=A#", 9),
        ("L2.keeps<=A", 10),
    ],
)
def test_errors_point_at_the_character(text: str, position: int) -> None:
    with pytest.raises(ParseError) as caught:
        parse_constraint(text)
    assert caught.value.position == position


@pytest.mark.parametrize(
    "text", ["L2.x.k=8", "L2.spatial.k<=8", "a.b.y.k%2=0", "L2.keeps=A,B#2", "L2.keeps=A,...", "L2.bypass=A", "L2.x=3"]
)
def test_texts_come_back(text: str) -> None:
    assert parse_constraint(text).text == text
    assert constraints_of({text.rsplit("=", 1)[0].rstrip("<%"): _sign(text)}).texts == (text,) or "%" in text


def _sign(text: str) -> str:
    return ("<=" if "<=" in text else "=") + text.rsplit("=", 1)[1]


def caches() -> Machine:
    """Two levels, the outer of which feeds four cores."""
    inner = Level(name="L1", capacity=Capacity(amount=20, unit="words"), bandwidth=parse_bandwidth("1w"))
    rate, room = parse_bandwidth("16w"), Capacity(amount=200, unit="words")
    outer = Level(name="L2", capacity=room, bandwidth=rate, shared=True, fanout=4)
    return Machine(name="four", levels=(inner, outer))


COSTLY = parse_workload("C[i,j] += A[i,k]*B[k,j]", {"i": 12, "j": 8, "k": 6})


@pytest.mark.parametrize("demands", [[], ["L1.i=2"]])
def test_caches_split_among_cores_as_demanded(demands: list[str]) -> None:
    """The best of all splits is the best without a demand on it."""
    machine = caches()
    names = [level.name for level in machine.levels]
    shared = "L2"
    common: dict[str, Any] = {"machine": machine, "cores": 4}
    costs = {}
    for i, j in ((1, 4), (2, 2), (4, 1)):
        texts = [*demands, f"{shared}.spatial.i={i}", f"{shared}.spatial.j<={j}"]
        found = optmap.solve(COSTLY, constraints=texts, **common)
        level = found.mapping.levels[names.index(shared)]
        assert (level.spatial.get("i", 1), level.spatial.get("j", 1)) == (i, j)
        assert check_document(json.loads(json.dumps(found.to_dict()))).verified
        costs[i, j] = found.cost
    assert demands or len(set(costs.values())) > 1
    free = optmap.solve(COSTLY, constraints=demands or None, **common)
    assert isclose(free.cost, min(costs.values()), rel_tol=1e-9)


@pytest.mark.parametrize(
    ("texts", "cores", "error", "reason"),
    [
        ("L3.spatial.i=4", 1, InfeasibleError, "one core does all of the work"),
        ("L2.spatial.i=4", 4, InfeasibleError, "4 cores share L3 alone"),
        ("L3.spatial.k=2", 4, InfeasibleError, "dims that are not reduced"),
        ("L3.x.i=4", 4, InputError, "write L3.spatial.i"),
        ("L3.keeps=A", 4, InputError, "only memories of an accelerator are bypassed"),
    ],
)
def test_caches_say_what_they_have_not(texts: str, cores: int, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        optmap.solve(COSTLY, machine="i7-9700k", cores=cores, constraints=texts)


def test_sweeps_take_them(tmp_path: Path) -> None:
    spec = {
        "workloads": ["C[i,j] = A[i,k]*B[k,j]"],
        "extents": {"i": 12, "j": 8, "k": 16},
        "machines": ["eyeriss_like"],
        "methods": ["exact"],
        "options": {"tiles": "divisors", "constraints": {"RegisterFile.k": 4, "GlobalBuffer.keeps": ["A", "..."]}},
    }
    optmap.sweep(spec, tmp_path / "met", engine="inline")
    (row,) = optmap.read_sweep(tmp_path / "met").to_dict("records")
    assert (row["constraints"], row["stop"]) == ("RegisterFile.k=4; GlobalBuffer.keeps=A,...", "optimal")
    spec["options"] = {"tiles": "divisors", "constraints": "GlobalBuffer.x.i=5"}
    optmap.sweep(spec, tmp_path / "none", engine="inline")
    assert optmap.read_sweep(tmp_path / "none")["stop"].tolist() == ["infeasible"]


def test_a_journal_of_other_constraints_is_refused(tmp_path: Path) -> None:
    common = {"machine": "eyeriss_like", "method": "random", "evaluations": 50, "journal": tmp_path / "j.journal"}
    optmap.solve(PRODUCT, constraints="RegisterFile.k=4", **common)
    optmap.solve(PRODUCT, constraints="RegisterFile.k=4", **common)
    with pytest.raises(InputError, match="constraints"):
        optmap.solve(PRODUCT, constraints="RegisterFile.k=2", **common)


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["L1.i=5"], [{"i": 15}]),
        (["L1.i=4", "L2.i=6"], []),
        (["L1.i=6", "L2.spatial.i=4"], [{"i": 24}]),
        (["L1.i>=5", "L1.j<=3"], []),
        (["L1.i=5", "L1.j%3=0"], [{"i": 15, "j": 9}]),
        (["L1.i=11", "L1.j=8"], [{"i": 22}]),
    ],
)
def test_dims_are_padded_for_what_is_demanded(texts: list[str], found: list[dict[str, int]]) -> None:
    assert list(paddings({"i": 12, "j": 8}, constraints_of(texts))) == found
