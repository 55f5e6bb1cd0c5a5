"""All workloads of a model with their counts, and everything that is skipped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from optmap.base.errors import InputError
from optmap.base.shown import Shown
from optmap.files.yaml12 import dump_yaml
from optmap.onnx_import.einsum import einsum
from optmap.onnx_import.graph import OperatorNode, read_graph
from optmap.onnx_import.operators import Made, convolution, is_empty, transposed_convolution
from optmap.onnx_import.products import general_product, product
from optmap.onnx_import.repeats import is_repeated, with_repeats
from optmap.onnx_import.skipped import COPIES, EMPTY, MOVES, REASONS, Skipped, merged, moved_elements, reason_of
from optmap.workloads.workload import Workload

MAKERS: dict[str, Callable[[OperatorNode], Made]] = {
    "Conv": convolution,
    "ConvTranspose": transposed_convolution,
    "Einsum": einsum,
    "Gemm": general_product,
    "MatMul": product,
}
"""Operators with a workload, and what makes it."""
LONGEST_NAME = 60
"""Characters of a name made from a node's name; longer ones keep their end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedModel(Shown):
    """What an ONNX file holds."""

    shown_as: ClassVar[str] = "imported-model"

    source: str
    """Name of the file, without its folder."""
    workloads: tuple[Workload, ...]
    """One per shape, with its count, in the order of first occurrence; names are unique."""
    skipped: tuple[Skipped, ...]
    """Every other operator, and what workloads leave out, such as a bias."""

    @property
    def operations(self) -> int:
        """Multiply-accumulates of all workloads, counts included."""
        return sum(workload.operations * workload.count for workload in self.workloads)


def import_model(path: str | Path, dims: Mapping[str, int] | None = None) -> ImportedModel:
    """Read the workloads of an ONNX model.

    Conv, ConvTranspose, MatMul, Gemm and Einsum become workloads; nodes of equal statement, extents
    and element sizes are one workload with a count. Everything else is listed as skipped.

    Args:
        path: an ONNX file; external weights need not be there.
        dims: extents of dynamic dims of the inputs, by name or as `input[axis]`.

    Raises:
        InputError: if the file cannot be used, or a shape is not known; names dim, node and tensor.
    """
    return model_of(Path(path), read_products(Path(path), dims or {}))


def read_products(path: Path, dims: Mapping[str, int]) -> tuple[tuple[OperatorNode, Made | None], ...]:
    """The nodes of a model, each with what became of it: None if it is no workload.

    Raises:
        InputError: as for `import_model`.
    """
    return tuple((node, _made(node, path)) for node in with_repeats(read_graph(path, dims)))


def model_of(path: Path, nodes: Iterable[tuple[OperatorNode, Made | None]]) -> ImportedModel:
    """What a file holds, from its nodes."""
    found: list[Workload] = []
    skipped: list[tuple[str, str, int | None]] = []
    for node, made in nodes:
        if made is None:
            reason = EMPTY if node.operator in MAKERS else COPIES if _copies(node) else reason_of(node)
            skipped.append((node.operator, reason, moved_elements(node)))
            continue
        found.append(made.workload)
        skipped += [(extra.operator, extra.reason, extra.elements) for extra in made.extras]
    return ImportedModel(source=path.name, workloads=_counted(found), skipped=merged(skipped))


def _copies(node: OperatorNode) -> bool:
    """Whether a node makes copies that its readers see through."""
    return any(is_repeated(value.axes) for value in node.outputs) and REASONS.get(node.operator) == MOVES


def _made(node: OperatorNode, path: Path) -> Made | None:
    if node.operator not in MAKERS or is_empty(node):
        return None
    try:
        return MAKERS[node.operator](node)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _counted(workloads: Iterable[Workload]) -> tuple[Workload, ...]:
    """Equal workloads as one, called after its first node, with the names of all nodes."""
    merged: dict[Workload, list[str]] = {}
    for workload in workloads:
        merged.setdefault(replace(workload, name=""), []).append(workload.name)
    made: list[Workload] = []
    used: set[str] = set()
    for nameless, names in merged.items():
        name = _free(_plain(names[0]), used)
        used.add(name.casefold())
        made.append(replace(nameless, name=name, count=len(names), names=tuple(names)))
    return tuple(made)


def _plain(name: str) -> str:
    """A node's name as a key of a workload file: letters, digits, dots, dashes and underscores."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", ".", name).strip(".-")
    return plain[-LONGEST_NAME:].strip(".-") or "node"


def _free(name: str, used: set[str]) -> str:
    number, free = 2, name
    while free.casefold() in used:
        free, number = f"{name}-{number}", number + 1
    return free


def workloads_yaml(model: ImportedModel) -> str:
    """The workloads as a workload file, which every command reads; the skipped ones in its description.

    Args:
        model: what `import_model` returned.

    Raises:
        InputError: if the model has no workload: such a file would be of no use.
    """
    if not model.workloads:
        raise InputError(
            f"{model.source}: no Conv, ConvTranspose, MatMul, Gemm or Einsum, so there is nothing to write"
        )
    lines = [f"Read from {model.source}; {model.operations:,} multiply-accumulates."]
    lines += [f"Skipped: {entry.text}." for entry in model.skipped]
    document = {
        "description": " ".join(lines),
        "source": f"ONNX file {model.source}",
        "workloads": {workload.name: workload_fields(workload) for workload in model.workloads},
    }
    return dump_yaml(document)


def workload_fields(workload: Workload) -> dict[str, object]:
    """The fields of a workload in a workload file."""
    sizes = {access.name: access.bytes for access in workload.accesses}
    several = len(workload.statements) > 1
    entry: dict[str, object] = {"statements": list(workload.texts)} if several else {"expression": workload.expression}
    entry["extents"] = workload.extents
    if workload.outputs:
        entry["outputs"] = list(workload.outputs)
    if set(sizes.values()) != {4}:
        entry["bytes"] = sizes if len(set(sizes.values())) > 1 else workload.accesses[0].bytes
    names = {"names": list(workload.names)} if workload.names else {}
    return {**entry, "count": workload.count, **names}
