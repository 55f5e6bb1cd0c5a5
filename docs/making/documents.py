"""The page of JSON documents: the fields of each schema, as the documents have them that the tests keep.

A schema is formed of all documents of its name: answers of every command that measures nothing (tests/goldens), files
of solutions and certificates (tests/data/documents) and what the commands of `ASKED` say.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import optmap
from making.markdown import code, literal, table

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(optmap.__file__).parent
NAME = re.compile(r'"(optmap\.[a-z_-]+/\d+)"')
OLD = {"optmap.solution/1"}
"""What is read to be refused."""
ASKED = (
    "list --json",
    "show mopt --json",
    "show resnet18 --json",
    "doctor --json",
    "sweep yolo_caches --plan --json",
    "solve chains/mlp --memory 64KiB -o chain.json --json",
    "evaluate chain.json --json",
    "solve resnet18/R12 --machine eyeriss_like --method random --evaluations 40 --journal kept.jsonl --json",
    "import model.onnx --json",
    "network model.onnx --fuse --curve --memory 4KiB:16KiB --points 2 --json",
    "export resnet18/R12 --memory 8192w --format text --json",
)
"""Commands whose documents no test keeps, run one after the other in one folder; files that they write count, too."""
FORMATS = {
    "optmap.certificate/1": "optmap.bounds.certificate",
    "optmap.chain-certificate/1": "optmap.bounds.chains.certificate",
}
"""Modules that say what every field of a certificate means, and what is checked."""
ROWS = {"optmap.rows/4": ("optmap.sweeps.records.rows", "Row")}
"""Classes whose fields, with the text under each, are the columns of a table that is kept."""
INTRODUCTION = """\
# JSON documents

What `--json` prints and `-o` writes. Every document has a `schema` with a number, which changes when a field does.
Words are words of the workload, loads and stores are counted separately; `_pj` are picojoules, `_s` seconds, `gap`
is a ratio minus one. The schemas here are formed of the documents that the tests keep: `?` marks a field that not
all of them have, and a table has names of dims, tensors or levels as keys. Each is a JSON Schema to download as
well.
"""


def pages() -> Mapping[str, str]:
    """The page and the schemas, by their path in the site."""
    seen: dict[str, list[Any]] = defaultdict(list)
    for document in _kept():
        _collect(document, seen)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        _write_model(Path("model.onnx"))
        for words in ASKED:
            _collect(answer(words), seen)
        for value in _values(Path()):
            _collect(value, seen)
    homes = known()
    parts, found = [INTRODUCTION], {}
    for name in sorted(homes):
        shape = Shape()
        for each in seen.get(name, ()):
            shape.add(each)
        file = f"{name.removeprefix('optmap.').replace('/', '-')}.json"
        parts.append(f"## {name}\n")
        if name in ROWS:
            parts += ["The columns of the Parquet files of a sweep:\n", _columns(*ROWS[name])]
            continue
        if not seen.get(name):
            said = ", ".join(f"`{home}`" for home in homes[name])
            parts.append(
                f"Of {said}. No test keeps such a document: what it holds was measured, or comes from elsewhere.\n"
            )
            continue
        schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": name, **shape.schema()}
        found[f"reference/schemas/{file}"] = json.dumps(schema, indent=1) + "\n"
        parts.append(f"Of {len(seen[name])} documents. [{file}](schemas/{file})\n")
        parts.append(code("\n".join(shape.lines())))
        if name in FORMATS:
            parts += [
                "Its fields, and what a checker does with them:\n",
                code(import_module(FORMATS[name]).__doc__ or ""),
            ]
    return {"reference/documents.md": "\n".join(parts), **found}


def _columns(module: str, name: str) -> str:
    """The fields of a class with their types and the texts under them, as a table."""
    tree = ast.parse(Path(str(import_module(module).__file__)).read_text(encoding="utf-8"))
    (own,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    rows = []
    for field, text in pairwise(own.body):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            kind = ast.unparse(field.annotation).replace("None", "nothing").replace(" | ", " or ")
            rows.append((literal(ast.unparse(field.target)), kind, str(text.value.value)))
    assert rows
    return table(("column", "type", "what it is"), rows)


def known() -> dict[str, list[str]]:
    """The schemas that the package writes or reads, and the files that name them."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for name in set(NAME.findall(path.read_text(encoding="utf-8"))) - OLD:
            found[name].append(f"optmap/{path.relative_to(PACKAGE).as_posix()}")
    return found


def _kept() -> Iterator[Any]:
    """The documents that tests keep."""
    yield from _values(ROOT / "tests" / "goldens" / "answers")
    yield from _values(ROOT / "tests" / "data" / "documents")


