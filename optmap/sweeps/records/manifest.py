"""What a sweep has answered: a file with a line per row, appended to as rows are written.

A line of `manifest.jsonl` is a JSON object:

    schema     optmap.manifest/1
    point      workload, machine, level, capacity in words, method
    question   SHA-256 of everything that the answer depends on: the `input_hash` of the row
    row        SHA-256 of the row (see `row_digest`)
    documents  SHA-256 of every document behind the row, by its path in the directory
    line       SHA-256 of the line itself, this key left out

A row counts if a line has its digest, and a document if it is what the line of its row says. Lines of a
point may be several, as it was answered again; each stands for its own row. A line is on the disk before its row
is, so a row without one was never written here. A line that is cut short or edited says nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

from optmap.files.reading import fingerprint
from optmap.sweeps.records.files import StoreError, store_error, write_atomic
from optmap.sweeps.records.lock import lock_whole
from optmap.sweeps.records.rows import KEY

SCHEMA = "optmap.manifest/1"
NAME = "manifest.jsonl"
Key = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestEntry:
    """A line: one row, and the documents behind it."""

    key: Key
    """Identity of the row: the columns `KEY`, of which the last is the question."""
    row: str
    """SHA-256 of the row."""
    documents: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of every document, by its path in the directory."""
    place: int = 0
    """Number of the line, the first being 1; a later one is of a later answer."""

    def text(self) -> str:
        """The line, without its end."""
        said = {
            "schema": SCHEMA,
            "point": list(self.key[:-1]),
            "question": self.key[-1],
            "row": self.row,
            "documents": dict(sorted(self.documents.items())),
        }
        return json.dumps({**said, "line": fingerprint(said)}, separators=(",", ":"))


def row_digest(values: Mapping[str, object]) -> str:
    """SHA-256 of a row as it is read from a file; columns without a value do not count, so that more may come."""
    return fingerprint(
        {
            name: int(value) if isinstance(value, Decimal) else value
            for name, value in values.items()
            if value is not None and value != ""
        }
    )


def file_digest(path: Path) -> str | None:
    """SHA-256 of a file; None if it cannot be read, or is none: a pipe would be waited for."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
    except OSError:
        return None


class Manifest:
    """The manifest of a directory, read as far as it has been written."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / NAME
        self.by_row: dict[str, ManifestEntry] = {}
        """Entries by the digest of their row."""
        self.by_place: dict[int, ManifestEntry] = {}
        """The same by the number of their line."""
        self.latest: dict[Key, ManifestEntry] = {}
        """The last entry of every row."""
        self.documents: dict[str, set[str]] = {}
        """Digests that lines say, by path of a document in the directory."""
        self.broken: list[int] = []
        """Numbers of the lines that say nothing."""
        self._read = 0
        """Bytes read so far."""
        self._lines = 0

    @property
    def exists(self) -> bool:
        """Whether there is one."""
        return self.path.exists()

    def refresh(self) -> None:
        """Read the lines that were added.

        Raises:
            StoreError: if it cannot be read.
        """
        try:
            with self.path.open("rb") as file, lock_whole(file.fileno(), shared=True):
                file.seek(self._read)
                data = file.read()
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be read: {error.strerror}") from error
        self._read += len(data)
        for line in data.splitlines():
            self._lines += 1
            if line.strip():
                self._learn(line)

    def _learn(self, line: bytes) -> None:
        entry = _entry(line, self._lines)
        if entry is None:
            self.broken.append(self._lines)
        else:
            self.by_row[entry.row] = self.by_place[entry.place] = self.latest[entry.key] = entry
            for path, digest in entry.documents.items():
                self.documents.setdefault(path, set()).add(digest)

    def append(self, entries: Iterable[ManifestEntry]) -> None:
        """Add lines; they are on the disk when this returns.

        Raises:
            StoreFullError: if there is no room left; then no line was added.
            StoreError: if they cannot be written.
        """
        data = "".join(f"{entry.text()}\n" for entry in entries).encode()
        try:
            with _appending(self.path) as descriptor:
                size = os.fstat(descriptor).st_size
                cut_short = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
                try:
                    _write_all(descriptor, b"\n" * cut_short + data)
                    os.fsync(descriptor)
                except OSError:
                    os.ftruncate(descriptor, size)
                    raise
        except OSError as error:
            raise store_error(self.path, error) from error

    def mend(self, lost: Iterable[Key], aside: Path) -> None:
        """Leave out what says nothing: lines that are broken, and of rows that are lost; nobody else may be at work.

        Args:
            lost: rows that are in no file.
            aside: where the file as it was goes.
        """
        gone = set(lost)
        if not self.broken and not gone:
            return
        kept = [entry for entry in self.by_row.values() if entry.key not in gone]
        write_atomic(aside, self.path.read_bytes())
        write_atomic(self.path, "".join(f"{entry.text()}\n" for entry in kept).encode(), durable=True)


def manifest_of(directory: Path) -> Manifest:
    """The manifest of a directory as it is now; read once while it does not change."""
    try:
        stat = (directory / NAME).stat()
    except OSError:
        return Manifest(directory)
    return _read_manifest(directory.absolute(), stat.st_ino, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=4)
def _read_manifest(directory: Path, *_: int) -> Manifest:
    made = Manifest(directory)
    made.refresh()
    return made


@contextmanager
def _appending(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        with lock_whole(descriptor, shared=False):
            yield descriptor
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _entry(line: bytes, place: int) -> ManifestEntry | None:
    """What a line says; None if it is not one that was written whole and left alone."""
    try:
        said: Any = json.loads(line)
        own = said.pop("line")
        if said["schema"] != SCHEMA or own != fingerprint(said):
            return None
        key = (*said["point"], said["question"])
        if len(key) != len(KEY):
            return None
        return ManifestEntry(key=key, row=said["row"], documents=said["documents"], place=place)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
