"""Every verb of the shell under `optmap`, with answers that print, render, are saved and loaded."""

from __future__ import annotations

import base64
import json
import re
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from cases import thinned
from host_machines import AVX512
from matplotlib import pyplot

import optmap
from optmap.base.errors import CheckError, InputError, UnknownNameError
from optmap.machines.machine import Level, LevelKind, Machine, Partition
from optmap.report import loop_nest
from optmap.sweeps import read_spec
from optmap.workloads.amounts import Bandwidth, Capacity
from optmap.workloads.builders import matmul

PRODUCT = matmul(i=12, j=10, k=8)
RECORDS = Path(__file__).parents[1] / "data" / "timeloop_conformance.json"
IN_PYTHON = {"import": "import_onnx", "closed-form": "regimes"}
SHELL = (
    *("list", "show", "derive", "solve", "bound", "compare", "algorithms", "check", "evaluate", "export"),
    *("closed-form", "randomized", "doctor", "sweep", "plot", "network", "import", "score", "conformance"),
    "sensitivity",
)


@pytest.fixture(scope="module")
def result():
    return optmap.solve(PRODUCT, memory="40w")


@pytest.fixture(scope="module")
def answers(result):
    return {
        "solve": result,
        "bound": optmap.bound(PRODUCT, memory="40w"),
        "compare": optmap.compare(PRODUCT, memory="40w:80w", points=2, methods="mopt"),
        "evaluate": optmap.evaluate(result),
        "derive": optmap.derive(PRODUCT, permutation="i,k,j"),
        "classes": optmap.classes(PRODUCT),
        "algorithms": optmap.algorithms("resnet50/conv2", memory="4KiB"),
        "closed_form": optmap.closed_form("tccg/ab-ac-cb", memory="4KiB"),
        "regimes": optmap.regimes("tccg/ab-ac-cb", memory="4KiB", vary="a"),
        "randomized": optmap.randomized("d=9,m=8,n=7", memory="64w", cost="1/4"),
        "sensitivity": optmap.sensitivity(PRODUCT, machine="gemmini", samples=8),
        "list": optmap.list(),
        "show": optmap.show("resnet18/R9"),
        "workload": optmap.workload("resnet18/R9"),
        "machine": optmap.machine("balanced"),
        "network": optmap.network("resnet18"),
        "conformance": optmap.conformance(RECORDS, counting="exact"),
    }


def test_every_verb_of_the_shell_is_there():
    for verb in SHELL:
        assert callable(getattr(optmap, IN_PYTHON.get(verb, verb)))
        assert IN_PYTHON.get(verb, verb) in dir(optmap)
    for verb in ("workload", "machine", "load", "read_sweep", "sweep_document", "plan"):
        assert callable(getattr(optmap, verb))
    with pytest.raises(AttributeError, match="nosuch"):
        _ = optmap.nosuch


def test_answers_print_as_tables_render_and_are_documents(answers):
    for name, answer in answers.items():
        text = str(answer)
        assert len(text.splitlines()) > 2, name
        assert not text.startswith(type(answer).__name__), name
        html = answer._repr_html_()
        assert "<table>" in html or html.startswith("<pre>")
        assert "\0" not in html
        assert text.splitlines()[0].split()[0] in html
        assert json.loads(json.dumps(answer.to_dict()))["schema"].startswith("optmap."), name


def test_a_notebook_has_the_picture_of_an_answer_beside_its_tables(answers, result, monkeypatch):
    before = pyplot.get_fignums()
    for name in ("solve", "bound", "compare", "workload"):
        answer = answers[name]
        html = answer._repr_html_()
        drawn = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', html)
        assert len(drawn) == (answer.presentation.drawing() is not None), name
        assert all(b"</svg>" in base64.b64decode(each) for each in drawn)
        assert len(html) < 120_000
    assert pyplot.get_fignums() == before
    assert result._repr_html_() == result._repr_html_()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "<img" not in result._repr_html_()
    assert "<table>" in result._repr_html_()


def test_a_solution_is_saved_loaded_checked_and_evaluated(result, tmp_path):
    path = result.save(tmp_path / "solution.json")
    loaded = optmap.load(path)
    assert loaded.mapping == result.mapping
    assert loaded.to_dict() == json.loads(path.read_text())
    assert str(result.workload.expression) in str(loaded)
    assert loaded.loop_nest() == result.loop_nest()
    assert optmap.evaluate(path).exact == optmap.evaluate(loaded).exact == optmap.evaluate(result).exact
    assert optmap.evaluate(path).disagreements == []
    report = optmap.check(path)
    assert report.to_dict()["verified"] == list(report.verified)
    assert "Verified" in str(report)
    assert "Not verified" in report._repr_html_()


