"""The scores of a search in a file, appended as it runs, so that it can go on where it was ended.

A strategy of the same seed proposes the same mappings when it is told the same scores: what was judged before is told
from the file, and only what follows is judged. The file is JSON, a line per entry. The first line says of what search
it is:

    {"schema": "optmap.journal/1", "search": {"workload": ..., "machine": ..., "method": ..., "objective": ...,
     "counting": ..., "judge": "model" or "own", "seed": ..., "settings": {...}}}

workload and machine as fingerprints of their documents. Every further line has mappings that were judged together:

    {"first": 0, "mappings": 512, "seconds": 0.31, "proposed": "9ae1c5d2", "scores": "...", "line": "04b1e5a7"}

the number of the first, how many, seconds of searching until then, the CRC-32 of the mappings, in base64 the values,
energies and cycles of all, each as little-endian float64, and the CRC-32 of the line without this last entry. A value
is infinite where a mapping is not valid. A last line that was not written to its end is dropped.
"""

from __future__ import annotations

import base64
import io
import json
import os
import stat
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from optmap.base.errors import InputError
from optmap.mappings.nest_batch import NestBatch
from optmap.search.explore.protocol import Scores

try:
    import fcntl
except ImportError:  # Windows: two searches at once are then told apart by the numbers of their lines
    fcntl = None  # type: ignore[assignment]

SCHEMA = "optmap.journal/1"
COLUMNS = 3
"""Value, energy and cycles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _JournalLine:
    """One line."""

    mappings: int
    seconds: float
    proposed: str
    scores: Scores


class Journal:
    """An open journal: first it tells what it holds, then it is written.

    Args:
        path: the file; made if it is not there.
        search: what the search is, JSON-able; a file of another one is refused.

    Raises:
        InputError: if the file cannot be used, is no journal, or is one of another search.
    """

    def __init__(self, path: Path, search: Mapping[str, object]) -> None:
        self.path = path
        self.recalled = 0
        """Mappings that were told from the file."""
        self._entry: _JournalLine | None = None
        self._line = 1
        self._writing = False
        header = json.dumps({"schema": SCHEMA, "search": dict(search)}).encode() + b"\n"
        try:
            self._file = io.FileIO(path, "a+")
        except OSError as error:
            raise InputError(f"{path}: cannot be used as a journal: {error.strerror}") from error
        try:
            if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
                raise InputError(f"{path}: cannot be used as a journal: it is a device or a pipe; choose another file")
            self._alone()
            self._open(header)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Journal:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _alone(self) -> None:
        """Lock the file; the system releases it when the process ends, however it ends."""
        try:
            if fcntl is not None:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError(
                f"{self.path}: another search is writing it; give this one a journal of its own"
            ) from error

    def _open(self, header: bytes) -> None:
        """Read the first line, or write it."""
        self._file.seek(0)
        self._reader = io.BufferedReader(self._file)
        first = self._reader.readline()
        if header.startswith(first) and first != header:  # nothing, or not to its end
            self._file.truncate(0)
            self._append(header)
            self._writing = True
            return
        try:
            found = json.loads(first)["search"] if first.endswith(b"\n") else None
        except (ValueError, KeyError, TypeError):
            found = None
        if not isinstance(found, dict):
            raise InputError(f"{self.path}: is no journal of a search; choose another file")
        asked = json.loads(header)["search"]
        for name in {**found, **asked}:
            if found.get(name) != asked.get(name):
                hashed = name in ("workload", "machine")
                texts = "is another" if hashed else f"is {found.get(name)}, not {asked.get(name)}"
                raise InputError(
                    f"{self.path}: is the journal of another search: its {name} {texts}; choose another file, or ask "
                    "the same"
                )

    def recall(self, batch: NestBatch, room: int) -> tuple[Scores, float] | None:
        """The scores of the first mappings of a batch that are in the file, with the seconds until then.

        Args:
            batch: what is proposed next.
            room: how many may be told at most.

        Returns:
            Scores of one or more of the first mappings; None when there are no more.

        Raises:
            InputError: if other mappings were proposed then, or the file is damaged.
        """
        if self._writing:
            return None
        entry = self._entry or self._next()
        if entry is None:
            return None
        if entry.mappings > room and room < len(batch):
            return entry.scores[:room], entry.seconds
        if entry.mappings > len(batch) or entry.proposed != _digest(batch[: entry.mappings]):
            raise InputError(
                f"{self.path}, line {self._line}: the search proposes other mappings than it did; the strategy was "
                "changed, or does not depend on its seed and scores alone: begin a new journal"
            )
        self._entry = None
        self.recalled += entry.mappings
        return entry.scores, entry.seconds

    def note(self, batch: NestBatch, first: int, scores: Scores, seconds: float) -> None:
        """Append what was judged.

        Raises:
            InputError: if the file cannot be written.
        """
        values = np.concatenate([scores.value, scores.energy_pj, scores.cycles]).astype("<f8")
        line = {
            "first": first,
            "mappings": len(batch),
            "seconds": seconds,
            "proposed": _digest(batch),
            "scores": base64.b64encode(values.tobytes()).decode("ascii"),
        }
        self._append(json.dumps({**line, "line": _sum(line)}).encode() + b"\n")

    def _append(self, line: bytes) -> None:
        try:
            done = self._file.write(line)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written: {error.strerror}") from error
        if done != len(line):
            raise InputError(f"{self.path}: cannot be written: no space is left")

    def _next(self) -> _JournalLine | None:
        """The next entry; at the end, without a line that was cut off, writing begins."""
        start = self._reader.tell()
        line = self._reader.readline()
        if not line.endswith(b"\n"):
            self._file.truncate(start)
            self._writing = True
            return None
        self._line += 1
        try:
            self._entry = _entry(json.loads(line), self.recalled)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{self.path}: line {self._line} is damaged; delete it and what follows, the search goes on from there"
            ) from error
        return self._entry


def _entry(line: Mapping[str, object], first: int) -> _JournalLine:
    """A line as scores; raises ValueError, KeyError or TypeError for one that is not what `note` writes."""
    if line["line"] != _sum({key: value for key, value in line.items() if key != "line"}):
        raise ValueError
    many, seconds, proposed = line["mappings"], line["seconds"], line["proposed"]
    numbers = np.frombuffer(base64.b64decode(str(line["scores"]), validate=True), "<f8").astype(float)
    if not isinstance(many, int) or not isinstance(seconds, float) or not isinstance(proposed, str):
        raise TypeError
    if line["first"] != first or many < 1 or len(numbers) != COLUMNS * many or np.isnan(numbers[:many]).any():
        raise ValueError
    value, energy, cycles = numbers.reshape(COLUMNS, many)
    scores = Scores(valid=np.isfinite(value), value=value, energy_pj=energy, cycles=cycles)
    return _JournalLine(mappings=many, seconds=seconds, proposed=proposed, scores=scores)


def _sum(line: Mapping[str, object]) -> str:
    """CRC-32 of a line without that entry."""
    return f"{zlib.crc32(json.dumps(line).encode()):08x}"


def _digest(batch: NestBatch) -> str:
    """CRC-32 of all that mappings are."""
    found = 0
    for part in (batch.x, batch.y, batch.temporal, batch.order):
        found = zlib.crc32(np.ascontiguousarray(part, "<i8").tobytes(), found)
    return f"{zlib.crc32(np.packbits(batch.keeps).tobytes(), found):08x}"
