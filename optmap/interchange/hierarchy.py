"""Architectures of Timeloop as a list of parts, outermost first: nested trees, lists of nodes, lists of storage."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from optmap.base.errors import InputError
from optmap.files.fields import Fields
from optmap.interchange.yaml_files import TAG, plain_name


class PartKind(Enum):
    """What a part is."""

    MEMORY = auto()
    MESH = auto()
    """It holds nothing; directives may be about the children it stands for."""
    COMPUTE = auto()
    OTHER = auto()
    """Wires and what else is not counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HierarchyPart:
    """One component or container of an architecture."""

    name: str
    kind: PartKind
    attributes: Fields
    """Its own over those of what it is in."""
    x: int
    """Instances along X in the whole machine (of a mesh: of what is inside it)."""
    y: int
    constraints: Fields | None = None
    """What it says itself of mappings (version 0.4)."""

    @property
    def unbounded(self) -> bool:
        """Whether it is a DRAM without a size."""
        own = str(self.attributes.values.get("class", ""))
        technology = str(self.attributes.values.get("technology", ""))
        sized = any(self.attributes.given(key) for key in ("entries", "depth", "sizeKB", "memory_depth"))
        return not sized and "DRAM" in (own.upper(), technology.upper())


def parts_of(architecture: Fields) -> list[HierarchyPart]:
    """The parts of an `architecture` (or `arch`), outermost first; branches of `!Parallel` one after the other.

    Raises:
        InputError: naming file and field.
    """
    found: list[HierarchyPart] = []
    if architecture.has("nodes"):
        _nodes(architecture, 1, 1, {}, found)
    elif architecture.has("subtree"):
        for tree in architecture.items("subtree"):
            _tree(tree, 1, {}, found)
    elif architecture.has("storage"):
        for storage in reversed(architecture.items("storage")):
            found.append(_component(storage, storage, 1, {}, PartKind.MEMORY))
        arithmetic = architecture.fields("arithmetic")
        name = arithmetic.text("name", "MACC")
        named = Fields(values={"name": name, **arithmetic.values}, where=arithmetic.where)
        found.append(_component(named, named, 1, {}, PartKind.COMPUTE))
    else:
        raise InputError(f"{architecture.where}: no nodes, subtree or storage; this is no architecture")
    return found


def _attributes(item: Fields, inherited: dict[str, object]) -> dict[str, Any]:
    own = item.fields("attributes").values if item.given("attributes") else {}
    return {**inherited, **own}


def _tree(tree: Fields, count: int, inherited: dict[str, object], found: list[HierarchyPart]) -> None:
    """A subtree of versions 0.2 and 0.3: its local parts, then the subtrees in it."""
    count *= plain_name(tree.text("name", "System"))[1]
    attributes = _attributes(tree, inherited)
    for local in tree.items("local", least=0):
        own = Fields.of({**_attributes(local, attributes), "class": _class(local)}, local.at("attributes"))
        found.append(_component(local, own, count, _attributes(local, {}), _kind(local)))
    for inside in tree.items("subtree", least=0):
        _tree(inside, count, {key: value for key, value in attributes.items() if key not in _COUNTS}, found)


_COUNTS = ("instances", "meshX", "meshY")


def _component(
    item: Fields, attributes: Fields, count: int, counts: dict[str, object], kind: PartKind
) -> HierarchyPart:
    """A component that says how many there are of it in the whole machine, and along X."""
    name, own = plain_name(item.text("name"))
    written = Fields(values=counts or item.values, where=attributes.where)
    instances = written.integer("instances", count * own)
    y = written.integer("meshY", 0, least=0)
    x = written.integer("meshX", instances // (y or 1))
    if x * (y or instances // x) != instances:
        raise InputError(f"{item.where}: {instances} instances of {name} are no mesh with {x} along X")
    return HierarchyPart(name=name, kind=kind, attributes=attributes, x=x, y=instances // x)


def _nodes(parent: Fields, x: int, y: int, inherited: dict[str, object], found: list[HierarchyPart]) -> tuple[int, int]:
    """A list of nodes of version 0.4: each is inside the ones before it."""
    for node in parent.items("nodes"):
        tag = str(node.values.get(TAG, "Component"))
        if tag == "Nothing":
            continue
        if tag in ("Parallel", "Hierarchical", "Pipelined") or (tag == "Container" and node.has("nodes")):
            ends = (
                _branches(node, x, y, inherited, found)
                if tag != "Hierarchical"
                else {_nodes(node, x, y, inherited, found)}
            )
            if len(ends) > 1:
                raise InputError(f"{node.where}: the branches have different numbers of children; one number is needed")
            x, y = next(iter(ends), (x, y))
            continue
        if tag not in ("Component", "Container"):
            raise InputError(f"{node.where}: !{tag} is not known; use !Component, !Container, !Parallel or !Nothing")
        spatial = node.fields("spatial") if node.given("spatial") else Fields(values={}, where=node.at("spatial"))
        x, y = x * spatial.integer("meshX", 1), y * spatial.integer("meshY", 1)
        attributes = _attributes(node, inherited)
        if tag == "Container":
            inherited = attributes
        kind = PartKind.MESH if tag == "Container" else _kind(node)
        own = Fields.of({**attributes, "class": _class(node)}, node.at("attributes"))
        constraints = node.fields("constraints") if node.given("constraints") else None
        found.append(
            HierarchyPart(
                name=plain_name(node.text("name"))[0], kind=kind, attributes=own, x=x, y=y, constraints=constraints
            )
        )
    return x, y


def _branches(
    node: Fields, x: int, y: int, inherited: dict[str, object], found: list[HierarchyPart]
) -> set[tuple[int, int]]:
    """Nodes beside one another; what each of them ends with."""
    ends = set()
    for branch in node.items("nodes"):
        one = Fields(values={"nodes": [dict(branch.values)]}, where=branch.where)
        ends.add(_nodes(one, x, y, inherited, found))
    return ends


def _class(item: Fields) -> str:
    return item.text("class", "")


def _kind(item: Fields) -> PartKind:
    """By its class, as Timeloop goes by it, too."""
    name = _class(item).lower()
    if not name:
        raise InputError(f"{item.where}: class is missing; such as SRAM, DRAM, regfile, storage or intmac")
    if "dummy" in name:
        return PartKind.MESH
    if "mac" in name or name == "compute":
        return PartKind.COMPUTE
    if any(word in name for word in ("noc", "network", "wire", "multicast", "reductiontree", "legacy")):
        return PartKind.OTHER
    return PartKind.MEMORY
