"""The files of the library against their schemas, and the page that explains them."""

from __future__ import annotations

import inspect
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import optmap
from optmap.base.errors import InputError
from optmap.files.library import models_path
from optmap.files.machines import LEVEL_FIELDS
from optmap.files.stores import STORE_FIELDS, TOP_FIELDS
from optmap.files.workloads import WORKLOAD_FIELDS, read_workloads
from optmap.workloads.builders import BUILDERS

KINDS = ("workloads", "networks", "machines")
FILES = [(kind, path) for kind in KINDS for path in sorted((models_path() / kind).glob("*.yaml"))]
PAGE = (models_path() / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml (\w+)\n(.*?)```", PAGE, flags=re.DOTALL)
BUILT_ELSEWHERE = {"name", "bytes", "semantics"}


@cache
def schema(kind: str) -> dict[str, Any]:
    made = json.loads((models_path() / kind / "schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(made)
    assert isinstance(made, dict)
    return made


@pytest.mark.parametrize(("kind", "path"), FILES, ids=lambda value: getattr(value, "stem", value))
def test_library_files_are_valid(kind: str, path: Path) -> None:
    jsonschema.validate(yaml.safe_load(path.read_text(encoding="utf-8")), schema(kind))


def test_printed_entries_are_valid() -> None:
    for name in ("resnet18/R2", "mobilenet/M9", "sunstone/mttkrp_nell2", "i7-9700k", "eyeriss", "resnet18"):
        entry = optmap.show(name)
        jsonschema.validate(yaml.safe_load(entry.yaml), schema(f"{entry.kind}s"))


@pytest.mark.parametrize("kind", ["workloads", "networks"])
def test_schema_and_reader_know_the_same_keys(kind: str) -> None:
    made = schema(kind)["$defs"]
    assert set(made["workload"]["properties"]) == {*WORKLOAD_FIELDS, *BUILDERS}
    for name, builder in BUILDERS.items():
        parameters = inspect.signature(builder).parameters
        assert set(made[name]["properties"]) == set(parameters) - BUILT_ELSEWHERE
        needed = {key for key, each in parameters.items() if each.default is inspect.Parameter.empty}
        assert set(made[name]["required"]) == needed


def test_machine_schema_and_reader_know_the_same_keys() -> None:
    made = schema("machines")
    assert set(made["$defs"]["level"]["properties"]) == set(LEVEL_FIELDS)
    assert set(made["properties"]["outermost"]["properties"]) == set(STORE_FIELDS)
    assert all(f"| `{field}` |" in PAGE for field in (*LEVEL_FIELDS, *STORE_FIELDS, *TOP_FIELDS))
    assert all(f"`{field}`" in PAGE for field in (*made["properties"], *WORKLOAD_FIELDS))
    for name, builder in BUILDERS.items():
        line = next(line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |"))
        parameters = set(inspect.signature(builder).parameters) - BUILT_ELSEWHERE
        assert all(f"`{key}`" in line for key in parameters), name


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("workloads", "expression: C[i] = A[i]"),
        ("workloads", "{matmul: {i: 1, j: 2, k: 3}, expression: 'C[i] = A[i]', extents: {i: 1}}"),
        ("workloads", "{matmul: {i: 0, j: 2, k: 3}}"),
        ("workloads", "{matmul: {i: 1, j: 2, kk: 3}}"),
        ("workloads", "{matmul: {i: 1, j: 2, k: 3}, bytes: 4, bits: 32}"),
        ("machines", "levels: []"),
        ("machines", "levels: [{name: L1, capacity: 32}]"),
        ("machines", "levels: [{name: L1, capacity: 32KB}]"),
        ("machines", "levels: [{name: L1, capacity: 32KiB, kind: cach}]"),
        ("machines", "{levels: [{name: L1, capacity: 32KiB}], core: 4}"),
        ("machines", "{arithmetic: {energy_pj: -1}, levels: [{name: L1, capacity: 8w}]}"),
        ("machines", "{arithmetic: {energy: 1}, levels: [{name: L1, capacity: 8w}]}"),
        ("machines", "{arithmetic: {}, levels: [{name: L1, capacity: 8w, keeps: {input: maybe}}]}"),
        ("machines", "{arithmetic: {}, levels: [{name: L1, capacity: 8w, keeps: []}]}"),
        ("machines", "{arithmetic: {}, levels: [{name: L1, capacity: 8w, energy_pj: {read: 1, write: 2}}]}"),
        ("machines", "{arithmetic: {}, levels: [{name: L1, capacity: 8w, energy_pj: {read: cheap}}]}"),
        ("machines", "{arithmetic: {}, levels: [{name: L1, capacity: 8w, ports: {read: 0}}]}"),
        ("machines", "{arithmetic: {}, levels: [{name: L1, capacity: 8w, fanout: {x: 0}}]}"),
        ("machines", "{arithmetic: {}, levels: [{name: L1, capacity: 8w, fanout: {z: 2}}]}"),
        ("machines", "{arithmetic: {}, levels: [{name: L1, capacity: 8w, factors: {filters: '<4'}}]}"),
        ("machines", "{arithmetic: {}, levels: [{name: L1, capacity: 8w, order: channels}]}"),
        ("machines", "{outermost: {capacity: 8w}, levels: [{name: L1, capacity: 8w}]}"),
    ],
)
def test_schema_and_reader_refuse_alike(kind: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(text), schema(kind))
    path = tmp_path / "wrong.yaml"
    path.write_text(text)
    with pytest.raises(InputError):
        (optmap.workload if kind == "workloads" else optmap.machine)(path)


def test_examples_of_the_page_load_and_are_valid(tmp_path: Path) -> None:
    assert [kind for kind, _ in EXAMPLES].count("workload") >= 3
    assert [kind for kind, _ in EXAMPLES].count("machine") >= 2
    for kind, text in EXAMPLES:
        path = tmp_path / "example.yaml"
        path.write_text(text)
        jsonschema.validate(yaml.safe_load(text), schema(f"{kind}s"))
        if kind == "machine":
            assert optmap.machine(path).levels
        else:
            assert all(workload.operations for workload in read_workloads(path).values())


def test_statements_of_the_page_are_those_of_the_builders() -> None:
    small = {"conv2d": {"k": 2, "c": 2, "h": 4, "w": 4, "r": 3, "s": 3}, "conv1d": {"f": 2, "x": 3, "c": 2, "w": 2}}
    rows = [re.match(r"\| `(\w+)` \| `([A-Z]\w*\[.*?)` \|", line) for line in PAGE.splitlines()]
    found_rows = [row for row in rows if row is not None and row[1] in BUILDERS]
    assert len(found_rows) >= 7
    for found in found_rows:
        builder = BUILDERS[found[1]]
        needed = [key for key, each in inspect.signature(builder).parameters.items() if each.annotation == "int"]
        made = builder(**small.get(found[1], dict.fromkeys(needed, 2)))
        assert found[2].replace(" ", "") == made.expression.replace(" ", "")
