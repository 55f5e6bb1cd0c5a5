"""The directory of a sweep: rows in Parquet files, solutions and certificates in JSON files.

    rows/part-*.parquet          rows; many small files while a sweep runs, one sorted file after it
    solutions/ab/<hash>.json     the solution document of the row with that `input_hash`
    certificates/ab/<name>.json  the certificate of the bound of the rows with that `certificate`
    damaged/                     files that could not be read; their points are answered again

Any number of sweeps may use one directory at the same time: every process writes files of its own
names, a file appears complete or not at all, and a point that two of them answered is one row for
every reader. Putting the parts together needs the directory for oneself; the last one does it.
"""

from __future__ import annotations

import errno
import io
import json
import logging
import os
import time
import uuid
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from optmap.errors import InputError
from optmap.sweeps.answers import Answer
from optmap.sweeps.files import TEMPORARY, StoreError, store_error, write_atomic
from optmap.sweeps.lock import DirectoryLock
from optmap.sweeps.points import GridPoint
from optmap.sweeps.rows import COLUMNS, FAILURES, KEY, LACKING, SCHEMA_VERSION, Row, arrow_schema, as_dict, row_of

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)

ROWS_HELD = 512
"""Rows held in memory at most before they are written."""
SECONDS_HELD = 1.0
"""Seconds that a row waits at most before it is written."""
PARTS_KEPT = 64
"""Own part files before they are put together."""
ROWS_PER_GROUP = 50_000
WORTH_ANOTHER_TRY = (*FAILURES, "error", "time_limit")
WITHOUT_SOLUTION = (*FAILURES, "error", "check", "infeasible", "time_limit")
"""Values of `stop` whose rows may lack a solution document."""
Key = tuple[str | int, ...]


def require(*packages: str) -> None:
    """Check that optional packages are there.

    Raises:
        InputError: naming the install command.
    """
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise InputError(f"sweeps need {' and '.join(missing)}; install with: pip install 'optmap[sweep]'")


