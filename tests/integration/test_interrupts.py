"""Ctrl-C and a termination: the best answer so far, as at a time limit; a second one ends the command at once."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from cases import some

from optmap import api
from optmap.base import clock
from optmap.cli import progress
from optmap.search import METHODS
from optmap.solvers import PointKind, Stop

from .conftest import ROOT, Command

LONG = ("resnet50/conv2", "--machine", "simba")
MATMUL = ("C[i,j] += A[i,k]*B[k,j]", "--extents", "i=640,j=512,k=768")
PATIENCE_S = 60.0


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Has a signal sent to this process as soon as a search says how it goes on."""

    def send(*signals: signal.Signals) -> None:
        left = list(signals)

        def tell(_: progress.Progress, text: str, fraction: float) -> None:
            del text, fraction
            while left:
                signal.raise_signal(left.pop(0))

        monkeypatch.setattr(progress.Progress, "__call__", tell)

    return send


@pytest.mark.parametrize(
    ("machine", "number"),
    some(
        [("balanced", signal.SIGINT), ("simba", signal.SIGTERM)],
        product(["balanced", "simba"], [signal.SIGINT, signal.SIGTERM]),
    ),
)
def test_a_signal_asks_for_the_best_so_far(
    optmap: Command, heard: Callable[..., None], machine: str, number: signal.Signals, tmp_path: Path
) -> None:
    heard(number)
    before = [signal.getsignal(each) for each in clock.SIGNALS]
    output = tmp_path / "answer.json"
    run = optmap("solve", "yolo9000/Y12", "--machine", machine, "--json", "-o", output, code=4)
    document = run.document()
    assert document["status"]["stop"] == "interrupted"
    assert document["mapping"]["levels"]
    assert document["bound"]["value"] > 0
    assert json.loads(output.read_text(encoding="utf-8"))["cost"] == document["cost"]
    assert "interrupted; the answer is the best one found so far" in run.err
    assert [signal.getsignal(each) for each in clock.SIGNALS] == before
    assert not clock.stopping()
    optmap("check", output)
    assert optmap("solve", *MATMUL, "--memory", "300w", "--json").document()["status"]["stop"] != "interrupted"


