"""YAML and JSON files that are read: they have one meaning (no key twice, no NaN)."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from optmap.base.errors import InputError
from optmap.files.fields import Fields, describe
from optmap.files.kinds import missing_file

if TYPE_CHECKING:
    import yaml

    from optmap.files.yaml12 import CoreLoader

MOST_DIGITS = 1000
"""Digits of a number in a JSON file that are read."""


def load_yaml(path: Path, loader_type: type[CoreLoader] | None = None) -> object:
    """The document in a YAML file (version 1.2, core schema), made of plain dicts, lists, texts and numbers.

    Args:
        path: the file.
        loader_type: a loader that knows more tags; None for the plain one.

    Raises:
        InputError: if the file cannot be read or is not one YAML document, or if a mapping has a
            key twice; names line and column.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise missing_file(path) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    import yaml

    from optmap.files.yaml12 import CoreLoader

    try:
        loader = (loader_type or CoreLoader)(text)
        try:
            node = loader.get_single_node()
            _refuse_duplicates(loader, node, path, set())
            return None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        if "integer string conversion" in str(error):
            raise InputError(f"{path}{where}: it has a number of thousands of digits; give a smaller one") from error
        raise InputError(f"{path}{where}: not valid YAML: {error.problem or error.context}") from error
    except RecursionError as error:
        raise InputError(f"{path}: not an optmap file: nested too deeply") from error
    except yaml.YAMLError as error:
        raise InputError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error


def _refuse_duplicates(loader: CoreLoader, node: yaml.Node | None, path: Path, seen: set[int]) -> None:
    """Raise if a mapping below `node` has two equal keys, such as 10 and 0xA; PyYAML would keep the last."""
    import yaml

    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        keys: set[object] = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                own = loader.construct_object(key)
                if own in keys:
                    mark = key.start_mark
                    raise InputError(f"{path}:{mark.line + 1}:{mark.column + 1}: key {key.value!r} occurs twice")
                keys.add(own)
            _refuse_duplicates(loader, value, path, seen)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _refuse_duplicates(loader, item, path, seen)


def fingerprint(value: object) -> str:
    """SHA-256 (hex) of a JSON-able value, independent of the order of keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def read_json(path: Path) -> Fields:
    """Read a JSON file whose top is an object.

    Raises:
        InputError: if the file cannot be read, is not JSON, repeats a key, contains NaN or an
            infinity, or has something else at its top.
    """
    return Fields.of(_json(path), str(path))


def read_json_any(path: Path) -> Fields | list[Fields]:
    """Read a JSON file whose top is an object, or a list of objects.

    Raises:
        InputError: as `read_json`, and for a list that is empty.
    """
    value = _json(path)
    if isinstance(value, dict):
        return Fields.of(value, str(path))
    if not isinstance(value, list) or not value:
        raise InputError(f"{path}: an object or a list with at least one entry is needed, not {describe(value)}")
    return [Fields.of(item, f"{path}: [{number}]") for number, item in enumerate(value)]


def _json(path: Path) -> object:
    try:
        value: object = json.loads(
            path.read_text(encoding="utf-8"), object_pairs_hook=_unique, parse_constant=_refuse, parse_int=_whole
        )
    except FileNotFoundError as error:
        raise missing_file(path) from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except RecursionError as error:
        raise InputError(f"{path}: not an optmap document: nested too deeply") from error
    except ValueError as error:  # syntax, text encoding, repeated keys, NaN
        raise InputError(f"{path}: not a JSON document: {error}") from error
    return value


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made: dict[str, object] = {}
    for key, value in pairs:
        if key in made:
            raise ValueError(f"key {key!r} appears twice in one object")
        made[key] = value
    return made


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not a JSON number")


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number has {len(digits):,} digits")
    return int(digits)