def _values(folder: Path) -> Iterator[Any]:
    """All of its JSON files, and the lines of those that have a document a line."""
    for path in sorted(folder.rglob("*.json")):
        yield json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(folder.rglob("*.jsonl")):
        yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def _write_model(path: Path) -> None:
    """Two products, one after the other, as an ONNX file."""
    import onnx
    from onnx import TensorProto, helper

    tokens, result = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [32, 16]) for name in ("x", "y"))
    weights = [helper.make_tensor(name, TensorProto.FLOAT, [16, 16], bytes(1024), raw=True) for name in ("W", "V")]
    nodes = [helper.make_node("MatMul", ["x", "W"], ["h"]), helper.make_node("MatMul", ["h", "V"], ["y"])]
    graph = helper.make_graph(nodes, "pair", [tokens], [result], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def answer(words: str) -> Any:
    """The document that a command prints."""
    from optmap.cli import main

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        main(words.split())
    return json.loads(said.getvalue())


def _collect(value: Any, seen: dict[str, list[Any]]) -> None:
    """Every document inside a value, by its schema; inside others a document is named only."""
    if isinstance(value, dict):
        if NAME.fullmatch(json.dumps(value.get("schema"))):
            seen[value["schema"]].append(value)
        for each in value.values():
            _collect(each, seen)
    elif isinstance(value, list):
        for each in value:
            _collect(each, seen)


class Shape:
    """What several values have in common."""

    def __init__(self) -> None:
        self.number = 0
        self.kinds: dict[str, None] = {}
        self.keys: dict[str, Shape] = {}
        self.items: Shape | None = None
        self.inner: set[str] = set()
        self.words: set[str] = set()

    def add(self, value: Any, top: bool = True) -> None:
        """Count a value in."""
        self.number += 1
        if isinstance(value, dict) and set(value) <= {"digest", "entries", "first"} and "first" in value:
            value = [value["first"]]  # of a long list the tests keep the first entry
        if isinstance(value, dict) and not top and NAME.fullmatch(json.dumps(value.get("schema"))):
            self.inner.add(value["schema"])
        elif isinstance(value, dict):
            self.kinds["object"] = None
            for key, each in value.items():
                self.keys.setdefault(key, Shape()).add(each, top=False)
        elif isinstance(value, list):
            self.kinds["array"] = None
            for each in value:
                self.items = self.items or Shape()
                self.items.add(each, top=False)
        else:
            self.kinds[_kind(value)] = None
            if isinstance(value, str) and NAME.fullmatch(json.dumps(value)):
                self.words.add(value)

    @property
    def table(self) -> Shape | None:
        """What the values of a table have in common whose keys are names; None of a record."""
        named = [key for key in self.keys if re.fullmatch(r"[a-z][a-z_]+", key) is None]
        if not self.keys or len(named) < len(self.keys):
            return None
        found = Shape()
        for each in self.keys.values():
            found.merge(each)
        return found

    def merge(self, other: Shape) -> None:
        """Count in all that another one has."""
        self.number += other.number
        self.kinds |= other.kinds
        self.inner |= other.inner
        self.words |= other.words
        for key, each in other.keys.items():
            self.keys.setdefault(key, Shape()).merge(each)
        if other.items is not None:
            self.items = self.items or Shape()
            self.items.merge(other.items)

    def schema(self) -> dict[str, Any]:
        """As JSON Schema."""
        kinds = [kind for kind in self.kinds if not (kind == "integer" and "number" in self.kinds)]
        made: dict[str, Any] = {}
        if self.inner:
            kinds = list(dict.fromkeys([*kinds, "object"]))
        if kinds:
            made["type"] = kinds[0] if len(kinds) == 1 else kinds
        if len(self.words) == 1 and kinds == ["string"]:
            made["const"] = next(iter(self.words))
        if (table := self.table) is not None:
            made["additionalProperties"] = table.schema()
        elif self.keys and not self.inner:
            made["properties"] = {key: each.schema() for key, each in self.keys.items()}
            made["required"] = [key for key, each in self.keys.items() if each.number >= self.number]
        if self.items is not None:
            made["items"] = self.items.schema()
        return made

    def lines(self, depth: int = 0) -> Iterator[str]:
        """As lines of text, a field each."""
        blank = "  " * depth
        if (table := self.table) is not None:
            yield f"{blank}(name): {table.said()}"
            yield from table.below(depth + 1)
            return
        for key, each in self.keys.items():
            optional = "" if each.number >= self.number else "?"
            yield f"{blank}{key}{optional}: {each.said()}"
            yield from each.below(depth + 1)

    def below(self, depth: int) -> Iterator[str]:
        """The lines of what is inside."""
        if self.keys:
            yield from self.lines(depth)
        if self.items is not None:
            yield from self.items.below(depth)

    def said(self) -> str:
        """What it is, in a few words."""
        kinds = [kind for kind in self.kinds if not (kind == "integer" and "number" in self.kinds)]
        words = [f'"{word}"' for word in sorted(self.words)] if kinds == ["string"] and self.words else []
        shown = words or [
            f"list of {self.items.said() if self.items else 'nothing here'}" if kind == "array" else
            ("table" if self.table else "record") if kind == "object" else kind
            for kind in kinds
        ]  # fmt: skip
        return " or ".join([*shown, *sorted(self.inner)]) or "nothing here"


def _kind(value: Any) -> str:
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
    return kinds[type(value)]
