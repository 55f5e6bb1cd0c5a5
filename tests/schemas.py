"""Holds documents against the schemas of `models/schemas`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

FOLDER = Path(__file__).resolve().parents[1] / "models" / "schemas"
FILES = "files-1.json"
"""Of files of another tool, which are named after their format."""
SHOWN = 300
"""Characters of a complaint."""


def file_of(name: str) -> str:
    """The file of a schema: `solution-2.json` of `optmap.solution/2`, one of all formats for files of a format."""
    return FILES if name.endswith("-files/1") else f"{name.removeprefix('optmap.').replace('/', '-')}.json"


@cache
def every() -> dict[str, dict[str, Any]]:
    """The schemas by their files."""
    return {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}


@cache
def validator(file: str) -> Draft202012Validator:
    """What holds documents against the schema in a file."""
    resources = [(name, Resource(contents=own, specification=DRAFT202012)) for name, own in every().items()]
    return Draft202012Validator(every()[file], registry=Registry().with_resources(resources))


def hold(document: Any) -> None:
    """Refuse a document that is not as its schema says; what is no document is let pass.

    Raises:
        AssertionError: naming the place of what is wrong.
    """
    document = json.loads(json.dumps(document))
    if not isinstance(document, dict) or not re.fullmatch(r"optmap\.[a-z_-]+/\d+", str(document.get("schema"))):
        return
    wrong = next(_complaints(document), None)
    assert wrong is None, f"{document['schema']}: {wrong}"


def _complaints(document: dict[str, Any]) -> Iterator[str]:
    for error in validator(file_of(document["schema"])).iter_errors(document):
        inner = error
        while inner.context:  # of several kinds the one that fits best
            inner = max(inner.context, key=lambda each: (len(each.absolute_path), -len(each.message)))
        yield f"{inner.json_path}: {inner.message[:SHOWN]}"
