"""The directory of a sweep: rows in Parquet files, solutions and certificates in JSON files.

    manifest.jsonl               a line per row: what rows and documents have to be (see `manifest`)
    rows/part-*.parquet          rows; many small files while a sweep runs, one sorted file after it
    solutions/ab/<hash>.json     the solution document of the row with that `input_hash`
    certificates/ab/<name>.json  the certificate of the bound of the rows with that `certificate`
    damaged/                     files that could not be read, or held rows without a line

Any number of sweeps may use one directory at the same time: every process writes files of its own
names, a file appears complete or not at all, and a point that one of them works on is left alone by the
others. Putting the parts together needs the directory for oneself; the last one does it.

What is not as the manifest says (edited, cut short, lost, of another place) is named and answered again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from optmap.base.errors import InputError
from optmap.sweeps.answers import PointAnswer
from optmap.sweeps.points import GridPoint
from optmap.sweeps.records.damage import Named, damage_of
from optmap.sweeps.records.files import TEMPORARY, store_error, write_atomic
from optmap.sweeps.records.lock import Claims, DirectoryLock, at_work
from optmap.sweeps.records.manifest import Manifest, ManifestEntry, file_digest, row_digest
from optmap.sweeps.records.parts import Parts, aside_path, part_bytes
from optmap.sweeps.records.rows import COLUMNS, FAILURES, KEY, Row, arrow_schema, as_dict, row_of
from optmap.sweeps.stored import LOCK, Stored, require

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)

ROWS_HELD = 512
"""Rows held in memory at most before they are written."""
SECONDS_HELD = 1.0
"""Seconds that a row waits at most before it is written."""
PARTS_KEPT = 64
"""Own part files before they are put together."""


class SweepStore(Stored):
    """The directory of a sweep, open for reading and adding rows; use it as a context manager.

    Args:
        directory: made if it is not there.

    Raises:
        InputError: if pyarrow is not installed.
        StoreError: if the directory cannot be made or written.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, aside=True)
        self._rows = directory / "rows"
        self._held: list[tuple[Row, Mapping[str, str]]] = []
        """Rows that are not written yet, with the digests of their documents."""
        self._written = time.monotonic()
        self._run = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self._own: list[Path] = []
        self._certificates: dict[str, str] = {}
        """SHA-256 of certificates written or found right, by path in the directory."""
        try:
            self._rows.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise store_error(directory, error) from error
        probe = self._rows / f"{TEMPORARY}probe-{self._run}"
        write_atomic(probe, b"")
        probe.unlink(missing_ok=True)
        self._lock = DirectoryLock(directory / LOCK)
        self._claims = Claims(directory / ".claims")

    def __enter__(self) -> SweepStore:
        others = self._lock.share()
        if others:
            log.warning("%s: another sweep is at work here; each point is answered by one of them", self.directory)
        self._claims.open()
        self._look(alone=lambda: not others)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.flush()
            self._tidy()
        finally:
            self._claims.close()
            self._lock.release()

    def claim(self, point: GridPoint) -> bool:
        """Take a point that needs work; False if another sweep works on it, or has just answered it."""
        if not self._claims.take(point.input_hash):
            return False
        if any(path not in self._seen for path in self._parts.files()):
            before = self._known.get(point.key)
            self._learn(fresh=True)
            if self._known.get(point.key) is not before:
                self._claims.give_back(point.input_hash)
                return False
        return True

    def elsewhere(self, point: GridPoint) -> bool:
        """Whether another sweep works on a point."""
        taken = self._claims.take(point.input_hash)
        if taken:
            self._claims.give_back(point.input_hash)
        return not taken

    def same_inputs(self, points: Iterable[GridPoint]) -> dict[str, Row]:
        """Rows of other names with the inputs of these points, by hash."""
        import pyarrow.compute as pc

        wanted = {point.input_hash for point in points}
        held = {row.input_hash: row for row, _ in self._held if row.input_hash in wanted}
        table = self._parts.read(list(COLUMNS), filters=pc.field("input_hash").isin(sorted(wanted)))
        stored = {
            str(values["input_hash"]): row_of(values) for values in table.to_pylist() if values["stop"] not in FAILURES
        }
        found = {**stored, **held}
        for name in wanted - found.keys():  # edited meanwhile
            self._by_hash.pop(name, None)
        return found

    def curve_values(self) -> dict[str, tuple[float | None, float | None, str]]:
        """Found traffic, bound (both in the unit of the bound) and stop, by hash of the inputs."""
        self.flush()
        table = self._parts.read([*KEY, "stop", "exact", "bound"])
        columns = [table[name].to_pylist() for name in ("input_hash", "exact", "bound", "stop")]
        return {name: (exact, bound, stop) for name, exact, bound, stop in zip(*columns, strict=True)}

    def add(self, answer: PointAnswer) -> None:
        """Keep an answer: documents at once, the row within a second or so.

        Raises:
            StoreFullError: if there is no room left.
            StoreError: if something cannot be written.
        """
        row = answer.row
        documents = {}
        if answer.certificate is not None:
            path = f"certificates/{row.certificate[:2]}/{row.certificate}.json"
            documents[path] = self._keep_certificate(path, _json(answer.certificate))
        if answer.solution is not None:
            path = str(solution_path(Path(), row.input_hash))
            documents[path] = self._write(path, _json(answer.solution))
        self._hold(row, documents)

    def _keep_certificate(self, path: str, data: bytes) -> str:
        """Write a certificate unless the one that rows refer to is there as it was; its digest."""
        if path not in self._certificates:
            there = file_digest(self.directory / path)
            if there is None or there not in self._manifest.documents.get(path, ()):
                there = self._write(path, data)
            self._certificates[path] = there
        return self._certificates[path]

    def _write(self, path: str, data: bytes) -> str:
        place = self.directory / path
        if place.is_dir():  # no file takes the place of a folder
            self._parts.put_aside(place)
        write_atomic(place, data)
        return hashlib.sha256(data).hexdigest()

    def add_row(self, row: Row) -> None:
        """Keep a row whose documents are there already: those of the same inputs under another name."""
        known = self._known.get(self._by_hash.get(row.input_hash, ()))
        self._hold(row, {} if known is None else known.documents)

    def _hold(self, row: Row, documents: Mapping[str, str]) -> None:
        self._held.append((row, documents))
        self._remember(row.key, row.stop, row.gap, documents, fresh=True)
        self.flush_if_due()

    def flush_if_due(self) -> None:
        """Write the rows held if they are many or waited long enough."""
        if len(self._held) >= ROWS_HELD or time.monotonic() - self._written >= SECONDS_HELD:
            self.flush()

    def flush(self) -> None:
        """Write the rows held, as one new part file, and their lines.

        Raises:
            StoreFullError: if there is no room left.
            StoreError: if it cannot be written.
        """
        import pyarrow as pa

        self._written = time.monotonic()
        if not self._held:
            return
        table = pa.Table.from_pylist([as_dict(row) for row, _ in self._held], schema=arrow_schema())
        lines = [
            ManifestEntry(key=row.key, row=row_digest(values), documents=documents)
            for (row, documents), values in zip(self._held, table.to_pylist(), strict=True)
        ]
        self._own.append(self._write_part(table, lines))
        for row, _ in self._held:
            self._claims.give_back(row.input_hash)
        self._held = []
        if len(self._own) >= PARTS_KEPT:
            self._own = [self._replace_parts(self._own)]

    def _write_part(self, table: pa.Table, lines: Iterable[ManifestEntry] = ()) -> Path:
        """Write rows as a part file; their lines are in the manifest before it is in its place."""
        path = self._rows / f"part-{self._run}-{uuid.uuid4().hex[:8]}.parquet"
        self._seen.add(path)
        announced = list(lines)
        announce = (lambda: self._manifest.append(announced)) if announced else None
        write_atomic(path, part_bytes(table), durable=True, announce=announce)
        return path

    def _replace_parts(self, parts: list[Path]) -> Path:
        """Put part files together; the new one is complete before an old one goes."""
        others = {path for path in self._parts.files() if path not in parts}
        made = self._write_part(self._parts.read(list(COLUMNS), skip=others))
        self._discard(parts)
        return made

    def _discard(self, parts: Iterable[Path]) -> None:
        """Remove part files that were put together; those with rows that do not count are put aside."""
        spoiled = self._parts.unlisted()
        for path in parts:
            if path in spoiled:
                self._parts.put_aside(path)
            else:
                path.unlink(missing_ok=True)

    def _tidy(self) -> None:
        """Put all rows into one sorted file, unless another sweep is at work here."""
        if not self._lock.try_alone():
            return
        for stale in self.directory.rglob(f"{TEMPORARY}*"):
            stale.unlink(missing_ok=True)
        parts = self._parts.files()
        if len(parts) > 1 or any(not path.name.startswith("part-all-") for path in parts) or self._parts.unlisted():
            table = self._parts.read(list(COLUMNS))
            if len(table):
                self._run = f"all-{uuid.uuid4().hex[:12]}"
                self._write_part(table)
            self._discard(parts)
        self._manifest.refresh()
        self._manifest.mend(self._parts.missing(), aside_path(self.directory, self._manifest.path.name))


def solution_path(directory: Path, name: str) -> Path:
    """The solution document of the rows with an `input_hash`; it may not be there."""
    return directory / "solutions" / name[:2] / f"{name}.json"


def read_rows(directory: Path) -> pa.Table:
    """All rows of a directory that its manifest vouches for, sorted, every point once; readable while a sweep writes.

    Others are named on the log and left out.

    Raises:
        InputError: if there is no sweep in the directory, if it has rows but no manifest, or pyarrow is not installed.
    """
    require("pyarrow")
    if not (directory / "rows").is_dir():
        raise InputError(f"{directory}: no sweep here (it has no folder rows); run optmap sweep SPEC -o {directory}")
    parts = Parts(directory, Manifest(directory))
    if parts.files() and not parts.manifest.exists:
        raise InputError(
            f"{directory}: its rows have no {parts.manifest.path.name} that says what they were, so none counts; "
            "run the sweep again: it answers them anew"
        )
    table = parts.read(list(COLUMNS))
    Named(directory).tell(damage_of(parts, alone=lambda: not at_work(directory / LOCK)))
    return table


def _json(document: dict[str, object]) -> bytes:
    # Without indentation: the encoder of the standard library is ten times slower with it.
    return (json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n").encode()
