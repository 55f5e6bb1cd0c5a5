"""Counting policies of one's own: one file and one registration, and every verb and process takes them."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import some
from host_machines import AVX512
from shell import run
from spatial_brute_force import best_of_all, tiny_fabric
from spatial_strategies import COUNTINGS

import optmap
from optmap.base.clock import NO_LIMIT
from optmap.base.errors import InputError, UnknownNameError
from optmap.checker import check_document
from optmap.count.level_policy import LevelPolicy
from optmap.count.levels.whole_nest import exact_traffic
from optmap.count.meshes.batch import evaluate_batch
from optmap.count.meshes.count import NEST_EXACT, NEST_FACTORFLOW, WalkedPolicy, count_nest
from optmap.count.policies import HOMES, POLICIES, level_policies, nest_policies, nest_policy, register_policy
from optmap.count.results import BoundaryTraffic
from optmap.machines.fabric import fabric_of
from optmap.questions.options import Merit
from optmap.questions.policy import Footprint, Retention
from optmap.search import PLUGINS, code_digest, is_shared, load_plugin, random_nests
from optmap.search.exact import search_nest
from optmap.sweeps import Options, answer_text, make_point, task_text

RECORDS = Path(__file__).resolve().parents[1] / "data" / "timeloop_conformance.json"
PRODUCT = ("C[i,j] += A[i,k]*B[k,j]", "--extents", "i=4,j=6,k=8")
KEY = "accelerators-anew"


pytestmark = pytest.mark.usefixtures("registry")


def test_a_plugin_registers_it(toy: Path) -> None:
    before = dict(POLICIES)
    assert load_plugin(toy).policies == (KEY,)
    assert {key: policy for key, policy in POLICIES.items() if key != KEY} == before
    assert list(nest_policies()) == ["exact", "timeloop", "factorflow", "anew"]
    assert is_shared("random", "anew")
    assert code_digest(KEY) != code_digest("accelerators-exact") == ""


def test_its_counts_are_those_of_its_own_words(toy: Path) -> None:
    """Fills and reads of a nest by the definition: tiles times what runs outside them."""
    load_plugin(toy)
    fabric = fabric_of(optmap.workload("resnet18/R11"), optmap.machine("simba_like"))
    policy, batch = nest_policy("anew"), random_nests(fabric, 60, np.random.default_rng(3))
    cost = evaluate_batch(batch, fabric, policy)
    assert cost.recounted == len(batch)
    more = 0
    for row in range(len(batch)):
        nest = batch.nest(row)
        found, exact = count_nest(nest, fabric, policy), count_nest(nest, fabric)
        assert bool(cost.valid[row]) is not bool(found.broken)
        assert cost.energy_pj[row] == float(found.energy_pj)
        assert found.broken == exact.broken
        more += found.energy_pj > exact.energy_pj
        tiles = nest.tiles()
        for number, memory in enumerate(found.memories):
            for accesses in memory.accesses:
                place = [operand.name for operand in fabric.operands].index(accesses.operand)
                keepers = [n for n, own in enumerate(nest.memories) if own.keeps[place]]
                if place and number != keepers[-1]:
                    outside = prod(trips for own in nest.memories[number + 1 :] for _, trips in own.temporal)
                    words = accesses.tile_words * outside * memory.instances
                    assert (accesses.fills, tiles[number]) == (words, tiles[number])
    assert more


def test_it_is_solved_written_checked_and_evaluated(toy: Path, tmp_path: Path) -> None:
    load_plugin(toy)
    found = optmap.solve(
        PRODUCT[0],
        extents=PRODUCT[2],
        machine="simba_like",
        method="random",
        counting="anew",
        evaluations=300,
        objective="energy",
    )
    policy = nest_policy("anew")
    assert found.cost == count_nest(found.nest, found.fabric, policy).energy_pj >= found.exact_count.energy_pj
    document = found.to_dict()
    assert document["counting"] == "anew"
    report = check_document(document)
    assert any(line.startswith("counted as 'anew', which is not known here") for line in report.not_verified)
    exact = f"{float(found.exact_count.energy_pj):,.10g}"
    assert any("counted exactly, the energy is" in line and exact in line for line in report.verified)
    found.save(tmp_path / "anew.json")
    again = optmap.evaluate(tmp_path / "anew.json")
    assert (again.disagreements, again.count) == ([], found.count)
    other = optmap.evaluate(tmp_path / "anew.json", counting="timeloop")
    assert (other.counting.name, other.disagreements) == ("timeloop", [])
    POLICIES.pop(KEY)
    with pytest.raises(UnknownNameError, match="unknown counting 'anew'"):
        optmap.evaluate(tmp_path / "anew.json")


def test_the_checker_refuses_a_wrong_exact_count_whatever_counted(toy: Path) -> None:
    from signing import signed

    load_plugin(toy)
    found = optmap.solve(
        PRODUCT[0], extents=PRODUCT[2], machine="simba_like", method="random", counting="anew", evaluations=100
    )
    document = found.to_dict()
    wrong = Fraction(document["exact"]["exact"]) + 1
    document["exact"] = {**document["exact"], "value": float(wrong), "exact": str(wrong)}
    with pytest.raises(Exception, match="exact must be"):
        check_document(signed(document))


def test_what_it_cannot_count_and_what_others_cannot_is_said(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    solve = ("--plugin", toy, "solve", *PRODUCT, "--machine", "simba_like", "--counting", "anew")
    _, err = run(*solve, capsys=capsys, code=2)
    assert (
        "method exact does not count as anew does; use --counting exact or timeloop, or --method random and its" in err
    )
    wide = ("C[i] += A[3*i+k]*B[k]", "--extents", "i=4,k=8", "--machine", "simba_like", "--method", "random")
    _, err = run("--plugin", toy, "solve", *wide, "--counting", "anew", capsys=capsys, code=2)
    assert "counting anew knows strides of 1 and 2 only; use --counting exact" in err
    export = ("--plugin", toy, "export", *PRODUCT, "--machine", "simba_like", "--format", "lp", "--counting", "anew")
    _, err = run(*export, capsys=capsys, code=2)
    assert "unknown counting 'anew'" in err
    _, err = run("solve", *PRODUCT, "--machine", "simba_like", "--counting", "slow", capsys=capsys, code=2)
    assert "unknown counting 'slow'" in err


@pytest.mark.parametrize(
    "words",
    [
        ("solve", *PRODUCT, "--method", "random", "--evaluations", "100"),
        ("compare", *PRODUCT, "--methods", "random,quickflow", "--evaluations", "100"),
        ("sensitivity", *PRODUCT, "--samples", "16"),
    ],
    ids=lambda words: words[0],
)
def test_verbs_take_it(words: tuple[str, ...], toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run("--plugin", toy, *words, "--machine", "simba_like", "--counting", "anew", "--json", capsys=capsys)
    assert json.loads(out).get("counting", "anew") == "anew"


def test_records_are_compared_with_it(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("conformance", RECORDS, "--counting", "anew")
    out, _ = run("--plugin", toy, *words, "--json", capsys=capsys, code=5)
    document = json.loads(out)
    assert (document["counting"], document["foreign"], document["agree"]) == ("anew", True, False)
    out, _ = run("--plugin", toy, *words, capsys=capsys, code=5)
    assert "theirs counts as Timeloop's dense model" in out
    assert "anew no reuse: tiles are fetched anew" in out


def test_a_race_has_its_workers_import_it(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("race", *PRODUCT, "--machine", "simba_like", "--methods", "random,quickflow", "--evaluations", "60")
    out, _ = run(
        *("--plugin", toy, *words, "--counting", "anew", "--engine", "local", "--jobs", "2", "--json"), capsys=capsys
    )
    document = json.loads(out)
    assert document["counting"] == "anew"
    (layer,) = document["layers"]
    assert {row["method"] for row in layer["rows"]} == {"random", "quickflow"}
    assert "does not count as anew does" in json.dumps(layer["left_out"]["exact"])


SPEC: dict[str, Any] = {
    "workloads": ["resnet18/R12"],
    "machines": ["simba_like"],
    "methods": ["random"],
    "options": {"counting": "anew", "evaluations": 60, "tiles": "divisors"},
}


def test_a_sweep_has_its_workers_import_it(toy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(json.dumps(SPEC))
    words = ("sweep", spec, "-o", tmp_path / "kept", "--plugin", toy, "--jobs", "2", "--json")
    out, _ = run(*words, capsys=capsys)
    assert json.loads(out)["answered"] == 1
    frame = optmap.read_sweep(tmp_path / "kept")
    assert list(frame["counting"]) == ["anew"]
    assert set(frame["error"]) == {""}
    assert json.loads(run(*words, capsys=capsys)[0])["reused"] == 1
    PLUGINS.clear()
    POLICIES.pop(KEY)
    HOMES.pop(KEY)
    _, err = run("sweep", spec, "-o", tmp_path / "other", capsys=capsys, code=2)
    assert "options: unknown counting 'anew'" in err


def test_a_worker_without_it_says_so_and_its_code_is_part_of_the_question(toy: Path) -> None:
    load_plugin(toy)
    workload, machine = optmap.workload("resnet18/R12"), optmap.machine("simba_like")

    def asked(counting: str) -> Any:
        options = Options(counting=counting, evaluations=20)
        return make_point(workload, machine, level=machine.levels[-1].name, method="random", options=options, seed=0)

    point = asked("anew")
    text = task_text(point)
    assert json.loads(text)["plugins"] == [str(toy.resolve())]
    assert "plugins" not in json.loads(task_text(asked("exact")))
    toy.write_text(toy.read_text() + "\n# another version\n")
    assert asked("anew").input_hash != point.input_hash
    toy.unlink()
    for registry in (PLUGINS, HOMES):
        registry.clear()  # type: ignore[attr-defined]
    POLICIES.pop(KEY)
    row = json.loads(answer_text(text))["row"]
    assert row["stop"] == "error"
    assert f"{toy}: no such file" in row["error"]


def test_one_that_a_script_registers_is_swept_in_its_process(tmp_path: Path) -> None:
    seen: list[int] = []

    class Seen(WalkedPolicy):
        def count(self, *args: Any, **options: Any) -> Any:
            seen.append(os.getpid())
            return super().count(*args, **options)

    register_policy(Seen(name="mine", description="as exact"))
    assert not is_shared("random", "mine")
    spec = {**SPEC, "options": {**SPEC["options"], "counting": "mine"}}
    tally = optmap.sweep(spec, tmp_path / "kept", engine="local", jobs=2)
    assert (tally.points, tally.failed) == (1, 0)
    assert set(seen) == {os.getpid()}
    found = optmap.race(
        PRODUCT[0], extents=PRODUCT[2], machine="simba_like", methods="random", counting="mine", evaluations=50, proof=9
    )
    assert found.layers[0].proved


@pytest.mark.parametrize("seed", some(4, range(12)))
def test_searches_with_bounds_know_a_policy_by_its_traits(seed: int) -> None:
    """Hulls that are walked, which no policy of the library has: the proved optimum is that of all mappings."""
    policy = WalkedPolicy(name="hulls", description="x", footprint=Footprint.HULL, room=Footprint.HULL)
    fabric = tiny_fabric(seed, 1500)
    best = best_of_all(fabric, policy)
    for merit in (Merit.ENERGY, Merit.EDP):
        found = search_nest(fabric, merit=merit, counting=policy, clock=NO_LIMIT)
        assert (found.nest is None) is not bool(best)
        if best:
            assert found.proved
            assert count_nest(found.nest, fabric, policy).merit(merit) == best[merit].value


def test_columns_count_a_policy_of_traits_as_one_by_one() -> None:
    policies = [
        WalkedPolicy(name="x", description="x", footprint=own, room=room, retention=retention, walked=own is room)
        for own in (Footprint.TOUCHED, Footprint.HULL)
        for room in Footprint
        for retention in (Retention.SLIDING, Retention.EXTRAPOLATED)
    ]
    fabric = fabric_of(optmap.workload("resnet18/R1"), optmap.machine("simba_like"))
    batch = random_nests(fabric, 40, np.random.default_rng(1))
    for policy in policies:
        cost = evaluate_batch(batch, fabric, policy)
        assert cost.recounted == 0
        for row in range(len(batch)):
            one = count_nest(batch.nest(row), fabric, policy)
            assert bool(cost.valid[row]) is not bool(one.broken)
            assert cost.cycles[row] == one.cycles
            assert cost.energy_pj[row] == pytest.approx(float(one.energy_pj), rel=1e-12)


class Twice(LevelPolicy):
    """Every word that crosses a boundary of caches, twice."""

    def traffic(self, workload: Any, machine: Any, mapping: Any, held: Any = None) -> tuple[BoundaryTraffic, ...]:
        rows = exact_traffic(workload, machine, mapping)
        return tuple(replace(row, loads_words=2 * row.loads_words, stores_words=2 * row.stores_words) for row in rows)


def test_mappings_of_caches_are_evaluated_with_any(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    register_policy(Twice(name="twice", description="every word twice"))
    assert list(level_policies()) == ["exact", "per-level", "held", "twice"]
    assert list(nest_policies()) == ["exact", "timeloop", "factorflow"]
    found = optmap.solve("resnet18/R9", machine="i7-9700k", capacity="tile")
    found.save(tmp_path / "r9.json")
    plain = optmap.evaluate(tmp_path / "r9.json")
    exact, level, twice = (
        optmap.evaluate(tmp_path / "r9.json", counting=name) for name in ("exact", "per-level", "twice")
    )
    assert exact.boundaries == plain.boundaries
    assert (level.count, level.boundaries) == (plain.count, plain.count.boundaries)
    assert [2 * row.words for row in plain.boundaries] == [row.words for row in twice.boundaries]
    assert twice.cost.value == 2 * plain.exact.value
    assert (twice.exact, twice.disagreements) == (plain.exact, [])
    assert "counting" not in plain.to_dict()
    document = twice.to_dict()
    assert (document["counting"], document["exact"]) == ("twice", plain.to_dict()["exact"])
    out, _ = run("evaluate", tmp_path / "r9.json", "--counting", "twice", capsys=capsys)
    assert "(counting twice)" in out
    _, err = run("evaluate", tmp_path / "r9.json", "--counting", "held", capsys=capsys, code=2)
    assert "counting held is for mappings that say what they hold; use --counting exact" in err
    _, err = run("evaluate", tmp_path / "r9.json", "--counting", "timeloop", capsys=capsys, code=2)
    assert "unknown counting 'timeloop'; known are exact, per-level, held, twice" in err


def test_what_a_mapping_holds_is_counted_by_held_alone() -> None:
    found = optmap.solve("resnet18/R12", memory="4096w", method="iooub")
    assert found.held is not None
    plain, held = optmap.evaluate(found), optmap.evaluate(found, counting="held")
    assert (held.count, held.boundaries) == (plain.count, plain.boundaries)
    for name in ("exact", "per-level"):
        with pytest.raises(InputError, match=f"counting {name} knows no mapping that holds .*; use --counting held"):
            optmap.evaluate(found, counting=name)


def test_a_predicted_time_has_no_other_counting() -> None:
    found = optmap.solve(PRODUCT[0], extents=PRODUCT[2], machine=AVX512, objective="time")
    with pytest.raises(InputError, match="leave out --counting"):
        optmap.evaluate(found, counting="exact")


def test_the_example_of_the_pages_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "howto" / "my-own-counting.md"
    text = page.read_text(encoding="utf-8")
    (example,) = [
        part.split("```")[0] for part in text.split("```python\n")[1:] if "register_policy" in part.split("```")[0]
    ]
    exec(compile(example, page.name, "exec"), {})
    assert "counting doubled" in capsys.readouterr().out


def test_what_is_no_policy_is_refused() -> None:
    with pytest.raises(InputError, match="unit-strides is for capacities"):
        WalkedPolicy(name="x", description="x", footprint=Footprint.UNIT_STRIDES)
    with pytest.raises(InputError, match="searches with bounds know no drains"):
        WalkedPolicy(name="x", description="x", drains=True)
    with pytest.raises(InputError, match="counting 'exact' exists"):
        register_policy(WalkedPolicy(name="exact", description="x"))
    with pytest.raises(InputError, match="'exact' is no counting; give a NestPolicy"):
        register_policy("exact")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="cannot be a name"):
        register_policy(WalkedPolicy(name="a b", description="x"))


def test_names_are_those_that_are_printed() -> None:
    assert [str(policy) for policy in COUNTINGS] == ["exact", "timeloop", "factorflow"]
    assert [policy.walked for policy in COUNTINGS] == [True, True, False]
    assert nest_policy(None) is NEST_EXACT
    assert nest_policy(NEST_FACTORFLOW) is NEST_FACTORFLOW
    with pytest.raises(UnknownNameError, match="unknown counting 'exakt'; did you mean exact"):
        nest_policy("exakt")
