"""Exit codes, pipes and progress: what the command line does around an answer."""

from __future__ import annotations

import io
import sys
import time
from contextvars import Context
from pathlib import Path

import pytest
import typer

from optmap.base.errors import (
    CheckError,
    InfeasibleError,
    InputError,
    LimitError,
    OptmapError,
    SolverUnavailableError,
)
from optmap.cli import console, progress


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("bad"), 2),
        (SolverUnavailableError("missing"), 2),
        (InfeasibleError("nothing fits"), 3),
        (LimitError("too long"), 4),
        (CheckError("untrue"), 5),
    ],
)
def test_errors_become_exit_codes(capsys: pytest.CaptureFixture[str], error: OptmapError, code: int) -> None:
    def command() -> None:
        raise error

    with pytest.raises(typer.Exit) as stop:
        console.guarded(command)()
    assert stop.value.exit_code == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"error: {error}\n"


def test_a_bug_is_not_disguised_as_bad_input() -> None:
    def command() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        console.guarded(command)()


def test_a_command_does_not_silence_the_error_document_of_the_next_one(optmap) -> None:
    assert optmap("list", "objectives", "--json").document()
    for _ in range(2):
        assert optmap("list", "--nosuch", "--json", code=2).document()["error"]["exit"] == 2


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("list", "objectives"), 0),
        (("show", "nosuch"), 2),
        (("solve", "C[i,j] += A[i,k]*B[k,j]", "--extents", "i=8,j=8,k=8", "--memory", "2w"), 3),
        (("solve", "yolo9000/Y23", "--machine", "balanced", "--time-limit", "0.001"), 4),
        (("check", "forged.json"), 5),
        (("frobnicate",), 2),
    ],
)
def test_a_process_ends_with_the_code_and_text_of_the_command(
    optmap, optmap_process, tmp_path: Path, args: tuple[str, ...], code: int
) -> None:
    (tmp_path / "forged.json").write_text('{"schema": "optmap.certificate/1"}')
    here, there = (run(*args, cwd=tmp_path, code=code) for run in (optmap, optmap_process))
    if code != 4:  # that one prints how long it took
        assert here == there


class Terminal(io.StringIO):
    """A stderr that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_is_drawn_on_a_terminal_and_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "PATIENCE_S", 0.0)
    monkeypatch.setattr(progress, "REFRESH_S", 0.01)
    with progress.Progress("solving") as tell:
        tell("branching", 0.25)
        give_up = time.monotonic() + 30
        while "branching  25 %" not in screen.getvalue() and time.monotonic() < give_up:
            time.sleep(0.01)
    assert "branching  25 %" in screen.getvalue()
    assert screen.getvalue().endswith("\r\x1b[K")


def test_progress_is_silent_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    monkeypatch.setattr(progress, "PATIENCE_S", 0.0)
    monkeypatch.setattr(progress, "REFRESH_S", 0.01)
    with progress.Progress("solving") as tell:
        tell("branching", 0.25)
        time.sleep(0.1)
    assert pipe.getvalue() == ""


def test_verbose_writes_lines_and_quiet_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def said(choice: str, stream: io.StringIO) -> str:
        def work() -> None:
            getattr(console, choice)(True)
            with progress.Progress("solving") as tell:
                tell("branching", 0.25)
                give_up = time.monotonic() + (30 if choice == "tell_all" else 0.1)
                while "branching" not in stream.getvalue() and time.monotonic() < give_up:
                    time.sleep(0.01)
            console.note("beside")

        monkeypatch.setattr(sys, "stderr", stream)
        Context().run(work)
        return stream.getvalue()

    monkeypatch.setattr(progress, "PATIENCE_S", 0.01)
    monkeypatch.setattr(progress, "REFRESH_S", 0.01)
    assert said("tell_all", io.StringIO()).startswith("branching  25 % (0 s)\n")
    assert said("hush", Terminal()) == ""


def test_quiet_and_verbose_are_options_of_every_command(optmap) -> None:
    for option in ("--quiet", "--verbose"):
        assert optmap("list", "objectives", option).out == optmap(option, "list", "objectives").out


def test_short_work_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "PATIENCE_S", 3600.0)
    with progress.Progress("solving"):
        pass
    assert screen.getvalue() == ""
