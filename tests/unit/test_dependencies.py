"""What optmap depends on is bounded on both sides, locked, and installed from the lock."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
import venv
from pathlib import Path
from typing import Any

import against_versions
import pytest
from against_versions import LOCK, direct, floor, main, without_upper_limits
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = ROOT / "pyproject.toml"
DIRECT = direct(PYPROJECT)


def locked() -> dict[str, str]:
    lines = [line for line in (ROOT / LOCK).read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return dict(line.split("==") for line in lines)


def requirements() -> list[Requirement]:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
    texts = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    texts += [text for extra in project["project"]["optional-dependencies"].values() for text in extra]
    return [r for r in map(Requirement, texts) if r.name != "optmap"]


@pytest.mark.parametrize("requirement", requirements(), ids=str)
def test_every_dependency_is_bounded_on_both_sides(requirement: Requirement) -> None:
    operators = {s.operator for s in requirement.specifier}
    assert operators in ({"=="}, {">=", "<"})
    assert requirement.specifier.contains(floor(requirement))


@pytest.mark.parametrize("name", sorted(DIRECT))
def test_what_is_locked_is_admitted(name: str) -> None:
    assert DIRECT[name].specifier.contains(locked()[name])


def test_the_lock_is_of_names_in_order() -> None:
    names = list(locked())
    assert names == sorted(names)
    assert not {"optmap", "pip", "setuptools"} & set(names)


def test_the_newest_versions_are_tried_without_upper_limits() -> None:
    text = without_upper_limits(PYPROJECT.read_text(encoding="utf-8"))
    opened = tomllib.loads(text)["project"]
    assert "numpy>=2.0" in opened["dependencies"]
    assert "pandas>=2.2.2" in opened["optional-dependencies"]["sweep"]
    assert any(r.startswith("pytest>=") and "<" in r for r in opened["optional-dependencies"]["test"])
    assert opened["requires-python"] == ">=3.11,<3.14"


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], str]]:
    """What `main` runs, and the pyproject.toml that is there meanwhile; nothing is installed."""
    ran: list[tuple[list[str], str]] = []

    def copied(folder: Path) -> Path:
        folder.mkdir(parents=True)
        shutil.copy2(PYPROJECT, folder)
        return folder

    def run(command: list[str | Path], **options: Any) -> subprocess.CompletedProcess[str]:
        if "cwd" in options:
            ran.append(([str(word) for word in command], (options["cwd"] / PYPROJECT.name).read_text(encoding="utf-8")))
        return subprocess.CompletedProcess(command, 0, stdout="[]")

    monkeypatch.setattr(against_versions, "copied", copied)
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(venv, "create", lambda folder, **_: None)
    return ran


@pytest.mark.parametrize("way", ["newest", "oldest"])
def test_what_the_tests_read_has_its_limits(way: str, commands: list[tuple[list[str], str]]) -> None:
    assert main([way, "--", "-k", "highs"]) == 0
    (install, installed), (test, tested) = commands
    own = PYPROJECT.read_text(encoding="utf-8")
    assert install[2:4] == ["pip", "install"]
    assert installed == (without_upper_limits(own) if way == "newest" else own)
    assert test[2:] == ["pytest", "-n", "2", "-k", "highs"]
    assert tested == own


def test_all_tests_are_asked_for_by_an_option(commands: list[tuple[list[str], str]]) -> None:
    assert main(["oldest", "--longer"]) == 0
    assert commands[-1][0][2:] == ["pytest", "-n", "2", "-m", ""]


def test_a_folder_that_is_kept_may_be_named_from_here(
    commands: list[tuple[list[str], str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands run in the checkout, where a relative path would be another."""
    monkeypatch.chdir(tmp_path)
    assert main(["oldest", "--keep", "kept"]) == 0
    (install, _), (test, _) = commands
    assert install[0] == test[0] == str(tmp_path / "kept" / "environment" / "bin" / "python")
    assert install[install.index("-c") + 1] == str(tmp_path / "kept" / "limits.txt")
