"""All that the directory of a sweep holds, verified: manifest, rows, documents, and rows against documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from optmap.api import check
from optmap.base.errors import CheckError, InputError, OptmapError
from optmap.base.share import Share, Tell
from optmap.base.texts import several
from optmap.checker import Report
from optmap.files.reading import read_json
from optmap.sweeps.records.damage import damage_of, document_text, key_text
from optmap.sweeps.records.lock import at_work
from optmap.sweeps.records.manifest import Manifest, ManifestEntry, file_digest
from optmap.sweeps.records.parts import PLACE, Parts
from optmap.sweeps.records.row_claims import ELSEWHERE, Behind, differences
from optmap.sweeps.records.rows import COLUMNS, FAILURES, Row, row_of
from optmap.sweeps.stored import LOCK, require

MOST_REASONS = 50
"""Reasons that a refusal gives; of more, only the number."""
WITHOUT_DOCUMENT = (*FAILURES, "error", "check", "infeasible", "time_limit")
"""Values of `stop` whose rows may claim no number."""


def check_folder(directory: Path, progress: Tell | None = None) -> Report:
    """Verify everything that a sweep, a race or a network wrote into a directory.

    Every row has to be what its line in the manifest says, every document behind it, too; every document has to
    pass the independent checker, and every number of a row has to be that of its document.

    Args:
        directory: what `optmap sweep -o` wrote.
        progress: called with a text and the share that is done.

    Raises:
        InputError: if there is no sweep in the directory, or pyarrow is not installed.
        CheckError: naming everything that is wrong.
    """
    require("pyarrow")
    if not (directory / "rows").is_dir():
        raise InputError(
            f"{directory}: is a folder, and no sweep here (it has no folder rows); name a file, or what sweep -o wrote"
        )
    parts = Parts(directory, Manifest(directory))
    table = parts.read([*COLUMNS, PLACE])
    found = _Found(directory)
    found.wrong += damage_of(parts, alone=lambda: not at_work(directory / LOCK))
    for number, values in enumerate(table.to_pylist()):
        if progress is not None:
            progress("checking rows", Share.counted(number, len(table)))
        found.look_at(values, parts.manifest.by_place[values.pop(PLACE)])
    if found.wrong:
        raise CheckError(_refusal(directory, found.wrong))
    return found.report()


def _refusal(directory: Path, wrong: list[str]) -> str:
    count = f"{len(wrong):,} things are" if len(wrong) > 1 else "one thing is"
    more = [f"… and {len(wrong) - MOST_REASONS:,} more"] if len(wrong) > MOST_REASONS else []
    lines = "".join(f"\n  {text}" for text in [*wrong[:MOST_REASONS], *more])
    return f"{directory}: refused: {count} not as recorded or not as claimed; run the sweep again to mend it{lines}"


class _Found:
    """What a walk over the rows has found."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.wrong: list[str] = []
        self.rows = 0
        self.silent: Counter[str] = Counter()
        """Rows that claim no number, by why they stopped."""
        self.documents: dict[str, bool] = {}
        """Whether each document holds."""

    def look_at(self, values: Mapping[str, object], entry: ManifestEntry) -> None:
        """Check one row and what is behind it."""
        self.rows += 1
        holds = [self._document_holds(path, digest) for path, digest in entry.documents.items()]
        if not all(holds):
            return
        row = row_of(values)
        if not entry.documents:
            self.silent[row.stop] += 1
            if row.stop not in WITHOUT_DOCUMENT:
                self.wrong.append(f"the row of {key_text(entry.key)}: {row.stop} without any document")
        behind = self._behind(row, entry.documents)
        said = {name: getattr(row, name) for name in COLUMNS}
        try:
            wrong = differences(said, behind)
        except (OptmapError, LookupError, TypeError, ValueError, ArithmeticError) as error:
            wrong = [f"its document says something else altogether: {error}"]
        self.wrong += [f"the row of {key_text(entry.key)}: {text}" for text in wrong]

    def _document_holds(self, path: str, digest: str) -> bool:
        """Whether a document is what was recorded and passes the checker."""
        if file_digest(self.directory / path) != digest:
            self._reject(document_text(self.directory, path))
            return False
        if path not in self.documents:
            try:
                check(self.directory / path)
                self.documents[path] = True
            except OptmapError as error:
                self._reject(str(error).removeprefix(f"{self.directory}/"))
                self.documents[path] = False
        return self.documents[path]

    def _reject(self, text: str) -> None:
        if text not in self.wrong:
            self.wrong.append(text)

    def _behind(self, row: Row, paths: Mapping[str, str]) -> Behind | None:
        """The documents of a row, by their place in the directory."""
        named = {Path(path).stem: self._read(path) for path in paths}
        if row.input_hash not in named:
            return None
        document, certificate = named[row.input_hash], named.get(row.certificate)
        return Behind(document=document, certificate=certificate, level=row.level, cores=row.cores)

    def _read(self, path: str) -> dict[str, Any]:
        return dict(read_json(self.directory / path).values)

    def report(self) -> Report:
        """What was verified, and what was not."""
        verified = [
            several(
                self.rows,
                "row is what was recorded when it was written",
                "rows are what was recorded when they were written",
            ),
            f"{len(self.documents):,} solutions and certificates are, too, and the checker re-proved each of them",
            "the numbers of every row are those of its documents",
        ]
        left = [f"{ELSEWHERE}: as recorded, but nothing proves them"]
        left += [f"{several(count, 'row')} without a number ({stop})" for stop, count in sorted(self.silent.items())]
        strangers = self._strangers()
        if strangers:
            left.append(f"{several(strangers, 'file')} that no row refers to, the folder damaged included")
        return Report(verified=tuple(verified), not_verified=tuple(left))

    def _strangers(self) -> int:
        folders = ("solutions", "certificates", "damaged")
        files = [path for folder in folders for path in (self.directory / folder).rglob("*") if path.is_file()]
        return sum(path.relative_to(self.directory).as_posix() not in self.documents for path in files)
