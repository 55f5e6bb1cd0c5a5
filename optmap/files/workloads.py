"""Workloads in files: YAML that a person writes, and the documents that answers carry."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from optmap.base.errors import InputError
from optmap.base.texts import several
from optmap.files.fields import Fields, describe, located
from optmap.files.kinds import expected
from optmap.files.reading import load_yaml
from optmap.workloads.builders import BUILDERS
from optmap.workloads.parser import parse_workload
from optmap.workloads.sizes import element_bits
from optmap.workloads.workload import Padding, Semantics, Workload, bytes_of

WORKLOAD_KINDS = ("workload", "workloads")
"""What a file of workloads is (see `kinds`)."""


def workload_document(workload: Workload) -> dict[str, object]:
    """A workload as JSON: its statements, extents (canonical order) and element sizes in bytes.

    The ranges of implicit padding are part of a statement. What is more than one product of tensors has its statements
    one by one as well, and its outputs that are read.
    """
    sizes = {access.name: access.bytes for access in workload.accesses}
    parts: dict[str, object] = {} if workload.is_product else {"statements": _statement_documents(workload)}
    return {
        "name": workload.name,
        "expression": workload.expression,
        **parts,
        "extents": workload.extents,
        "bytes": sizes if len(set(sizes.values())) > 1 else workload.accesses[0].bytes,
        "semantics": workload.semantics.value,
        **({"outputs": list(workload.outputs)} if workload.outputs else {}),
        "padding": workload.padding.value,
        "count": workload.count,
    }


def _statement_documents(workload: Workload) -> list[dict[str, object]]:
    """Every statement with the tensors that it writes and reads, in the order written."""
    return [
        {"expression": text, "output": each.name, "inputs": [access.name for access in each.inputs]}
        for each, text in zip(workload.statements, workload.texts, strict=True)
    ]


def layer_document(workload: Workload) -> dict[str, object]:
    """A layer of a network as JSON: a workload, and the names of all layers that it stands for."""
    return {**workload_document(workload), "names": list(workload.layer_names)}


def read_workloads(path: Path) -> dict[str, Workload]:
    """Every workload of a file by its key; a file with a single workload has the key ``""``.

    Raises:
        InputError: naming file and field of the first thing that is wrong.
    """
    with expected(path, "a workload", *WORKLOAD_KINDS):
        return {key: entry_workload(path, key, fields) for key, fields in workload_entries(path).items()}


def workload_entries(path: Path) -> dict[str, Fields]:
    """Every workload of a file by its key, as it is written.

    Raises:
        InputError: if the file cannot be read, or does not hold workloads.
    """
    top = Fields.of(load_yaml(path), str(path))
    if not top.has("workloads"):
        return {"": top}
    top.allow("workloads", "description", "source")
    top.note()
    table = top.fields("workloads")
    return {key: Fields.of(value, table.at(key)) for key, value in table.values.items()}


def entry_workload(path: Path, key: str, fields: Fields) -> Workload:
    """The workload of one entry; without a name of its own it has that of its file and key.

    Raises:
        InputError: naming file and field of the first thing that is wrong.
    """
    return workload_from(fields, default_name=f"{path.stem}/{key}" if key else path.stem)


WORKLOAD_FIELDS = (
    "name",
    "expression",
    "statements",
    "outputs",
    "extents",
    "bytes",
    "bits",
    "semantics",
    "padding",
    "count",
    "names",
    "description",
    "source",
)


def workload_from(fields: Fields, default_name: str) -> Workload:
    """A workload from `expression` or `statements` and `extents`, or from a builder's name and arguments.

    Raises:
        InputError: naming file and field of the first thing that is wrong.
    """
    fields.allow(*WORKLOAD_FIELDS, *BUILDERS)
    fields.note()
    forms = [key for key in ("expression", "statements", *BUILDERS) if fields.has(key)]
    if len(forms) != 1:
        found = f"{' and '.join(forms)} exclude each other" if forms else "no workload here"
        raise InputError(f"{fields.where}: {found}; give expression and extents, or one of {', '.join(BUILDERS)}")
    outputs = fields.texts("outputs") if fields.has("outputs") else ()
    name = fields.text("name", default_name)
    size = _element_sizes(fields)
    semantics = None
    if fields.has("semantics"):
        semantics = Semantics(fields.choice("semantics", [s.value for s in Semantics], ""))
    count = fields.integer("count", 1)
    names = fields.texts("names") if fields.has("names") else ()
    if names and len(names) != count:
        given, occurs = several(len(names), "name"), several(count, "time")
        raise InputError(f"{fields.at('names')}: {given} of a layer that occurs {occurs}; give all")
    try:
        if forms[0] not in BUILDERS:
            extents = fields.integers("extents")
            text = fields.text("expression") if forms[0] == "expression" else _statement_texts(fields)
            workload = parse_workload(text, extents, name=name, bytes=size, semantics=semantics, outputs=outputs)
        else:
            if outputs:
                raise InputError("outputs go with statements; a builder has one output")
            if fields.has("extents"):
                raise InputError(f"extents go with expression; sizes are arguments of {forms[0]}")
            arguments = _arguments(fields.fields(forms[0]), forms[0])
            workload = BUILDERS[forms[0]](
                **arguments, name=name, bytes=size, semantics=semantics or Semantics.ACCUMULATE
            )
        if fields.has("padding"):
            workload = workload.with_padding(fields.choice("padding", list(Padding), ""))
    except InputError as error:
        raise located(error, fields.where) from error
    return replace(workload, count=count, names=names)


def _statement_texts(fields: Fields) -> list[str]:
    """The statements: a list of texts, or of entries with an `expression` as documents have them."""
    found = fields.get("statements")
    if not isinstance(found, list) or not found:
        raise InputError(f"{fields.at('statements')} is {describe(found)}; a list with at least one text is needed")
    where = fields.at("statements")
    return [item if isinstance(item, str) else _text_of(item, f"{where}[{n}]") for n, item in enumerate(found)]


def _text_of(entry: object, where: str) -> str:
    """The statement of an entry of a document, which says by its expression what it writes and reads."""
    fields = Fields.of(entry, where)
    fields.allow("expression", "output", "inputs")
    return fields.text("expression")


def _element_sizes(fields: Fields) -> float | dict[str, float]:
    """Element sizes in bytes, of all tensors or per tensor; 4 if neither `bytes` nor `bits` is there."""
    if fields.has("bits") and fields.has("bytes"):
        raise InputError(f"{fields.where}: bits and bytes exclude each other; keep one")
    key = "bits" if fields.has("bits") else "bytes"
    if isinstance(fields.values.get(key), Mapping):
        inside = fields.fields(key)
        return {tensor: _element(inside, tensor, key) for tensor in inside.values}
    return _element(fields, key, key) if fields.has(key) else 4


def _element(fields: Fields, name: str, unit: str) -> float:
    return bytes_of(element_bits(fields.get(name), fields.at(name), unit=unit))


def _arguments(fields: Fields, builder: str) -> dict[str, object]:
    parameters = {
        key: parameter
        for key, parameter in inspect.signature(BUILDERS[builder]).parameters.items()
        if key not in ("name", "bytes", "semantics")
    }
    fields.allow(*parameters)
    for key, parameter in parameters.items():
        if parameter.default is inspect.Parameter.empty:
            fields.get(key)
    for key, value in fields.values.items():
        parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
        if any(isinstance(part, Mapping | list) for part in parts):
            raise InputError(f"{fields.at(key)} is nested; numbers, texts and lists of them are needed")
    return dict(fields.values)


def read_workload(fields: Fields) -> Workload:
    """The workload of a document, which gives its name and element sizes.

    Raises:
        InputError: naming file and field.
    """
    for key in ("name", "bytes"):
        fields.get(key)
    said = {"padding", "expression"} if fields.has("statements") else {"padding"}  # by the statements
    written = {key: value for key, value in fields.values.items() if key not in said}
    workload = workload_from(replace(fields, values=written), default_name="")
    if fields.choice("padding", list(Padding), workload.padding) != workload.padding:
        raise InputError(f"{fields.at('padding')} is {fields.get('padding')}, but by its expression {workload.padding}")
    if fields.has("expression") and fields.has("statements") and fields.text("expression") != workload.expression:
        raise InputError(f"{fields.at('expression')} is not what its statements say, {workload.expression!r}")
    return workload
