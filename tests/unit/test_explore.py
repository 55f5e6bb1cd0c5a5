"""The protocol of searches that propose mappings: what the driver counts, keeps and ends."""

from __future__ import annotations

import contextlib
import importlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from accelerator_machines import convolution, wired_machine
from signing import signed

import optmap
from optmap.base.clock import Clock
from optmap.base.errors import InputError, LimitError, StrategyError
from optmap.checker import RefusedError, check_document
from optmap.count.meshes.count import NEST_EXACT
from optmap.machines.fabric import fabric_of
from optmap.mappings.levels import Mapping
from optmap.mappings.nest_batch import NestBatch
from optmap.questions.options import Merit
from optmap.search import (
    Answer,
    Brief,
    End,
    Judge,
    Method,
    NoSettings,
    Proposals,
    RandomSettings,
    Scores,
    Strategy,
    Trace,
    described,
    drive,
    explorer,
    judged_by,
    random_nests,
    setting,
    settings_of,
)
from optmap.search.explore.random import STRATEGY
from optmap.workloads.parser import parse_workload

WORKLOAD = "C[i,j] += A[i,k]*B[k,j]"
EXTENTS = {"i": 16, "j": 16, "k": 16}


def brief(seed: int = 0, settings: object = NoSettings()) -> Brief[Any]:
    workload = optmap.workload(WORKLOAD, extents=EXTENTS, semantics="assign")
    fabric = fabric_of(workload, optmap.machine("gemmini"))
    return Brief(
        fabric=fabric,
        merit=Merit.EDP,
        counting=NEST_EXACT,
        settings=settings,
        rng=np.random.default_rng(seed),
    )


def by_chance(asked: Brief[NoSettings]) -> Proposals:
    while True:
        yield random_nests(asked.fabric, 100, asked.rng)


def once(asked: Brief[NoSettings]) -> Proposals:
    scores = yield random_nests(asked.fabric, 100, asked.rng)
    assert len(scores.value) == 100
    return None


def test_a_budget_of_evaluations_ends_within_a_batch() -> None:
    trace = Trace()
    judged = list(drive(Strategy(propose=by_chance), brief(), trace, evaluations=250))
    assert [len(each.batch) for each in judged] == [100, 100, 50]
    assert [each.first for each in judged] == [0, 100, 200]
    assert (trace.evaluations, trace.end) == (250, End.EVALUATIONS)
    assert trace.valid == sum(int(each.scores.valid.sum()) for each in judged)


def test_the_curve_falls_to_the_best_that_was_judged() -> None:
    trace = Trace()
    judged = list(drive(Strategy(propose=by_chance), brief(), trace, evaluations=1000))
    values = np.concatenate([each.scores.value for each in judged])
    assert trace.value == values.min()
    at = [point.evaluations for point in trace.curve]
    assert at == sorted(set(at))
    assert [point.value for point in trace.curve] == [float(values[:number].min()) for number in at]
    assert trace.curve[-1].evaluations == int(values.argmin()) + 1


def test_a_strategy_that_ends_ends_the_search_and_the_same_seed_is_the_same_search() -> None:
    first, second = Trace(), Trace()
    list(drive(Strategy(propose=once), brief(3), first))
    list(drive(Strategy(propose=once), brief(3), second))
    assert (first.end, first.evaluations) == (End.STRATEGY, 100)
    assert (first.best, first.value) == (second.best, second.value)


def test_settings_are_read_from_texts_and_unknown_ones_are_named() -> None:
    assert {own.name: own.default for own in described(RandomSettings)} == {"victory": "500", "timeout": "1000"}
    assert all(own.help for own in described(RandomSettings))
    assert settings_of(RandomSettings, {"victory": "7"}, "random") == RandomSettings(victory=7)
    with pytest.raises(InputError, match="whole number"):
        settings_of(RandomSettings, {"victory": "off"}, "random")
    with pytest.raises(InputError, match="victory"):
        settings_of(RandomSettings, {"victoria": 7}, "random")


@dataclass(frozen=True, slots=True, kw_only=True)
class Documented:
    """Settings whose fields say what they are for below them."""

    size: int = 3
    """How many,
    over two lines."""
    own_name: str = setting("x", "said in the field")
    """And below, too."""
    silent: float = 1.5


def test_what_a_setting_is_for_is_said_in_its_field_or_below_it() -> None:
    assert [(own.name, own.default, own.help) for own in described(Documented)] == [
        ("size", "3", "How many, over two lines."),
        ("own-name", "x", "said in the field"),
        ("silent", "1.5", ""),
    ]


