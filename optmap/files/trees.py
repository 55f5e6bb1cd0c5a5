"""Mapping trees in documents: a list of nodes, outermost first."""

from __future__ import annotations

from optmap.base.errors import InputError
from optmap.files.fields import Fields, describe, entries, located
from optmap.machines.machine import Machine
from optmap.mappings.nodes import Box, Compute, Keep, Loop, Node, Sequence, Split
from optmap.mappings.tree import MappingTree
from optmap.workloads.workload import Workload


def tree_document(tree: MappingTree) -> dict[str, object]:
    """A mapping tree as JSON."""
    return {"tree": [node.document() for node in tree.nodes]}


def read_tree(fields: Fields, workload: Workload, machine: Machine) -> MappingTree:
    """The mapping tree of a document, checked against its workload and machine.

    Args:
        fields: with the key `tree`.
        workload: what is computed.
        machine: on what.

    Raises:
        InputError: naming file and field; a `TreeError` for a tree that means nothing.
    """
    fields.allow("tree")
    nodes = _nodes(fields.get("tree"), fields.at("tree"))
    try:
        return MappingTree(workload=workload, machine=machine, nodes=nodes)
    except InputError as error:
        raise located(error, fields.where) from error


def _nodes(value: object, where: str) -> tuple[Node, ...]:
    return tuple(_node(Fields.of(item, f"{where}[{i}]")) for i, item in enumerate(entries(value, where)))


def _node(fields: Fields) -> Node:
    kinds = [key for key in _READERS if fields.has(key)]
    if len(kinds) != 1:
        raise InputError(
            f"{fields.where}: a node has one of the keys {', '.join(_READERS)}; this one has "
            f"{' and '.join(kinds) or 'none of them'}"
        )
    return _READERS[kinds[0]](fields)


def _keep(fields: Fields) -> Keep:
    fields.allow("keep", "tensors", "of", "only")
    of = _ranges(fields.fields("of")) if fields.given("of") else {}
    only = fields.texts("only") if fields.given("only") else ()
    for key, found, what in (("of", of, "dims with their ranges"), ("only", only, "statements")):
        if fields.given(key) and not found:
            raise InputError(f"{fields.at(key)} is empty; write the {what} that it is for, or leave {key} out")
    return Keep(level=fields.text("keep"), tensors=fields.texts("tensors"), of=of, only=only)


def _loop(fields: Fields) -> Loop | Split:
    if fields.has("tile"):
        fields.allow("loop", "tile", "first")
        first = fields.integer("first") if fields.given("first") else 0
        return Loop(dim=fields.text("loop"), tile=fields.integer("tile"), first=first)
    fields.allow("loop", "ways", "axis")
    return Split(dim=fields.text("loop"), ways=fields.integer("ways"), axis=fields.text("axis"))


def _box(fields: Fields) -> Box:
    fields.allow("box")
    return Box(ranges=_ranges(fields.fields("box")))


def _compute(fields: Fields) -> Compute:
    fields.allow("compute")
    return Compute(statement=fields.text("compute"))


def _sequence(fields: Fields) -> Sequence:
    fields.allow("sequence")
    where = fields.at("sequence")
    branches = entries(fields.get("sequence"), where)
    return Sequence(branches=tuple(_nodes(item, f"{where}[{i}]") for i, item in enumerate(branches)))


_READERS = {"keep": _keep, "loop": _loop, "box": _box, "compute": _compute, "sequence": _sequence}


def _ranges(fields: Fields) -> dict[str, range]:
    return {dim: _range(fields.get(dim), fields.at(dim)) for dim in fields.values}


def _range(value: object, where: str) -> range:
    ends = [n for n in value if isinstance(n, int) and not isinstance(n, bool)] if isinstance(value, list) else []
    if not isinstance(value, list) or len(value) not in (2, 3) or ends != value or (len(value) == 3 and ends[2] < 1):
        raise InputError(
            f"{where} is {describe(value) if not isinstance(value, list) else value}; write the first iteration and "
            "the one beyond the last, as in [48, 64], and a step of 1 or more if there is one"
        )
    return range(*ends)
