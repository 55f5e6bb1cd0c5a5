"""Sweep files: what is accepted, what is refused, and with which words."""

from __future__ import annotations

import inspect
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import optmap
from optmap.base.errors import InputError, OptmapError
from optmap.cli import solving
from optmap.files import library
from optmap.search import Answer, Question
from optmap.sweeps import (
    AXIS_KEYS,
    KEYS,
    REFINE_KEYS,
    Axis,
    curves,
    estimate,
    first_grid,
    make_plan,
    missing_points,
    read_spec,
    spec_from,
)
from optmap.sweeps.plan import points
from optmap.sweeps.spec import SWEEP
from optmap.workloads.amounts import Capacity

EXAMPLE = """
workloads: ["C[i,j] += A[i,k]*B[k,j]"]
extents: {i: 96, j: 64, k: 80}
capacities: {from: 256w, to: 16384w, points: 24, scale: log}
methods: [bound, mopt]
seed: 1
"""


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    made = json.loads((library.models_path() / "sweeps" / "schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(made)
    assert isinstance(made, dict)
    return made


def _with(**changes: object) -> dict[str, Any]:
    document = yaml.safe_load(EXAMPLE)
    document.update(changes)
    return {key: value for key, value in document.items() if value is not None}


def test_the_example_is_read_and_planned(schema: dict[str, Any]) -> None:
    jsonschema.validate(yaml.safe_load(EXAMPLE), schema)
    spec = spec_from(yaml.safe_load(EXAMPLE))
    assert spec.points == 48
    assert spec.seed == 1
    amounts = first_grid(spec)[0]
    assert len(amounts) == 24
    assert (amounts[0], amounts[-1]) == (256, 16384)
    ratios = [high / low for low, high in pairwise(amounts)]
    assert max(ratios) / min(ratios) < 1.01
    made = [point for _, _, point in points(spec, first_grid(spec))]
    assert len(made) == 48
    assert len({point.key for point in made}) == 48
    seconds = estimate(spec, missing_points(spec, {"bound": 4}), {"mopt": 1.0, "bound": 0.5})
    plan = make_plan(spec, jobs=2, stored={"bound": 4}, seconds=seconds)
    assert plan.points == 48
    assert plan.seconds == pytest.approx((24 * 1.0 + 20 * 0.5) / 2)
    assert plan.least_seconds < plan.seconds < plan.most_seconds


def test_library_sweeps_are_valid(schema: dict[str, Any]) -> None:
    files = sorted((library.models_path() / "sweeps").glob("*.yaml"))
    assert files
    for file in files:
        jsonschema.validate(yaml.safe_load(file.read_text(encoding="utf-8")), schema)
        assert read_spec(file).points > 0
    assert read_spec("yolo_caches").points == 11 * 33 * 2


def test_schema_and_reader_know_the_same_keys(schema: dict[str, Any]) -> None:
    assert set(schema["properties"]) == set(KEYS)
    assert set(schema["properties"]["capacities"]["properties"]) == set(AXIS_KEYS)
    assert schema["properties"]["options"]["properties"] == {name: each.schema for name, each in SWEEP.items()}
    assert set(schema["properties"]["refine"]["properties"]) == set(REFINE_KEYS)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"capacitys": {}}, "unknown key 'capacitys'; did you mean capacities?"),
        ({"capacities": {"from": "1w", "too": "2w"}}, "unknown key 'too'; did you mean to?"),
        ({"options": {"tile": "any"}}, "unknown key 'tile'; did you mean tiles?"),
        ({"refine": {"tol": 1}}, "unknown key 'tol'"),
        ({"capacities": {"from": "256w", "to": "512w", "points": 10**9}}, "at most 1,000,000 points"),
        ({"capacities": {"from": "256w", "to": "512w", "points": 600_000}}, "1,200,000 points are too many"),
        ({"capacities": {"from": "256w", "to": "64KiB"}}, "words and bytes are mixed"),
        ({"capacities": {"from": "512w", "to": "256w"}}, "from is larger than to"),
        ({"capacities": {"from": "512", "to": "1024w"}}, "has no unit"),
        ({"capacities": {"from": "512w"}}, "to is missing"),
        ({"capacities": {"from": "5w", "to": "6w", "scale": "lin"}}, "unknown scale 'lin'; did you mean linear"),
        ({"capacities": {"values": ["5w"], "points": 3}}, "exclude each other"),
        ({"capacities": {"from": "5w", "to": "9w", "points": 0}}, "1 or more"),
        ({"capacities": None}, "give machines, or capacities"),
        ({"methods": ["bound", "moptt"]}, "unknown method 'moptt'; did you mean mopt?"),
        ({"methods": []}, "at least one"),
        ({"methods": ["mopt", "mopt"]}, "twice"),
        ({"methods": [1]}, "not text"),
        ({"workloads": []}, "at least one"),
        ({"workloads": ["yolo9000/Y99"], "extents": None}, "unknown workload"),
        ({"workloads": ["yolo/*"], "extents": None}, "no workload matches"),
        ({"workloads": ["yolo9000/*"]}, "no statement among the workloads has a dim i, j, k"),
        ({"workloads": [7]}, "a name, a glob, a file or a statement"),
        ({"workloads": ["C[i,j] += A[i,k*B[k,j]"]}, "k*B is a product"),
        ({"extents": {"i": 1, "j": 2}}, "no extent for dim k"),
        ({"extents": {"i": 0, "j": 2, "k": 3}}, "whole number, 1 or more"),
        ({"machines": ["balanced"]}, "has levels L1, L2, L3"),
        ({"machines": ["balanced"], "capacities": {"from": "5w", "to": "9w", "level": "L4"}}, "unknown level 'L4'"),
        ({"machines": ["balanced", "balanced"], "capacities": None}, "names repeat"),
        ({"options": {"tiles": "some"}}, "unknown tiles 'some'"),
        ({"options": {"time_limit": 0}}, "positive"),
        ({"options": {"cores": 0}}, "options: cores is 0; a whole number from 1"),
        ({"refine": {"metric": "cost"}}, "unknown metric 'cost'; known are gap, traffic, bound"),
        ({"refine": {"tolerance": "1"}}, "percentage"),
        ({"refine": {"tolerance": "0%"}}, "more than 0"),
        ({"refine": {"metric": "gap"}, "methods": ["bound"]}, "needs a mapping method"),
        ({"refine": {}, "capacities": None, "machines": ["balanced"]}, "refine needs capacities"),
        ({"kill_after": -1}, "positive"),
        ({"seed": 1.5}, "whole number"),
        ({"seed": True}, "whole number"),
    ],
)
def test_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        spec_from(_with(**changes), where="x.yaml")
    assert str(caught.value).startswith("x.yaml")


