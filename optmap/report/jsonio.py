"""JSON files, read as strictly as the YAML files of the library."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from optmap.errors import InputError
from optmap.problem.yaml_io import Fields


def to_json(document: Mapping[str, object]) -> str:
    """A document as indented JSON text, in the order of its keys, without a final newline."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


def read_json(path: Path) -> Fields:
    """Read a JSON file whose top is an object.

    Raises:
        InputError: if the file cannot be read, is not JSON, repeats a key, contains NaN or an
            infinity, or has something else at its top.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_unique, parse_constant=_refuse)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except RecursionError as error:
        raise InputError(f"{path}: not an optmap document: nested too deeply") from error
    except ValueError as error:  # syntax, text encoding, repeated keys, NaN
        raise InputError(f"{path}: not a JSON document: {error}") from error
    return Fields.of(value, str(path))


def check_target(path: Path | None) -> None:
    """Refuse a file that cannot be written before any work is done for it; None is fine.

    Raises:
        InputError: if the folder does not exist or the path is a folder itself.
    """
    if path is not None and (path.is_dir() or not path.parent.is_dir()):
        reason = "it is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise InputError(f"{path}: cannot be written: {reason}; choose another file")


def write_text(path: Path, text: str) -> None:
    """Write a text file.

    Raises:
        InputError: if it cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}; choose another file") from error


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made: dict[str, object] = {}
    for key, value in pairs:
        if key in made:
            raise ValueError(f"key {key!r} appears twice in one object")
        made[key] = value
    return made


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not a JSON number")
