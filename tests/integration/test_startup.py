"""What a command imports: nothing heavy that its own work does not use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {
    "pyomo", "sympy", "scipy", "scipy.optimize", "cyipopt", "matplotlib", "plotly", "pandas", "pyarrow", "distributed",
    "dask", "onnx", "duckdb",
}  # fmt: skip
NUMBERS = {"numpy", "highspy"}
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
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
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
def test_listings_load_no_numbers(args):
    assert not modules(*args) & (HEAVY | NUMBERS)


def test_a_check_loads_the_checker_alone(files):
    for path in files.values():
        loaded = modules("check", path)
        assert not loaded & (HEAVY | NUMBERS)
        assert not {name for name in loaded if name.startswith(("optmap.report.bounds", "optmap.search.mopt"))}


def test_bound_and_evaluate_load_no_solver_and_no_model(files):
    assert not modules("bound", "yolo9000/Y4", "--memory", "65536w") & HEAVY
    assert not modules("evaluate", files["solution"]) & (HEAVY | {"highspy"})


def test_the_package_itself_loads_nothing():
    code = "import optmap, sys; dir(optmap); print('\\n'.join(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    loaded = set(out.split())
    assert not loaded & (HEAVY | NUMBERS | {"yaml", "typer"})
    assert "optmap.problem" not in loaded
