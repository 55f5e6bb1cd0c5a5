"""Every check that there is, for maintainers: all tests, goldens, pages, the attacks of tests/benchmarks at fair sizes.

    python tests/longer.py                     about an hour and a half on two cores
    python tests/longer.py --only 'held|tap'   the steps whose names this regular expression finds
    python tests/longer.py --versions          the tests with the oldest and the newest dependencies, too
    python tests/longer.py --list              the steps and their commands

The step `site` needs the extra `docs` beside `test`, that of versions an index of packages.
The README's command leaves out the tests marked `longer`, and of many others tries some cases only (tests/cases.py).
What a step prints is in a file of `--logs`; of a step that failed, the end is printed. The table at the end has every
step with its seconds and its last line; exit code 1 if one failed.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHOWN = 30
"""Lines that are printed of a step that failed."""
ATTACKS: dict[str, tuple[str, ...]] = {
    "allocation_attack": ("--seeds", "30"),
    "answer_attack": ("--trials", "1000"),
    "batch_counting": (),
    "bounds_soundness": ("20000", "7"),
    "chain_floor_attack": ("300", "5000", "7"),
    "chain_orders_attack": ("20000", "7"),
    "checker_mutants": ("20000", "7"),
    "constraints_attack": ("--cases", "400"),
    "exact_attack": ("--all", "100", "--itself", "300"),
    "full_certificates": ("resnet18/", "--machines", "balanced", "--most", "40"),
    "halo_attack": ("10000000", "7"),
    "held_attack": ("5000", "7"),
    "interrupt_attack": ("40", "7"),
    "proof_rows": ("5000", "7"),
    "regimes_attack": ("--points", "500", "--nests", "5", "--schedules", "60"),
    "search_fuzz": ("--trials", "2000", "--seed", "7"),
    "spatial_counting": ("--trials", "1000", "--seed", "7"),
    "sweep_crashes": ("40", "7"),
    "sweep_edits": ("1000", "7"),
    "sweep_kill": ("5", "7", "tccg/ab-ac-cb"),
    "tap_classes_attack": ("200", "7"),
    "timed_attack": ("300", "7"),
    "tree_mutants": ("20000", "7"),
    "two_roads": (),
    "visits_attack": ("200", "7"),
    "width_attack": ("--cases", "2000", "--seed", "7"),
    "wires_attack": ("--cases", "1000", "--seed", "7"),
    "written_files": ("resnet18/",),
}
"""What the scripts that look for errors are asked for, each a few minutes."""
TABLES = {
    "attention_points", "bayesian_search", "frontier_table", "quickflow_orders", "quickflow_table", "startup",
    "sunstone_table", "sweep_cheap", "sweep_refine", "table1", "time_limits",
}  # fmt: skip
"""Scripts that measure, and say nothing about right and wrong."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One command."""

    name: str
    command: tuple[str, ...]
    alone: bool = False
    """Whether it has processes of its own that take all cores."""


@dataclass(frozen=True, kw_only=True)
class Done:
    """How a step ended."""

    step: Step
    code: int
    seconds: float
    log: Path

    @property
    def last(self) -> str:
        """The last line that it printed."""
        return next((line for line in reversed(lines_of(self.log)) if line.strip()), "").strip()


def steps(versions: bool = False) -> list[Step]:
    """All steps, in the order in which they are begun."""
    python, tests = sys.executable, Path(__file__).resolve().parent
    made = [
        Step(name="tests", command=(python, "-m", "pytest", "-n", "2", "-m", ""), alone=True),
        Step(name="goldens", command=(python, str(tests / "goldens"), "check")),
        Step(name="site", command=(python, str(ROOT / "docs" / "build.py"), "--notebooks"), alone=True),
    ]
    for name, sizes in ATTACKS.items():
        made.append(Step(name=name, command=(python, str(tests / "benchmarks" / f"{name}.py"), *sizes)))
    for way in ("oldest", "newest") if versions else ():
        command = (python, str(tests / "against_versions.py"), way, "--longer")
        made.append(Step(name=f"versions: {way}", command=command, alone=True))
    return made


def run_step(step: Step, folder: Path) -> Done:
    """Run it to its end, its output in a file."""
    log = folder / f"{re.sub('[^a-z0-9]+', '_', step.name)}.log"
    begun = time.monotonic()
    with log.open("w", encoding="utf-8") as file:
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
        done = subprocess.run(
            step.command,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    return Done(step=step, code=done.returncode, seconds=time.monotonic() - begun, log=log)


def run_all(chosen: Sequence[Step], folder: Path, jobs: int) -> Iterator[Done]:
    """Each as it ends: those that need all cores one by one, the others side by side."""
    for step in chosen:
        if step.alone:
            yield run_step(step, folder)
    with ThreadPoolExecutor(jobs) as pool:
        for future in as_completed([pool.submit(run_step, step, folder) for step in chosen if not step.alone]):
            yield future.result()


def lines_of(log: Path) -> list[str]:
    """What a step printed."""
    return log.read_text(encoding="utf-8", errors="replace").splitlines()


def table(ended: Sequence[Done]) -> str:
    """A row per step, what failed last."""
    rows = [f"{'step':24}{'seconds':>9}  exit  last line\n"]
    for done in sorted(ended, key=lambda each: each.code != 0):
        rows.append(f"{done.step.name:24}{done.seconds:>9.0f}{done.code:>6}  {done.last[:80]}\n")
    failed = sum(done.code != 0 for done in ended)
    return "".join([*rows, f"{len(ended)} steps, {failed} failed\n"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the steps; 1 if one of them failed.

    Args:
        arguments: what is typed after `python tests/longer.py`; `sys.argv[1:]` if left out.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="PATTERN", help="regular expression in the names of steps")
    parser.add_argument("--versions", action="store_true", help="oldest and newest dependencies, too; needs an index")
    parser.add_argument("--jobs", type=int, default=2, help="scripts at a time")
    parser.add_argument("--logs", type=Path, help="folder for what steps print; a new one if left out")
    parser.add_argument("--list", action="store_true", help="print the steps and run none")
    asked = parser.parse_args(arguments)
    chosen = [step for step in steps(asked.versions) if re.search(asked.only, step.name)]
    if not chosen:
        parser.error(f"no step has {asked.only!r} in its name")
    if asked.list:
        sys.stdout.write("".join(f"{step.name}: {shlex.join(step.command)}\n" for step in chosen))
        return 0
    folder = asked.logs or Path(tempfile.mkdtemp(prefix="optmap-longer-"))
    folder.mkdir(parents=True, exist_ok=True)
    sys.stdout.write(f"{len(chosen)} steps, output in {folder}\n")
    ended = []
    for done in run_all(chosen, folder, asked.jobs):
        ended.append(done)
        said = "passed" if done.code == 0 else f"FAILED with exit code {done.code}"
        sys.stdout.write(f"[{len(ended)}/{len(chosen)}] {done.step.name}: {said} after {done.seconds:.0f} s\n")
        if done.code:
            sys.stdout.write("".join(f"    {line}\n" for line in lines_of(done.log)[-SHOWN:]))
        sys.stdout.flush()
    sys.stdout.write(f"\n{table(ended)}")
    return int(any(done.code for done in ended))


if __name__ == "__main__":
    sys.exit(main())
