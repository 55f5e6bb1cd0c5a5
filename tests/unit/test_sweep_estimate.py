"""How long a sweep takes is told from few of its points, and the truth is between what is told."""

from __future__ import annotations

import itertools

import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from optmap.base import clock
from optmap.sweeps import GridPoint, estimate, first_grid, make_plan, missing_points, spec_from
from optmap.sweeps.estimates import TRIAL_S, TRIED, answer_time, trials
from optmap.sweeps.plan import points
from optmap.sweeps.run import plan_sweep
from optmap.sweeps.spec import SweepSpec

METHODS = ["bound", "mopt", "iooub"]


def spec(**changes: object) -> SweepSpec:
    return spec_from(
        {
            "workloads": ["yolo9000/*"],
            "capacities": {"from": "4KiB", "to": "1MiB", "points": 9},
            "methods": METHODS,
            **changes,
        }
    )


@given(st.floats(1e-12, 1e-10), st.floats(0, 1))
@settings(max_examples=cases(15, 100))
def test_work_that_grows_with_the_operations_is_between_what_is_told(rate: float, power: float) -> None:
    """Few points are tried, however many there are."""
    asked = spec()
    tried: list[GridPoint] = []

    def work(point: GridPoint) -> float:
        return float((rate * point.workload.operations) ** power / 100)

    def measure(point: GridPoint) -> float:
        tried.append(point)
        return work(point)

    found = estimate(asked, missing_points(asked, {}), {}, measure)
    truth = sum(work(point) for _, _, point in points(asked, first_grid(asked)))
    assert found.least <= truth * (1 + 1e-9)
    assert truth <= found.most * (1 + 1e-9)
    assert found.least <= found.about <= found.most
    assert len(tried) <= TRIED * len(METHODS)
    assert {point.method for point in tried} == set(METHODS)


def test_the_workloads_with_fewest_and_most_operations_are_tried() -> None:
    operations = {layer.operations for layer in spec().workloads}
    tried = {point.workload.operations for point in trials(spec(), "mopt")}
    assert {min(operations), max(operations)} <= tried


def test_what_is_stored_is_not_tried() -> None:
    asked = spec()
    tried: list[str] = []
    found = estimate(
        asked,
        {"bound": 0, "mopt": 10, "iooub": 10},
        {"mopt": 2.0},
        lambda point: tried.append(point.method) or 0.5,  # type: ignore[func-returns-value]
    )
    assert set(tried) == {"iooub"}
    assert found.about == pytest.approx(10 * 2.0 + 10 * 0.5)


def test_a_trial_that_reaches_its_limit_tells_how_long_points_may_take() -> None:
    asked = spec(methods=["mopt"], options={"time_limit": 40})
    found = estimate(asked, {"mopt": 7}, {}, lambda point: point.options.time_limit)
    assert (found.least, found.most) == (7 * TRIAL_S, 7 * 40.0)
    assert found.least < found.about < found.most


def test_few_methods_are_tried_when_trials_are_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan is no sweep: after a few seconds the rest may take what its limit allows."""
    moments = itertools.count(0.0, 1.0)
    monkeypatch.setattr(clock.time, "monotonic", lambda: next(moments))
    asked = spec(options={"time_limit": 30})
    tried: list[GridPoint] = []
    found = estimate(asked, missing_points(asked, {}), {}, lambda point: tried.append(point) or 1.0)  # type: ignore[func-returns-value]
    assert len(tried) < TRIED * len(METHODS)
    assert found.most >= missing_points(asked, {})["iooub"] * 30


def test_refinement_is_among_what_a_sweep_may_take() -> None:
    refined = spec(methods=["mopt"], refine={"tolerance": 0.01, "most_points": 90})
    plan = plan_sweep(refined, None, jobs=1, measure=lambda _: 1.0)
    assert plan.seconds == plan.points
    assert plan.most_seconds == plan.most_points > plan.points
    twice = make_plan(refined, jobs=2, stored={}, seconds=estimate(refined, missing_points(refined, {}), {"mopt": 1.0}))
    assert twice.seconds == plan.seconds / 2


def test_a_point_is_answered_and_nothing_kept(tmp_path) -> None:
    (point, *_) = trials(spec(workloads=["tccg/ab-ac-cb"]), "bound")
    assert answer_time(point) > 0
    assert not list(tmp_path.iterdir())