def test_random_finds_a_mapping_with_its_trace_and_never_below_the_optimum() -> None:
    asked: dict[str, Any] = {"machine": "gemmini", "extents": EXTENTS}
    found = optmap.solve(WORKLOAD, **asked, method="random", evaluations=2000, settings={"victory": 0})
    best = optmap.solve(WORKLOAD, **asked, tiles="divisors")
    assert isinstance(found, Answer)
    assert found.found.trace is not None
    assert found.found.trace.evaluations == found.found.evaluations == 2000
    assert found.cost >= best.cost


def longest(values: list[float]) -> list[int]:
    """Per valid mapping how many before it, itself included, were not better than the best before them."""
    best, idle, found = float("inf"), 0, []
    for value in values:
        idle = 0 if value < best else idle + 1
        best = min(best, value)
        found.append(idle)
    return found


@pytest.mark.parametrize("victory", [1, 7, 60])
def test_random_ends_with_the_mapping_that_made_victory(victory: int) -> None:
    trace = Trace()
    asked = brief(1, RandomSettings(victory=victory))
    values = np.concatenate([each.scores.value for each in drive(STRATEGY, asked, trace)])
    idle = longest([value for value in values.tolist() if value < np.inf])
    assert trace.end is End.STRATEGY
    assert idle[-1] == victory
    assert max(idle[:-1]) < victory


def fixed(values: list[float]) -> Judge:
    """A judge with a list of values; the last one for ever."""
    seen = iter(values)

    def judge(batch: NestBatch) -> Scores:
        value = np.array([next(seen, values[-1]) for _ in range(len(batch))])
        return Scores(valid=np.isfinite(value), value=value, energy_pj=value, cycles=value)

    return judge


def test_random_gives_up_after_so_many_mappings_that_are_not_valid() -> None:
    trace, asked = Trace(), brief(0, RandomSettings(timeout=20))
    list(drive(STRATEGY, asked, trace, judge=fixed([np.inf] * 19 + [5.0] + [np.inf])))
    assert (trace.evaluations, trace.valid, trace.end) == (40, 1, End.STRATEGY)


