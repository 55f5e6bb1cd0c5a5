"""What a command imports: nothing heavy that its own work does not use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import pytest
import typer

from optmap.cli import main
from optmap.cli.app import COMMANDS, app
from optmap.cli.values import spare
from optmap.machines.machine import CapacityRule

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {
    "pyomo", "sympy", "scipy", "scipy.optimize", "cyipopt", "matplotlib", "plotly", "pandas", "pyarrow", "distributed",
    "dask", "onnx", "duckdb",
}  # fmt: skip
NUMBERS = {"numpy", "highspy"}
CONVERTING = {"pydantic", "pydantic_core"}
"""What Typer converts numbers and choices with; texts, paths and defaults need none of it."""
SCRIPT = """
import io, json, sys
sys.argv = ["optmap", *sys.argv[1:]]
from optmap.cli import main
out, sys.stdout = sys.stdout, io.StringIO()
code = main()
sys.stdout = out
print(json.dumps({"code": code, "modules": sorted(sys.modules)}))
"""


def modules(*args: str | Path) -> set[str]:
    """Modules loaded when a command has ended well."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, args)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["code"] == 0, done.stderr
    return set(found["modules"])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("startup")
    made = {name: folder / f"{name}.json" for name in ("certificate", "solution")}
    modules("bound", "resnet18/R9", "--memory", "8192w", "-o", made["certificate"])
    loaded = modules("solve", "resnet18/R12", "--machine", "balanced", "-o", made["solution"])
    assert not loaded & (HEAVY - {"scipy", "scipy.optimize", "cyipopt"})  # cyipopt brings SciPy
    return made


@pytest.mark.parametrize("args", [("list",), ("show", "resnet18/R9"), ("show", "i7-9700k"), ("network", "resnet18")])
def test_listings_load_no_numbers_and_no_other_command(args):
    loaded = modules(*args)
    assert not loaded & (HEAVY | NUMBERS | CONVERTING | {"importlib.metadata"})
    assert loaded & {f"optmap.cli.{module}" for module in COMMANDS.values()} == {f"optmap.cli.{COMMANDS[args[0]]}"}


def test_a_check_loads_the_checker_alone(files):
    for path in files.values():
        loaded = modules("check", path)
        assert not loaded & (HEAVY | NUMBERS | CONVERTING)
        assert not {
            name for name in loaded if name.startswith(("optmap.report.answers.bounds", "optmap.search.papers.mopt"))
        }


def test_bound_and_evaluate_load_no_solver_and_no_model(files):
    assert not modules("bound", "yolo9000/Y4", "--memory", "65536w") & (HEAVY | CONVERTING)
    assert not modules("evaluate", files["solution"]) & (HEAVY | CONVERTING | {"highspy"})


def test_every_command_is_where_the_table_says():
    group = typer.main.get_command(app)
    context = group.make_context("optmap", ["--version"], resilient_parsing=True)
    assert [group.get_command(context, name).name for name in group.list_commands(context)] == list(COMMANDS)


def test_a_misspelt_command_is_compared_with_all(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["optmap", "evaluat"])
    assert main() == 2
    assert "Did you mean 'evaluate'" in capsys.readouterr().err


def test_values_that_need_no_conversion_are_the_same_as_converted(tmp_path):
    seen = {}
    part = typer.Typer(add_completion=False)

    @part.command()
    def take(
        *,
        name: str,
        file: Path,
        cores: Annotated[int, typer.Option(min=1)] = 1,
        rule: CapacityRule = CapacityRule.TILE,
        extents: str | None = None,
        many: list[str] | None = None,
        plain: bool = False,
    ) -> None:
        seen.update(locals())

    for words in (
        ["a", "b.json"],
        ["ü", str(tmp_path), "--plain", "--many", "x", "--many", "y"],
        ["a", "b", "--cores", "3", "--rule", "safe", "--extents", "i=1"],
    ):
        answers = []
        for spared in (False, True):
            command = typer.main.get_command(part)
            if spared:
                spare(command.params)
            command.main(words, standalone_mode=False)
            answers.append({name: seen[name] for name in sorted(seen)})
        assert answers[0] == answers[1]
        assert [type(value) for value in answers[0].values()] == [type(value) for value in answers[1].values()]


def test_a_folder_that_may_not_be_read_is_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(sys, "argv", ["optmap", "check", str(tmp_path)])
    assert main() == 2


def test_the_package_itself_loads_nothing():
    code = "import optmap, sys; dir(optmap); print('\\n'.join(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    loaded = set(out.split())
    assert not loaded & (HEAVY | NUMBERS | {"yaml", "typer"})
    assert not loaded & {"optmap.workloads", "optmap.machines", "optmap.mappings"}
