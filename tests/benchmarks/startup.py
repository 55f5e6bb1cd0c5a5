"""Seconds that commands take from the shell: `python tests/benchmarks/startup.py [RUNS [COMMAND …]]`."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

COMMANDS = {
    "list": ["list"],
    "show resnet18/R9": ["show", "resnet18/R9"],
    "bound yolo9000/Y4": ["bound", "yolo9000/Y4", "--memory", "65536w"],
    "check (bound)": ["check", "certificate.json"],
    "check (solution)": ["check", "solution.json"],
    "evaluate": ["evaluate", "solution.json"],
    "solve resnet18/R9": ["solve", "resnet18/R9", "--machine", "i7-9700k"],
}


def seconds(args: list[str], folder: str) -> tuple[float, float]:
    """Wall and processor time of one command."""
    begun, used = time.perf_counter(), processor()
    subprocess.run([sys.executable, "-m", "optmap", *args], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun, processor() - used


def processor() -> float:
    """Processor time of all commands so far; a busy machine changes it less than the wall time."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def main() -> None:
    """Print the median over several runs of every command, or of those named."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    named = sys.argv[2:] or list(COMMANDS)
    root = str(Path(__file__).resolve().parents[2])
    os.environ["PYTHONPATH"] = root
    with tempfile.TemporaryDirectory() as folder:
        # As after an installation: modules are compiled once, whatever the environment says.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = f"{folder}/compiled"
        seconds([*COMMANDS["bound yolo9000/Y4"], "-o", "certificate.json"], folder)
        seconds([*COMMANDS["solve resnet18/R9"], "-o", "solution.json"], folder)
        for name in named:
            seconds(COMMANDS[name], folder)
            walls, processors = zip(*(seconds(COMMANDS[name], folder) for _ in range(runs)), strict=True)
            line = (
                f"{name:20} median {median(walls):.2f} s, fastest {min(walls):.2f} s, processor {min(processors):.2f} s"
            )
            sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
