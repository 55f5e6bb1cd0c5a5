"""Method bayesian: what it proposes, how it ends, transfer, objectives of one's own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optmap
from optmap.base.errors import InputError, UnknownNameError
from optmap.count.meshes.count import NEST_EXACT
from optmap.machines.fabric import fabric_of
from optmap.questions.options import Merit
from optmap.search import (
    Answer,
    BayesianSettings,
    Brief,
    Observations,
    Scores,
    Trace,
    drive,
    encoding_of,
    load_observations,
    observations_of,
)
from optmap.search.bayes.strategy import STRATEGY
from optmap.search.bayes.surrogate import Surrogate, normal_scores
from optmap.search.bayes.transfer import ensemble

WORKLOAD = "C[i,j] += A[i,k]*B[k,j]"
EXTENTS = {"i": 64, "j": 48, "k": 96}


def solved(machine: str = "eyeriss_like", extents: dict[str, int] | None = None, **more: Any) -> Answer:
    asked: dict[str, Any] = {"machine": machine, "tiles": "divisors", **more}
    found = optmap.solve(WORKLOAD, extents=extents or EXTENTS, method="bayesian", **asked)
    assert isinstance(found, Answer)
    return found


def brief(**settings: Any) -> Brief[Any]:
    workload = optmap.workload(WORKLOAD, extents=EXTENTS, semantics="assign")
    return Brief(
        fabric=fabric_of(workload, optmap.machine("eyeriss_like")),
        merit=Merit.EDP,
        counting=NEST_EXACT,
        settings=BayesianSettings(**settings),
        rng=np.random.default_rng(0),
    )


def test_it_comes_near_the_optimum_and_is_never_below_it() -> None:
    found = solved(evaluations=50)
    best = optmap.solve(WORKLOAD, extents=EXTENTS, machine="eyeriss_like", tiles="divisors")
    assert found.found.evaluations == 50
    assert found.found.trace is not None
    assert found.found.trace.valid == 50
    assert best.cost <= found.cost <= 1.25 * best.cost


def test_the_same_seed_is_the_same_search_and_another_is_another() -> None:
    values = [[float(p.value) for p in solved(evaluations=30, seed=seed).found.curve] for seed in (3, 3, 4)]
    assert values[0] == values[1] != values[2]


def test_it_ends_where_the_cube_has_nothing_new() -> None:
    found = solved(machine="gemmini", extents={"i": 2, "j": 2, "k": 2})
    assert found.found.evaluations < 200
    assert found.found.trace is not None
    assert found.found.trace.end == "strategy"


def test_no_mapping_is_judged_twice() -> None:
    seen: list[Any] = []
    for judged in drive(STRATEGY, brief(starts=8, batch=4), Trace(), evaluations=40):
        seen += [judged.batch.nest(row) for row in range(len(judged.batch))]
    assert len(seen) == len(set(seen)) == 40


def test_any_function_of_mappings_is_minimised() -> None:
    """Words of A that the register file holds: no energy, no cycles, and half of the mappings do not run."""
    asked = brief(starts=10, batch=5)

    def judge(batch: Any) -> Scores:
        tiles = (batch.x * batch.y * batch.temporal).cumprod(axis=1)
        words = (tiles[:, 0, 0] * tiles[:, 0, 1]).astype(float)
        valid = batch.keeps[:, 0, 1]
        none = np.full(len(batch), np.nan)
        return Scores(valid=valid, value=np.where(valid, 1 / words, np.inf), energy_pj=none, cycles=none)

    trace = Trace()
    values = [each.scores.value for each in drive(STRATEGY, asked, trace, judge=judge, evaluations=60)]
    assert trace.value < values[0].min()
    assert 10 < trace.valid < 60


def test_unknown_words_and_numbers_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="acquisition"):
        solved(settings={"acquisition": "luck"})
    with pytest.raises(UnknownNameError, match="orders"):
        solved(settings={"orders": "none"})
    with pytest.raises(InputError, match="batch"):
        solved(settings={"batch": 0})


def test_without_the_extra_the_message_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bayes_opt.acquisition", None)
    with pytest.raises(InputError, match=r"bayesian-optimization.*pip install '.\[bayes\]'"):
        next(STRATEGY.propose(brief()))


def test_normal_scores_rank_and_share_ties() -> None:
    scores = normal_scores(np.array([3.0, 1.0, np.inf, 2.0, np.inf]))
    assert scores.argsort().tolist()[-3:] == [0, 3, 1]
    assert scores[2] == scores[4] == scores.min()
    assert abs(scores[1] + normal_scores(np.array([1.0, 2, 3, 4, 5]))[4]) < 1e-12


def test_a_file_of_observations_is_read_as_it_was_saved(tmp_path: Path) -> None:
    file = tmp_path / "seen.json"
    solved(evaluations=40, settings={"save": str(file), "starts": 10, "batch": 5})
    seen = load_observations(file)
    assert seen.axes == encoding_of(brief().fabric).names
    assert 35 <= len(seen.values) <= 40
    assert (seen.machine, seen.objective) == ("eyeriss_like", "edp")
    seen.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == file.read_text()


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "seen.json"
    file.write_text("{}")
    with pytest.raises(InputError, match="bayes-observations"):
        load_observations(file)
    wrong = [("[[0.5, 0.5]]", "[1]"), ("[[2]]", "[1]"), ("[[0.5]]", "[1, 2]"), ("3", "[1]"), ("[]", "[]")]
    wrong += [("[[0.5]]", f"[1{'0' * 400}]"), ("[[0.5]]", '[1], "valeus": [2]')]
    for points, values in wrong:
        text = f'"axes": ["a"], "points": {points}, "values": {values}'
        file.write_text('{"schema": "optmap.bayes-observations/1", ' + text + "}")
        with pytest.raises(InputError, match=r"seen.json: (points|unknown key 'valeus')"):
            load_observations(file)


def test_axes_are_matched_by_name() -> None:
    encoding = encoding_of(brief().fabric)
    points = np.linspace(0, 1, 3)[:, None] * np.ones(encoding.size)
    seen = observations_of(encoding, points, np.arange(3.0))
    turned = Observations(axes=seen.axes[::-1], points=points[:, ::-1], values=seen.values)
    assert np.array_equal(turned.on(encoding), points)
    renamed = seen.renamed({"GlobalBuffer": "L2"})
    assert not any("GlobalBuffer" in axis for axis in renamed.axes)
    assert np.array_equal(renamed.renamed({"L2": "GlobalBuffer"}).on(encoding), points)
    with pytest.raises(InputError, match="axes"):
        renamed.renamed({"RegisterFile": "L1", "DRAM": "L3"}).on(encoding)


def test_a_source_that_misleads_loses_its_weight() -> None:
    rng = np.random.default_rng(0)
    points = rng.random((30, 4))
    truth = points @ np.array([3.0, -2.0, 1.0, 0.0])
    good = Surrogate.fit(points, normal_scores(-truth))
    bad = Surrogate.fit(points, normal_scores(truth))
    own = rng.random((12, 4))
    mine = Surrogate.fit(own, normal_scores(-own @ np.array([3.0, -2.0, 1.0, 0.0])))
    found = ensemble([bad, good], mine, rng)
    assert found.weights[0] < 0.05
    assert found.weights[1] > 0.3
    assert abs(found.weights.sum() - 1) < 1e-12


def test_transfer_starts_where_others_ended(tmp_path: Path) -> None:
    file = tmp_path / "seen.json"
    solved(extents={"i": 64, "j": 96, "k": 48}, evaluations=60, settings={"save": str(file)})
    cold = solved(evaluations=15, settings={"starts": 10})
    warm = solved(evaluations=15, settings={"transfer": str(file)})
    assert warm.cost < cold.cost
