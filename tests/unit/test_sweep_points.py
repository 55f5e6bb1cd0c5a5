"""Points and their answers: what a hash depends on, what a row says, what an error costs."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from optmap.api import solve
from optmap.base.errors import InputError
from optmap.bounds import LowerBound
from optmap.bounds.best import best
from optmap.files.library import machine as library_machine
from optmap.machines.machine import Level, Machine, two_level
from optmap.sweeps import (
    COLUMNS,
    GridPoint,
    Options,
    Row,
    answer_point,
    answer_text,
    answers,
    arrow_schema,
    as_dict,
    certificate_name,
    level_bounds,
    make_point,
    read_task,
    row_of,
    task_text,
)
from optmap.workloads.amounts import Capacity
from optmap.workloads.builders import matmul
from optmap.workloads.workload import Semantics, Workload

SMALL = matmul(i=24, j=20, k=16, name="small")


def _words(amount: int) -> Machine:
    return two_level(Capacity(amount=amount, unit="words"))


def _point(
    method: str = "mopt",
    workload: Workload = SMALL,
    machine: Machine | None = None,
    level: str = "Fast",
    seed: int = 1,
    **options: object,
) -> GridPoint:
    made = Options(**options)  # type: ignore[arg-type]
    return make_point(workload, machine or _words(200), level=level, method=method, options=made, seed=seed)


def test_names_do_not_matter_to_the_hash() -> None:
    renamed = replace(SMALL, name="other", count=7)
    machine = replace(_words(200), name="mine")
    assert _point(workload=renamed, machine=machine).input_hash == _point().input_hash
    assert _point(workload=renamed).key != _point().key


@pytest.mark.parametrize(
    "other",
    [
        _point(method="iooub"),
        _point(method="bound"),
        _point(machine=_words(201)),
        _point(workload=SMALL.with_extents(i=25)),
        _point(workload=SMALL.with_semantics(Semantics.ASSIGN)),
        _point(tiles="divisors"),
        _point(capacity="safe"),
        _point(time_limit=61.0),
    ],
)
def test_everything_else_does(other: GridPoint) -> None:
    assert other.input_hash != _point().input_hash


@pytest.mark.parametrize("method", ["bound", "mopt", "iooub"])
def test_a_seed_that_no_method_uses_makes_no_other_point(method: str) -> None:
    one, other = _point(method, seed=1), _point(method, seed=2)
    assert one.input_hash == other.input_hash
    first, second = answer_point(one), answer_point(other)
    assert replace(first.row, seconds=0.0, seed=2) == replace(second.row, seconds=0.0)


def test_a_bound_depends_on_no_seed_and_no_search_option() -> None:
    assert _point("bound", seed=9, tiles="divisors", time_limit=1.0).input_hash == _point("bound").input_hash


@pytest.mark.parametrize("machine", ["balanced", "i7-9700k"])
def test_a_point_survives_its_line_of_text(machine: str) -> None:
    point = _point(machine=library_machine(machine), level="L2", capacity="safe")
    text = task_text(point)
    assert "\n" not in text
    assert read_task(text) == point
    with pytest.raises(InputError, match="JSON"):
        read_task(text[:-5])


def test_bound_and_mapping_of_one_point_agree() -> None:
    bound = answer_point(_point("bound"))
    mapping = answer_point(_point("mopt"))
    assert bound.row.bound_words == mapping.row.bound_words == best(SMALL, 200).total_words
    assert bound.row.point == "bound"
    assert bound.row.traffic_words is None
    assert mapping.row.traffic_words is not None
    assert mapping.row.bound_words is not None
    assert mapping.row.gap == pytest.approx(mapping.row.traffic_words / mapping.row.bound_words - 1)
    assert mapping.row.certificate == bound.row.certificate == certificate_name(SMALL, 200)
    assert mapping.row.compulsory_words == 24 * 20 * 2 + 24 * 16 + 20 * 16
    assert mapping.solution is not None
    assert mapping.solution["schema"] == "optmap.solution/2"
    assert bound.certificate == mapping.certificate != None  # noqa: E711 - equal, and there


def test_infeasible_and_refused_points_are_rows() -> None:
    row = answer_point(_point(machine=_words(2))).row
    assert (row.stop, row.point, row.failed) == ("infeasible", "none", False)
    assert "short by" in row.error
    row = answer_point(_point("mopt-artifact")).row
    assert (row.stop, row.failed) == ("error", True)


def test_an_unexpected_exception_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(answers, "solve", broken)
    row = answer_point(_point()).row
    assert (row.stop, row.error) == ("error", "ZeroDivisionError: a defect")
    made = json.loads(answer_text(task_text(_point())))
    assert made["solution"] is None


def test_a_mapping_below_its_bound_is_a_contradiction(monkeypatch: pytest.MonkeyPatch) -> None:
    high = LowerBound(method="best", loads_words=10**9, stores_words=0)
    monkeypatch.setattr(answers, "bound_in_time", lambda *_: high)
    row = answer_point(_point()).row
    assert row.stop == "check"
    assert "one of the two is wrong" in row.error


def test_what_a_boundary_can_hold() -> None:
    def level(name: str, words: int, **more: object) -> Level:
        return Level(name=name, capacity=Capacity(amount=words, unit="words"), **more)  # type: ignore[arg-type]

    def held(*levels: Level, cores: int = 1) -> list[tuple[str, int]]:
        machine = Machine(name="m", levels=levels)
        return [(each.level, each.memory_words) for each in level_bounds(SMALL, machine, cores, [])]

    inner, outer = level("A", 50), level("B", 300)
    assert held(inner, outer) == [("A", 50), ("B", 300)]
    assert held(inner, replace(outer, inclusive=False)) == [("A", 50), ("B", 350)]
    shared = replace(outer, shared=True, fanout=4)
    assert held(inner, shared, cores=4) == [("B", 300)]
    assert held(inner, replace(shared, inclusive=False), cores=4) == [("B", 500)]
    assert held(inner, shared) == [("A", 50), ("B", 300)]
    found = level_bounds(SMALL, Machine(name="m", levels=(replace(inner, bandwidth=0.1), outer)), 1, [])
    assert found[0].cycles == Fraction(10 * found[0].bound.total_words)


def test_several_levels_compare_in_cycles() -> None:
    machine = library_machine("balanced")
    row = answer_point(_point(machine=machine, level="L2")).row
    assert row.bound_unit == row.cost_unit == "cycles"
    assert row.exact is not None
    assert row.bound is not None
    assert row.gap == pytest.approx(row.exact / row.bound - 1)
    assert row.capacity_words == 8192


def test_several_cores_are_compared_with_the_bound_of_their_split() -> None:
    point = _point(machine=library_machine("i7-9700k"), level="L2", cores=4, innermost="L1")
    mapping = answer_point(point).row
    assert mapping.error == ""
    assert mapping.cores == 4
    assert mapping.traffic_words is not None
    assert mapping.bound_words is not None
    assert mapping.traffic_words >= mapping.bound_words > 0
    assert mapping.gap is not None
    assert mapping.gap >= 0


def test_rows_have_a_type_per_column_and_survive_being_stored() -> None:
    row = answer_point(_point()).row
    assert row_of(as_dict(row)) == row
    assert arrow_schema().names == list(COLUMNS)
    huge = replace(row, traffic_words=10**38, bound_words=10**38 - 1, seed=2**63)
    assert as_dict(huge)["traffic_words"] is as_dict(huge)["seed"] is None
    assert as_dict(huge)["bound_words"] == 10**38 - 1
    assert isinstance(row, Row)


@pytest.mark.parametrize("method", ["mopt", "iooub", "gemmini"])
@pytest.mark.parametrize("objective", [None, "sum", "loads", "traffic"])
def test_a_row_is_the_answer_of_the_solve(method: str, objective: str | None) -> None:
    machine = library_machine("balanced") if method == "mopt" else _words(300)
    level = machine.levels[-1].name
    row = answer_point(_point(method, machine=machine, level=level, objective=objective)).row
    if row.error:
        assert "does not minimise" in row.error
        return
    result = solve(SMALL, machine=machine, method=method, objective=objective)
    assert result.bound is not None
    assert (row.exact, row.bound, row.gap) == (result.exact, result.bound.value, result.gap)
    assert (row.cost, row.objective, row.bound_unit) == (result.cost, result.objective, result.cost_unit)
    assert row.traffic_words == sum(each.words for each in result.boundaries if each.between[0] == level)
    assert row.bound_words is not None
    assert row.traffic_gap == pytest.approx(row.traffic_words / row.bound_words - 1)
    levels = json.loads(row.mapping)
    assert [each["tile"] for each in levels] == [dict(each.tile) for each in result.mapping.levels]


def _explored(**more: object) -> GridPoint:
    options = {"evaluations": 50, "settings": ("random.victory=0",), **more}
    return _point("random", machine=library_machine("gemmini"), level="Register", **options)  # type: ignore[arg-type]


def test_a_search_that_explores_depends_on_its_seed_evaluations_and_settings() -> None:
    changed = [_explored(seed=2), _explored(evaluations=51), _explored(settings=())]
    assert len({point.input_hash for point in (_explored(), *changed)}) == 4
    assert read_task(task_text(_explored())) == _explored()


def test_evaluations_and_settings_reach_the_search() -> None:
    answer = answer_point(_explored(tiles="divisors"))
    assert answer.row.evaluations == 50
    assert answer.solution is not None
    assert answer.solution["search"]["settings"]["victory"] == 0  # type: ignore[index]
    search: Any = answer.solution["search"]
    assert (answer.row.valid_share, answer.row.seconds_to_best) == (search["valid_share"], search["seconds_to_best"])
    assert answer.row.valid_share == search["valid"] / 50
    assert answer_point(_explored(tiles="divisors")).row.cost == answer.row.cost


def test_options_say_to_each_method_what_is_its_own() -> None:
    options = Options(evaluations=50, settings=("random.victory=0", "other.size=3"))
    assert options.of("random") == Options(evaluations=50, settings=("random.victory=0",))
    assert options.of("exact") == options.of("mopt") == options.of("bound") == Options()


@pytest.mark.parametrize("wrong", ["victory=0", "random.victory", ".victory=0", "random.=0", 5])
def test_a_setting_says_whose_it_is(wrong: object) -> None:
    with pytest.raises(InputError, match=r"METHOD\.NAME=VALUE"):
        Options(settings=(wrong,))  # type: ignore[arg-type]
