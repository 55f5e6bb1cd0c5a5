"""What of a directory is not as its manifest says, in words."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from optmap.base.texts import several
from optmap.sweeps.records.manifest import NAME, Key
from optmap.sweeps.records.parts import Parts

log = logging.getLogger(__name__)

MOST_NAMED = 20
"""Things named one by one; of more, only the number is told."""
CONSEQUENCE = "its point counts as not answered"


class Named:
    """What is named on the log, each thing once.

    Args:
        directory: of the sweep.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._told: set[str] = set()

    def tell(self, texts: Iterable[str]) -> None:
        """Name things that are not as they were recorded."""
        new = [text for text in dict.fromkeys(texts) if text not in self._told]
        self._told |= set(new)
        for text in new[:MOST_NAMED]:
            log.warning("%s: %s; %s", self._directory, text, CONSEQUENCE)
        if len(new) > MOST_NAMED:
            log.warning("%s: … and %s more like these", self._directory, f"{len(new) - MOST_NAMED:,}")

    def tell_documents(self, paths: Iterable[str]) -> None:
        """Name documents that are not as they were recorded."""
        self.tell(document_text(self._directory, path) for path in paths)


def document_text(directory: Path, path: str) -> str:
    """What is wrong with a document."""
    return f"{path} is lost" if not (directory / path).exists() else f"{path} is not what was recorded (edited or cut)"


def damage_of(parts: Parts, *, alone: Callable[[], bool]) -> Iterator[str]:
    """What is wrong with the manifest and the rows; documents are not looked at.

    Args:
        parts: as last read.
        alone: whether nobody else is at work: then every line has its row.
    """
    for name, reason in parts.unreadable.items():
        yield f"rows/{name} is damaged ({reason})"
    for number in parts.manifest.broken:
        yield f"{NAME}: line {number} is cut short or edited"
    unlisted = parts.unlisted()
    if unlisted and not parts.manifest.exists:
        yield f"there is no {NAME}, so none of the rows counts: {sum(map(len, unlisted.values())):,}"
        return
    for path, keys in unlisted.items():
        for key in keys:
            known = key in parts.manifest.latest
            what = (
                "is not what was recorded" if known else f"has no line in {NAME}: it was edited, or written elsewhere"
            )
            yield f"rows/{path.name}: the row of {key_text(key)} {what}"
    changed = {key for keys in unlisted.values() for key in keys}
    missing = [key for key in parts.missing() if key not in changed]
    if missing and alone():
        for key in missing:
            yield f"the row of {key_text(key)} is lost"


def key_text(key: Key) -> str:
    """The point of a row in words."""
    workload, machine, level, words, method, question = key
    return f"{workload}, {machine}, {level} of {several(int(words), 'word')}, {method} ({str(question)[:12]})"