class Store:
    """The directory of a sweep, open for reading and adding rows; use it as a context manager.

    Args:
        directory: made if it is not there.

    Raises:
        InputError: if pyarrow is not installed.
        StoreError: if the directory cannot be made or written.
    """

    def __init__(self, directory: Path) -> None:
        require("pyarrow")
        self.directory = directory
        self._rows = directory / "rows"
        self._held: list[Row] = []
        self._written = time.monotonic()
        self._run = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self._parts: list[Path] = []
        self._certificates: set[str] = set()
        try:
            self._rows.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise store_error(directory, error) from error
        probe = self._rows / f"{TEMPORARY}probe-{self._run}"
        write_atomic(probe, b"")
        probe.unlink(missing_ok=True)
        self._lock = DirectoryLock(directory / ".lock")
        self._known: dict[Key, tuple[str, float | None]] = {}
        self._by_hash: dict[str, Key] = {}

    def __enter__(self) -> Store:
        self._lock.share()
        for key, stop, gap in self._stored_keys():
            self._remember(key, stop, gap)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.flush()
            self._tidy()
        finally:
            self._lock.release()

    def _stored_keys(self) -> Iterator[tuple[Key, str, float | None]]:
        table = _read(self.directory, [*KEY, "stop", "gap"], set_aside=True)
        for batch in table.to_batches(max_chunksize=8192):
            columns = [column.to_pylist() for column in batch.columns]
            for *key, stop, gap in zip(*columns, strict=True):
                yield tuple(key), stop, gap

    def _remember(self, key: Key, stop: str, gap: float | None) -> None:
        if key not in self._known or self._known[key][0] in FAILURES:
            self._known[key] = (stop, gap)
        if stop not in FAILURES:
            self._by_hash[str(key[-1])] = key

    def stored(self, point: GridPoint, *, retry: bool = False) -> tuple[str, float | None] | None:
        """Why the stored row of a point stopped, and its gap; None if the point needs work.

        Args:
            point: which one.
            retry: a row of a killed, crashed, refused or limited solve does not count.
        """
        known = self._known.get(point.key)
        if known is None or (retry and known[0] in WORTH_ANOTHER_TRY):
            return None
        if known[0] in WITHOUT_SOLUTION or self._solution(point.input_hash).exists():
            return known
        return None

    def has(self, point: GridPoint) -> bool:
        """Whether the row of a point is there, with its solution if there is one."""
        return self.stored(point) is not None

    def has_answer(self, point: GridPoint) -> bool:
        """Whether the same inputs were answered under another name of workload or machine."""
        return point.input_hash in self._by_hash and self._solution(point.input_hash).exists()

    def same_inputs(self, points: Iterable[GridPoint]) -> dict[str, Row]:
        """Rows of other names with the inputs of these points, by hash."""
        import pyarrow.compute as pc

        wanted = {point.input_hash for point in points}
        held = {row.input_hash: row for row in self._held if row.input_hash in wanted}
        table = _read(self.directory, list(COLUMNS), filters=pc.field("input_hash").isin(sorted(wanted)))
        stored = {
            str(values["input_hash"]): row_of(values) for values in table.to_pylist() if values["stop"] not in FAILURES
        }
        return {**stored, **held}

    def curve_values(self) -> dict[str, tuple[float | None, float | None, str]]:
        """Found traffic, bound (both in the unit of the bound) and stop, by hash of the inputs."""
        self.flush()
        table = _read(self.directory, [*KEY, "stop", "exact", "bound"])
        columns = [table[name].to_pylist() for name in ("input_hash", "exact", "bound", "stop")]
        return {name: (exact, bound, stop) for name, exact, bound, stop in zip(*columns, strict=True)}

    def mean_seconds(self) -> dict[str, float]:
        """Mean time per point of every method, over what is stored."""
        table = _read(self.directory, [*KEY, "stop", "seconds"])
        grouped = table.group_by("method").aggregate([("seconds", "mean")])
        return dict(zip(grouped["method"].to_pylist(), grouped["seconds_mean"].to_pylist(), strict=True))

    def add(self, answer: Answer) -> None:
        """Keep an answer: documents at once, the row within a second or so.

        Raises:
            StoreFullError: if there is no room left.
            StoreError: if something cannot be written.
        """
        row = answer.row
        if answer.certificate is not None and row.certificate not in self._certificates:
            path = self.directory / "certificates" / row.certificate[:2] / f"{row.certificate}.json"
            if not path.exists():
                write_atomic(path, _json(answer.certificate))
            self._certificates.add(row.certificate)
        if answer.solution is not None:
            write_atomic(self._solution(row.input_hash), _json(answer.solution))
        self.add_row(row)

    def add_row(self, row: Row) -> None:
        """Keep a row whose documents are there already."""
        self._held.append(row)
        self._remember(row.key, row.stop, row.gap)
        self.flush_if_due()

    def flush_if_due(self) -> None:
        """Write the rows held if they are many or waited long enough."""
        if len(self._held) >= ROWS_HELD or time.monotonic() - self._written >= SECONDS_HELD:
            self.flush()

    def flush(self) -> None:
        """Write the rows held, as one new part file.

        Raises:
            StoreFullError: if there is no room left.
            StoreError: if it cannot be written.
        """
        import pyarrow as pa

        self._written = time.monotonic()
        if not self._held:
            return
        table = pa.Table.from_pylist([as_dict(row) for row in self._held], schema=arrow_schema())
        self._parts.append(self._write_part(table))
        self._held = []
        if len(self._parts) >= PARTS_KEPT:
            self._parts = [self._replace_parts(self._parts)]

    def _write_part(self, table: pa.Table, kind: str = "part") -> Path:
        import pyarrow.parquet as pq

        buffer = io.BytesIO()
        # A checksum per page: a damaged file is noticed, not believed.
        pq.write_table(table, buffer, compression="zstd", write_page_checksum=True, row_group_size=ROWS_PER_GROUP)
        path = self._rows / f"{kind}-{self._run}-{uuid.uuid4().hex[:8]}.parquet"
        write_atomic(path, buffer.getvalue(), durable=True)
        return path

    def _replace_parts(self, parts: list[Path]) -> Path:
        """Put part files together; the new one is complete before an old one goes."""
        loaded = [_load_or_report(path, list(COLUMNS), None, self.directory) for path in parts]
        table = _merged([each for each in loaded if each is not None])
        made = self._write_part(table)
        for path in parts:
            path.unlink(missing_ok=True)
        return made

    def _tidy(self) -> None:
        """Put all rows into one sorted file, unless another sweep is at work here."""
        if not self._lock.try_alone():
            return
        parts = _part_files(self.directory)
        for stale in self.directory.rglob(f"{TEMPORARY}*"):
            stale.unlink(missing_ok=True)
        if len(parts) > 1 or any(not path.name.startswith("part-all-") for path in parts):
            table = _read(self.directory, list(COLUMNS), set_aside=True)
            if len(table):
                self._run = f"all-{uuid.uuid4().hex[:12]}"
                self._write_part(table)
            for path in parts:
                path.unlink(missing_ok=True)

    def _solution(self, name: str) -> Path:
        return solution_path(self.directory, name)


