"""Signals at random moments: `python tests/benchmarks/interrupt_attack.py [ROUNDS [SEED]]`.

Commands on small inputs get SIGINT or SIGTERM at a random moment after their module was loaded. Each must end with 0
or 4, a document or a sentence, files that are accepted, no traceback and no process left behind.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LATEST_S = 2.5
"""Moments are up to so many seconds after the start of the command."""
COMMANDS = (
    ("solve", "yolo9000/Y12", "--machine", "i9-10980xe", "-o", "{folder}/answer.json"),
    ("solve", "resnet50/conv2", "--machine", "simba", "-o", "{folder}/answer.json"),
    ("solve", "resnet18/R9", "--machine", "eyeriss", "--method", "allocation", "-o", "{folder}/answer.json"),
    ("solve", "resnet18/R9", "--machine", "simba", "--method", "random", "-o", "{folder}/answer.json"),
    ("race", "resnet18/R11", "--machine", "simba", "--methods", "random,cosa,quickflow", "-o", "{folder}/race"),
    ("network", "resnet18", "--machine", "balanced", "-o", "{folder}/kept"),
    ("network", "resnet18", "--machine", "simba", "-o", "{folder}/kept"),
    ("sweep", "yolo_caches", "-o", "{folder}/kept"),
)
START = (
    "import sys; from optmap.cli import console; usual = console.stop_on_signals\n"
    "def noted(*asked):\n    made = usual(*asked)\n"
    "    class Noted:\n"
    "        def __enter__(self): made.__enter__(); sys.stderr.write('ready\\n'); sys.stderr.flush()\n"
    "        def __exit__(self, *end): return made.__exit__(*end)\n"
    "    return Noted()\n"
    "console.stop_on_signals = noted\n"
    "from optmap.cli import main; sys.exit(main(sys.argv[1:]))"
)
"""The command line, which says on stderr when it listens to signals."""


def one(rng: random.Random, folder: str) -> tuple[str, str]:
    """One command and one signal: what came of it, and what is wrong with that."""
    words = [word.replace("{folder}", folder) for word in rng.choice(COMMANDS)]
    process = subprocess.Popen(
        [sys.executable, "-c", START, *words, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    process.stderr.readline()
    time.sleep(rng.uniform(0, LATEST_S))
    workers = _children(process.pid)
    process.send_signal(rng.choice((signal.SIGINT, signal.SIGTERM)))
    begun = time.monotonic()
    out, err = process.communicate(timeout=120)
    outcome = f"{' '.join(words[:6]).replace(folder, '')} {process.returncode}"
    wrong = []
    if process.returncode not in (0, 4):
        wrong.append(f"exit code {process.returncode}")
    if "Traceback" in err or "Exception ignored" in err:
        wrong.append("a traceback")
    try:
        document = json.loads(out)
        outcome += " " + ("sentence" if "error" in document else "document")
    except ValueError:
        wrong.append("no document")
    wrong += [f"process {pid} is left" for pid in workers if _alive(pid)]
    for file in (*Path(folder).glob("answer.json"), *Path(folder).glob("*/solutions/*/*.json")):
        if "sweep-bound" not in file.read_text(encoding="utf-8")[:60]:
            check = [sys.executable, "-m", "optmap", "check", str(file)]
            if subprocess.run(check, capture_output=True, check=False).returncode:
                wrong.append(f"{file.name} is refused")
    took = time.monotonic() - begun
    said = f"; {took:.1f} s after the signal: {' '.join(words)}\n{err[-1500:]}"
    return outcome, "; ".join(wrong) + said if wrong else ""


def _children(pid: int) -> list[int]:
    """Processes that a process has started."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    except OSError:
        return []
    return [int(word) for word in text.split()]


def _alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return False


def main() -> int:
    """Print what came of all rounds."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    os.environ["PYTHONPATH"] = str(ROOT)
    seen, bad = Counter[str](), 0
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            outcome, wrong = one(rng, folder)
        seen[outcome] += 1
        if wrong:
            bad += 1
            sys.stdout.write(f"WRONG {outcome}: {wrong}\n")
            sys.stdout.flush()
    for outcome, number in sorted(seen.items()):
        sys.stdout.write(f"{number:5} {outcome}\n")
    sys.stdout.write(f"{rounds} signals, {bad} wrong\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
