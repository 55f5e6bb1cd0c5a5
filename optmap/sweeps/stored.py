"""What a directory of a sweep holds, for whoever only looks: nothing in it is written, moved or removed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from optmap.base.errors import InputError
from optmap.base.extras import install
from optmap.sweeps.points import GridPoint
from optmap.sweeps.records.damage import Named, damage_of
from optmap.sweeps.records.lock import at_work
from optmap.sweeps.records.manifest import Key, Manifest, file_digest
from optmap.sweeps.records.parts import PLACE, Parts
from optmap.sweeps.records.rows import FAILURES, KEY

LOCK = ".lock"
WORTH_ANOTHER_TRY = (*FAILURES, "error", "time_limit")


def require(*packages: str) -> None:
    """Check that optional packages are there.

    Raises:
        InputError: naming the install command.
    """
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise InputError(f"sweeps need {' and '.join(missing)}; run: {install(*missing)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What is remembered of a row."""

    stop: str
    gap: float | None
    documents: Mapping[str, str]
    """SHA-256 of every document behind it, by its path in the directory."""
    fresh: bool
    """Whether it was answered since the directory was opened, here or by another sweep."""

    @property
    def stale(self) -> bool:
        """Whether another try may give more."""
        return self.stop in WORTH_ANOTHER_TRY and not self.fresh


class Stored:
    """The rows of a directory, remembered by what they answer.

    Args:
        directory: of the sweep.
        aside: put files that cannot be read into the folder `damaged`, for whoever is at work there.

    Raises:
        InputError: if pyarrow is not installed.
    """

    def __init__(self, directory: Path, *, aside: bool = False) -> None:
        require("pyarrow")
        self.directory = directory
        self._seen: set[Path] = set()
        """Part files whose rows are remembered."""
        self._manifest = Manifest(directory)
        self._parts = Parts(directory, self._manifest, aside=aside)
        self._named = Named(directory)
        self._known: dict[Key, _Known] = {}
        self._by_hash: dict[str, Key] = {}

    def _look(self, *, alone: Callable[[], bool]) -> None:
        """Remember all rows, and name what is not as it was recorded; `alone` as in `damage_of`."""
        self._learn(fresh=False)
        self._named.tell(damage_of(self._parts, alone=alone))

    def _learn(self, *, fresh: bool) -> None:
        """Remember the rows of part files that were not read before."""
        files = self._parts.files()
        table = self._parts.read([*KEY, "stop", "gap", PLACE], skip=self._seen)
        self._seen |= set(files)
        for values in table.to_pylist():
            *key, stop, gap, place = values.values()
            self._remember(tuple(key), stop, gap, self._manifest.by_place[place].documents, fresh=fresh)

    def _remember(self, key: Key, stop: str, gap: float | None, documents: Mapping[str, str], *, fresh: bool) -> None:
        known = self._known.get(key)
        if known is None or known.stop in FAILURES or stop not in FAILURES:
            self._known[key] = _Known(stop=stop, gap=gap, documents=documents, fresh=fresh)
        if stop not in FAILURES:
            self._by_hash[str(key[-1])] = key

    def stored(self, point: GridPoint, *, retry: bool = False) -> tuple[str, float | None] | None:
        """Why the stored row of a point stopped, and its gap; None if the point needs work.

        Args:
            point: which one.
            retry: a row of a killed, crashed, refused or limited solve does not count if it was there before; one that
                was interrupted never does.
        """
        known = self._known.get(point.key)
        interrupted = known is not None and known.stop == "interrupted"
        if known is None or interrupted or (retry and known.stale) or not self._documents_hold(known):
            return None
        return known.stop, known.gap

    def has(self, point: GridPoint) -> bool:
        """Whether the row of a point is there, with its solution if there is one."""
        return self.stored(point) is not None

    def has_answer(self, point: GridPoint, *, retry: bool = False) -> bool:
        """Whether the same inputs were answered under another name of workload or machine; `retry` as in `stored`."""
        known = self._known.get(self._by_hash.get(point.input_hash, ()))
        if known is None or (retry and known.stale):
            return False
        return bool(known.documents) and self._documents_hold(known)

    def _documents_hold(self, known: _Known) -> bool:
        """Whether the documents behind a row are what they were; others are named."""
        wrong = [path for path, digest in known.documents.items() if file_digest(self.directory / path) != digest]
        self._named.tell_documents(wrong)
        return not wrong

    def mean_seconds(self) -> dict[str, float]:
        """Mean time per point of every method, over what is stored."""
        table = self._parts.read([*KEY, "stop", "seconds"])
        grouped = table.group_by("method").aggregate([("seconds", "mean")])
        return dict(zip(grouped["method"].to_pylist(), grouped["seconds_mean"].to_pylist(), strict=True))


def look(directory: Path) -> Stored:
    """The rows that a directory holds now.

    Raises:
        InputError: if pyarrow is not installed, or for rows of another version.
        StoreError: if a file or the manifest cannot be read.
    """
    made = Stored(directory)
    made._look(alone=lambda: not at_work(directory / LOCK))
    return made