def solution_path(directory: Path, name: str) -> Path:
    """The solution document of the rows with an `input_hash`; it may not be there."""
    return directory / "solutions" / name[:2] / f"{name}.json"


def read_rows(directory: Path) -> pa.Table:
    """All rows of a directory, sorted, every point once; readable while a sweep writes.

    Raises:
        InputError: if there is no sweep in the directory, or pyarrow is not installed.
    """
    require("pyarrow")
    if not (directory / "rows").is_dir():
        raise InputError(f"{directory}: no sweep here (it has no folder rows); run optmap sweep SPEC -o {directory}")
    return _read(directory, list(COLUMNS))


def _json(document: dict[str, object]) -> bytes:
    # Without indentation: the encoder of the standard library is ten times slower with it.
    return (json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _part_files(directory: Path) -> list[Path]:
    return sorted((directory / "rows").glob("part-*.parquet"))


def _read(directory: Path, columns: list[str], *, filters: object = None, set_aside: bool = False) -> pa.Table:
    """Columns of all rows; other processes may add, replace and remove files meanwhile."""
    for _ in range(20):
        tables = []
        try:
            for path in _part_files(directory):
                table = _load_or_report(path, columns, filters, directory if set_aside else None)
                if table is not None:
                    tables.append(table)
        except FileNotFoundError:  # another sweep put its parts together: look again
            continue
        return _merged(tables, columns)
    raise StoreError(f"{directory}: its files keep changing; try again when the other sweeps are done")


def _load(path: Path, columns: list[str] | None, filters: object = None) -> pa.Table:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        made = (file.schema_arrow.metadata or {}).get(b"schema", b"").decode(errors="replace")
        if made not in LACKING:
            raise InputError(
                f"{path.parent.parent}: its rows are {made or 'of an unknown version'}, this optmap reads "
                f"{SCHEMA_VERSION}; run the sweep again into another directory"
            )
        wanted, lacking = list(COLUMNS) if columns is None else columns, LACKING[made]
        table = file.read(columns=[name for name in wanted if name not in lacking])
        table = _completed(table, wanted, lacking) if lacking else table
    return table if filters is None else table.filter(filters)


def _completed(table: pa.Table, columns: list[str], lacking: tuple[str, ...]) -> pa.Table:
    """Rows of an older version with the columns that came later, empty."""
    import pyarrow as pa

    schema = arrow_schema()
    for name in columns:
        if name in lacking:
            field = schema.field(name)
            empty = pa.nulls(len(table), field.type) if field.nullable else pa.array([""] * len(table), field.type)
            table = table.append_column(field, empty)
    return table.select(columns)


def _load_or_report(path: Path, columns: list[str], filters: object, directory: Path | None) -> pa.Table | None:
    """The rows of a file; a damaged one is put aside (or skipped) and reported."""
    import pyarrow as pa

    try:
        return _load(path, columns, filters)
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException, ValueError, KeyError) as error:
        if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EMFILE, errno.ENOMEM):
            raise StoreError(f"{path}: cannot be read: {error.strerror}") from error
        log.warning("%s: damaged (%s); its points count as not answered", path, " ".join(str(error).split())[:120])
        if directory is not None:
            try:
                (directory / "damaged").mkdir(exist_ok=True)
                path.rename(directory / "damaged" / path.name)
            except OSError as failed:
                raise store_error(path, failed) from failed
        return None


def _merged(tables: list[pa.Table], columns: list[str] | None = None) -> pa.Table:
    """The rows of several tables, sorted by key, each key once; an answer goes before a failure."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = arrow_schema()
    schema = whole if columns is None else pa.schema([whole.field(name) for name in columns], whole.metadata)
    if not tables:
        return schema.empty_table()
    table = pa.concat_tables([each.cast(schema) for each in tables])
    if "stop" not in schema.names:
        return table
    failed = pc.is_in(table["stop"], value_set=pa.array(FAILURES)).cast(pa.int8())
    order = [(name, "ascending") for name in KEY]
    table = table.append_column("_failed", failed).sort_by([*order, ("_failed", "ascending")]).drop(["_failed"])
    if len(table) < 2:
        return table
    changed = None
    for name in KEY:
        column = table[name].combine_chunks()
        differs = pc.not_equal(column.slice(1), column.slice(0, len(column) - 1))
        changed = differs if changed is None else pc.or_(changed, differs)
    keep = pa.concat_arrays([pa.array([True]), pa.chunked_array([changed]).combine_chunks()])
    return table.filter(keep)
