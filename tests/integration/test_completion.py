"""Completion: what a shell offers after a few letters, in a real bash where it can be, and what that loads."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import optmap as package
from optmap.cli import main
from optmap.cli.app import COMMANDS
from optmap.cli.completing import ASKED

from .conftest import Command

ROOT = Path(__file__).resolve().parents[2]
BASH = """
eval "$(optmap --completion bash)"
ask() {  # the words that have been typed, the last one maybe half
    COMP_WORDS=(optmap "$@"); COMP_CWORD=$#; COMPREPLY=()
    local function; function=$(complete -p optmap | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
    "$function" optmap "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
    echo "${COMPREPLY[@]}"
}
%s
"""
TYPED = {
    "": {"solve", "bound", "doctor", "closed-form"},
    "so": {"solve"},
    "solve resnet18/R1": {"resnet18/R1", "resnet18/R10", "resnet18/R12"},
    "solve resnet18/R9 --mach": {"--machine"},
    "solve resnet18/R9 --machine i": {"i7-9700k", "i9-10980xe"},
    "solve resnet18/R9 --method mo": {"mopt"},
    "solve resnet18/R9 --objective bott": {"bottleneck"},
    "solve resnet18/R9 --tiles div": {"divisors"},
    "solve resnet18/R9 --machine i7-9700k --innermost L": {"L1", "L2", "L3"},
    "compare resnet18/R9 --methods mopt,mo": {"mopt,mopt"},
    "bound resnet18/R9 --methods proj": {"projective"},
    "network resnet18 --machine i7-9700k --curve --level L": {"L1", "L2", "L3"},
    "network resnet1": {"resnet18"},
    "sweep yolo": {"yolo_caches"},
    "list meth": {"methods"},
    "show i7": {"i7-9700k"},
    "solve 'C[i,": set(),
    "solve x --machine nosuch.yaml --innermost ": set(),
    "--version so": {"solve"},
}
"""What is typed, the last word half, and names that have to be offered then."""


def _words(typed: str) -> list[str]:
    """The words of a line; a blank at its end begins one more."""
    words = typed.replace("'", "").split(" ")
    return words if typed else [""]


@pytest.fixture(scope="module")
def offered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """What a real bash offers for every line, asked in one process of it."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    folder = tmp_path_factory.mktemp("program")
    program = folder / "optmap"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m optmap "$@"\n')
    program.chmod(0o755)
    asked = "\n".join(f"ask {shlex.join(_words(typed))}" for typed in BASH_TYPED)
    done = subprocess.run(
        [bash, "--norc", "-c", BASH % asked],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"},
        check=True,
    )
    assert done.stderr == ""
    lines = done.stdout.split("\n")
    return {typed: set(line.split()) for typed, line in zip(BASH_TYPED, lines, strict=False)}


BASH_TYPED = [
    "",
    "solve resnet18/R1",
    "solve resnet18/R9 --machine i",
    "solve resnet18/R9 --machine i7-9700k --innermost L",
]
"""Those that a process is started for."""


@pytest.mark.parametrize("typed", BASH_TYPED)
def test_a_real_bash_offers_names(offered: dict[str, set[str]], typed: str) -> None:
    last = _words(typed)[-1]
    assert offered[typed] >= TYPED[typed]
    assert all(each.startswith(last) for each in offered[typed])


@pytest.mark.parametrize("typed", TYPED)
def test_names_are_offered(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str) -> None:
    words = _words(typed)
    monkeypatch.setenv(ASKED, "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "\n".join(["optmap", *words]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    with pytest.raises(SystemExit) as end:
        main([])
    assert end.value.code == 0
    said = capsys.readouterr()
    found = set(said.out.split())
    assert found >= TYPED[typed]
    assert all(each.startswith(words[-1]) for each in found)
    assert bool(found) == bool(TYPED[typed])
    assert said.err == ""


def test_all_commands_are_offered(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(ASKED, "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "optmap\n")
    monkeypatch.setenv("COMP_CWORD", "1")
    with pytest.raises(SystemExit):
        main([])
    assert capsys.readouterr().out.split() == list(COMMANDS)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_ask_alike(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], shell: str
) -> None:
    monkeypatch.setenv(ASKED, f"complete_{shell}")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "optmap solve resnet18/R9 --machine i")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    with pytest.raises(SystemExit):
        main([])
    said = capsys.readouterr().out
    assert all(name in said for name in package.list("machines").kinds["machines"] if name.startswith("i"))
    assert "eyeriss" not in said


@pytest.mark.parametrize(("shell", "has"), [("bash", "complete -o default"), ("zsh", "#compdef"), ("fish", "complete")])
def test_every_shell_has_a_script(optmap: Command, shell: str, has: str) -> None:
    said = optmap("--completion", shell).out
    assert said.startswith(has) or has in said
    assert ASKED in said


def test_an_unknown_shell_is_refused(optmap: Command) -> None:
    assert "'bash', 'zsh', 'fish'" in optmap("--completion", "tcsh", code=2).err


COMPLETING = """
import json, sys
from optmap.cli import main
try:
    main()
except SystemExit:
    print(json.dumps(sorted(sys.modules)))
"""


def test_completing_loads_no_numbers_and_no_solver() -> None:
    words = ["optmap", "solve", "resnet18/R9", "--machine", "i7-9700k", "--innermost", "L"]
    done = subprocess.run(
        [sys.executable, "-c", COMPLETING],
        capture_output=True,
        text=True,
        timeout=60,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            ASKED: "complete_bash",
            "COMP_WORDS": "\n".join(words),
            "COMP_CWORD": str(len(words) - 1),
        },
        check=True,
    )
    *names, loaded = done.stdout.splitlines()
    assert {"L1", "L2"} <= set(names)
    assert not {"numpy", "scipy", "highspy", "pyomo", "sympy", "matplotlib", "pydantic"} & set(json.loads(loaded))
