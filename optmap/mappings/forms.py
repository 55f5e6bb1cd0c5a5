"""The form `levels` of a mapping (tile, loop order, split and keeps per level), as a path of a tree and back.

A form says less than a tree, and is what documents have where it says enough. A tile of every tensor per level, at one
depth, is a path without sequences and boxes; loops of one trip may be left out of a path, and a form has them all.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as Iterations
from dataclasses import dataclass, field, replace
from math import prod

from optmap.base.errors import InputError
from optmap.machines.accelerator import KeepRule
from optmap.machines.fabric import fabric_of
from optmap.machines.form import FormName
from optmap.machines.machine import Machine
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.mappings.nodes import Box, Compute, Keep, Loop, Node, Sequence, Split
from optmap.mappings.tree import MappingTree
from optmap.workloads.workload import Workload, access_names


@dataclass(frozen=True, slots=True, kw_only=True)
class _LevelsPath:
    """How the levels of a form stand in a path."""

    splits_innermost: bool
    """Whether children are inside the loops over time, so that neighbours have neighbouring tiles (a mesh); else each
    has a part of the outer tile, and loops of its own (cores)."""
    says_keeps: bool
    """Whether a level says which tensors it holds; else it holds all of them."""


_PATHS = {
    FormName.TILES: _LevelsPath(splits_innermost=False, says_keeps=False),
    FormName.NEST: _LevelsPath(splits_innermost=True, says_keeps=True),
}


def path_of(mapping: Mapping, workload: Workload, machine: Machine) -> MappingTree:
    """The path that a mapping of one statement is a form of.

    Args:
        mapping: tile, loop order, split and keeps per level.
        workload: one product of tensors.
        machine: on what.

    Returns:
        Per level its loops in their order, one of each dim, its Keep, and the loops over its children.

    Raises:
        InputError: for a mapping that does not belong here, one that is padded, or one that keeps a tensor that is read
            twice for one of the two only.
    """
    mapping.check(workload, machine)
    return MappingTree(workload=workload, machine=machine, nodes=_path(mapping, workload, machine))


def _path(mapping: Mapping, workload: Workload, machine: Machine) -> tuple[Node, ...]:
    nodes: list[Node] = []
    splits: list[Split] = []
    for entry in reversed(mapping.levels):
        if entry.level == machine.memory:
            _refuse_padding(entry, workload)
        else:
            nodes += _loops(entry, splits, machine)
            nodes.append(Keep(level=entry.level, tensors=_kept(entry, workload)))
        splits = _splits(entry, workload, machine)
    return (*nodes, *splits, Compute(statement=workload.only.name))


def _loops(entry: LevelMapping, splits: list[Split], machine: Machine) -> list[Node]:
    """The loops between two levels: over the children of the outer one, and over time."""
    if not _PATHS[machine.form].splits_innermost:
        return [*splits, *(Loop(dim=d, tile=entry.tile[d]) for d in entry.permutation)]
    ways = {d: prod(each.ways for each in splits if each.dim == d) for d in entry.permutation}
    return [*(Loop(dim=d, tile=entry.tile[d] * ways[d]) for d in entry.permutation), *splits]


def _refuse_padding(entry: LevelMapping, workload: Workload) -> None:
    padded = next((d for d, n in workload.sizes if entry.tile[d] > n), None)
    if padded is not None:
        raise InputError(
            f"the mapping covers {entry.tile[padded]} of {padded}, the workload has {workload.extents[padded]}; a tree "
            "has no padded dims: give the workload that extent"
        )


def _kept(entry: LevelMapping, workload: Workload) -> tuple[str, ...]:
    """Names of the tensors that an entry keeps."""
    accesses = dict(zip(access_names(workload), (tensor.name for tensor in workload.tensors), strict=True))
    kept = set(accesses) if entry.keeps is None else set(entry.keeps)
    for name, tensor in accesses.items():
        if {other in kept for other, its in accesses.items() if its == tensor} == {True, False}:
            raise InputError(
                f"level {entry.level} keeps {tensor} for one of its reads only, {name} is another; keep both"
            )
    return tuple(dict.fromkeys(tensor for name, tensor in accesses.items() if name in kept))


def _splits(entry: LevelMapping, workload: Workload, machine: Machine) -> list[Split]:
    """Loops over the children of a level, in the order in which these are numbered, the slowest first."""
    axes = [name for name, _ in machine.axes if name.partition(".")[0] == entry.level]
    along = ((entry.spatial_x, entry.x_order), (entry.spatial_y, entry.y_order))
    return [
        Split(dim=d, ways=ways[d], axis=name)
        for name, (ways, order) in reversed(list(zip(axes, along, strict=False)))
        for d in order or workload.dims
        if ways.get(d, 1) > 1
    ]


@dataclass(slots=True)
class _LevelEntry:
    """What a path says of one level, as it is read."""

    order: list[str] = field(default_factory=list)
    keep: Keep | None = None
    splits: dict[str, dict[str, int]] = field(default_factory=lambda: {"": {}, "x": {}, "y": {}})
    tile: dict[str, int] = field(default_factory=dict)


def levels_of(tree: MappingTree) -> Mapping | None:
    """The form `levels` that says the same as a tree; None if it needs more than that.

    Loops of one trip that the tree has not stand innermost in their level's order.
    """
    if not tree.workload.is_product or any(isinstance(node, Sequence | Box) for node in tree.nodes):
        return None
    read = _entries(tree)
    if read is None:
        return None
    levels = tuple(_level(name, each, tree) for name, each in reversed(read.items()))
    found = Mapping(levels=levels[: len(tree.machine.mapped)])
    try:
        found.check(tree.workload, tree.machine)
        same = _comparable(_path(found, tree.workload, tree.machine), tree.workload)
    except InputError:  # a nest whose tiles do not divide
        return None
    return found if same == _comparable(tree.nodes, tree.workload) else None


def _entries(tree: MappingTree) -> dict[str, _LevelEntry] | None:
    """Per level, outermost first, what the nodes say of it; None if they belong to no level's place."""
    machine = tree.machine
    order = [machine.memory, *(level.name for level in reversed(machine.levels))]
    found = {name: _LevelEntry() for name in order}
    left = dict(tree.workload.extents)
    for number, name in enumerate(order):
        found[name].tile = dict(left) if number == 0 else {}
    place = 0
    for node in tree.nodes:
        if isinstance(node, Loop):
            if place + 1 >= len(order) or node.first:
                return None
            found[order[place + 1]].order.append(node.dim)
            left[node.dim] = min(left[node.dim], node.tile)
        elif isinstance(node, Keep):
            place += 1
            if place >= len(order) or node.level != order[place] or node.of:
                return None
            found[node.level].keep, found[node.level].tile = node, dict(left)
        elif isinstance(node, Split):
            feeder, _, axis = node.axis.partition(".")
            if feeder != order[place] or node.dim in found[feeder].splits[axis]:
                return None
            found[feeder].splits[axis][node.dim] = node.ways
            left[node.dim] = -(-left[node.dim] // node.ways)
    return found if place == len(order) - 1 else None


def _level(name: str, entry: _LevelEntry, tree: MappingTree) -> LevelMapping:
    workload = tree.workload
    several = list(dict.fromkeys(entry.order))
    x, y = entry.splits["x"], entry.splits["y"]
    spatial = dict(entry.splits[""])
    for ways in (x, y):
        for dim, number in ways.items():
            spatial[dim] = spatial.get(dim, 1) * number
    tensors = entry.keep.tensors if entry.keep is not None else _outermost(tree)
    return LevelMapping(
        level=name,
        tile=entry.tile,
        permutation=(*several, *(d for d in workload.dims if d not in several)),
        spatial={d: n for d, n in spatial.items() if n > 1},
        spatial_y={d: n for d, n in y.items() if n > 1},
        keeps=_access_names(tensors, workload) if _PATHS[tree.machine.form].says_keeps else None,
        x_order=_own_order(x, workload),
        y_order=_own_order(y, workload),
    )


def _outermost(tree: MappingTree) -> tuple[str, ...]:
    """The tensors that the outermost memory, of which a path has no Keep, does not refuse."""
    tensors = tree.workload.tensors
    if _PATHS[tree.machine.form].says_keeps:
        keeps = fabric_of(tree.workload, tree.machine).memories[-1].keeps
        tensors = tuple(t for t, keep in zip(tensors, keeps, strict=True) if keep is not KeepRule.REFUSED)
    return tuple(dict.fromkeys(t.name for t in tensors))


def _access_names(tensors: tuple[str, ...], workload: Workload) -> tuple[str, ...]:
    named = zip(access_names(workload), workload.tensors, strict=True)
    return tuple(name for name, tensor in named if tensor.name in tensors)


def _own_order(ways: dict[str, int], workload: Workload) -> tuple[str, ...]:
    """Dims along an axis in the order of their loops; empty for the workload's order."""
    order = tuple(d for d, n in ways.items() if n > 1)
    return () if order == tuple(d for d in workload.dims if d in order) else order


def several_trips(nodes: Iterable[Node], extents: Iterations[str, int]) -> tuple[Node, ...]:
    """The nodes of a path without loops that have one trip.

    Args:
        nodes: from the outside in.
        extents: iterations per dim that are left for them.
    """
    left, found = dict(extents), list[Node]()
    for node in nodes:
        if isinstance(node, Loop | Split):
            size = node.tile if isinstance(node, Loop) else -(-left[node.dim] // node.ways)
            if node.restricts(left[node.dim]) if isinstance(node, Loop) else node.ways > 1:
                found.append(node)
            left[node.dim] = min(left[node.dim], size)
        else:
            found.append(node)
    return tuple(found)


def _comparable(nodes: Iterable[Node], workload: Workload) -> list[Node]:
    """The nodes of a path without loops that have one trip, and with Keeps that name tensors in one order."""
    return [
        replace(node, tensors=tuple(sorted(node.tensors))) if isinstance(node, Keep) else node
        for node in several_trips(nodes, workload.extents)
    ]