def test_a_thousand_million_points_are_refused_before_they_are_made(tmp_path: Path) -> None:
    file = tmp_path / "huge.yaml"
    file.write_text(EXAMPLE.replace("points: 24", "points: 1000000000"), encoding="utf-8")
    with pytest.raises(InputError, match="1,000,000,000"):
        read_spec(file)


@pytest.mark.parametrize(("text", "share"), [("1%", 0.01), ("2.5 %", 0.025), (0.2, 0.2)])
def test_tolerances(text: object, share: float) -> None:
    refine = spec_from(_with(refine={"tolerance": text})).refine
    assert refine is not None
    assert refine.tolerance == pytest.approx(share)


def test_workloads_come_from_names_globs_files_statements_and_mappings(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("expression: 'B[i] += A[i,j]'\nextents: {i: 5, j: 6}\n", encoding="utf-8")
    spec = spec_from(
        {
            "workloads": [
                "resnet18/R9",
                "yolo9000/Y1*",
                "own.yaml",
                "C[i,j] += A[i,k]*B[k,j]",
                "ab,bc->ac",
                {"name": "mine", "conv2d": {"n": 1, "k": 4, "c": 3, "h": 8, "w": 8, "r": 3, "s": 3}},
            ],
            "extents": {"i": 2, "j": 3, "k": 4, "a": 5, "b": 6, "c": 7},
            "machines": ["balanced"],
            "semantics": "assign",
        },
        folder=tmp_path,
    )
    titles = [workload.title for workload in spec.workloads]
    assert titles[0] == "resnet18/R9"
    assert "yolo9000/Y12" in titles
    assert "own" in titles
    assert titles[-1] == "mine"
    assert {workload.semantics.value for workload in spec.workloads} == {"assign"}


def test_two_workloads_of_one_name_are_refused() -> None:
    one = {"name": "x", "expression": "B[i] += A[i,j]", "extents": {"i": 2, "j": 3}}
    two = {**one, "extents": {"i": 2, "j": 4}}
    with pytest.raises(InputError, match="give them names"):
        spec_from({"workloads": [one, two], "machines": ["balanced"]})
    assert len(spec_from({"workloads": [one, one], "machines": ["balanced"]}).workloads) == 1


def test_capacities_of_one_level_of_a_machine() -> None:
    spec = spec_from(
        {
            "workloads": ["resnet18/R9"],
            "machines": ["balanced"],
            "capacities": {"level": "L2", "values": ["8192w", "4096w"]},
            "methods": "bound",
        }
    )
    made = [point for _, _, point in points(spec, first_grid(spec))]
    assert [point.capacity_words for point in made] == [4096, 8192]
    assert [level.capacity.words(32) for level in made[0].machine.levels] == [1024, 4096, 65536]
    assert curves(spec)[0].level == "L2"


def test_machines_as_they_are_report_their_outermost_level() -> None:
    spec = spec_from({"workloads": ["resnet18/R9"], "machines": ["balanced", "i7-9700k"], "methods": ["mopt"]})
    made = [point for _, _, point in points(spec, first_grid(spec))]
    assert [(point.machine.name, point.level) for point in made] == [("balanced", "L3"), ("i7-9700k", "L3")]


@pytest.mark.parametrize("scale", ["log", "linear"])
@pytest.mark.parametrize(("low", "high", "count"), [(1, 1, 5), (1, 3, 50), (16, 2**62, 9), (5, 500, 1), (7, 8, 2)])
def test_axes_are_ascending_with_exact_ends(scale: str, low: int, high: int, count: int) -> None:
    axis = Axis(
        first=Capacity(amount=low, unit="words"), last=Capacity(amount=high, unit="words"), points=count, scale=scale
    )
    amounts = axis.amounts()
    assert amounts[0] == low
    assert amounts[-1] == (high if count > 1 else low)
    assert list(amounts) == sorted(set(amounts))
    assert len(amounts) <= count


def test_unknown_sweep_names_list_the_known_ones() -> None:
    with pytest.raises(OptmapError, match="yolo_caches"):
        read_spec("yolo")
    with pytest.raises(InputError, match="no such file"):
        read_spec("nowhere.yaml")


def test_an_option_has_one_name_from_the_command_line_to_the_answer():
    for name in ("objective", "tiles", "capacity", "integers", "cores"):
        assert name in inspect.signature(solving.solve).parameters
        assert name in inspect.signature(optmap.solve).parameters
        assert name in SWEEP
        assert name in Question.__dataclass_fields__
    for name in ("objective", "tiles", "capacity"):
        assert isinstance(getattr(Answer, name), property)


def test_a_sweep_file_sets_methods_and_their_evaluations() -> None:
    given = {
        "workloads": ["resnet18/R11"],
        "machines": ["gemmini"],
        "methods": ["exact", "random"],
        "options": {"evaluations": 70, "settings": {"random.victory": 0}},
    }
    spec = spec_from(given)
    assert spec.options.settings == ("random.victory=0",)
    made = {point.method: point.options for _, _, point in points(spec, first_grid(spec))}
    assert (made["exact"].evaluations, made["random"].evaluations) == (None, 70)
    with pytest.raises(InputError, match="rando"):
        spec_from({**given, "options": {"settings": {"rando.victory": 0}}})
    with pytest.raises(InputError, match="evaluations"):
        spec_from({**given, "options": {"evaluations": 0}})
