"""Every command in a process of its own, beside libraries that write to descriptor 1: stdout is one document."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from cases import some
from host_machines import AVX512

from optmap.base.writing import to_json
from optmap.files.machines import machine_document

ROOT = Path(__file__).resolve().parents[2]
LOUD = """
import ctypes, os
import cyipopt, highspy

def shout():
    os.write(1, b"at once: a library names itself\\n")
    ctypes.CDLL(None).printf(b"later: a library names itself\\n")

class Highs(highspy.Highs):
    def __init__(self):
        shout()
        super().__init__()
        shout()
    def run(self):
        shout()
        return super().run()

class Problem(cyipopt.Problem):
    def solve(self, *args, **kwargs):
        shout()
        return super().solve(*args, **kwargs)

highspy.Highs, cyipopt.Problem = Highs, Problem
"""
"""A `sitecustomize.py`."""
SMALL = ("C[i,j] += A[i,k]*B[k,j]", "--extents", "i=16,j=16,k=16")
LAYER = ("Out[n,k,h,w] += In[n,c,h+r,w+s]*Ker[k,c,r,s]", "--extents", "n=1,k=16,c=8,h=10,w=10,r=3,s=3")
ACCELERATOR = ("--machine", "eyeriss_like", "--objective", "edp")
COMMANDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "list": ((),),
    "show": (("resnet18/R9",),),
    "derive": ((*SMALL, "--classes"), ("tccg/ab-ac-cb", "--closed-form", "--memory", "64KiB")),
    "closed-form": (SMALL,),
    "solve": ((*LAYER, "--machine", "i7-9700k"), (*SMALL, *ACCELERATOR, "--method", "allocation")),
    "bound": (("yolo9000/Y4", "--memory", "65536w"), (*LAYER, "--machine", "i7-9700k")),
    "compare": ((*SMALL, "--memory", "256w", "--methods", "mopt,iooub"),),
    "curve": ((*SMALL, "--memory", "64w:256w", "--within", "50"),),
    "race": ((*SMALL, "--machine", "gemmini", "--methods", "random,allocation", "--budget", "1s"),),
    "algorithms": (("resnet18/R9", "--memory", "32KiB"),),
    "randomized": (("--extents", "d=50,m=40,n=60", "--memory", "100w", "--cost", "9"),),
    "check": (("solution.json",),),
    "evaluate": (("solution.json",),),
    "conformance": ((str(ROOT / "tests" / "data" / "timeloop_conformance.json"),),),
    "export": ((*SMALL, "--memory", "1024w", "--format", "lp"),),
    "doctor": ((),),
    "detect": (("--quick",),),
    "emit": ((*LAYER, "--machine", "host.yaml"),),
    "run": ((*LAYER, "--machine", "host.yaml", "--candidates", "1", "--seconds", "0.01"),),
    "bench": ((*LAYER, "--machine", "host.yaml", "--against", "onednn", "--candidates", "1", "--rounds", "2"),),
    "validate": ((*LAYER, "--machine", "host.yaml", "--samples", "3", "--rounds", "2", "--no-simulate"),),
    "sweep": (("sweep.yaml", "-o", "swept"),),
    "plot": (("swept",),),
    "network": (("resnet18", "--memory", "64KiB"),),
    "import": (("problem.yaml", "arch.yaml", "map.yaml"),),
    "score": (("problem.yaml", "arch.yaml", "map.yaml"),),
    "reproduce": (("quickflow", "Table I"),),
    "sensitivity": ((*SMALL, "--machine", "gemmini", "--samples", "8"),),
}
TEXTS = (
    ("bound", (*SMALL, "--memory", "256w"), "best"),
    ("solve", (*SMALL, "--memory", "256w"), "Mapping"),
    ("closed-form", (*SMALL, "--format", "latex"), "\\begin"),
    ("closed-form", (*SMALL, "--format", "python"), "def "),
    ("export", (*SMALL, "--memory", "1024w", "--format", "lp"), "max"),
)

Optmap = Callable[..., str]


@pytest.fixture(scope="module")
def optmap_among_loud_libraries(tmp_path_factory: pytest.TempPathFactory) -> Optmap:
    """Run ARGS in a new process where solvers write to descriptor 1; its stdout."""
    folder = tmp_path_factory.mktemp("loud")
    (folder / "sitecustomize.py").write_text(LOUD)
    (folder / "host.yaml").write_text(to_json(machine_document(AVX512)))
    (folder / "sweep.yaml").write_text(
        f'workloads: ["{SMALL[0]}"]\nextents: {{i: 16, j: 16, k: 16}}\n'
        "capacities: {from: 256w, to: 1024w, points: 2, scale: log}\nmethods: [bound, mopt]\n"
    )
    path = os.pathsep.join((str(folder), str(ROOT)))

    def run(*args: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "optmap", *args],
            capture_output=True,
            text=True,
            timeout=300,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path},
            check=False,
        )
        assert done.returncode == 0, (args, done.stdout[-1000:], done.stderr[-2000:])
        return done.stdout

    return run


@pytest.fixture(scope="module")
def files(optmap_among_loud_libraries: Optmap) -> Callable[[str], None]:
    """Makes what a command reads, once, when it is asked for."""

    @cache
    def make(name: str) -> None:
        run = optmap_among_loud_libraries
        if name == "solution.json":
            run("solve", *LAYER, "--machine", "i7-9700k", "-o", name)
        elif name == "swept":
            run("sweep", "sweep.yaml", "-o", name)
        elif name == "map.yaml":
            run("solve", *SMALL, *ACCELERATOR, "-o", "accelerator.json")
            run("export", "accelerator.json", "--format", "timeloop", "-o", ".")

    return make


EVERY = [(command, args) for command, several in COMMANDS.items() for args in several]
FEW = ("check", "race")
"""Of the commands, one that has processes run solvers, and one that runs none."""


@pytest.mark.parametrize(("command", "args"), some([(name, COMMANDS[name][0]) for name in FEW], EVERY))
def test_json_is_one_document(
    optmap_among_loud_libraries: Optmap, files: Callable[[str], None], command: str, args: tuple[str, ...]
) -> None:
    for name in args if command != "sweep" else ():
        files(name)
    document = json.loads(optmap_among_loud_libraries(command, *args, "--json"))
    assert document["schema"].startswith("optmap.")


@pytest.mark.parametrize(("command", "args", "expected"), some([TEXTS[4]], TEXTS))
def test_text_is_only_the_answer(
    optmap_among_loud_libraries: Optmap, command: str, args: tuple[str, ...], expected: str
) -> None:
    text = optmap_among_loud_libraries(command, *args)
    assert expected in text
    assert "names itself" not in text


def test_the_libraries_are_loud(optmap_among_loud_libraries: Optmap, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(LOUD)
    done = subprocess.run(
        [sys.executable, "-c", "import highspy; highspy.Highs().run()"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        check=True,
    )
    assert done.stdout.count("names itself") == 6


def test_every_command_is_tried(optmap) -> None:  # type: ignore[no-untyped-def]
    listed = optmap("--help").out.split("Commands:")[1].split("\n\n")[0]
    assert {line.split()[0] for line in listed.splitlines() if line[:2] == "  " and line[2:3].isalpha()} == set(
        COMMANDS
    )
