"""The page of files: what `models/README.md` says, and the schemas of YAML files as tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from making.markdown import literal, table

MODELS = Path(__file__).resolve().parents[2] / "models"
NAMES = {"machines": "machine", "workloads": "workload", "networks": "network", "sweeps": "sweep"}


def pages() -> Mapping[str, str]:
    """The pages and the schemas, by their path in the site."""
    from making.stage import for_site

    found = {"reference/files.md": for_site((MODELS / "README.md").read_text(encoding="utf-8"))}
    parts = [
        "# Schemas of YAML files\n",
        "Every key of every file that is read, from the JSON Schemas that editors take.",
        "[How files are written](files.md) has examples.\n",
    ]
    for folder, name in NAMES.items():
        text = (MODELS / folder / "schema.json").read_text(encoding="utf-8")
        found[f"reference/schemas/{name}.json"] = text
        schema = json.loads(text)
        parts += [f"## A {name}\n", f"{schema.get('description', '')} [{name}.json](schemas/{name}.json)\n"]
        parts.append(_keys(schema))
        for inner, own in schema.get("$defs", {}).items():
            if _properties(own):
                parts += [f"### {name}: {inner}\n", _keys(own)]
    return {**found, "reference/schemas.md": "\n".join(parts)}


def _properties(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Its keys, those of its alternatives as well."""
    found = dict(schema.get("properties", {}))
    for word in ("allOf", "anyOf", "oneOf", "then", "else"):
        inner = schema.get(word, [])
        for each in inner if isinstance(inner, list) else [inner]:
            found |= {key: own for key, own in _properties(each).items() if key not in found}
    return found


def _keys(schema: Mapping[str, Any]) -> str:
    found = ((literal(key), kind, "yes" if required else "", said) for key, kind, required, said in rows(schema))
    return table(("key", "type", "required", "what it is"), found)


def rows(schema: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, str, bool, str]]:
    """The keys of a schema with those inside, each with its type, whether it must be there, and what it is.

    Args:
        schema: of an object.
        place: put before its keys; `[]` stands for the entries of a list, `(name)` for the keys of a table.
    """
    required = set(schema.get("required", ()))
    for key, own in _properties(schema).items():
        said = own.get("description", "")
        if "default" in own:
            said += f" If left out: {json.dumps(own['default'])}."
        yield f"{place}{key}", kind_of(own), key in required, said
        for after, inner in _inside(own):
            yield from rows(inner, f"{place}{key}{after}.")


def _inside(schema: Mapping[str, Any] | bool, after: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects with keys that a schema has inside, each with what stands for it behind a key."""
    if isinstance(schema, bool):
        return
    if schema.get("properties"):
        yield after, schema
    if "items" in schema:
        yield from _inside(schema["items"], f"{after}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _inside(schema["additionalProperties"], f"{after}.(name)")
    for word in ("anyOf", "oneOf"):
        for each in schema.get(word, ()):
            yield from _inside(each, after)


def kind_of(schema: Mapping[str, Any] | bool) -> str:
    """The type that a schema asks for, in a few words."""
    if isinstance(schema, bool):
        return "anything"
    if "$ref" in schema:
        file, _, name = str(schema["$ref"]).rpartition("/")
        stem, _, number = name.removesuffix(".json").rpartition("-")
        return name if file else f"optmap.{stem}/{number}"
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " or ".join(json.dumps(each) for each in schema["enum"])
    for word in ("oneOf", "anyOf"):
        if word in schema:
            return " or ".join(dict.fromkeys(kind_of(each) for each in schema[word]))
    kind = schema.get("type", "anything")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array":
        return f"list of {kind_of(schema.get('items', True))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"table of {kind_of(schema['additionalProperties'])}"
    return str(kind)
