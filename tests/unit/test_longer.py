"""What the README's command leaves out is left out by the marker alone, and the longer command has all of it."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import cases
import longer
import pytest
from longer import ATTACKS, TABLES, Step, main, steps

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = {path.stem for path in (ROOT / "tests" / "benchmarks").glob("*.py") if not path.stem.startswith("test_")}


def test_every_script_attacks_or_measures() -> None:
    assert set(ATTACKS) | TABLES == SCRIPTS
    assert not set(ATTACKS) & TABLES


def test_all_tests_and_goldens_are_among_the_steps_and_versions_when_asked() -> None:
    made = {step.name: step.command for step in steps()}
    assert made["tests"][1:] == ("-m", "pytest", "-n", "2", "-m", "")
    assert [Path(word).name for word in made["goldens"][1:]] == ["goldens", "check"]
    assert [Path(word).name for word in made["site"][1:]] == ["build.py", "--notebooks"]
    assert {step.name for step in steps(versions=True)} - set(made) == {"versions: oldest", "versions: newest"}


def test_tests_are_left_out_by_the_marker_and_nothing_else() -> None:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    assert options["addopts"][-2:] == ["-m", cases.LEFT_OUT]
    assert [marker.split(":")[0] for marker in options["markers"]] == ["longer"]


def test_steps_are_run_told_and_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def step(name: str, code: str, alone: bool = False) -> Step:
        return Step(name=name, command=(sys.executable, "-c", code), alone=alone)

    made = [step("good", "print('all is well')", alone=True), step("bad", "print('one is wrong'); raise SystemExit(3)")]
    monkeypatch.setattr(longer, "steps", lambda versions: made)
    assert main(["--logs", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "[1/2] good: passed" in said
    assert "[2/2] bad: FAILED with exit code 3" in said
    assert "    one is wrong\n" in said
    assert said.endswith("2 steps, 1 failed\n")
    assert (tmp_path / "good.log").read_text(encoding="utf-8") == "all is well\n"
    assert main(["--only", "^good$", "--logs", str(tmp_path)]) == 0
    assert main(["--only", "good", "--list"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("good: ")
    with pytest.raises(SystemExit, match="2"):
        main(["--only", "nosuch"])


@pytest.mark.parametrize(("run", "number"), [(False, 3), (True, 20)])
def test_a_number_of_cases_is_that_of_the_run(run: bool, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases.Run, "longer", run)
    assert cases.cases(3, 20) == number


@pytest.mark.parametrize(("run", "left"), [(False, "ad"), (True, "abcde")])
def test_of_thinned_values_each_third_is_left_or_all(run: bool, left: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases.Run, "longer", run)
    assert cases.thinned("abcde", 3) == left


def test_some_values_are_for_every_run_and_all_are_there() -> None:
    def plain(values: list) -> list:
        return [each.values for each in values if not each.marks]

    spread = cases.some(2, range(6))
    assert [each.values for each in spread] == [(n,) for n in range(6)]
    assert plain(spread) == [(0,), (3,)]
    named = cases.some(["b"], ["a", "b", "c"])
    assert plain(named) == [("b",)]
    pairs = cases.some([("b", 2)], [("a", 1), ("b", 2)])
    assert plain(pairs) == [("b", 2)]
    twice = cases.some(1, cases.some(2, "abcd"))
    assert plain(twice) == [("a",)]
    with pytest.raises(AssertionError):
        cases.some(["z"], ["a", "b"])
