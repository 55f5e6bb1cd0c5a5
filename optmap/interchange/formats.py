"""Formats of files of other tools by name: what reads each, and what writes it.

    register_format(FileFormat(name="toy", suffixes=(".toy",), read=toys_of, write=as_toys))

The command line then reads `optmap import FILE.toy`, and writes with `optmap export SOLUTION.json --format toy`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from optmap.base.names import enter
from optmap.base.shown import Names, Shown

if TYPE_CHECKING:
    from optmap.search.result import Solved

Reader: TypeAlias = Callable[[Sequence[Path], Mapping[str, int]], Shown]
Writer: TypeAlias = "Callable[[Solved], dict[str, str]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFormat:
    """Files of another tool, which are read, written, or both; a function imports what it needs when it is called."""

    name: str
    """Key in `FORMATS`."""
    suffixes: tuple[str, ...] = ()
    """Ends of the names of its files, such as `.onnx`, by which it is taken where no format is named."""
    read: Reader | None = None
    """From files, and sizes that they leave open, by name, to what they hold, which is saved as files of optmap."""
    write: Writer | None = None
    """From a solution to the texts of files by name."""


FORMATS: Names[FileFormat] = Names()
"""The formats by name; those of the library are in `optmap/wiring/file_formats.py`."""


def register_format(made: FileFormat) -> None:
    """Give a format of files a name: `import` then reads it, and `export` writes it.

    Raises:
        InputError: if the name is taken, or is none.
    """
    enter("format", made.name, made, FORMATS)


def readers() -> dict[str, Reader]:
    """Per format that is read what reads it."""
    return {name: each.read for name, each in FORMATS.items() if each.read is not None}


def writers() -> dict[str, Writer]:
    """Per format that is written what writes it."""
    return {name: each.write for name, each in FORMATS.items() if each.write is not None}


def format_of(files: Sequence[Path]) -> str:
    """The format that is read from files of such names; the first of all if there is none."""
    known = list(readers())
    return next((name for name in known if all(path.suffix in FORMATS[name].suffixes for path in files)), known[0])
