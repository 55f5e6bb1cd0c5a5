"""Every document that optmap writes has a schema in `models/schemas`, and is as that says."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import onnx
import pytest
import schemas
from onnx import helper
from onnx_models import model, tensor, weights

from optmap.cli import main

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "docs"))

from making import documents  # noqa: E402

DOCUMENTS = ROOT / "tests" / "data" / "documents"
ASKED = (
    "list --json",
    "show mopt --json",
    "show resnet18 --json",
    "show resnet18/R9 --json",
    "show simba --json",
    "show yolo_caches --json",
    "doctor --json",
    "sweep yolo_caches --plan --json",
    "network --json",
    "solve chains/mlp --memory 64KiB -o chain.json --json",
    "evaluate chain.json --json",
    "bound chains/mlp --machine gemmini --objective energy -o floor.json --json",
    "show chain.json --json",
    "solve resnet18/R12 --machine balanced --top 3 -o top.json --json",
    "solve resnet18/R12 --machine eyeriss_like --method random --evaluations 40 --journal kept.jsonl --json",
    "solve resnet18/R12 --machine gemmini --method bayesian --tiles divisors --evaluations 20 --set save=p.json --json",
    "import model.onnx --json",
    "network model.onnx --fuse --memory 4KiB --json",
    "network model.onnx --fuse --curve --memory 4KiB:16KiB --points 2 --json",
    "export resnet18/R12 --memory 8192w --format text --json",
)
"""Commands with documents that no other test has, run one after the other in one folder; their files count, too."""


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every schema of an object inside a schema."""
    if isinstance(value, dict):
        if "properties" in value:
            yield value
        for each in value.values():
            yield from _objects(each)
    elif isinstance(value, list):
        for each in value:
            yield from _objects(each)


def _kept(folder: Path) -> Iterator[Any]:
    """The documents of a folder, and the lines of files that have a document a line."""
    for path in sorted(folder.rglob("*.json")):
        yield json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(folder.rglob("*.jsonl")):
        yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def test_every_format_has_one_schema() -> None:
    named = {documents.file_of(name) for name in set(documents.known()) - set(documents.TABLES)}
    assert named == set(schemas.every()) - {documents.PARTS, schemas.FILES}


@pytest.mark.parametrize("file", sorted(schemas.every()))
def test_a_schema_is_closed_and_says_what_every_key_is(file: str) -> None:
    own = schemas.every()[file]
    jsonschema.Draft202012Validator.check_schema(own)
    assert own.get("description") or file == documents.PARTS
    if file not in (documents.PARTS, schemas.FILES):
        assert documents.file_of(own["properties"]["schema"]["const"]) == file
    for each in _objects(own):
        assert each["additionalProperties"] is False
        for key, inner in each["properties"].items():
            assert inner.get("description") or key == "schema", key


def test_documents_that_are_kept_are_as_their_schemas_say() -> None:
    found = list(_kept(DOCUMENTS))
    for each in found:
        schemas.hold(each)
    assert len({each["schema"] for each in found if isinstance(each, dict) and "schema" in each}) > 5


@pytest.mark.longer
def test_documents_of_commands_are_as_their_schemas_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    products = [helper.make_node("MatMul", [a, b], [c]) for a, b, c in (("x", "W", "h"), ("h", "V", "y"))]
    pair = model(products, [tensor("x", [32, 16])], [weights(name, [16, 16]) for name in "WV"])
    onnx.save(pair, tmp_path / "model.onnx")
    for words in ASKED:
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
            assert main(words.split()) == 0, words
        schemas.hold(json.loads(said.getvalue()))
    written = list(_kept(tmp_path))
    for each in written:
        schemas.hold(each)
    found = {each.get("schema") for each in written if isinstance(each, dict)}
    assert {"optmap.journal/1", "optmap.bayes-observations/1", "optmap.mesh-certificate/1"} <= found


def test_a_key_that_no_schema_has_is_refused() -> None:
    document = json.loads((DOCUMENTS / "mopt.json").read_text(encoding="utf-8"))
    wrong = ((("more",), 1), (("machine", "more"), 1), (("cost", "value"), "1"), (("schema",), "optmap.run/1"))
    for place, value in wrong:
        changed = copy.deepcopy(document)
        inner = changed
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = value
        with pytest.raises(AssertionError):
            schemas.hold(changed)
