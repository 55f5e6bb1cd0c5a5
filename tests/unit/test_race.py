"""Races: the numbers of hand-made runs, and what real searches hand in."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import exp, log
from pathlib import Path
from typing import Any

import pytest
from accelerator_machines import MESHED, convolution, wired_machine
from matplotlib import pyplot

import optmap
from optmap.answers.side_by_side.race import LayerRace, Mean, MethodRun, Race, curve_of, geometric
from optmap.base.errors import ContradictionError, InputError, UnknownNameError
from optmap.count.meshes.count import NEST_EXACT
from optmap.files import library
from optmap.machines.accelerator import Store
from optmap.search import (
    PERFECT,
    Brief,
    Improvement,
    Method,
    NoSettings,
    Proposals,
    Strategy,
    explorer,
    random_nests,
)
from optmap.sweeps.races import layers_of

STATEMENT = "C[i,j] += A[i,k]*B[k,j]"
SMALL = {"machine": "gemmini", "extents": {"i": 16, "j": 16, "k": 16}}


def run(method: str, value: int, *curve: tuple[int, float, float], **more: Any) -> MethodRun:
    """A run with the curve (evaluations, seconds, value)."""
    given: dict[str, Any] = {"bound": Fraction(0), "proved": False, "space": PERFECT, "fits": True, "valid": 5}
    return MethodRun(
        method=method,
        value=Fraction(value),
        evaluations=10,
        seconds=4.0,
        curve=tuple(Improvement(*point) for point in curve),
        ended="time",
        **{**given, **more},
    )


def layer(name: str, *runs: MethodRun, **left_out: str) -> LayerRace:
    workload = optmap.workload(STATEMENT, extents=SMALL["extents"], semantics="assign")  # type: ignore[arg-type]

    return LayerRace(
        workload=replace(workload, name=name), runs={each.method: each for each in runs}, left_out=left_out
    )


def race(*layers: LayerRace) -> Race:
    return Race(
        machine=optmap.machine("gemmini"),
        objective="edp",
        counting=NEST_EXACT,
        methods=("exact", "random", "cosa"),
        layers=layers,
        budget=4.0,
        evaluations=None,
        seed=0,
        side_by_side=1,
    )


EXACT = run("exact", 1000, (3, 0.5, 1010.5), (9, 1.0, 1000.0), bound=Fraction(1000), proved=True, valid=None)


def test_a_search_is_within_a_hundredth_when_its_curve_first_is() -> None:
    found = layer("a", EXACT, run("random", 1005, (1, 0.1, 5000.0), (4, 0.2, 1010.0), (6, 0.3, 1005.0)))
    assert found.proved
    assert found.bound == found.best == 1000
    assert found.over("random") == Fraction(1005, 1000)
    assert found.near("random") == Improvement(4, 0.2, 1010.0)
    assert found.near("exact") == Improvement(9, 1.0, 1000.0)
    assert found.runs["random"].best_at == Improvement(6, 0.3, 1005.0)
    assert found.runs["random"].valid_share == 0.5
    assert found.runs["exact"].valid_share is None


def test_a_search_that_stays_far_never_is() -> None:
    found = layer("a", EXACT, run("random", 1011, (1, 0.1, 1011.0)))
    assert found.near("random") is None
    assert found.near("cosa") is None
    assert found.over("cosa") is None


def test_without_the_optimum_the_bound_is_what_searches_are_held_against() -> None:
    late = run("exact", 1500, (1, 3.0, 1500.0), bound=Fraction(1000))
    found = layer("a", late, run("random", 1200, (1, 0.1, 1200.0)))
    assert not found.proved
    assert found.over("random") == Fraction(6, 5)
    assert found.near("random") is None


def test_a_bound_proves_the_best_of_somebody_else() -> None:
    late = run("exact", 1500, (1, 3.0, 1500.0), bound=Fraction(1000))
    assert layer("a", late, run("random", 1000, (1, 0.1, 1000.0))).proved


def test_bounds_of_other_spaces_do_not_count() -> None:
    small = run("greedy", 900, (1, 0.1, 900.0), bound=Fraction(900), proved=True, space="whole rows")
    late = run("exact", 1500, (1, 3.0, 1500.0), bound=Fraction(100))
    assert layer("a", small, late).bound == 100


def test_where_no_search_proves_a_bound_the_floor_of_every_schedule_is_one() -> None:
    found = layer("a", run("random", 1500, (1, 0.1, 1500.0), floor=Fraction(1000)), exact="it cannot")
    assert (found.bound, found.prover, found.proved) == (1000, "the floor of every schedule", False)
    assert found.over("random") == Fraction(3, 2)
    assert "a (the floor of every schedule)" in str(race(found))
    both = layer("a", EXACT, run("random", 1500, (1, 0.1, 1500.0), floor=Fraction(900)))
    assert (both.bound, both.prover) == (1000, "exact")


def test_a_convolution_that_exact_refuses_is_held_against_the_floor() -> None:
    found = optmap.race(
        "O[k,h+r] += I[c,h]*K[k,c,r]",
        machine="gemmini",
        extents={"k": 8, "c": 8, "h": 8, "r": 2},
        methods="random",
        evaluations=100,
    )
    (only,) = found.layers
    assert "sums" in only.left_out["exact"]
    assert only.prover == "the floor of every schedule"
    assert found.means[0].over is not None
    assert found.means[0].over >= 1


def test_a_mapping_below_the_bound_is_a_contradiction() -> None:
    with pytest.raises(ContradictionError, match="random found 999, exact proved that nothing is below 1000"):
        layer("a", EXACT, run("random", 999, (1, 0.1, 999.0)))


def test_a_mapping_that_does_not_fit_is_not_held_against_anything() -> None:
    found = layer("a", EXACT, run("cosa", 10, fits=False))
    assert found.over("cosa") is None
    assert found.near("cosa") is None
    assert found.best == 1000


def test_means_are_geometric_and_say_over_how_many_layers() -> None:
    near = run("random", 1000, (1, 0.1, 1000.0))
    far = run("random", 4000, (8, 0.4, 4000.0), valid=10)
    found = race(layer("a", EXACT, near), layer("b", EXACT, far), layer("c", EXACT, random="it does not like it"))
    assert [mean.method for mean in found.means] == ["exact", "random"]
    mean = found.means[1]
    assert (mean.layers, mean.near) == (2, 1)
    assert mean.over == pytest.approx(2.0)
    assert mean.valid_share == pytest.approx(exp((log(0.5) + log(1.0)) / 2))
    assert mean.seconds_to_best == pytest.approx(0.2)
    assert mean.seconds_to_near == pytest.approx(0.1)
    assert mean.evaluations == pytest.approx(10)
    text = str(found)
    assert "2 of 3" in text
    assert "left out: random: it does not like it" in text


def test_the_geometric_mean_of_nothing_and_of_zero() -> None:
    assert geometric([]) is None
    assert geometric([3.0, 0.0]) == 0.0
    assert geometric([2.0, 8.0]) == pytest.approx(4.0)


def test_a_curve_goes_on_to_the_end_of_its_search_in_multiples_of_the_bound() -> None:
    found = race(layer("a", EXACT))
    points = list(curve_of(found.layers[0], "exact"))
    assert points == [Improvement(3, 0.5, 1.0105), Improvement(9, 1.0, 1.0), Improvement(10, 4.0, 1.0)]


def small_batches(brief: Brief[NoSettings]) -> Proposals:
    while True:
        yield random_nests(brief.fabric, 16, brief.rng)


def test_searches_are_held_against_the_optimum_that_exact_proves(registry: dict[str, Method]) -> None:
    registry["mine"] = Method(name="mine", description="my own", routes=(explorer(Strategy(propose=small_batches)),))
    found = optmap.race(STATEMENT, methods="mine,random", evaluations=200, budget=20, **SMALL)  # type: ignore[arg-type]
    best = optmap.solve(STATEMENT, tiles="divisors", **SMALL)  # type: ignore[arg-type]
    assert found.methods == ("exact", "mine", "random")
    (only,) = found.layers
    assert only.proved
    assert only.best == best.cost
    for name in ("mine", "random"):
        mine = only.runs[name]
        assert mine.value >= only.bound
        assert (mine.evaluations, mine.ended) == (200, "evaluations")
        assert mine.curve[-1].value == pytest.approx(float(mine.value), rel=1e-9)
    document = found.to_dict()
    assert document["schema"] == "optmap.race/1"
    assert [row["method"] for row in document["layers"][0]["rows"]] == ["exact", "mine", "random"]
    assert document["layers"][0]["rows"][0]["near"]["value"] <= 1.01 * float(only.bound) * (1 + 1e-9)
    assert set(document["means"][0]) == set(Mean.__dataclass_fields__)
    assert "proved" in str(found)


def test_near_the_optimum_is_near_with_wires_too() -> None:
    """Searches leave wires out; what a race says of them does not."""
    machine = wired_machine()
    registers, buffer = machine.levels
    costly = replace(buffer.store or Store(), hop_pj=Fraction(30), router_pj=Fraction(10))
    machine = replace(machine, levels=(registers, replace(buffer, store=costly)))
    (only,) = optmap.race(convolution(), machine=machine, methods="random", evaluations=300, budget=20).layers
    for name in ("exact", "random"):
        over = only.over(name)
        assert over is not None
        assert over > 1.01
        assert only.near(name) is None
        assert only.runs[name].curve[-1].value == float(only.runs[name].value)


def untimed(found: Race) -> list[tuple[object, ...]]:
    """What does not depend on the computer."""
    return [
        (layer.workload.title, name, run.value, run.evaluations, run.valid, run.ended, *zip(*curve, strict=True))
        for layer in found.layers
        for name, run in layer.runs.items()
        for curve in [[(point.evaluations, point.value) for point in run.curve]]
    ]


def test_a_race_of_processes_is_the_one_in_process_and_goes_on_in_its_folder(
    registry: dict[str, Method], tmp_path: Path
) -> None:
    registry["mine"] = Method(name="mine", description="my own", routes=(explorer(Strategy(propose=small_batches)),))
    asked: dict[str, Any] = {"methods": "random,mine", "evaluations": 150, "budget": 20, "seed": 3, **SMALL}
    layers = [STATEMENT, "C[j,i] += A[i,k]*B[k,j]"]
    inside = optmap.race(layers, **asked)
    outside = optmap.race(layers, engine="local", jobs=2, directory=tmp_path / "race", **asked)
    assert untimed(outside) == untimed(inside)
    assert (inside.side_by_side, inside.reused) == (1, 0)
    assert (outside.side_by_side, outside.reused) == (2, 0)
    again = optmap.race(layers, directory=tmp_path / "race", **asked)
    assert again.reused == 4  # all but the method of this process, which may be another one by now
    assert untimed(again) == untimed(inside)
    assert "4 runs are those of an earlier race" in str(again)


def test_exact_may_have_a_time_of_its_own_for_the_proof() -> None:
    asked: dict[str, Any] = {"methods": "random", "evaluations": 50, "budget": 1e-6, **SMALL}
    assert not optmap.race(STATEMENT, **asked).layers[0].proved
    found = optmap.race(STATEMENT, proof=20, **asked)
    assert found.layers[0].proved
    assert found.layers[0].runs["exact"].ended == "proved"
    assert "exact had 20 s per layer" in str(found)
    assert found.to_dict()["proof_seconds"] == 20


def refusing(_: object) -> Any:
    raise InputError("not on Sundays")


def test_a_method_that_cannot_is_left_out_with_the_reason(registry: dict[str, Method]) -> None:
    registry["shy"] = Method(name="shy", description="refuses", routes=(replace(MESHED, solve=refusing),))
    found = optmap.race(STATEMENT, methods="shy", budget=20, **SMALL)  # type: ignore[arg-type]
    assert found.layers[0].left_out == {"shy": "not on Sundays"}
    assert "left out: shy: not on Sundays" in str(found)


@pytest.mark.parametrize(
    ("more", "kind", "text"),
    [
        ({"methods": "rando"}, UnknownNameError, "random"),
        ({"machine": "i7-9700k"}, InputError, "accelerators"),
        ({"budget": 0}, InputError, "budget"),
        ({"evaluations": 0}, InputError, "evaluations"),
        ({"jobs": "2"}, InputError, "jobs is '2'"),
        ({"directory": 5}, InputError, "directory is 5"),
        ({"objective": "bottleneck"}, UnknownNameError, "edp"),
        ({"settings": {"victory": 0}}, InputError, "random.victory=0"),
        ({"settings": {"rando.victory": 0}}, UnknownNameError, "random"),
    ],
)
def test_what_a_race_refuses(more: dict[str, Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        optmap.race(STATEMENT, **{**SMALL, **more})


def test_patterns_stand_for_layers_and_each_is_raced_once() -> None:
    names = [each.title for each in layers_of(["resnet18/R1?", "resnet18/R11"])]
    assert names == ["resnet18/R10", "resnet18/R11", "resnet18/R12"]
    file = library.models_path() / "workloads" / "resnet50.yaml"
    assert [each.title for each in layers_of(file)] == [f"resnet50/conv{number}" for number in range(1, 6)]
    with pytest.raises(InputError, match="empty"):
        layers_of([])


def test_pictures_show_every_method_beside_the_bound() -> None:
    found = race(
        layer("a", EXACT, run("random", 1005, (1, 0.1, 5000.0), (4, 0.2, 1005.0))),
        layer("b", EXACT, run("cosa", 1300, (10, 4.0, 1300.0), traced=False)),
    )
    for picture, drawn in (("seconds", {"exact", "random", "cosa"}), ("evaluations", {"exact", "random"})):
        axes = found.plot(picture=picture)
        figure = axes.figure
        labels = {line.get_label() for panel in figure.axes for line in panel.get_lines() if line.get_label()[0] != "_"}
        assert labels == {*drawn, "proved optimum"}
        assert axes.get_ylim()[1] < 5.0  # the stair that begins far above comes in from the top
        pyplot.close(figure)


def test_a_search_that_ends_far_above_is_marked_at_the_top_with_its_number() -> None:
    far = race(layer("a", EXACT, run("random", 203_000, (1, 0.1, 203_000.0))))
    axes = far.plot()
    assert axes.get_ylim()[1] == 4.0
    assert [text.get_text() for text in axes.texts] == ["203x"]
    pyplot.close(axes.figure)


def test_a_search_that_took_longer_than_its_budget_is_named() -> None:
    slow = replace(run("random", 1005, (1, 0.1, 1005.0)), seconds=9.0)
    assert "longer than the budget, until a step was done: random 9 s" in str(race(layer("a", EXACT, slow)))
    assert "longer" not in str(race(layer("a", EXACT, run("random", 1005, (1, 0.1, 1005.0)))))
