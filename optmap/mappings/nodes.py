"""Mapping trees: loops, keeps, sequences and statements, read from the outside in.

A list of nodes is a path inwards; its last node is a leaf (`Compute`) or a `Sequence` of such lists. What a tree
means is in `optmap.count.trees`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """From here inwards a level holds what the nodes below touch of some tensors."""

    level: str
    tensors: tuple[str, ...]
    """Names; none for a level that owns loops only."""
    of: dict[str, range] = field(default_factory=dict)
    """Only what operations with these dims in these ranges touch: a pinned part. No further Keep of the same level
    holds it again."""
    only: tuple[str, ...] = ()
    """Statements for which it is there: while another one runs it holds nothing. None for all below."""

    def document(self) -> dict[str, object]:
        """The same as a JSON-able object."""
        found: dict[str, object] = {"keep": self.level, "tensors": list(self.tensors)}
        found |= {"of": ranges_document(self.of)} if self.of else {}
        return found | ({"only": list(self.only)} if self.only else {})

    def __str__(self) -> str:
        part = f" of {ranges_text(self.of)}" if self.of else ""
        part += f" for {', '.join(self.only)} only" if self.only else ""
        return f"{self.level} keeps {', '.join(self.tensors) or 'nothing of its own'}{part}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """Over time: steps through what is left of a dim, the last one ragged."""

    dim: str
    tile: int
    """Iterations of one step."""
    first: int = 0
    """Iterations of the first step where these are fewer than those of the others; 0 where they are as many."""

    @property
    def ahead(self) -> int:
        """Iterations that the first step lacks: so far ahead of what is left the grid of the steps begins."""
        return self.tile - self.first if self.first else 0

    def restricts(self, size: int) -> bool:
        """Whether so many iterations take more than one step."""
        return size > self.tile - self.ahead

    def document(self) -> dict[str, object]:
        """The same as a JSON-able object."""
        return {"loop": self.dim, "tile": self.tile, **({"first": self.first} if self.first else {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Over an axis of a mesh or over cores, all at once: a child gets `ceil(what is left / ways)` iterations."""

    dim: str
    ways: int
    axis: str
    """`L2.x` or `L2.y`: an axis of the children that level L2 feeds; `L2` where they are not in a mesh."""

    def document(self) -> dict[str, object]:
        """The same as a JSON-able object."""
        return {"loop": self.dim, "ways": self.ways, "axis": self.axis}


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """The nodes below work on a part of some dims only."""

    ranges: dict[str, range]

    def document(self) -> dict[str, object]:
        """The same as a JSON-able object."""
        return {"box": ranges_document(self.ranges)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute:
    """A leaf: what is left of a statement's dims, in one go."""

    statement: str
    """Name of its output."""

    def document(self) -> dict[str, object]:
        """The same as a JSON-able object."""
        return {"compute": self.statement}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequence:
    """In every iteration of the loops above, branches that run one after the other."""

    branches: tuple[tuple[Node, ...], ...]

    def document(self) -> dict[str, object]:
        """The same as a JSON-able object."""
        return {"sequence": [[node.document() for node in branch] for branch in self.branches]}


Node = Keep | Loop | Split | Box | Compute | Sequence
Address = tuple[int, ...]
"""Of a node: its number in the outermost list; behind a sequence the number of the branch and that in its list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathLeaf:
    """A leaf with everything above it."""

    statement: str
    path: tuple[tuple[Address, Node], ...]
    """From the outermost node to the leaf itself, sequences among them."""

    @property
    def address(self) -> Address:
        """Of the leaf itself."""
        return self.path[-1][0]

    @property
    def keeps(self) -> tuple[tuple[Address, Keep], ...]:
        """The Keeps above it that are there for it, outermost first."""
        return tuple(
            (address, node)
            for address, node in self.path
            if isinstance(node, Keep) and (not node.only or self.statement in node.only)
        )

    def branch(self, sequence: Address) -> int:
        """Number of the branch of a sequence that it is in."""
        return self.address[len(sequence)]


def leaves(nodes: tuple[Node, ...]) -> tuple[PathLeaf, ...]:
    """The leaves of a tree in the order of their run.

    Args:
        nodes: the outermost list, each list of which ends with a leaf or a sequence.
    """
    return tuple(_leaves(nodes, (), ()))


def _leaves(nodes: tuple[Node, ...], base: Address, above: tuple[tuple[Address, Node], ...]) -> Iterator[PathLeaf]:
    for number, node in enumerate(nodes):
        above = (*above, ((*base, number), node))
        if isinstance(node, Compute):
            yield PathLeaf(statement=node.statement, path=above)
        elif isinstance(node, Sequence):
            for branch, inside in enumerate(node.branches):
                yield from _leaves(inside, (*base, number, branch), above)


def is_above(one: Address, other: Address) -> bool:
    """Whether a node is above another one on its path (or is that node)."""
    last = len(one) - 1
    return len(one) <= len(other) and one[:last] == other[:last] and one[last] <= other[last]


def ranges_document(ranges: dict[str, range]) -> dict[str, list[int]]:
    """Per dim the first iteration and the one beyond the last, and the step where it is not 1."""
    return {d: [r.start, r.stop, *([r.step] if r.step != 1 else [])] for d, r in ranges.items()}


def ranges_text(ranges: dict[str, range]) -> str:
    """Ranges of dims as comparisons."""
    return " and ".join(
        f"{r.start} <= {d} < {r.stop}{f' in steps of {r.step}' if r.step > 1 else ''}" for d, r in ranges.items()
    )
