"""Mapping trees with boxes, counted as trees of statements in parts.

Boxes cut dims into *parts*. Where every leaf works on one part of each of its dims that are cut, and every cut dim of
a statement subscripts what it writes, each part of a statement is a statement by itself: it writes a part of its
tensor that no other one writes, and reads parts of others wholly or not at all. So the tree is one without boxes, of
a workload whose statements, tensors and dims are these parts: what a Keep holds of a tensor is what it holds of its
parts, an element is in one part, and loops inside a box go over the part. Words of a tensor are the sum over its
parts, and so is what it takes of the room. `walk_tree` shares nothing with this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import prod

from optmap.base.errors import InputError
from optmap.count.tally import Moved
from optmap.count.trees.boxes import count_boxes
from optmap.count.trees.placed import pairs
from optmap.count.trees.results import TreeCount
from optmap.count.trees.runs import Interval
from optmap.count.trees.views import UnboxedError
from optmap.mappings.nodes import Box, Compute, Keep, Loop, Node, Sequence, Split
from optmap.mappings.tree import MappingTree
from optmap.workloads.statement import Statement
from optmap.workloads.workload import TensorAccess, Workload

Inside = Mapping[str, int]
"""Per dim that boxes so far have cut the number of the part."""
Part = tuple[int, ...]
"""Of a tensor: per subscript the number of the part of its dim, 0 where it is not cut."""


def count_parts(tree: MappingTree) -> TreeCount | None:
    """Words that a mapping tree with boxes moves between levels, and the room that it takes.

    Args:
        tree: the mapping, valid by itself.

    Returns:
        What `walk_tree` finds; None of a tree without boxes, and of one that only a walk can count, or that a walk
        refuses.
    """
    if not _has_boxes(tree):
        return None
    try:
        parts = _PartsOfTree(tree)
        count = count_boxes(parts.tree())
    except InputError:
        return None
    return None if count is None else parts.together(count)


def without_boxes(tree: MappingTree) -> MappingTree:
    """A tree as one of statements in parts; as it is if it has no boxes.

    Raises:
        InputError: for one of which that is not known.
    """
    return _PartsOfTree(tree).tree() if _has_boxes(tree) else tree


def _has_boxes(tree: MappingTree) -> bool:
    return any(isinstance(node, Box) for leaf in tree.leaves for _, node in leaf.path)


@dataclass(slots=True)
class _PartsOfTree:
    """The parts of one tree."""

    given: MappingTree
    cuts: dict[str, tuple[Interval, ...]] = field(init=False)
    """The parts of every dim that boxes cut."""
    shapes: dict[str, tuple[tuple[Interval, ...], ...]] = field(init=False, default_factory=dict)
    """Per tensor and subscript its parts; none of one that is not cut."""
    statements: dict[str, dict[Part, Statement]] = field(init=False, default_factory=dict)
    """Statements in parts, by the tensor and the part of it that they write."""
    names: dict[str, str] = field(init=False, default_factory=dict)
    """Tensors by the names of their parts."""
    sizes: dict[str, int] = field(init=False, default_factory=dict)
    """Iterations of what statements in parts have as dims."""

    def __post_init__(self) -> None:
        tree, workload = self.given, self.given.workload
        if tree.kept.statistics or workload.outputs or any(each.domain for each in workload.statements):
            raise UnboxedError("boxes beside functions of rows, conditions, or outputs that are read")
        if any(level.partitions for level in tree.machine.levels):
            raise UnboxedError("boxes on a machine with partitions")
        ends = {d: {0, n} for d, n in workload.sizes}
        for leaf in tree.leaves:
            for _, node in leaf.path:
                for dim, each in node.ranges.items() if isinstance(node, Box) else ():
                    ends[dim] |= {each.start, each.stop}
        self.cuts = {d: tuple(pairwise(sorted(some))) for d, some in ends.items() if len(some) > 2}

    def tree(self) -> MappingTree:
        """The tree of statements in parts.

        Raises:
            InputError: for a tree that is none.
        """
        given = self.given.workload
        nodes = self._nodes(self.given.nodes, {})
        for statement in given.statements:
            wanted = prod(len(self.cuts[d]) for d in statement.dims if d in self.cuts)
            if len(self.statements.get(statement.name, {})) != wanted:
                raise UnboxedError(f"the boxes of {statement.name} are not the parts of its dims")
        workload = Workload(
            name=given.name,
            statements=tuple(each for whole in given.statements for each in self.statements[whole.name].values()),
            sizes=tuple(self.sizes.items()),
            semantics=given.semantics,
        )
        return replace(self.given, workload=workload, nodes=nodes)

    def together(self, count: TreeCount) -> TreeCount:
        """What a tree of statements in parts moves and holds, by the tensors of the whole."""
        loads, stores = Counter[tuple[str, str, str]](), Counter[tuple[str, str, str]]()
        for row in count.moved:
            pair = (*row.between, self.names[row.tensor])
            loads[pair] += row.loads_words
            stores[pair] += row.stores_words
        moved = tuple(
            Moved(between=pair[:2], tensor=pair[2], loads_words=loads[pair], stores_words=stores[pair])
            for pair in pairs(self.given)
        )
        rooms = tuple(replace(room, statement=self.names.get(room.statement, "")) for room in count.rooms)
        return TreeCount(moved=moved, rooms=rooms, walked=False)

    def _nodes(self, nodes: tuple[Node, ...], inside: Inside) -> tuple[Node, ...]:
        found = list[Node]()
        for number, node in enumerate(nodes):
            match node:
                case Box(ranges=ranges):
                    inside = {**inside, **dict(self._boxed(ranges, inside))}
                case Loop():
                    found += self._loop(node, inside)
                case Keep():
                    found.append(self._keep(node, nodes[number + 1 :], inside))
                case Compute(statement=name):
                    found.append(Compute(statement=self._statement(self.given.workload.statement(name), inside)))
                case Sequence(branches=branches):
                    found.append(Sequence(branches=tuple(self._nodes(branch, inside) for branch in branches)))
                case Split():
                    raise UnboxedError("a split beside boxes")
        return tuple(found)

    def _boxed(self, ranges: Mapping[str, range], inside: Inside) -> Iterator[tuple[str, int]]:
        for dim, each in ranges.items():
            parts = self.cuts.get(dim, ((0, self.given.workload.extents[dim]),))
            if each.step != 1 or (each.start, each.stop) not in parts:
                raise UnboxedError(f"a box of {dim} that is no part of those that all boxes cut it into")
            part = parts.index((each.start, each.stop))
            if inside.get(dim, part) != part:
                raise UnboxedError(f"a box of {dim} inside another one")
            if dim in self.cuts:
                yield dim, part

    def _loop(self, loop: Loop, inside: Inside) -> Iterator[Loop]:
        if loop.dim not in self.cuts:
            yield loop
            return
        if loop.dim not in inside:
            raise UnboxedError(f"a loop over {loop.dim} above a box of it")
        first, beyond = self.cuts[loop.dim][inside[loop.dim]]
        begin = loop.first if loop.first < beyond - first else 0
        yield Loop(dim=_named(loop.dim, inside), tile=min(loop.tile, beyond - first), first=begin)

    def _keep(self, keep: Keep, below: tuple[Node, ...], inside: Inside) -> Keep:
        if keep.only or not keep.of.keys().isdisjoint(self.cuts):
            raise UnboxedError("a Keep for some statements only, or of a part of a dim that boxes cut")
        stored = self.given.kept.stored_as
        touched = dict.fromkeys(self._touched(below, inside))
        parts = [(name, part) for name in keep.tensors for tensor, part in touched if stored[name] == stored[tensor]]
        return replace(keep, tensors=tuple(dict.fromkeys(_part_name(*each) for each in parts)))

    def _touched(self, nodes: tuple[Node, ...], inside: Inside) -> Iterator[tuple[str, Part]]:
        """The parts of tensors that the leaves of some nodes touch."""
        for node in nodes:
            match node:
                case Box(ranges=ranges):
                    inside = {**inside, **dict(self._boxed(ranges, inside))}
                case Compute(statement=name):
                    for access in self.given.workload.statement(name).accesses:
                        yield access.name, self._part(access, inside)
                case Sequence(branches=branches):
                    for branch in branches:
                        yield from self._touched(branch, inside)
                case _:
                    pass

    def _part(self, access: TensorAccess, inside: Inside) -> Part:
        """The part of a tensor that an access touches."""
        found, shape = list[int](), list[tuple[Interval, ...]]()
        for axis in access.axes:
            cut = [d for d in axis.dims if d in self.cuts]
            if cut and (str(axis) != cut[0] or cut[0] not in inside):
                raise UnboxedError(f"{access} is touched neither as a whole nor in one part of {cut[0]}")
            found.append(inside[cut[0]] if cut else 0)
            shape.append(self.cuts[cut[0]] if cut else ())
        if self.shapes.setdefault(access.name, tuple(shape)) != tuple(shape):
            raise UnboxedError(f"{access.name} is cut in two ways")
        return tuple(found) if any(shape) else ()

    def _statement(self, statement: Statement, inside: Inside) -> str:
        """Take in a part of a statement, and name what it writes."""
        cut = {d for d in statement.dims if d in self.cuts}
        if not cut <= inside.keys() or not cut <= statement.output.dims:
            raise UnboxedError(f"{statement.name} is not in one box of each of its dims, or sums over boxes")
        part = self._part(statement.output, inside)
        own = {d: inside[d] for d in cut}
        parts = dict[str, Part]()
        for access in statement.accesses:
            mine = self._part(access, inside)
            if parts.setdefault(access.name, mine) != mine:
                raise UnboxedError(f"{statement.name} touches two parts of {access.name}")
            self._take_name(_part_name(access.name, mine), access.name)
        for dim in statement.dims:
            first, beyond = self.cuts[dim][own[dim]] if dim in own else (0, self.given.workload.extents[dim])
            self._take_name(_named(dim, own), dim)
            self.sizes[_named(dim, own)] = beyond - first

        def renamed(access: TensorAccess) -> TensorAccess:
            axes = (replace(axis, terms=tuple((_named(d, own), c) for d, c in axis.terms)) for axis in access.axes)
            return replace(access, name=_part_name(access.name, parts[access.name]), axes=tuple(axes))

        inputs = tuple(map(renamed, statement.inputs))
        found = replace(statement, output=renamed(statement.output), inputs=inputs, image=())
        self.statements.setdefault(statement.name, {})[part] = found
        return _part_name(statement.name, part)

    def _take_name(self, name: str, whole: str) -> None:
        """Take in whose part a name is: no other one has it."""
        workload = self.given.workload
        taken = name != whole and (name in workload.dims or any(name == each.name for each in workload.accesses))
        if taken or self.names.setdefault(name, whole) != whole:
            raise UnboxedError(f"{name}, a part of {whole}, is something else, too")


def _named(dim: str, inside: Inside) -> str:
    """How the part of a dim is called."""
    return f"{dim}_{inside[dim]}" if dim in inside else dim


def _part_name(tensor: str, part: Part) -> str:
    """How a part of a tensor is called; no part is all of it."""
    return "_".join([tensor, *map(str, part)])
