"""Files that optmap wrote: each must pass `check` for ever, and solutions `evaluate`.

`documents.txt` has the commands that wrote them. They are written anew only on purpose: an old file that is refused
is what this is for.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

from goldens.asking import BESIDE, HERE, Question, run_in

FOLDER = BESIDE["documents"]


def commands() -> dict[str, str]:
    """Per file or folder of `tests/data/documents` the command that wrote it."""
    lines = (HERE / "documents.txt").read_text(encoding="utf-8").splitlines()
    written = [line for line in lines if line.strip() and not line.startswith("#")]
    return {line.rpartition(" -o ")[2]: line for line in written}


def write_documents(only: str = "") -> int:
    """Write the documents anew in whose command the regular expression `only` is found, as compact JSON.

    Returns:
        How many could not be written.
    """
    failed = 0
    for name, command in commands().items():
        if not re.search(only, command):
            continue
        with tempfile.TemporaryDirectory() as place:
            said = run_in(Path(place), Question(group="documents", text=command), jobs=1)[-1]
            if said.code == 0:
                _move(Path(place) / name, FOLDER / name)
        failed += bool(said.code)
        sys.stdout.write(f"{name}\n" if said.code == 0 else f"{command}\n    exit {said.code}: {said.err}\n")
        sys.stdout.flush()
    return failed


def _move(made: Path, kept: Path) -> None:
    if made.is_dir():
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(made, kept, ignore=shutil.ignore_patterns(".*"))  # locks of those at work in it
        return
    document = json.loads(made.read_text(encoding="utf-8"))
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(f"{text}\n", encoding="utf-8")