def test_a_loop_nest_walks_every_point(result):
    text = result.loop_nest()
    if result.held is None:
        assert text == loop_nest(result.workload, result.machine, result.mapping)
    assert text.rstrip().endswith("C[i][j] += A[i][k] * B[k][j];")


def test_a_bound_is_saved_as_its_certificate(answers, tmp_path):
    report = answers["bound"]
    path = report.save(tmp_path / "bound.json")
    loaded = optmap.load(path)
    assert loaded.to_dict() == report.certificate
    assert f"{report.outermost.best.loads_words:,}" in str(loaded)
    path.write_text(path.read_text().replace('"loads_words": ', '"loads_words": 1'))
    with pytest.raises(CheckError, match="refused"):
        optmap.load(path).check()
    with pytest.raises(InputError, match="add best"):
        optmap.bound(PRODUCT, memory="40w", methods="compulsory").save(tmp_path / "none.json")


@pytest.mark.parametrize("kind", ["workload", "machine", "compare"])
def test_problems_and_comparisons_are_saved_and_loaded(answers, kind, tmp_path):
    value = answers[kind]
    assert optmap.load(value.save(tmp_path / f"{kind}.json")) == value


def test_comparisons_of_a_machine_and_without_a_mapping_are_loaded(tmp_path):
    on_machine = optmap.compare(PRODUCT, machine="balanced", methods="mopt")
    unsolved = optmap.compare(PRODUCT, memory=["2w", "40w"], methods="mopt")
    assert [row.best for row in unsolved.rows] == [None, "mopt"]
    in_bytes = optmap.compare(PRODUCT, memory="256B", methods="mopt")
    for comparison in (on_machine, unsolved, in_bytes):
        path = comparison.save(tmp_path / "comparison.json")
        assert optmap.load(path) == comparison
    path.write_text(path.read_text().replace('"bound_loads_words": ', '"bound_loads_words": -'))
    with pytest.raises(InputError, match=r"rows\[0\]\.bound_loads_words"):
        optmap.load(path)


