"""A package that is installed brings its methods to the shell by an entry point."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from optmap.base.installed import installed_plugins

PACKAGE = Path(__file__).parents[1] / "data" / "plugin_package"
NEST = ("C[i,j] += A[i,k]*B[k,j]", "--extents", "i=8,j=6,k=4", "--machine", "balanced")


def optmap(site: Path, *args: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    ran = subprocess.run(
        [sys.executable, "-m", "optmap", *args],
        env={**os.environ, "PYTHONPATH": path},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == code, ran.stderr
    return ran


def placed(site: Path) -> Path:
    """The package as an installer leaves it."""
    shutil.copytree(PACKAGE / "optmap_toy", site / "optmap_toy")
    metadata = site / "optmap_toy-1.0.dist-info"
    metadata.mkdir()
    (metadata / "entry_points.txt").write_text(
        "[console_scripts]\nother = optmap_other:main\n\n[optmap.plugins]\n# toys\ntoy = optmap_toy\n", encoding="utf-8"
    )
    return site


def installed(site: Path) -> Path:
    """The package, installed by pip."""
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "--target", str(site), str(PACKAGE)], check=True, capture_output=True)
    return site


@pytest.mark.parametrize("put", [placed, pytest.param(installed, marks=pytest.mark.longer)])
def test_a_method_of_an_installed_package_is_known_to_every_command(put, tmp_path: Path) -> None:
    site = put(tmp_path)
    assert "ones  tiles of one iteration" in optmap(site, "list", "methods").stdout
    answer = json.loads(optmap(site, "solve", *NEST, "--method", "ones", "--json").stdout)
    assert answer["method"] == "ones"
    assert {size for level in answer["mapping"]["levels"] for size in level["tile"].values()} == {1}


def test_one_that_fails_is_left_out_with_a_note(tmp_path: Path) -> None:
    site = placed(tmp_path)
    (site / "optmap_toy" / "__init__.py").write_text("raise ValueError('not today')\n", encoding="utf-8")
    ran = optmap(site, "list", "objectives")
    assert "note: of an installed package, left out: plug-in optmap_toy: line 1: ValueError: not today" in ran.stderr
    assert "bottleneck" in ran.stdout


def test_every_module_is_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(placed(tmp_path)), str(tmp_path), str(tmp_path / "nowhere"), __file__])
    assert installed_plugins() == ("optmap_toy",)
