"""What optmap depends on is bounded on both sides, locked, and installed from the lock."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from against_versions import LOCK, direct, floor, without_upper_limits
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
