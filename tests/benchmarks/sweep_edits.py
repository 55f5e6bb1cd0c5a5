"""Edit the folder of a sweep and ask for it: `python tests/benchmarks/sweep_edits.py [EDITS [SEED [MENDED]]]`.

An edit changes, cuts, swaps, deletes or plants bytes at random, in rows, documents or manifest of a folder that was
right. What is read afterwards has to be a part of what was there, anything that is left out has to be named, and
every document that is handed out has to be the one that was written. Every MENDED-th edit (10) the sweep is run again:
its rows have to be those of the folder before, and nothing may be wrong with what it leaves. Answers are solved
once and given again from memory.
"""

from __future__ import annotations

import logging
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from unittest.mock import patch

from optmap.base.errors import OptmapError
from optmap.sweeps import InlineEngine, SweepStore, answers, first_grid, read_rows, spec_from
from optmap.sweeps.folder_check import check_folder
from optmap.sweeps.plan import points
from optmap.sweeps.reading import sweep_document
from optmap.sweeps.run import run_sweep

SPEC = {
    "workloads": ["C[i,j] += A[i,k]*B[k,j]", "O[n] += I[n+r]*F[r]"],
    "extents": {"i": 24, "j": 20, "k": 16, "n": 30, "r": 4},
    "capacities": {"values": ["2w", "40w", "90w"]},
    "methods": ["bound", "mopt"],
}
FOREIGN = {**SPEC, "extents": {"i": 24, "j": 20, "k": 15, "n": 31, "r": 4}}
answered = cache(answers.answer_text)


class Said(logging.Handler):
    """What is named on the log."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a text."""
        self.texts.append(record.getMessage())


def solve(folder: Path, spec: dict[str, object] = SPEC) -> None:
    """The sweep, with answers from memory."""
    engine = InlineEngine("sweep_edits:answered")
    with patch("optmap.sweeps.engines.inline.function_of", lambda _: answered):
        tally = run_sweep(spec_from(spec), folder, engine=engine)
    if tally.done != tally.points:
        raise SystemExit(f"{tally.done} of {tally.points} points")