@pytest.mark.parametrize("method", ["mopt-algorithm1", "random"])
def test_where_nothing_was_found_yet_it_says_so(optmap: Command, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = METHODS[method]
    machine = "balanced" if name.explorer is None else "eyeriss"

    def at_once(*_: object) -> Any:
        signal.raise_signal(signal.SIGINT)
        return {}

    monkeypatch.setattr("optmap.cli.solving.settings_from", at_once)
    run = optmap("solve", "resnet18/R9", "--machine", machine, "--method", method, "--json", code=4)
    document = run.document()
    assert document["status"] == {"stop": "interrupted", "point": "none"}
    assert document["error"]["message"].startswith("interrupted before there was an answer")
    assert "error: interrupted before there was an answer" in run.err


def test_a_time_limit_that_is_reached_before_anything_is_found_says_so(optmap: Command) -> None:
    args = ("resnet18/R9", "--machine", "balanced", "--method", "mopt-algorithm1", "--time-limit", "0.0001")
    document = optmap("solve", *args, "--json", code=4).document()
    assert document["status"] == {"stop": "time_limit", "point": "none"}


@pytest.fixture
def default_interrupt() -> Iterator[None]:
    """Ctrl-C ends a program, also where whoever started it had it ignored, as shells do in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("default_interrupt")
def test_the_python_interface_leaves_signals_alone() -> None:
    """Unless it is asked to hear them."""

    def tell(text: str, fraction: float) -> None:
        del text, fraction
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        api.solve("yolo9000/Y12", machine="balanced", progress=tell)
    once = iter([signal.SIGINT])

    def tell_once(text: str, fraction: float) -> None:
        del text, fraction
        for number in once:
            signal.raise_signal(number)

    with clock.stop_on_signals():
        result = api.solve("yolo9000/Y12", machine="balanced", progress=tell_once)
    assert result.stop is Stop.INTERRUPTED
    assert result.point is not PointKind.NONE
    assert not clock.stopping()

    def tell_twice(text: str, fraction: float) -> None:
        tell(text, fraction)
        tell(text, fraction)

    with pytest.raises(KeyboardInterrupt), clock.stop_on_signals():
        api.solve("yolo9000/Y12", machine="balanced", progress=tell_twice)


def test_a_race_keeps_what_had_begun(optmap: Command, heard: Callable[..., None], tmp_path: Path) -> None:
    race = ("race", "resnet18/R11", "--machine", "eyeriss_like", "--methods", "random,cosa", "--budget", "600s")
    heard(signal.SIGINT)
    stopped = optmap(*race, "-o", tmp_path, "--json", code=4).document()
    assert stopped["interrupted"] is True
    (layer,) = stopped["layers"]
    assert layer["left_out"]["cosa"] == "interrupted before it began"
    assert json.loads((tmp_path / "race.json").read_text(encoding="utf-8"))["interrupted"] is True


@pytest.mark.parametrize("place", ["optmap.cli.app.spare", "optmap.cli.console._load_plugins"])
def test_an_interrupt_before_or_in_a_command_is_said_once(
    optmap: Command, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def at_once(*_: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(place, at_once)
    run = optmap("bound", "resnet18/R9", "--memory", "300w", code=130)
    assert run.err == "error: interrupted\n"
    assert not run.out


INTERRUPTS = """
import os, signal, sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPTED_AT"]:
            sys.meta_path.remove(self)
            exec("signal.raise_signal(signal.SIGINT)")

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupts())
"""
"""Python imports this when it starts: an interrupt comes when a module is about to be imported."""
BOUND = ("bound", *MATMUL, "--memory", "300w")
SCRIPT = "import sys\nfrom optmap.cli import main\nsys.exit(main())\n"


@pytest.mark.parametrize(
    "module", ["optmap.wiring", "optmap.cli", "typer", "optmap.cli.console", "optmap.cli.bounding", "optmap.bounds"]
)
@pytest.mark.parametrize("installed", [False, True])
def test_an_interrupt_while_it_starts_ends_it_with_one_line(tmp_path: Path, module: str, installed: bool) -> None:
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTS, encoding="utf-8")
    (tmp_path / "optmap").write_text(SCRIPT, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, *([str(tmp_path / "optmap")] if installed else ["-m", "optmap"]), *BOUND],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "INTERRUPTED_AT": module},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stderr == "error: interrupted\n"
    assert run.returncode == 130
    assert not run.stdout


def test_a_program_that_imports_the_package_keeps_its_handlers() -> None:
    text = "import signal; before = signal.getsignal(2); import optmap; print(signal.getsignal(2) is before)"
    command = [sys.executable, "-c", text]
    run = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )
    assert run.stdout == "True\n"


# in processes of their own, with signals at moments that they show themselves


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., tuple[subprocess.Popen[str], int]]]:
    """Starts commands with a terminal for stderr, where they show their progress."""
    processes, terminals = [], []

    def start(*args: str | Path) -> tuple[subprocess.Popen[str], int]:
        mine, theirs = pty.openpty()
        terminals.append(mine)
        process = subprocess.Popen(
            [sys.executable, "-m", "optmap", *map(str, args)],
            stdout=subprocess.PIPE,
            stderr=theirs,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        os.close(theirs)
        processes.append(process)
        return process, mine

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()
    for terminal in terminals:
        os.close(terminal)


def shown(terminal: int, text: str = "at most") -> str:
    """What a command shows until some text is among it."""
    found = b""
    until = time.monotonic() + PATIENCE_S
    while text.encode() not in found and time.monotonic() < until:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                found += os.read(terminal, 4096)
            except OSError:  # the command has ended
                break
    assert text.encode() in found, found.decode(errors="replace")
    return found.decode(errors="replace")


def ended(process: subprocess.Popen[str], terminal: int) -> tuple[str, str]:
    """stdout and the rest of stderr of a command that is about to end."""
    out, err = "", b""
    out = process.communicate(timeout=PATIENCE_S)[0]
    while select.select([terminal], [], [], 0)[0]:
        try:
            err += os.read(terminal, 65536)
        except OSError:
            break
    assert b"Traceback" not in err, err.decode(errors="replace")
    return out, err.decode(errors="replace")


def children(process: subprocess.Popen[str]) -> list[int]:
    """Processes that a process has started."""
    try:
        text = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii")
    except OSError:
        return []
    return [int(word) for word in text.split()]


def alive(pid: int) -> bool:
    """Whether a process is there, and not only waited for."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return False


@pytest.mark.parametrize("number", some([signal.SIGINT], [signal.SIGINT, signal.SIGTERM]))
def test_a_solve_ends_with_a_document_that_holds(
    optmap: Command, started: Callable[..., Any], number: signal.Signals, tmp_path: Path
) -> None:
    process, terminal = started("solve", *LONG, "--time-limit", "600", "--json", "-o", tmp_path / "answer.json")
    shown(terminal)
    process.send_signal(number)
    out, err = ended(process, terminal)
    assert process.returncode == 4
    assert json.loads(out)["status"]["stop"] == "interrupted"
    assert "stopping with the best so far" in err
    optmap("check", tmp_path / "answer.json")


def test_a_second_signal_ends_at_once(started: Callable[..., Any]) -> None:
    process, terminal = started("solve", *LONG, "--time-limit", "600")
    shown(terminal)
    for number in (signal.SIGINT, signal.SIGTERM):  # both are there when the first is heard, or one after the other
        process.send_signal(number)
    out, _ = ended(process, terminal)
    assert process.returncode == 128 + signal.SIGTERM
    assert not out


@pytest.mark.longer
def test_a_network_ends_with_the_layers_that_it_has(
    optmap: Command, started: Callable[..., Any], tmp_path: Path
) -> None:
    command = ("network", "resnet18", "--machine", "simba", "--time-limit", "600", "-o", tmp_path / "kept", "--json")
    process, terminal = started(*command, "--jobs", "1")
    shown(terminal, " of ")
    workers = children(process)
    assert workers
    process.send_signal(signal.SIGINT)
    out, _ = ended(process, terminal)
    assert process.returncode == 4
    document = json.loads(out)
    assert document.get("left_out") or document["error"]["message"].startswith("interrupted before")
    assert not any(alive(pid) for pid in workers)
    for solution in (tmp_path / "kept").glob("solutions/*/*.json"):
        optmap("check", solution)