def test_what_cannot_be_loaded(tmp_path):
    path = tmp_path / "other.json"
    for text, said in (
        ('{"schema": "optmap.list/1"}', "can be loaded"),
        ("{}", "schema is missing"),
        ("[]", "mapping"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=said):
            optmap.load(path)
    with pytest.raises(InputError, match="no such file"):
        optmap.load(tmp_path / "none.json")


def test_every_library_entry_is_a_file_that_loads_back_equal(tmp_path):
    path = tmp_path / "entry.yaml"
    names = optmap.list()
    for name in thinned(names["workloads"], 4):
        path.write_text(optmap.show(name).yaml)
        assert optmap.workload(path) == optmap.workload(name)
    for name in names["machines"]:
        path.write_text(optmap.show(name).yaml)
        assert replace(optmap.machine(path), name=name) == optmap.machine(name)
    for name in names["networks"]:
        file = optmap.show(name).save(tmp_path / f"{name}.yaml")
        assert optmap.network(file).layers == optmap.network(name).layers
    for name in names["sweeps"]:
        path.write_text(optmap.show(name).yaml)
        assert replace(read_spec(path), name=name) == replace(read_spec(name), name=name)
    padded = optmap.workload("mobilenet/M9", padding="implicit")
    path.write_text(optmap.show(padded).yaml)
    assert optmap.workload(path) == padded
    odd = optmap.workload("O[x] = I[2*x+r]*K[r]", "x=7,r=5")
    path.write_text(optmap.show(odd).yaml)
    assert optmap.workload(path) == replace(odd, name=optmap.workload(path).name)


@pytest.mark.parametrize("suffix", [".yaml", ".yml", ".json", ".txt"])
def test_what_is_saved_is_what_its_name_says_and_loads_back_equal(suffix, tmp_path):
    machines = [optmap.machine("eyeriss"), optmap.machine("balanced"), AVX512]
    for value in (*machines, optmap.workload("mobilenet/M2"), optmap.workload("quickflow/I")):
        file = value.save(tmp_path / f"saved{suffix}")
        text = file.read_text(encoding="utf-8")
        assert (text.lstrip()[0] == "{") == (suffix in (".json", ".txt"))
        assert optmap.load(file) == value
    floor = optmap.bound("C[i] = A[i]", extents="i=64", machine=AVX512, objective="time", methods="best")
    assert "no code takes fewer" in str(optmap.load(floor.save(tmp_path / "floor.json")))


def test_a_machine_made_in_python_is_a_file_that_loads_back_equal(tmp_path):
    path = tmp_path / "machine.yaml"
    inner = Level(
        name="1",  # a text that YAML would read as a number
        capacity=Capacity(amount=96, unit="words"),
        bandwidth=Bandwidth(amount=Fraction(100, 9)),
        kind=LevelKind.CACHE,
        energy_pj=0.25,
        partitions=(
            Partition(name="in", tensors=("inputs",), capacity=Capacity(amount=64, unit="words")),
            Partition(name="out", tensors=("output",), capacity=Capacity(amount=32, unit="words")),
        ),
        buffering=2,
        inclusive=False,
    )
    outer = Level(name="L2", capacity=Capacity(amount=4096), bandwidth=Bandwidth(amount=0.5), shared=True, fanout=4)
    made = Machine(name="mine", memory="Far", clock_hz=3_600_000_001, levels=(inner, outer))
    library = [optmap.machine(name) for name in optmap.list()["machines"]]
    for machine in (made, optmap.machine(memory="40w"), *library):
        path.write_text(optmap.show(machine).yaml)
        assert optmap.machine(path) == machine


def test_list_knows_every_kind(answers):
    listing = answers["list"]
    assert listing["networks"] == ("mobilenet", "resnet18", "resnet50", "yolo9000")
    assert "yolo_caches" in listing["sweeps"]
    assert {"best", "compulsory"} <= set(listing["bounds"])
    assert {"bottleneck", "loads"} <= set(listing["objectives"])
    assert "mopt" in str(optmap.list("methods"))
    with pytest.raises(UnknownNameError, match="did you mean networks"):
        optmap.list("network")
    with pytest.raises(UnknownNameError, match=r"networks: .*resnet18"):
        optmap.show("nosuchthing")


def test_methods_say_what_can_be_set_of_them_and_what_it_is_for():
    listed = {entry["name"]: entry for entry in optmap.list("methods").to_dict()["methods"]}
    assert listed["random"]["settings"][0]["name"] == "victory"
    assert listed["random"]["settings"][0]["default"] == "500"
    assert "settings" not in listed["mopt"]
    assert all(own["help"] for entry in listed.values() for own in entry.get("settings", ()))
    assert "--set victory=500" in str(optmap.list("methods"))
    shown = optmap.show("random")
    assert "--set timeout=1000" in str(shown)
    assert "edp, energy, cycles, port-cycles, traffic on accelerators" in str(shown)
    assert shown.to_dict()["settings"] == listed["random"]["settings"]
    assert "bottleneck" in str(optmap.show("mopt"))
    assert optmap.show("gemmini").kind == "machine"  # a machine and a method: the machine is shown


def test_export_and_derive(tmp_path):
    text = optmap.export(PRODUCT, memory="40w", format="lp", path=tmp_path / "p.lp")
    assert (tmp_path / "p.lp").read_text() == text
    with pytest.raises(UnknownNameError, match="unknown format 'lpp'"):
        optmap.export(PRODUCT, memory="40w", format="lpp")
    with pytest.raises(InputError, match="exactly once"):
        optmap.derive(PRODUCT, permutation=("i", "j"))


def test_pictures(answers, tmp_path):
    import matplotlib as mpl

    mpl.use("Agg")
    for name in ("solve", "compare", "algorithms"):
        path = answers[name].plot(tmp_path / f"{name}.png")
        assert path.stat().st_size > 5000
    with pytest.raises(InputError, match="BoundReport has no picture"):
        answers["bound"].plot()


def test_a_sweep_over_cache_sizes(tmp_path):
    spec = {"workloads": ["resnet18/R12"], "capacities": {"from": "8KiB", "to": "64KiB", "points": 2}}
    assert optmap.plan(spec).points == 4
    optmap.sweep(spec, tmp_path / "s", engine="inline")
    frame = optmap.read_sweep(tmp_path / "s")
    assert len(frame) == 4
    row = frame[frame["method"] == "mopt"].iloc[0]
    assert optmap.sweep_document(tmp_path / "s", row)["method"] == "mopt"
    drawn = optmap.plot(tmp_path / "s", format="svg")
    assert drawn.files
    assert all(Path(file).exists() for file in drawn.files)
    assert "pictures in" in str(drawn)
