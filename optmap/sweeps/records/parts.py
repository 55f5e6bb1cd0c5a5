"""The part files of a directory: their rows, and which of them the manifest vouches for."""

from __future__ import annotations

import errno
import io
import uuid
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from optmap.base.errors import InputError
from optmap.sweeps.records.files import StoreError, store_error
from optmap.sweeps.records.manifest import Key, Manifest, row_digest
from optmap.sweeps.records.rows import COLUMNS, FAILURES, KEY, SCHEMA_VERSION, arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = f"{SCHEMA_VERSION.partition('/')[0]}/"
"""How every version of the rows of sweeps begins."""
ROWS_PER_GROUP = 50_000
ROWS_AT_ONCE = 8192
TRIES = 20
"""Times that the files are looked at anew while other processes put theirs together."""
Loaded = TypeVar("Loaded")
PLACE = "_place"
"""Column beside those of a row: number of its line in the manifest."""


class Parts:
    """What the part files of a directory hold; rows without a line in the manifest never come out.

    Args:
        directory: of the sweep.
        manifest: its lines.
        aside: put files that cannot be read into the folder `damaged`.
    """

    def __init__(self, directory: Path, manifest: Manifest, *, aside: bool = False) -> None:
        self.directory = directory
        self.manifest = manifest
        self.unreadable: dict[str, str] = {}
        """Files that cannot be read, with the reason."""
        self._aside = aside
        self._known: dict[tuple[Path, int, int], list[str]] = {}
        """Digests of the rows of every file, by path, time and size."""

    def files(self) -> list[Path]:
        """The files that there are now."""
        return sorted((self.directory / "rows").glob("part-*.parquet"))

    def read(self, columns: list[str], *, filters: object = None, skip: Container[Path] = ()) -> pa.Table:
        """Columns of all rows that count, sorted, each point once; other processes may be at work meanwhile.

        Args:
            columns: which; those of `KEY` and `stop` among them, `PLACE` for the number of the line, too.
            filters: an expression of pyarrow; None for all rows.
            skip: files that are left out.

        Raises:
            InputError: for rows of another version.
            StoreError: if a file or the manifest cannot be read.
        """
        for _ in range(TRIES):
            try:
                digests = {path: self.digests(path) for path in self.files() if path not in skip}
                self.manifest.refresh()  # after the rows: the line of a row is written before the row
                tables = [
                    self._listed(path, made, columns, filters) for path, made in digests.items() if made is not None
                ]
            except FileNotFoundError:  # another sweep put its parts together: look again
                continue
            return _merged(tables, columns)
        raise StoreError(f"{self.directory}: its files keep changing; try again when the other sweeps are done")

    def digests(self, path: Path) -> list[str] | None:
        """Digests of the rows of a file, in its order; None for a file that cannot be read, which is reported."""
        stat = self._attempt(path, path.stat)
        if stat is None:
            return None
        known = (path, stat.st_mtime_ns, stat.st_size)
        if known not in self._known:
            made = self._attempt(path, lambda: [row_digest(values) for values in _dicts(_load(path, list(COLUMNS)))])
            if made is None:
                return None
            self._known[known] = made
        return self._known[known]

    def unlisted(self) -> dict[Path, list[Key]]:
        """Rows that do not count, by file."""
        found: dict[Path, list[Key]] = {}
        for path in self.files():
            digests = self.digests(path)
            if digests is None or all(digest in self.manifest.by_row for digest in digests):
                continue
            keys: list[Key] = [tuple(values.values()) for values in _load(path, list(KEY)).to_pylist()]
            found[path] = [k for k, digest in zip(keys, digests, strict=True) if digest not in self.manifest.by_row]
        return found

    def missing(self) -> list[Key]:
        """Rows that have a line and are in no file."""
        there = {
            self.manifest.by_row[digest].key
            for path in self.files()
            for digest in self.digests(path) or ()
            if digest in self.manifest.by_row
        }
        return [key for key in self.manifest.latest if key not in there]

    def _listed(self, path: Path, digests: list[str], columns: list[str], filters: object) -> pa.Table:
        """The rows of a file that have a line, with the number of the line."""
        import pyarrow as pa

        table = self._attempt(path, lambda: _load(path, [name for name in columns if name != PLACE]))
        if table is None or len(table) != len(digests):
            raise FileNotFoundError(path)  # changed between two looks
        entries = [self.manifest.by_row.get(digest) for digest in digests]
        places = pa.array([None if entry is None else entry.place for entry in entries], pa.int64())
        table = table.append_column(PLACE, places).filter(places.is_valid())
        return table if filters is None else table.filter(filters)

    def _attempt(self, path: Path, load: Callable[[], Loaded]) -> Loaded | None:
        """What is loaded of a file; a damaged one is put aside (or skipped) and remembered."""
        import pyarrow as pa

        try:
            return load()
        except FileNotFoundError:
            raise
        except (OSError, pa.ArrowException, ValueError, KeyError) as error:
            if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EMFILE, errno.ENOMEM):
                raise StoreError(f"{path}: cannot be read: {error.strerror}") from error
            if path.name not in self.unreadable:
                self.unreadable[path.name] = " ".join(str(error).split())[:120]
            if self._aside:
                self.put_aside(path)
            return None

    def put_aside(self, path: Path) -> None:
        """Move a file to the folder of damaged ones.

        Raises:
            StoreError: if that cannot be done.
        """
        try:
            aside_path(self.directory, path.name).parent.mkdir(exist_ok=True)
            path.rename(aside_path(self.directory, path.name))
        except OSError as error:
            raise store_error(path, error) from error


