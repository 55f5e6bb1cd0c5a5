"""`optmap.explore`: a search as an iterator, judged by the model or by a function of the user's."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest

import optmap
from optmap.base.errors import InputError, StrategyError
from optmap.count.meshes.count import NEST_EXACT, count_nest
from optmap.mappings.levels import Mapping
from optmap.mappings.nest import nest_of
from optmap.questions.options import Merit
from optmap.search import Brief, End, NoSettings, Proposals, random_nests

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "my-own-method.md"
ASKED: dict[str, Any] = {
    "workload": "C[i,j] += A[i,k]*B[k,j]",
    "machine": "gemmini",
    "extents": {"i": 16, "j": 16, "k": 16},
}


def test_mappings_come_one_by_one_with_what_they_cost() -> None:
    exploration = optmap.explore(**ASKED, evaluations=300, seed=3)
    every = list(exploration)
    assert [each.number for each in every] == list(range(1, 301))
    assert exploration.trace.end is End.EVALUATIONS
    assert sum(each.valid for each in every) == exploration.trace.valid
    best = exploration.best
    assert best is not None
    assert best.value == exploration.trace.value == min(each.value for each in every)
    assert best.nest == exploration.trace.best
    for each in every[:20]:
        assert nest_of(each.mapping, each.fabric).tiles() == each.nest.tiles()
        cost = count_nest(each.nest, each.fabric, NEST_EXACT)
        assert each.valid == (not cost.broken)
        assert each.value == (pytest.approx(float(cost.merit(Merit.EDP)), rel=1e-12) if each.valid else float("inf"))


def test_it_is_the_search_that_solve_does() -> None:
    found = optmap.solve(**ASKED, method="random", seed=5)
    exploration = optmap.explore(**ASKED, method="random", seed=5).run()
    assert exploration.best is not None
    assert exploration.best.value == pytest.approx(float(found.cost), rel=1e-12)
    assert exploration.trace.evaluations == found.to_dict()["search"]["evaluations"]
    assert list(exploration) == []


def test_who_looks_on_may_leave_when_he_likes(tmp_path: Path) -> None:
    exploration = optmap.explore(**ASKED, seed=1, journal=tmp_path / "j")
    some = list(itertools.islice(exploration, 10))
    exploration.close()
    assert len(some) == 10
    assert list(exploration) == []
    again = optmap.explore(**ASKED, seed=1, journal=tmp_path / "j")
    assert [each.value for each in itertools.islice(again, 10)] == [each.value for each in some]
    again.close()


def innermost(mapping: Mapping) -> float:
    """Something that no model counts: small tiles at the innermost level, i larger than j."""
    tile = mapping.levels[1].tile
    return 1000.0 / (1 + tile["i"]) + tile["j"]


def test_any_function_of_a_mapping_can_be_minimised_and_is_asked_once_of_each(tmp_path: Path) -> None:
    asked: list[Mapping] = []

    def judge(mapping: Mapping) -> float:
        asked.append(mapping)
        return innermost(mapping)

    options: dict[str, Any] = {**ASKED, "judge": judge, "settings": {"victory": 0}, "journal": tmp_path / "j"}
    first = optmap.explore(**options, evaluations=60).run()
    count = len(asked)
    assert count == first.trace.valid
    second = optmap.explore(**options, evaluations=150).run()
    assert len(asked) == second.trace.valid
    best = second.best
    assert best is not None
    assert best.value == min(map(innermost, asked))
    assert innermost(best.mapping) == best.value
    assert best.energy_pj == pytest.approx(float(count_nest(best.nest, best.fabric, NEST_EXACT).energy_pj))
    with pytest.raises(InputError, match="its judge is own, not model"):
        optmap.explore(**{**options, "judge": None}).run()


def test_a_judge_that_fails_leaves_what_it_told_in_the_journal(tmp_path: Path) -> None:
    told = itertools.count()

    def judge(_: Mapping) -> float:
        if next(told) == 5:
            raise OSError("the board is off")
        return 1.0

    options: dict[str, Any] = {**ASKED, "judge": judge, "journal": tmp_path / "j", "evaluations": 40}
    with pytest.raises(StrategyError, match="the board is off"):
        optmap.explore(**options).run()
    before = len((tmp_path / "j").read_text().splitlines())
    assert before >= 6
    assert optmap.explore(**options).run().trace.evaluations == 40


def by_chance(asked: Brief[NoSettings]) -> Proposals:
    while True:
        yield random_nests(asked.fabric, 64, asked.rng)


def test_a_generator_is_a_search() -> None:
    one = optmap.explore(**ASKED, strategy=by_chance, evaluations=100, objective="energy", seed=2).run()
    two = optmap.explore(**ASKED, strategy=by_chance, evaluations=100, objective="energy", seed=2).run()
    other = optmap.explore(**ASKED, strategy=by_chance, evaluations=100, objective="energy", seed=3).run()
    assert [(p.evaluations, p.value) for p in one.trace.curve] == [(p.evaluations, p.value) for p in two.trace.curve]
    assert one.best is not None
    assert two.best is not None
    assert other.best is not None
    assert one.best.nest == two.best.nest != other.best.nest
    assert one.best.energy_pj == one.best.value


@pytest.mark.usefixtures("registry")
def test_the_example_of_the_page_is_solved_compared_and_judged(capsys: pytest.CaptureFixture[str]) -> None:
    """A search of a user's own, registered, as a reader would type it."""
    example = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)[-2]
    exec(compile(example, PAGE.name, "exec"), {})
    said = capsys.readouterr().out
    assert "method     shuffled, objective edp" in said
    assert "2,000 in " in said
    assert "\n30 True " in said or "\n30 False " in said
    found = optmap.solve("resnet18/R12", machine="eyeriss_like", method="shuffled", evaluations=2000)
    again = optmap.solve("resnet18/R12", machine="eyeriss_like", method="shuffled", evaluations=2000)
    assert found.to_dict()["digest"] == again.to_dict()["digest"]
    compared = optmap.compare(**ASKED, methods="exact,shuffled", evaluations=500).to_dict()
    assert [row["method"] for row in compared["rows"]] == ["exact", "shuffled"]
    assert compared["rows"][1]["search"]["evaluations"] == 500
    assert compared["rows"][1]["over_best"] >= 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"method": "exact"}, "method exact has no mappings judged one by one; use random, exhaustive"),
        ({"method": "randm"}, "did you mean random"),
        ({"method": "random", "strategy": by_chance}, "either a method or a strategy"),
        ({"strategy": 3}, "3 is no search"),
        ({"judge": 3}, "judge is 3"),
        ({"evaluations": 0}, "evaluations"),
        ({"settings": {"victoria": 1}}, "victory"),
        ({"strategy": by_chance, "settings": {"x": 1}}, "nothing to set"),
        ({"machine": "balanced"}, "it is for accelerators, machines with fanouts and prices"),
        ({"semantics": "accumulate"}, "outputs start empty"),
        ({"objective": "bottleneck"}, "unknown objective"),
    ],
)
def test_what_it_cannot_do_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        optmap.explore(**{**ASKED, **options})