def files(folder: Path) -> list[Path]:
    """What can be edited."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))


def flip(data: bytes, draw: random.Random) -> bytes:
    """Some bits changed."""
    made = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 8))):
        made[draw.randrange(len(made))] ^= 1 << draw.randrange(8)
    return bytes(made)


def digit(data: bytes, draw: random.Random) -> bytes:
    """Another digit: what stays a document."""
    places = [place for place, byte in enumerate(data) if chr(byte).isdigit()]
    if not places:
        return flip(data, draw)
    place = draw.choice(places)
    return data[:place] + str(draw.randrange(10)).encode() + data[place + 1 :]


def cut(data: bytes, draw: random.Random) -> bytes:
    """A beginning."""
    return data[: draw.randrange(len(data))]


def hole(data: bytes, draw: random.Random) -> bytes:
    """Some bytes left out."""
    place = draw.randrange(len(data))
    return data[:place] + data[place + draw.randint(1, 40) :]


def swap(data: bytes, draw: random.Random) -> bytes:
    """Two stretches exchanged."""
    first, second = sorted(draw.sample(range(len(data)), 2))
    size = min(draw.randint(1, 40), second - first, len(data) - second)
    ends = (data[:first], data[second : second + size], data[first + size : second])
    return b"".join((*ends, data[first : first + size], data[second + size :]))


def lines(data: bytes, draw: random.Random) -> bytes:
    """Lines in another order, twice, or left out."""
    rows = data.splitlines(keepends=True)
    draw.shuffle(rows)
    return b"".join(rows[: draw.randint(1, len(rows))] + rows[: draw.randint(0, 2)])


BYTES: tuple[Callable[[bytes, random.Random], bytes], ...] = (flip, digit, cut, hole, swap, lines)


def edit(folder: Path, foreign: Path, draw: random.Random) -> str:
    """One edit; what it was."""
    victim = draw.choice(files(folder))
    if draw.random() < 0.5:  # rows and manifest as often as all documents
        victim = draw.choice([path for path in files(folder) if path.suffix != ".json"])
    kind = draw.randrange(10)
    others = [path for path in (files(foreign) + files(folder)) if path.suffix == victim.suffix]
    if kind == 0:
        victim.unlink()
        return f"deleted {victim.suffix}"
    if kind == 1:
        victim.write_bytes(draw.choice(others).read_bytes())
        return f"replaced {victim.suffix}"
    if kind == 2:
        stranger = draw.choice(files(foreign))
        place = folder / stranger.relative_to(foreign)
        if stranger.suffix == ".jsonl":
            place.write_bytes(place.read_bytes() + stranger.read_bytes())
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(stranger, place)
        return f"planted {stranger.suffix}"
    made = draw.choice(BYTES)
    victim.write_bytes(made(victim.read_bytes(), draw))
    return f"{made.__name__} {victim.suffix}"


def look(folder: Path, rows: list[dict[str, object]], documents: dict[str, object], what: str) -> bool:
    """Whether something of the rows is left out; ends the run if something wrong comes out.

    Raises:
        OptmapError: if the folder is refused as a whole, with the reason.
    """
    found = read_rows(folder).to_pylist()
    strange = [row for row in found if row not in rows]
    asked = {row["input_hash"] for row in rows}
    if any(row["input_hash"] in asked for row in strange):
        raise SystemExit(f"{what}: a row came out that was never written: {strange}")
    for name, document in documents.items():
        try:
            handed = sweep_document(folder, name)
        except OptmapError:
            continue
        if handed != document:
            raise SystemExit(f"{what}: a document came out that was never written: {handed}")
    return len(found) - len(strange) < len(rows)


def same(path: Path, other: Path) -> bool:
    """Whether two files hold the same."""
    return other.exists() and path.read_bytes() == other.read_bytes()


def lacking(folder: Path) -> int:
    """Points that would be answered again."""
    spec = spec_from(SPEC)
    with SweepStore(folder) as store:
        return sum(not store.has(point) for _, _, point in points(spec, first_grid(spec)))


def main() -> None:
    """Edits, and what came of them."""
    edits = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    draw = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    mended = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    said, outcome = Said(), Counter[str]()
    logger = logging.getLogger("optmap")
    logger.addHandler(said)
    logger.propagate = False
    with tempfile.TemporaryDirectory() as name:
        right, foreign, folder = Path(name, "right"), Path(name, "foreign"), Path(name, "edited")
        solve(right)
        solve(foreign, FOREIGN)
        rows = read_rows(right).to_pylist()
        documents: dict[str, object] = {
            path.stem: sweep_document(right, path.stem) for path in right.glob("solutions/*/*.json")
        }
        for number in range(edits):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(right, folder)
            what = edit(folder, foreign, draw)
            said.texts.clear()
            try:
                left_out = look(folder, rows, documents, what)
            except OptmapError as error:
                outcome[f"{what}: refused"] += 1
                if "its rows are" in str(error):  # of another version, as it seems: nothing is done to such a folder
                    continue
                left_out = True
                said.texts.append(str(error))
            if left_out and not said.texts:
                raise SystemExit(f"{what}: rows were left out and nothing was named")
            changed = [path for path in files(right) if not same(path, folder / path.relative_to(right))]
            if number % mended == 0:
                solve(folder)
                if [row for row in read_rows(folder).to_pylist() if row in rows] != rows:
                    raise SystemExit(f"{what}: the sweep that was run again has other rows")
                check_folder(folder)
                outcome["run again, and verified as a whole"] += 1
            elif lacking(folder) and not said.texts:
                raise SystemExit(f"{what}: points are answered again and nothing was named")
            harmless = not said.texts
            if harmless and any(path.suffix == ".json" for path in changed):
                raise SystemExit(f"{what}: a document was changed and not named")
            outcome[f"{what}: {'nothing lost' if harmless else 'named'}"] += 1
    for what, count in sorted(outcome.items()):
        sys.stdout.write(f"{count:6} {what}\n")
    sys.stdout.write(f"{edits} edits, nothing that was never written came out\n")


if __name__ == "__main__":
    main()
