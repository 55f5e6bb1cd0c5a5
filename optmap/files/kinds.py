"""What a file is, whatever was wanted: files that are swapped, or of other tools, are answered with what they are for.

Nothing is read here for its content: a file that could not be read as what was wanted is looked at once more, by the
end of its name, the schema of its document or the keys at its top.
"""

from __future__ import annotations

import difflib
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from optmap.base.errors import InputError, WrongKindError
from optmap.workloads.builders import BUILDERS

if TYPE_CHECKING:
    import yaml

MOST_CHARACTERS = 8_000_000
"""Longer files are not looked into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NameKind:
    """What a name or a file is, and what it is for."""

    said: str
    """In words, with an article."""
    use: str
    """What to type with it; `{it}` stands for the name."""

    def refusal(self, it: str, wanted: str) -> WrongKindError:
        """The error for it where something else is wanted.

        Args:
            it: name or file, as it was typed.
            wanted: what is needed, with an article.
        """
        return WrongKindError(f"{it} is {self.said}, and {wanted} is needed; {self.use.format(it=shlex.quote(it))}")


_TIMELOOP = "type: optmap import PROBLEM.yaml ARCH.yaml MAP.yaml -o FOLDER, with {it} among them"
KINDS = {
    "workload": NameKind(said="a workload", use="type: optmap solve {it} --machine MACHINE"),
    "workloads": NameKind(
        said="a file of workloads", use="type: optmap network {it} --machine MACHINE, or {it}/NAME for one"
    ),
    "machine": NameKind(said="a machine", use="type: optmap solve WORKLOAD --machine {it} (did you swap two files?)"),
    "sweep": NameKind(said="a sweep", use="type: optmap sweep {it}"),
    "mapping": NameKind(said="a mapping", use="type: optmap emit WORKLOAD --machine MACHINE --mapping {it}"),
    "constraints": NameKind(said="a list of constraints", use="give each as a text: --constraint 'L1.k=16'"),
    "solution": NameKind(said="a solution", use="type: optmap evaluate {it}, optmap check {it} or optmap show {it}"),
    "certificate": NameKind(said="the certificate of a bound", use="type: optmap check {it}"),
    "comparison": NameKind(said="a saved comparison", use="type: optmap show {it}"),
    "saved": NameKind(
        said="a workload or machine saved as JSON", use="type: optmap show {it}; save it as a .yaml file to use it"
    ),
    "document": NameKind(
        said="a document that --json or -o wrote", use="solutions and certificates are what is read back"
    ),
    "records": NameKind(said="records of another model", use="type: optmap conformance {it}"),
    "problem": NameKind(
        said="a problem of Timeloop", use="type: optmap import {it} -o FOLDER, then FOLDER/workload.yaml"
    ),
    "architecture": NameKind(
        said="an architecture of Timeloop", use="type: optmap import {it} -o FOLDER, then --machine FOLDER/machine.yaml"
    ),
    "nest": NameKind(said="a mapping of Timeloop", use=_TIMELOOP),
    "energies": NameKind(said="energies (ERT) of Timeloop", use=_TIMELOOP),
    "demands": NameKind(said="constraints of Timeloop", use=_TIMELOOP),
    "mapper": NameKind(said="settings of Timeloop's mapper", use="methods are set with --method and --set NAME=VALUE"),
    "zigzag": NameKind(said="a file of ZigZag or Stream", use="write it as a file of optmap: see models/README.md"),
    "onnx": NameKind(
        said="an ONNX model by its name", use="type: optmap import {it} -o model.yaml, then optmap network model.yaml"
    ),
    "weights": NameKind(
        said="a model of another framework by its name", use="export it to ONNX, then: optmap import MODEL.onnx"
    ),
    "table": NameKind(
        said="a table of numbers by its name", use="workloads and machines are YAML files: see models/README.md"
    ),
    "program": NameKind(said="a Python file by its name", use="a method of one's own is loaded with --plugin {it}"),
    "results": NameKind(said="the folder of a sweep", use="type: optmap plot {it}"),
    "folder": NameKind(said="a folder", use="name a file in it"),
    "plain": NameKind(said="a file without .yaml at the end of its name", use="name it {it}.yaml if it is YAML"),
}
"""Every kind of file that somebody has at hand."""
SUFFIXES = {
    ".onnx": "onnx",
    **dict.fromkeys((".pt", ".pth", ".pb", ".tflite", ".h5", ".keras", ".safetensors", ".torchscript"), "weights"),
    **dict.fromkeys((".csv", ".tsv", ".parquet", ".xlsx"), "table"),
    ".py": "program",
}
"""Ends of names that say enough."""
SCHEMAS = {
    "solution": "solution",
    "accelerator-solution": "solution",
    "time-bound": "certificate",
    "comparison": "comparison",
    "accelerator-comparison": "comparison",
    "workload": "saved",
    "machine": "saved",
}
"""Kinds of documents by their schema; any other one is a document, and one of a certificate is called so."""
Outline = Mapping[str, tuple[type, frozenset[str]]]
"""Per key at the top of a file what is there (`dict`, `list` or `str`), and the keys inside, of a list those of its
first entry."""


def _has(*keys: str) -> Callable[[Outline], bool]:
    return lambda outline: any(key in outline for key in keys)


def _inside(key: str, shape: type, inner: str = "") -> Callable[[Outline], bool]:
    return lambda outline: key in outline and outline[key][0] is shape and (not inner or inner in outline[key][1])


_RULES: tuple[tuple[str, Callable[[Outline], bool]], ...] = (
    ("zigzag", _has("operational_array", "operator_type", "loop_dims", "core_allocation")),
    (
        "records",
        lambda outline: (
            {"records", "architectures"} <= set(outline) or len({"arch", "result", "workload"} & set(outline)) > 1
        ),
    ),
    ("solution", lambda outline: "mapping" in outline and "workload" in outline),
    ("problem", _has("problem")),
    ("architecture", _has("architecture", "arch")),
    ("energies", _has("ERT")),
    ("demands", _has("architecture_constraints", "mapspace_constraints", "mapspace")),
    ("nest", _inside("mapping", list)),
    ("mapper", _has("mapper")),
    ("workloads", _inside("workloads", dict)),
    ("sweep", _has("capacities", "machines", "machine_numbers", "methods", "refine")),
    ("workload", _has("expression", *BUILDERS)),
    ("mapping", _inside("levels", list, "tile")),
    ("machine", _has("levels", "arithmetic", "outermost")),
    ("constraints", lambda outline: bool(outline) and all(re.match(r"\w+\.\w+", key) for key in outline)),
    ("constraints", _has("constraints")),
)
"""The first that holds says what a file with such keys is."""


def file_kind(path: Path) -> str:
    """What a file or a name of one is, as a key of `KINDS`; empty if nothing is known of it."""
    if path.suffix.lower() in SUFFIXES:
        return SUFFIXES[path.suffix.lower()]
    try:
        if path.is_dir():
            return "results" if (path / "rows").is_dir() else "folder"
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
    except (OSError, ValueError):  # ValueError: no text, or a name that no file can have
        return ""
    if not text or len(text) > MOST_CHARACTERS:
        return ""
    schema, outline = _outline(text)
    if schema.startswith("optmap."):
        said = schema.removeprefix("optmap.").partition("/")[0]
        return "certificate" if "certificate" in said else SCHEMAS.get(said, "document")
    found = next((kind for kind, holds in _RULES if holds(outline)), "")
    return found or ("" if path.suffix else "plain")


@contextmanager
def expected(path: str | Path, wanted: str, *kinds: str) -> Iterator[None]:
    """What is read within is said to be something else, if it is, when it cannot be read as what is wanted.

    Args:
        path: the file.
        wanted: what it is read as, with an article.
        kinds: keys of `KINDS` that it may be.

    Raises:
        WrongKindError: instead of any other `InputError`, if the file is of another kind.
    """
    try:
        yield
    except InputError as error:
        kind = file_kind(Path(path))
        if not kind or kind in kinds or isinstance(error, WrongKindError):
            raise
        raise KINDS[kind].refusal(str(path), wanted) from error


def missing_file(path: Path) -> InputError:
    """The error for a file that is not there, with files beside it whose names are like it."""
    near = near_files(path)
    meant = f"; did you mean {' or '.join(near)}?" if near else ""
    return InputError(f"{path}: no such file{meant}")


def near_files(path: Path) -> list[str]:
    """Files whose names are like that of one that is not there: it has a folder, or an end such as `.json`."""
    if not (path.suffix or path.parent != Path()):
        return []
    try:
        names = [item.name for item in path.parent.iterdir() if item.is_file()] if path.parent.is_dir() else []
    except (OSError, ValueError):  # ValueError: a name that no file can have
        return []
    return [str(path.with_name(name)) for name in difflib.get_close_matches(path.name, names, n=2, cutoff=0.75)]


def _outline(text: str) -> tuple[str, Outline]:
    """The schema of a text of JSON or YAML, and its outline; of a list that of its first entry."""
    try:
        top = json.loads(text) if text.lstrip()[:1] in "{[" else None
    except (ValueError, RecursionError):
        top = None
    if top is None:
        return "", _outline_of_yaml(text)
    first = top[0] if isinstance(top, list) and top else top
    if not isinstance(first, dict):
        return "", {}
    schema = first.get("schema")
    return schema if isinstance(schema, str) else "", {key: _part(value) for key, value in first.items()}


def _part(value: object) -> tuple[type, frozenset[str]]:
    first = value[0] if isinstance(value, list) and value else value
    inside = frozenset(first) if isinstance(first, dict) else frozenset[str]()
    return next((shape for shape in (dict, list) if isinstance(value, shape)), str), inside


def _outline_of_yaml(text: str) -> Outline:
    """Of nodes, which no tag turns into anything; keys with underscores, whatever the file has."""
    import yaml

    try:
        top = yaml.compose(text, yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    if isinstance(top, yaml.SequenceNode) and top.value:
        top = top.value[0]
    if not isinstance(top, yaml.MappingNode):
        return {}
    found = {}
    for key, value in top.value:
        shape = {"mapping": dict, "sequence": list}.get(value.id, str)
        first = value.value[0] if isinstance(value, yaml.SequenceNode) and value.value else value
        found[str(key.value).replace("-", "_")] = (shape, frozenset(_keys(first)))
    return found


def _keys(node: yaml.Node) -> list[str]:
    import yaml

    return [str(key.value) for key, _ in node.value] if isinstance(node, yaml.MappingNode) else []
