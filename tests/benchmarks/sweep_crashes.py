"""Sweeps that are killed while they write: `python tests/benchmarks/sweep_crashes.py [ROUNDS [SEED]]`.

Every round lets one or two processes work on the same folder and ends them with SIGKILL at a random moment, until the
sweep is done; then its rows have to be those of an undisturbed run, and nothing may be wrong with the folder.
Answers are solved once and given again from memory, so that most of the time is spent in writing.
"""

from __future__ import annotations

import logging
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from sweep_edits import solve

from optmap.sweeps import read_rows, store
from optmap.sweeps.folder_check import check_folder

MOST_SECONDS = 0.8
"""Time that a process has at most before it is ended."""


def begin(folder: Path) -> int:
    """A process at work on the sweep; its id."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            solve(folder)
            code = 0
        finally:
            os._exit(code)
    return child


def main() -> None:
    """Rounds of killing, and what came of them."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    draw = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    logging.disable(logging.CRITICAL)
    kills = finished = 0
    with tempfile.TemporaryDirectory() as name:
        right = Path(name, "right")
        solve(right)
        expected = read_rows(right)
        store.ROWS_HELD = 1  # a part file and a line per row: more moments to be killed at
        while kills < rounds or finished == 0:
            folder = Path(name, f"killed-{finished}")
            done = False
            while not done:
                children = [begin(folder) for _ in range(draw.randint(1, 2))]
                time.sleep(draw.uniform(0, MOST_SECONDS))
                for child in children:
                    os.kill(child, signal.SIGKILL)
                codes = [os.waitpid(child, 0)[1] for child in children]
                kills += sum(os.WIFSIGNALED(code) for code in codes)
                if any(os.WIFEXITED(code) and os.WEXITSTATUS(code) for code in codes):
                    raise SystemExit("a sweep that was run again ended with an error")
                done = any(os.WIFEXITED(code) for code in codes)
            solve(folder)
            if not read_rows(folder).equals(expected):
                raise SystemExit("the rows differ from those of the undisturbed run")
            check_folder(folder)
            finished += 1
    sys.stdout.write(f"{kills} kills, {finished} sweeps of {len(expected)} rows finished, all equal and verified\n")


if __name__ == "__main__":
    main()