def aside_path(directory: Path, name: str) -> Path:
    """Where a file with damage is kept; a name that is taken gets another ending."""
    folder = directory / "damaged"
    return folder / name if not (folder / name).exists() else folder / f"{name}.{uuid.uuid4().hex[:8]}"


def part_bytes(table: pa.Table) -> bytes:
    """The file of rows."""
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    # A checksum per page: a damaged file is noticed, not believed.
    pq.write_table(table, buffer, compression="zstd", write_page_checksum=True, row_group_size=ROWS_PER_GROUP)
    return buffer.getvalue()


def _dicts(table: pa.Table) -> Iterator[dict[str, object]]:
    for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
        yield from batch.to_pylist()


def _load(path: Path, columns: list[str]) -> pa.Table:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        made = (file.schema_arrow.metadata or {}).get(b"schema", b"").decode(errors="replace")
        if not made.startswith(ROWS):
            raise ValueError("a file of other rows")
        if made != SCHEMA_VERSION:
            raise InputError(
                f"{path.parent.parent}: its rows are {made}, this optmap reads "
                f"{SCHEMA_VERSION}; run the sweep again into another directory"
            )
        return file.read(columns=columns).cast(_schema(columns))


def _schema(columns: list[str]) -> pa.Schema:
    import pyarrow as pa

    whole = arrow_schema()
    place = pa.field(PLACE, pa.int64())
    return pa.schema([place if name == PLACE else whole.field(name) for name in columns], whole.metadata)


def _merged(tables: list[pa.Table], columns: list[str]) -> pa.Table:
    """The rows of several tables, sorted by key, each key once: an answer goes before a failure, then the last."""
    import pyarrow as pa
    import pyarrow.compute as pc

    schema = _schema(columns)
    if not tables:
        return schema.empty_table()
    table = pa.concat_tables(tables)
    failed = pc.is_in(table["stop"], value_set=pa.array(FAILURES)).cast(pa.int8())
    order = [*((name, "ascending") for name in KEY), ("_failed", "ascending"), (PLACE, "descending")]
    table = table.append_column("_failed", failed).sort_by(order).select(columns)
    if len(table) < 2:
        return table.cast(schema)
    changed = None
    for name in KEY:
        column = table[name].combine_chunks()
        differs = pc.not_equal(column.slice(1), column.slice(0, len(column) - 1))
        changed = differs if changed is None else pc.or_(changed, differs)
    keep = pa.concat_arrays([pa.array([True]), pa.chunked_array([changed]).combine_chunks()])
    return table.filter(keep).cast(schema)
