"""The protocol of searches that propose mappings: what the driver counts, keeps and ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import optmap
from optmap.errors import InputError
from optmap.problem.fabric import fabric_of
from optmap.problem.options import Counting, Merit
from optmap.search import (
    AcceleratorResult,
    End,
    NoSettings,
    Proposals,
    Question,
    Strategy,
    Trace,
    drive,
    random_nests,
    setting_texts,
    settings_of,
)

WORKLOAD = "C[i,j] += A[i,k]*B[k,j]"
EXTENTS = {"i": 16, "j": 16, "k": 16}


def question(seed: int = 0) -> Question[Any]:
    workload = optmap.workload(WORKLOAD, extents=EXTENTS, semantics="assign")
    fabric = fabric_of(workload, optmap.machine("gemmini"))
    return Question(
        fabric=fabric,
        merit=Merit.EDP,
        counting=Counting.EXACT,
        settings=NoSettings(),
        rng=np.random.default_rng(seed),
    )


def by_chance(asked: Question[NoSettings]) -> Proposals:
    while True:
        yield random_nests(asked.fabric, 100, asked.rng)


def once(asked: Question[NoSettings]) -> Proposals:
    scores = yield random_nests(asked.fabric, 100, asked.rng)
    assert len(scores.value) == 100
    return None


def test_a_budget_of_evaluations_ends_within_a_batch() -> None:
    trace = Trace()
    judged = list(drive(Strategy(propose=by_chance), question(), trace, evaluations=250))
    assert [len(each.batch) for each in judged] == [100, 100, 50]
    assert [each.first for each in judged] == [0, 100, 200]
    assert (trace.evaluations, trace.end) == (250, End.EVALUATIONS)
    assert trace.valid == sum(int(each.scores.valid.sum()) for each in judged)


def test_the_curve_falls_to_the_best_that_was_judged() -> None:
    trace = Trace()
    judged = list(drive(Strategy(propose=by_chance), question(), trace, evaluations=1000))
    values = np.concatenate([each.scores.value for each in judged])
    assert trace.value == values.min()
    at = [point.evaluations for point in trace.curve]
    assert at == sorted(set(at))
    assert [point.value for point in trace.curve] == [float(values[:number].min()) for number in at]
    assert trace.curve[-1].evaluations == int(values.argmin()) + 1


def test_a_strategy_that_ends_ends_the_search_and_the_same_seed_is_the_same_search() -> None:
    first, second = Trace(), Trace()
    list(drive(Strategy(propose=once), question(3), first))
    list(drive(Strategy(propose=once), question(3), second))
    assert (first.end, first.evaluations) == (End.STRATEGY, 100)
    assert (first.best, first.value) == (second.best, second.value)


def test_settings_are_read_from_texts_and_unknown_ones_are_named() -> None:
    from optmap.search import RandomSettings

    assert setting_texts(RandomSettings) == {"victory": "500"}
    assert settings_of(RandomSettings, {"victory": "7"}, "random") == RandomSettings(victory=7)
    with pytest.raises(InputError, match="whole number"):
        settings_of(RandomSettings, {"victory": "off"}, "random")
    with pytest.raises(InputError, match="victory"):
        settings_of(RandomSettings, {"victoria": 7}, "random")


def test_random_finds_a_mapping_with_its_trace_and_never_below_the_optimum() -> None:
    asked: dict[str, Any] = {"machine": "gemmini", "extents": EXTENTS}
    found = optmap.solve(WORKLOAD, **asked, method="random", evaluations=2000, settings={"victory": 0})
    best = optmap.solve(WORKLOAD, **asked, tiles="divisors")
    assert isinstance(found, AcceleratorResult)
    assert found.search.trace is not None
    assert found.search.trace.evaluations == found.search.evaluations == 2000
    assert found.cost >= best.cost
