"""The page of JSON documents: the fields of each schema of `models/schemas`, as tables."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from importlib import import_module
from inspect import getdoc
from itertools import pairwise
from pathlib import Path
from typing import Any

import optmap
from making.files import MODELS, rows
from making.markdown import literal, table
from making.prose import rendered

SCHEMAS = MODELS / "schemas"
PACKAGE = Path(optmap.__file__).parent
NAME = re.compile(r'"(optmap\.[a-z_-]+/\d+)"')
OLD = {"optmap.solution/1"}
"""What is read to be refused."""
FORMATS = {
    "optmap.certificate/1": "optmap.bounds.certificate",
    "optmap.chain-certificate/1": "optmap.bounds.chains.certificate",
}
"""Modules that say what every field of a certificate means, and what is checked."""
TABLES = {"optmap.rows/4": ("optmap.sweeps.records.rows", "Row")}
"""Classes whose fields, with the text under each, are the columns of a table that is kept."""
PARTS = "parts.json"
"""What several documents have."""
INTRODUCTION = """\
# JSON documents

What `--json` prints and `-o` writes. Every document has a `schema` with a number, which changes when a field does.
Words are words of the workload, loads and stores are counted separately; `_pj` are picojoules, `_s` seconds, `gap`
is a ratio minus one. `(name)` stands for the names that a table has as keys, `[]` for every entry of a list. Each
schema is a JSON Schema to download as well; those files refer to each other.
"""


def pages() -> Mapping[str, str]:
    """The page and the schemas, by their path in the site."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(SCHEMAS.glob("*.json"))}
    parts = [INTRODUCTION]
    for name in sorted(known()):
        parts.append(f"## {name}\n")
        if name in TABLES:
            parts += ["The columns of the Parquet files of a sweep:\n", _columns(*TABLES[name])]
            continue
        file = file_of(name)
        parts += [*_schema(json.loads(texts[file])), f"[{file}](schemas/{file})\n"]
        if name in FORMATS:
            parts += ["Its fields, and what a checker does with them:\n"]
            parts += [rendered(getdoc(import_module(FORMATS[name])) or "") + "\n"]
    parts += ["## Parts\n", f"What several documents have. [{PARTS}](schemas/{PARTS})\n"]
    for name, own in json.loads(texts[PARTS])["$defs"].items():
        parts += [f"### {name}\n", *_schema(own)]
    return {"reference/documents.md": "\n".join(parts), **{f"reference/schemas/{n}": t for n, t in texts.items()}}


def file_of(name: str) -> str:
    """The file of a schema."""
    return f"{name.removeprefix('optmap.').replace('/', '-')}.json"


def _schema(own: Mapping[str, Any]) -> list[str]:
    """What a schema is of, and the table of its fields."""
    found = [(literal(key if required else f"{key}?"), kind, said) for key, kind, required, said in rows(own)]
    said = [f"{own['description']}\n"] if "description" in own else []
    return [*said, table(("key", "type", "what it is"), found)] if found else said


def _columns(module: str, name: str) -> str:
    """The fields of a class with their types and the texts under them, as a table."""
    tree = ast.parse(Path(str(import_module(module).__file__)).read_text(encoding="utf-8"))
    (own,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    found = []
    for field, text in pairwise(own.body):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            kind = ast.unparse(field.annotation).replace("None", "nothing").replace(" | ", " or ")
            found.append((literal(ast.unparse(field.target)), kind, str(text.value.value)))
    assert found
    return table(("column", "type", "what it is"), found)


def known() -> set[str]:
    """The schemas that the package writes or reads."""
    texts = (path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    return {name for text in texts for name in NAME.findall(text)} - OLD