def test_a_change_of_the_bypass_alone_is_no_loss_of_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Timeloop does not count it towards victory, unless it is better."""
    asked = brief(0, RandomSettings(victory=10))
    one = random_nests(asked.fabric, 1, np.random.default_rng(0))

    def same(*_: object) -> NestBatch:
        return one[np.zeros(512, int)]

    monkeypatch.setattr(importlib.import_module("optmap.search.explore.random"), "random_nests", same)
    trace = Trace()
    list(drive(STRATEGY, asked, trace, evaluations=2000))
    assert trace.end is End.EVALUATIONS


def test_without_patience_for_it_random_goes_on() -> None:
    trace = Trace()
    list(drive(STRATEGY, brief(0, RandomSettings(victory=0, timeout=0)), trace, evaluations=5000))
    assert (trace.evaluations, trace.end) == (5000, End.EVALUATIONS)


def empty(asked: Brief[NoSettings]) -> Proposals:
    none = random_nests(asked.fabric, 5, asked.rng)[:0]
    while True:
        yield none


def of_another_fabric(asked: Brief[NoSettings]) -> Proposals:
    batch = random_nests(asked.fabric, 5, asked.rng)
    parts = {name: getattr(batch, name)[:, :, :2] for name in ("x", "y", "temporal", "order", "keeps")}
    yield NestBatch(**parts)  # the operands, too, are cut to two


def without_trips(asked: Brief[NoSettings]) -> Proposals:
    batch = random_nests(asked.fabric, 5, asked.rng)
    yield replace(batch, temporal=batch.temporal - 1)


def in_halves(asked: Brief[NoSettings]) -> Proposals:
    batch = random_nests(asked.fabric, 5, asked.rng)
    yield replace(batch, x=batch.x / 2)


def out_of_order(asked: Brief[NoSettings]) -> Proposals:
    batch = random_nests(asked.fabric, 5, asked.rng)
    yield replace(batch, order=batch.order * 0)


def nothing_to_judge(_: Brief[NoSettings]) -> Proposals:
    yield [1, 2]  # type: ignore[misc]


def fails(asked: Brief[NoSettings]) -> Proposals:
    yield random_nests(asked.fabric, 5, asked.rng)
    raise ZeroDivisionError("by design")


def returns_a_text(asked: Brief[NoSettings]) -> Proposals:
    yield random_nests(asked.fabric, 5, asked.rng)
    return "done"  # type: ignore[return-value]


def no_generator(asked: Brief[NoSettings]) -> Proposals:
    return [random_nests(asked.fabric, 5, asked.rng)]  # type: ignore[return-value]


def goes_on(asked: Brief[NoSettings]) -> Proposals:
    for _ in range(3):
        with contextlib.suppress(GeneratorExit):
            yield random_nests(asked.fabric, 60, asked.rng)


@pytest.mark.parametrize(
    ("propose", "said"),
    [
        (empty, "empty batches in a row"),
        (of_another_fabric, r"2 dims and 2 operands; the fabric has \d, 3 and 3"),
        (without_trips, "0 trips in temporal"),
        (in_halves, "x is of float64"),
        (out_of_order, "name every dim once"),
        (nothing_to_judge, "yielded list"),
        (fails, "raised ZeroDivisionError: by design"),
        (returns_a_text, "returned 'done'"),
        (no_generator, "generator function"),
        (goes_on, "after its end"),
    ],
)
def test_a_strategy_that_breaks_the_protocol_is_told_so(propose: Any, said: str) -> None:
    with pytest.raises(StrategyError, match=said):
        list(drive(Strategy(propose=propose), brief(), Trace(), evaluations=100))


def test_a_strategy_that_proposes_nothing_ends_without_a_mapping(registry: dict[str, Method]) -> None:
    def never(_: Brief[NoSettings]) -> Proposals:
        yield from ()
        return None

    registry["never"] = Method(name="never", description="", routes=(explorer(never),))
    with pytest.raises(LimitError, match="gave up: 0 mappings"):
        optmap.solve(WORKLOAD, machine="gemmini", extents=EXTENTS, method="never")


@pytest.mark.parametrize(
    ("returned", "said"),
    [(float("nan"), "returned nan"), ("1", "returned '1'"), (-float("inf"), "returned -inf")],
)
def test_a_function_that_judges_tells_numbers(returned: Any, said: str) -> None:
    asked = brief()
    judge = judged_by(lambda _: returned, asked.fabric, NEST_EXACT)
    with pytest.raises(StrategyError, match=said):
        list(drive(Strategy(propose=by_chance), asked, Trace(), judge=judge, evaluations=100))


def test_a_function_that_raises_is_named() -> None:
    asked = brief()
    judge = judged_by(lambda _: 1 / 0, asked.fabric, NEST_EXACT)
    with pytest.raises(StrategyError, match="judge raised ZeroDivisionError"):
        list(drive(Strategy(propose=by_chance), asked, Trace(), judge=judge, evaluations=100))


def test_a_function_may_say_that_a_mapping_does_not_run() -> None:
    asked, trace = brief(), Trace()
    calls: list[float] = []

    def objective(mapping: Mapping) -> float | None:
        calls.append(float(sum(mapping.levels[0].tile.values())))
        return calls[-1] if len(calls) % 2 else None

    judge = judged_by(objective, asked.fabric, NEST_EXACT)
    list(drive(Strategy(propose=by_chance), asked, trace, judge=judge, evaluations=40))
    assert trace.valid == (len(calls) + 1) // 2
    assert trace.value == min(calls[::2])


@pytest.mark.parametrize("told", [np.zeros(3), np.full(100, np.nan)])
def test_a_judge_tells_one_finite_value_of_each_valid_nest(told: np.ndarray) -> None:
    def judge(batch: NestBatch) -> Scores:
        return Scores(valid=np.ones(len(told), bool), value=told, energy_pj=told, cycles=told)

    with pytest.raises(StrategyError, match="the judge told"):
        list(drive(Strategy(propose=by_chance), brief(), Trace(), judge=judge, evaluations=100))


def test_the_time_ends_a_search_also_between_empty_batches() -> None:
    trace = Trace()
    list(drive(Strategy(propose=empty), brief(), trace, clock=Clock(0.0)))
    assert (trace.evaluations, trace.end) == (0, End.TIME)


def cutting(asked: Brief[NoSettings]) -> Proposals:
    asked.tally.add("half of them", seen=100, cut=50)
    yield random_nests(asked.fabric, 50, asked.rng)
    return None


def test_the_answer_says_how_the_search_went_and_is_checked(registry: dict[str, Method]) -> None:
    registry["cutting"] = Method(name="cutting", description="", routes=(explorer(cutting),))
    found = optmap.solve(WORKLOAD, machine="gemmini", extents=EXTENTS, method="cutting")
    document = found.to_dict()
    search = document["search"]
    assert search["cuts"] == [{"rule": "half of them", "seen": 100, "cut": 50}]
    assert search["ended"] == "strategy"
    assert search["valid_share"] == search["valid"] / 50 == search["valid"] / search["evaluations"]
    assert search["curve"][-1][1] == search["seconds_to_best"]
    assert search["curve"][-1][2] == pytest.approx(document["cost"]["value"], rel=1e-12)
    assert "half of them: cut 50 of 100 (50" in str(found)
    check_document(document)
    again = optmap.solve(WORKLOAD, machine="gemmini", extents=EXTENTS, method="cutting").to_dict()
    assert again["digest"] == document["digest"]
    assert again["search"]["seconds"] != search["seconds"]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("valid", 51, "share of valid|are said to be valid"),
        ("valid_share", 0.123, "share of valid"),
        ("curve", [[1, 0.1, 2.0], [2, 0.2, 3.0]], "falls as evaluations grow"),
        ("curve", [[99, 0.1, 2.0]], "beyond 50 evaluations"),
        ("curve", [[1, 0.1]], "list of 3"),
        ("seconds_to_best", 1e9, "end of the curve"),
        ("cuts", [{"rule": "x", "seen": 1, "cut": 2}], "cut 2 of 1"),
        ("ended", "never", "must be strategy"),
        ("settings", {"a": None}, "no setting is that"),
    ],
)
def test_what_contradicts_itself_in_a_search_is_refused(
    registry: dict[str, Method], key: str, value: Any, said: str
) -> None:
    registry["cutting"] = Method(name="cutting", description="", routes=(explorer(cutting),))
    document = optmap.solve(WORKLOAD, machine="gemmini", extents=EXTENTS, method="cutting").to_dict()
    document["search"][key] = value
    with pytest.raises(RefusedError, match=said):
        check_document(signed(document))


@pytest.mark.parametrize(
    ("first", "last", "said"),
    [
        ((1, 0.0, 2), 0.5, "ends beside the cost"),
        ((1, 0.0, 2), 1.01, "ends beside the cost"),
        ((1, 1e6, 2), 1.0, "goes back in time"),
        ((0, 0.0, 2), 1.0, "before the first evaluation"),
    ],
)
def test_a_curve_that_did_not_lead_to_the_mapping_is_refused(
    first: tuple[int, float, float], last: float, said: str
) -> None:
    """A first point and the end of the search, values in multiples of the cost."""
    document = optmap.solve(WORKLOAD, machine="gemmini", extents=EXTENTS, method="random", evaluations=50).to_dict()
    evaluations, seconds, cost = document["search"]["curve"][-1]
    document["search"]["curve"] = [[*first[:2], first[2] * cost], [evaluations, seconds, last * cost]]
    with pytest.raises(RefusedError, match=said):
        check_document(signed(document))


@pytest.mark.parametrize(
    ("part", "changes", "said"),
    [
        ("search", {"curve": [], "seconds_to_best": None}, "not on its curve"),
        ("search", {"valid": 0, "valid_share": 0.0}, "by fewer valid mappings"),
        ("status", {"stop": "optimal"}, "where the search proved that"),
        ("status", {"stop": "infeasible"}, "the mapping fits"),
    ],
)
def test_a_search_that_cannot_have_found_its_mapping_is_refused(part: str, changes: dict[str, Any], said: str) -> None:
    document = optmap.solve(WORKLOAD, machine="gemmini", extents=EXTENTS, method="random", evaluations=50).to_dict()
    document[part] |= changes
    with pytest.raises(RefusedError, match=said):
        check_document(signed(document))


def test_wires_are_in_the_answer_and_not_in_the_search() -> None:
    """The best is that without them; the answer counts them, on its curve, too, says so, and is checked."""
    found = optmap.solve(convolution(), machine=wired_machine(), method="random", evaluations=200)
    document = found.to_dict()
    assert any("hops and routers" in note for note in document["notes"])
    [[_, _, value]] = document["search"]["curve"]
    assert value == document["cost"]["value"]
    check_document(document)
    proved = optmap.solve(
        parse_workload("C[i,j] = A[i,k] * B[k,j]", {"i": 2, "j": 2, "k": 2}),
        machine=wired_machine(),
        method="exhaustive",
    )
    assert not proved.proved
    assert 0 < proved.integer_bound < proved.cost
    check_document(proved.to_dict())


@pytest.mark.parametrize("name", ["victory", "timeout"])
def test_patience_below_zero_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"--set {name}=-1: give 0 or more"):
        optmap.solve(WORKLOAD, machine="gemmini", extents=EXTENTS, method="random", settings={name: -1})


@pytest.mark.parametrize("given", [5, "victory=3", ["victory=3"], {5: 1}])
def test_settings_that_are_no_mapping_of_names_are_refused(given: Any) -> None:
    with pytest.raises(InputError, match="give a mapping of names to values"):
        optmap.solve(WORKLOAD, machine="gemmini", extents=EXTENTS, method="random", settings=given)
