"""Traits of levels of one's own: one registration, and files, tables, documents, methods and workers know them."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest
from shell import run
from toys import BANKED, BANKS, POINTS

import optmap
from optmap.base.errors import InputError, UnknownNameError
from optmap.checker import RefusedError, check_document
from optmap.checker.core.tools import digest
from optmap.machines.machine import Machine
from optmap.machines.traits import TRAITS, Trait, register_trait
from optmap.search import PLUGINS, Method, is_shared, load_plugin
from optmap.sweeps import Options, answer_text, make_point, task_text

pytestmark = pytest.mark.usefixtures("registry")
PRODUCT = ("C[i,j] += A[i,k]*B[k,j]", "--extents", "i=12,j=10,k=8")
ASKED = {"workload": PRODUCT[0], "extents": PRODUCT[2]}


def machine_file(folder: Path, *traits: str) -> Path:
    """A file of a machine with a level for each text of traits; empty for none."""
    levels = "".join(
        f"  - {{name: L{number}, capacity: {300 * number}w{f', traits: {{{own}}}' if own else ''}}}\n"
        for number, own in enumerate(traits, 1)
    )
    file = folder / "machine.yaml"
    file.write_text(f"name: toy\nlevels:\n{levels}", encoding="utf-8")
    return file


@pytest.fixture
def banked(registry: dict[str, Method], tmp_path: Path) -> Machine:
    """A machine both levels of which have banks, with the trait and the methods registered."""
    register_trait(BANKS)
    registry.update({method.name: method for method in (BANKED, POINTS)})
    return optmap.machine(machine_file(tmp_path, "banks: 4", "banks: 8"))


def test_a_level_has_it_from_its_file_and_shows_it(banked: Machine, tmp_path: Path) -> None:
    assert [level.trait("banks") for level in banked.levels] == [4, 8]
    assert "L1: banks 4\nL2: banks 8" in str(banked)
    made = tmp_path / "again.yaml"
    entry = optmap.show(banked)
    made.write_text(entry.yaml, encoding="utf-8")
    assert optmap.machine(made) == banked
    assert [level["traits"] for level in entry.to_dict()["levels"]] == [{"banks": 4}, {"banks": 8}]


@pytest.mark.usefixtures("banked")
def test_a_memory_of_an_accelerator_has_it_as_well() -> None:
    meshed = optmap.machine("eyeriss_like")
    first = replace(meshed.levels[0], traits=(("banks", 2),))
    machine = replace(meshed, levels=(first, *meshed.levels[1:]))
    assert "banks 2" in str(machine)
    found = optmap.solve(**ASKED, machine=machine, method="random", evaluations=50)
    assert optmap.evaluate(found).disagreements == []
    assert found.to_dict()["machine"]["levels"][0]["traits"] == {"banks": 2}
    assert check_document(found.to_dict()).verified


def test_a_method_uses_it_and_its_answer_is_saved_and_checked(banked: Machine, tmp_path: Path) -> None:
    found = optmap.solve(**ASKED, machine=banked, method="banked")
    assert [level.tile["k"] for level in found.mapping.levels] == [4, 4]
    found.save(tmp_path / "found.json")
    assert optmap.check(tmp_path / "found.json")
    assert optmap.load(tmp_path / "found.json").machine == banked
    assert optmap.evaluate(tmp_path / "found.json").disagreements == []
    document = found.to_dict()
    document["machine"]["levels"][0]["traits"]["banks"] = [4]
    del document["digest"]
    document["digest"] = digest({key: value for key, value in document.items() if key != "seconds"})
    with pytest.raises(RefusedError, match=r"traits\.banks is \[4\]; a text, true or false, or a finite number"):
        check_document(document)


def test_where_it_is_missing_the_method_is_refused_by_its_name(banked: Machine, tmp_path: Path) -> None:
    half = optmap.machine(machine_file(tmp_path, "banks: 4", ""))
    said = r"method banked asks every level for banks, of which L2 says nothing; write .*`traits: \{banks: 1\}` there"
    with pytest.raises(InputError, match=f"{said}, or --method mopt and its bottleneck"):
        optmap.solve(**ASKED, machine=half, method="banked")
    assert optmap.solve(**ASKED, machine=half, method="points").mapping
    with pytest.raises(InputError, match=r"level L2 has no banks \(words that are read at once\)"):
        half.levels[1].trait("banks")
    compared = optmap.compare(**ASKED, machine=half, methods="points,banked")
    assert "asks every level for banks" in compared.left_out["banked"]


@pytest.mark.parametrize(
    ("traits", "said"),
    [
        ("bank: 4", "level L1: unknown trait 'bank'; did you mean banks"),
        ("banks: many", "level L1: banks is 'many'; a whole number"),
        ("banks: 0", "level L1: banks is 0; a whole number"),
        ("banks: [4]", r"level L1: banks is \[4\]; a finite number, a text, true or false is needed"),
        ("banks: .inf", "level L1: banks is inf; a finite number"),
    ],
)
def test_what_it_cannot_be_is_refused_with_file_and_level(traits: str, said: str, tmp_path: Path) -> None:
    register_trait(BANKS)
    with pytest.raises(InputError, match=rf"machine\.yaml.*{said}"):
        optmap.machine(machine_file(tmp_path, traits))


def test_one_that_nobody_registered_is_unknown(tmp_path: Path) -> None:
    assert not TRAITS
    with pytest.raises(UnknownNameError, match="level L1: unknown trait 'banks'; there is none"):
        optmap.machine(machine_file(tmp_path, "banks: 4"))


def test_a_name_is_given_once_and_its_check_decides() -> None:
    anything = Trait(name="label", description="what it is called", check=lambda value, what: None)
    register_trait(anything)
    with pytest.raises(InputError, match="trait 'label' exists"):
        register_trait(anything)
    level = optmap.machine(memory="40w").levels[0]
    assert replace(level, traits=(("label", -1.5),)).trait("label") == -1.5
    with pytest.raises(InputError, match="a finite number"):
        replace(level, traits=(("label", inf),))


def test_a_plugin_brings_it_to_the_shell_and_to_workers(
    toy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = machine_file(tmp_path, "banks: 4", "banks: 4")
    out, _ = run("--plugin", toy, "solve", *PRODUCT, "--machine", file, "--method", "banked", "--json", capsys=capsys)
    assert json.loads(out)["method"] == "banked"
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"workloads: [resnet18/R12]\nmachines: [{file}]\nmethods: [bound, mopt, banked]\n")
    out, _ = run("sweep", spec, "-o", tmp_path / "kept", "--jobs", "2", "--json", capsys=capsys)
    frame = optmap.read_sweep(tmp_path / "kept")
    assert set(frame["error"]) == {""}
    assert set(frame["method"]) == {"bound", "mopt", "banked"}


def test_points_of_a_machine_with_it_go_to_workers_that_know_it(banked: Machine, toy: Path) -> None:
    assert not is_shared("mopt", None, banked)
    assert not is_shared(None, None, banked)
    assert is_shared("mopt", None, optmap.machine("balanced"))
    TRAITS.clear()
    for name in ("points", "banked"):
        optmap.METHODS.pop(name)
    load_plugin(toy)
    assert is_shared("mopt", None, banked)
    point = make_point(
        optmap.workload("resnet18/R12"), banked, level="L2", method="mopt", options=Options(time_limit=5.0), seed=0
    )
    text = task_text(point)
    assert json.loads(text)["plugins"] == [str(toy.resolve())]
    toy.unlink()
    PLUGINS.clear()
    assert f"{toy}: no such file" in json.loads(answer_text(text))["row"]["error"]
