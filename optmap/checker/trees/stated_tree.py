"""A mapping tree as a document says it: loops, keeps, sequences and leaves, refused where it means nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any

from ..chains.chain import StatedChain
from ..core.shapes import Shape, count, many, name, positive, records, row, table
from ..core.tools import RefusedError, need
from .stated_rows import stated_rows

Address = tuple[int, ...]
"""Of a node: its number in the outermost list; behind a sequence the number of the branch and that in its list."""


def nodes_shape(value: Any, where: str) -> None:
    """A list of nodes, outermost first."""
    many(_node, 1)(value, where)


def _node(value: Any, where: str) -> None:
    need(type(value) is not dict or "axis" not in value, f"not counted: {where} has the key axis")
    FORM(value, where)


KEEP: dict[str, Shape] = {"keep": name, "tensors": many(name)}
FORM = records(
    {"loop": name, "tile": positive},
    {"loop": name, "tile": positive, "first": positive},
    KEEP,
    KEEP | {"of": table(row(count, positive), 1)},
    KEEP | {"only": many(name, 1)},
    KEEP | {"of": table(row(count, positive), 1), "only": many(name, 1)},
    {"sequence": many(nodes_shape, 2)},
    {"box": table(row(count, positive), 1)},
    {"compute": name},
)


@dataclass(frozen=True)
class StatedLoop:
    """A loop of more than one trip."""

    address: Address
    dim: str
    tile: int
    ahead: int
    """Iterations that its first step lacks: its grid begins so far ahead of what it goes through."""

    def step(self, whole: tuple[int, int], place: int) -> tuple[int, int]:
        """First and beyond of the step through a whole that has an iteration."""
        (low, high), grid = whole, whole[0] - self.ahead
        start = grid + (place - grid) // self.tile * self.tile
        return max(low, start), min(start + self.tile, high)

    def steps(self, whole: tuple[int, int], first: int, beyond: int) -> Iterator[tuple[int, int]]:
        """Steps through a whole, from the one that has an iteration on, as far as they begin before another one."""
        while first < beyond:
            step = self.step(whole, first)
            yield step
            first = step[1]


@dataclass(frozen=True)
class Above:
    """What is above a node on its path."""

    loops: tuple[StatedLoop, ...] = ()
    """Outermost first; those of one trip in every iteration change nothing and are left out."""
    keeps: tuple[StatedKeep, ...] = ()
    """Outermost first."""
    branches: tuple[Address, ...] = ()
    """Of the sequences, each with the number of the branch."""
    ended: int = 0
    """How many of the loops are above the innermost of these sequences."""
    sizes: tuple[tuple[str, int], ...] = ()
    """Iterations of every dim that are left at most."""


@dataclass(frozen=True, eq=False)
class StatedKeep:
    """A place where a level holds what the nodes below touch."""

    address: Address
    level: str
    named: frozenset[str]
    """Tensors, by the name under which they are stored."""
    pin: tuple[tuple[str, int, int], ...]
    """Dims with the iterations whose operations it is for; none if it is for all."""
    above: Above
    only: frozenset[str]
    """Statements for which it is there; none if it is for all below."""

    def there(self, statement: str) -> bool:
        """Whether it holds anything while a statement below it runs."""
        return not self.only or statement in self.only


@dataclass(frozen=True)
class StatedLeaf:
    """A statement with all that is above it."""

    address: Address
    statement: int
    above: Above


class StatedTree:
    """A mapping tree of a chain on a machine.

    Args:
        chain: what is computed.
        levels: names of the bounded levels, inner first, and of the outermost one.
        copies: levels that no tensor may pass by which an inner one holds.
        nodes: of the form of `nodes_shape`.

    Raises:
        RefusedError: for a tree that means nothing.
    """

    def __init__(self, chain: StatedChain, levels: list[str], copies: Iterable[str], nodes: Any) -> None:
        self.chain, self.levels, self.copies = chain, levels, set(copies)
        self.rows = stated_rows(chain)
        self.held = chain.held | {rows.name: rows.name for rows in self.rows}
        self.inner = {t for t in chain.names if t not in chain.outputs} | {rows.name for rows in self.rows}
        self.touched = [{chain.held[access["tensor"]] for access in accesses} for accesses in chain.accesses]
        for rows in self.rows:
            for number in (rows.made, *rows.readers):
                self.touched[number].add(rows.name)
        self.leaves: list[StatedLeaf] = []
        self._read(nodes, (), Above(sizes=tuple(chain.extents.items())))
        found = [leaf.statement for leaf in self.leaves]
        need(len(set(found)) == len(found), "malformed: a statement has two leaves")
        for number, statement in enumerate(chain.names):
            need(number in found, f"not done: statement {statement} has no leaf")
        for leaf in self.leaves:
            self._check_keeps(leaf)

    @property
    def memory(self) -> str:
        """Name of the outermost level."""
        return self.levels[-1]

    @property
    def keeps(self) -> list[StatedKeep]:
        """All of them, each once."""
        return list(dict.fromkeys(keep for leaf in self.leaves for keep in leaf.above.keeps))

    def holds(self, keep: StatedKeep) -> frozenset[str]:
        """Tensors of which a Keep holds anything: the outermost level holds inputs and outputs anyway."""
        if keep.level != self.memory:
            return keep.named
        return keep.named & self.inner

    def is_below(self, leaf: StatedLeaf, keep: StatedKeep) -> bool:
        """Whether a leaf is below a Keep."""
        return keep in leaf.above.keeps

    def _read(self, nodes: Any, base: Address, above: Above) -> None:
        ends = ["compute" in node or "sequence" in node for node in nodes]
        need(ends[-1] and not any(ends[:-1]), "malformed: a list ends with a compute or a sequence, only there")
        below = self._statements(nodes)
        for number, node in enumerate(nodes):
            address = (*base, number)
            if "loop" in node:
                above = self._loop(node, address, above, below)
            elif "keep" in node:
                keep = self._keep(node, address, above, below)
                self._check_only(keep, nodes[number + 1 :], below)
                above = replace(above, keeps=(*above.keeps, keep))
            elif "sequence" in node:
                for i, branch in enumerate(node["sequence"]):
                    inside = (*above.branches, (*address, i))
                    self._read(branch, (*address, i), replace(above, branches=inside, ended=len(above.loops)))
            else:
                name = node["compute"]
                mine = replace(above, keeps=tuple(keep for keep in above.keeps if keep.there(name)))
                self.leaves.append(StatedLeaf(address, self.chain.names.index(name), mine))

    def _statements(self, nodes: Any) -> list[int]:
        """Numbers of the statements in a list of nodes."""
        last = nodes[-1]
        if "sequence" in last:
            return [number for branch in last["sequence"] for number in self._statements(branch)]
        statement = last.get("compute")
        need(statement in self.chain.names, f"malformed: compute {statement!r}, which is no statement")
        return [self.chain.names.index(statement)]

    def _loop(self, node: Any, address: Address, above: Above, below: list[int]) -> Above:
        dim, tile = node["loop"], node["tile"]
        first = node.get("first", tile)
        need(
            any(dim in self.chain.dims[n] for n in below), f"malformed: a loop over {dim}, which no statement below has"
        )
        extent, sizes = self.chain.extents[dim], dict(above.sizes)
        need(tile <= extent, f"malformed: a loop over {dim} in tiles of {tile}; there are {extent} iterations")
        fine = first < tile or "first" not in node
        need(fine, f"malformed: a loop over {dim} in tiles of {tile} that begins with no shorter one")
        if first >= sizes[dim]:
            return above
        loops = (*above.loops, StatedLoop(address, dim, tile, tile - first))
        return replace(above, loops=loops, sizes=tuple((sizes | {dim: min(tile, sizes[dim])}).items()))

    def _keep(self, node: Any, address: Address, above: Above, below: list[int]) -> StatedKeep:
        level, tensors, of = node["keep"], node["tensors"], node.get("of", {})
        need(level in self.levels, f"malformed: a keep at {level}, which is no level")
        need(len(set(tensors)) == len(tensors), f"malformed: a keep at {level} names a tensor twice")
        touched = set[str]().union(*(self.touched[n] for n in below))
        for tensor in tensors:
            fine = tensor in self.held and self.held[tensor] in touched
            need(fine, f"malformed: a keep of {tensor} at {level}, which no statement below has")
        for dim, (first, beyond) in of.items():
            fine = any(dim in self.chain.dims[n] for n in below) and first < beyond <= self.chain.extents[dim]
            need(fine, f"malformed: a keep at {level} of {dim} from {first} to before {beyond}")
        pin = tuple((dim, first, beyond) for dim, (first, beyond) in of.items())
        only = frozenset(node.get("only", ()))
        for statement in only - {self.chain.names[n] for n in below}:
            raise RefusedError(f"malformed: a keep at {level} for {statement} only, which is no statement below")
        for tensor in tensors if only else ():
            fine = any(self.held[tensor] in self.touched[self.chain.names.index(n)] for n in only)
            need(fine, f"malformed: a keep of {tensor} at {level} for statements only that do not touch it")
        if any(self.chain.names[n] not in only for n in below) and only:  # it is emptied in every iteration
            above = replace(above, ended=len(above.loops))
        names = [self.chain.names[n] for n in below]
        above = replace(above, keeps=tuple(o for o in above.keeps if any(map(o.there, names))))
        return StatedKeep(address, level, frozenset(self.held[t] for t in tensors), pin, above, only)

    def _check_only(self, keep: StatedKeep, inside: Any, below: list[int]) -> None:
        """A Keep that is not there for all below is there for whole branches, one after the other, of one sequence."""
        for outer in keep.above.keeps:
            apart = outer.named.isdisjoint(keep.named) or len(self._there(outer, below)) == 1
            need(apart, f"not counted: a keep at {keep.level} inside one that is there for some of what is below only")
        if len(self._there(keep, below)) > 1:
            first = next(node for node in inside if "keep" not in node)
            there = [self._there(keep, self._statements(branch)) for branch in first.get("sequence", ())]
            once = [kind for kind, _ in groupby(there)].count({True}) == 1
            need(once and {True, False} not in there, f"not counted: a keep at {keep.level} that comes and goes")

    def _there(self, keep: StatedKeep, below: list[int]) -> set[bool]:
        """Whether a Keep is there for some of what is below, and whether it is not for some."""
        return {keep.there(self.chain.names[number]) for number in below}

    def _check_keeps(self, leaf: StatedLeaf) -> None:
        statement = self.chain.names[leaf.statement]
        for tensor in sorted(self.touched[leaf.statement]):
            mine = [keep for keep in leaf.above.keeps if tensor in keep.named]
            for outer, inner in pairwise(mine):
                step = self.levels.index(outer.level) - self.levels.index(inner.level)
                need(step >= 0, f"malformed: {tensor} is kept at {inner.level} inside {outer.level}")
                twice = f"malformed: {tensor} is kept at {inner.level} twice on the path to {statement}"
                need(step > 0 or bool(outer.pin), twice)
            wholly = {keep.level for keep in mine if not keep.pin}
            if self.levels[0] not in wholly:
                raise RefusedError(f"not kept: {tensor} is not kept at {self.levels[0]} for {statement}")
            inside = ""
            for level in self.levels[:-1]:
                passed = inside and level in self.copies and level not in wholly
                need(not passed, f"malformed: {tensor} is kept at {inside} and passes {level}, which holds copies")
                inside = level if level in wholly else inside
