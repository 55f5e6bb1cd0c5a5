"""Plug-ins: methods of one's own in every verb, in every process that works for it, and at the shell."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from cases import cases
from shell import run
from toys import one_point

import optmap
from optmap.base.errors import InputError
from optmap.count.policies import POLICIES
from optmap.interchange import FORMATS
from optmap.machines.traits import TRAITS
from optmap.questions.objective import OBJECTIVES
from optmap.search import (
    METHODS,
    PLUGINS,
    Found,
    Method,
    Plugin,
    Question,
    Route,
    code_digest,
    is_shared,
    load_plugin,
    register_method,
)
from optmap.search.methods import HOMES
from optmap.sweeps import Options, answer_text, make_point, task_text

STATEMENT = "C[i,j] += A[i,k]*B[k,j]"
SIZES = ("--extents", "i=6,j=6,k=6")


pytestmark = pytest.mark.usefixtures("registry")


def test_a_plugin_is_loaded_once_by_its_file(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = load_plugin(toy)
    assert found == Plugin(
        name=str(toy.resolve()),
        methods=("points", "banked"),
        objectives=("squared",),
        policies=("accelerators-anew",),
        traits=("banks",),
        formats=("line",),
    )
    assert load_plugin(str(toy)) is found
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "said as it is imported\n")
    assert is_shared("points")
    assert is_shared("mopt")
    assert code_digest("points") != code_digest("mopt") == ""


def test_a_plugin_is_loaded_by_its_name(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(toy.parent)
    toy.rename(toy.with_name("named_toy.py"))
    assert load_plugin("named_toy").methods == ("points", "banked")
    del sys.modules["named_toy"]


def test_a_module_that_was_imported_before_is_a_plugin_all_the_same(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(toy.parent)
    toy.rename(toy.with_name("earlier_toy.py"))
    __import__("earlier_toy")
    assert not is_shared("points")
    assert load_plugin("earlier_toy").methods == ("points", "banked")
    assert is_shared("points")
    del sys.modules["earlier_toy"]


def test_methods_without_a_file_are_of_no_module_without_one() -> None:
    mine = {**vars(sys.modules[__name__]), "__file__": None}
    exec("register_method(Method(name='mine', description='of a notebook'))", mine)
    assert HOMES["mine"] is None
    assert load_plugin("builtins").methods == ()
    assert not is_shared("mine")


@pytest.mark.parametrize("place", ["before", "after"])
def test_solve_compare_and_list_know_its_method(toy: Path, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = (("--plugin", toy), ()) if place == "before" else ((), ("--plugin", toy))
    out, err = run(*before, "list", "methods", *after, capsys=capsys)
    assert "points" in out
    assert "said as it is imported" in err
    problem = (STATEMENT, *SIZES, "--memory", "40w", "--json")
    out, _ = run(*before, "solve", *problem, "--method", "points", *after, capsys=capsys)
    assert json.loads(out)["method"] == "points"
    out, _ = run(*before, "compare", *problem, "--methods", "mopt,points", *after, capsys=capsys)
    assert "points" in json.loads(out)["methods"]


def test_without_it_the_method_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = run("solve", STATEMENT, *SIZES, "--memory", "40w", "--method", "points", capsys=capsys, code=2)
    assert "unknown method 'points'" in err


BAD = {
    "nothing = 1\n": (0, "note: plug-in {file} registers no method, objective, counting, trait or format"),
    "x = 1\nraise ValueError('no good')\n": (2, "plug-in {file}: line 2: ValueError: no good"),
    "import sys\nsys.exit(7)\n": (2, "plug-in {file}: line 2: SystemExit: 7"),
    "def f(:\n": (2, "plug-in {file}: line 1: SyntaxError: "),
    "import not_there_at_all\n": (2, "plug-in {file}: line 1: ModuleNotFoundError: No module named 'not_there_at_all'"),
    "from optmap.search import METHODS, register_method\n\nregister_method(METHODS['mopt'])\n": (
        2,
        "plug-in {file}: line 3: method 'mopt' exists; choose another name",
    ),
}


@pytest.mark.parametrize("text", BAD)
def test_what_is_wrong_with_one_is_said_with_its_line(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = BAD[text]
    file = tmp_path / "bad.py"
    file.write_text(text)
    for _ in range(2):  # and as well when it is tried again
        out, err = run("list", "machines", "--plugin", file, "--json", capsys=capsys, code=code)
        assert said.format(file=file) in err
        assert err.count("\n") == 1
        assert json.loads(out)["schema"] == ("optmap.error/1" if code else "optmap.list/1")


def test_nothing_stays_of_one_that_fails(toy: Path) -> None:
    toy.write_text(toy.read_text() + "\nraise ValueError\n")
    with pytest.raises(InputError, match="ValueError: it ends the program"):
        load_plugin(toy)
    for name, place in (
        ("points", METHODS),
        ("points", HOMES),
        ("squared", OBJECTIVES),
        ("accelerators-anew", POLICIES),
    ):
        assert name not in place
    assert "banks" not in TRAITS
    assert "line" not in FORMATS


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no.such.module", r"no such module \(no\) where Python looks"),
        ("absent.py", r"absent\.py: no such file"),
        ("a-b", "no name of a module"),
        ("", "give the name of a module"),
        ("toy", r"toy\.py is here: --plugin toy\.py"),
        ("tpy.py", r"no such file; did you mean toy\.py or toys\.py\?"),
    ],
)
def test_what_is_no_plugin_is_refused(name: str, said: str, toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(toy.parent)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry not in ("", str(toy.parent))])
    with pytest.raises(InputError, match=said):
        load_plugin(name)


SPEC = "workloads: [resnet18/R12]\ncapacities: {values: [8192w, 4096w]}\nmethods: [bound, points]\n"


def test_a_sweep_has_its_workers_import_it(toy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(SPEC)
    args = ("sweep", spec, "-o", tmp_path / "kept", "--plugin", toy, "--jobs", "2", "--json")
    out, _ = run(*args, capsys=capsys)
    assert json.loads(out)["answered"] == 4
    frame = optmap.read_sweep(tmp_path / "kept")
    assert set(frame["method"]) == {"bound", "points"}
    assert set(frame["error"]) == {""}
    out, _ = run(*args, capsys=capsys)
    assert json.loads(out)["reused"] == 4


def test_a_race_has_its_workers_import_it(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = (STATEMENT, *SIZES, "--machine", "eyeriss_like", "--methods", "points", "--evaluations", "40", "--json")
    out, _ = run("race", *args, "--engine", "local", "--jobs", "2", "--plugin", toy, capsys=capsys)
    assert '"points"' in out
    assert not json.loads(out)["layers"][0].get("left_out")


def test_all_four_verbs_from_a_shell(toy: Path, tmp_path: Path) -> None:
    import os
    import subprocess

    (tmp_path / "spec.yaml").write_text(SPEC)
    problem = (STATEMENT, *SIZES)
    commands = [
        ("solve", *problem, "--memory", "40w", "--method", "points"),
        ("compare", *problem, "--memory", "40w", "--methods", "mopt,points"),
        (
            *("race", *problem, "--machine", "eyeriss_like", "--methods", "points", "--evaluations", "40"),
            *("--engine", "local", "--jobs", "2"),
        ),
        ("sweep", "spec.yaml", "--jobs", "2"),
    ]
    environment = {**os.environ, "PYTHONPATH": str(Path(optmap.__file__).parents[1])}
    for command in commands[: cases(1, len(commands))]:
        words = [sys.executable, "-m", "optmap", "--plugin", toy.name, *command]
        done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        assert command[0] == "sweep" or "points" in done.stdout


def test_workers_that_do_not_have_it_say_so_in_the_row(toy: Path) -> None:
    load_plugin(toy)
    workload, machine = optmap.workload("resnet18/R12"), optmap.machine(memory="4096w")
    point = make_point(workload, machine, level="Fast", method="points", options=Options(), seed=0)
    text = task_text(point)
    assert json.loads(text)["plugins"] == [str(toy.resolve())]
    toy.unlink()
    PLUGINS.clear()
    row = json.loads(answer_text(text))["row"]
    assert row["stop"] == "error"
    assert f"{toy}: no such file" in row["error"]


def test_answers_of_a_method_whose_code_has_changed_are_others(toy: Path) -> None:
    workload, machine = optmap.workload("resnet18/R12"), optmap.machine(memory="4096w")

    def hashed() -> str:
        point = make_point(workload, machine, level="Fast", method="points", options=Options(), seed=0)
        return point.input_hash

    load_plugin(toy)
    first = hashed()
    assert hashed() == first
    toy.write_text(toy.read_text() + "\n# another version\n")
    assert hashed() != first


def test_a_method_that_a_script_registers_is_swept_in_its_process(tmp_path: Path) -> None:
    """Others are answered by workers; a network that is solved with it works as well."""
    import os

    seen: list[int] = []

    def mine(question: Question) -> Found:
        seen.append(os.getpid())
        return one_point(question)

    register_method(Method(name="mine", description="", routes=(Route(solve=mine, objectives=("bottleneck",)),)))
    spec = {"workloads": ["resnet18/R12"], "capacities": {"values": ["4096w"]}, "methods": ["bound", "mine"]}
    tally = optmap.sweep(spec, tmp_path / "kept", engine="local", jobs=2)
    assert (tally.points, tally.failed) == (2, 0)
    assert seen == [os.getpid()]
    frame = optmap.read_sweep(tmp_path / "kept")
    assert list(frame[frame["method"] == "mine"]["error"]) == [""]
    file = tmp_path / "net.yaml"
    file.write_text(f'workloads:\n  a: {{expression: "{STATEMENT}", extents: {{i: 6, j: 6, k: 6}}}}\n')
    assert "a" in str(optmap.network(file, memory="20w", method="mine", jobs=2))
    assert len(seen) == 2
