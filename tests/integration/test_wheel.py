"""The wheel is complete: installed elsewhere it finds its models and its solver configuration."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("dist")
    options = ["--wheel", "--no-isolation", "--skip-dependency-check", "--outdir", str(target)]
    command = [sys.executable, "-m", "build", *options, str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = target.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--no-deps", "--no-index"]
    done = subprocess.run(
        [*command, "--target", str(target), str(wheel)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return target


def test_contents(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for kind in ("workloads", "machines"):
        kept = {f"optmap/_data/models/{kind}/{path.name}" for path in (ROOT / "models" / kind).glob("*.yaml")}
        assert kept
        assert kept <= names
    assert "optmap/_data/solvers.cfg" in names
    assert not [name for name in names if name.startswith("tests/") or "__pycache__" in name]


def test_lists_are_those_of_the_checkout(optmap, optmap_process, installed: Path, tmp_path: Path) -> None:
    for kind in ("workloads", "machines"):
        here = optmap("list", kind)
        there = optmap_process("list", kind, cwd=tmp_path, path=installed)
        assert here.out == there.out


def test_the_installed_package_is_the_one_that_runs(installed: Path, tmp_path: Path) -> None:
    script = (
        "import optmap, optmap.files.library as l; print(optmap.__file__, l.models_path(), l.solvers_config_path())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        env={"PYTHONPATH": str(installed)},
        check=True,
    )
    assert all(place.startswith(str(installed)) for place in done.stdout.split())


def test_solves_from_the_wheel(optmap_process, installed: Path, tmp_path: Path) -> None:
    args = ("solve", "C[i,j] += A[i,k]*B[k,j]", "--extents", "i=8,j=8,k=8", "--memory", "64w", "--json")
    document = optmap_process(*args, cwd=tmp_path, path=installed).document()
    assert document["status"]["stop"] == "optimal"
