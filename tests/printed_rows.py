"""Rows of a table that a script printed before it was interrupted."""

from __future__ import annotations

from pathlib import Path


def rows_made(file: Path | None) -> dict[tuple[str, str], str]:
    """Lines of a file by their first two columns; none without a file, or of rows that had something to complain about.

    Args:
        file: what a script printed; its last line may be cut off.
    """
    made: dict[tuple[str, str], str] = {}
    key = ("", "")
    for line in file.read_text(encoding="utf-8").splitlines(keepends=True) if file else []:
        if line.startswith(" "):  # said of the row above
            made.pop(key, None)
        elif line.endswith("\n") and len(line.split()) > 1:
            key = (line.split()[0], line.split()[1])
            made[key] = line
    return made
