"""Trees with boxes, read as trees of statements in parts.

A box lets the nodes below work on a range of some dims. All boxes of a tree together cut a dim into ranges; a tree is
counted if every box is of one of these, no loop over a cut dim is outside its box, every leaf is below a box of each
cut dim that its statement has, all of these being subscripts of what it writes, and every combination of ranges of a
statement has one leaf. Then a leaf writes a part of its tensor that no other leaf writes, and each access is of a whole
part: where a dim that is cut subscripts a tensor it is the whole subscript, and other accesses are cut at the same
places. So parts of statements, of tensors and of dims are statements, tensors and dims, and without its boxes the tree
is one of these: a box changes nothing but which iterations are gone over. An element of a tensor is one of one part:
words that move or are held add up.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from math import prod
from typing import Any

from ..chains.chain import StatedChain
from ..core.tools import need
from .stated_tree import StatedTree
from .tree_counts import CountedTree, Pair, count_tree

WORD = re.compile(r"[^\W\d]\w*")
ACCESS = re.compile(r"([^\W\d]\w*)\[([^\]]*)\]")
Ranges = dict[str, tuple[int, int]]
"""Of the boxes above a node, by dim."""
Cell = tuple[tuple[int, int] | None, ...]
"""Per subscript the range of a part, None where it is not cut."""


def count_stated(chain: StatedChain, levels: list[str], copies: list[str], nodes: Any) -> CountedTree:
    """Count a tree that may have boxes.

    Args:
        chain: what is computed.
        levels: names of the bounded levels, inner first, and of the outermost one.
        copies: levels that no tensor may pass by which an inner one holds.
        nodes: of the form of `nodes_shape`.

    Raises:
        RefusedError: for a tree that means nothing or is not counted.
    """
    boxes = list(_boxes(nodes))
    if not boxes:
        return count_tree(StatedTree(chain, levels, copies, nodes))
    parts = _Parts(chain, boxes)
    inner = parts.rewritten(nodes, {})
    counted = count_tree(StatedTree(parts.chain(), levels, copies, inner))
    loads, stores = Counter[Pair](), Counter[Pair]()
    for (level, source, tensor), (loaded, stored) in counted.moved.items():
        loads[level, source, parts.whole[tensor]] += loaded
        stores[level, source, parts.whole[tensor]] += stored
    return CountedTree({pair: (loads[pair], stores[pair]) for pair in loads}, counted.occupied)


def _boxes(nodes: Any) -> Iterator[dict[str, list[int]]]:
    for node in nodes:
        yield from [node["box"]] if "box" in node else []
        for branch in node.get("sequence", ()):
            yield from _boxes(branch)


class _Parts:
    """Statements, tensors and dims in parts."""

    def __init__(self, chain: StatedChain, boxes: list[dict[str, list[int]]]) -> None:
        self.whole: dict[str, str] = {}
        """Tensors and dims by the names of their parts."""
        self._chain = chain
        plain = not any(said.conditions or said.rows for said in chain.said)
        need(plain, "not counted: boxes beside conditions or functions of rows")
        need(chain.outputs.isdisjoint(chain.reads), "not counted: boxes beside an output that is read")
        self._cuts: dict[str, list[tuple[int, int]]] = {}
        for dim in {d for box in boxes for d in box}:
            need(dim in chain.extents, f"malformed: a box of {dim}, which is no dim")
            ends = {0, chain.extents[dim]}.union(*(box[dim] for box in boxes if dim in box))
            need(max(ends) == chain.extents[dim], f"malformed: a box of {dim} that ends beyond it")
            self._cuts[dim] = list(pairwise(sorted(ends)))
            same = all(tuple(box[dim]) in self._cuts[dim] for box in boxes if dim in box)
            need(same, f"not counted: boxes of {dim} that overlap")
        self._texts: list[dict[tuple[tuple[int, int], ...], str]] = [{} for _ in chain.names]
        self._extents: dict[str, int] = {}
        self._bytes: dict[str, float] = {}
        self._shapes: dict[str, list[str]] = {}

    def rewritten(self, nodes: Any, ranges: Ranges) -> list[dict[str, Any]]:
        """The nodes of the tree of statements in parts."""
        found: list[dict[str, Any]] = []
        for number, node in enumerate(nodes):
            if "box" in node:
                ranges = self._inside(node, ranges)
            elif "loop" in node:
                found.append(self._loop(node, ranges))
            elif "keep" in node:
                need("only" not in node, "not counted: a keep for some statements only, in a tree with boxes")
                need(not set(node.get("of", ())) & set(self._cuts), "not counted: a keep of a part of a dim in boxes")
                found.append(node | {"tensors": self._kept(node["tensors"], nodes[number + 1 :], ranges)})
            elif "sequence" in node:
                found.append({"sequence": [self.rewritten(branch, ranges) for branch in node["sequence"]]})
            else:
                found.append({"compute": self._leaf(node["compute"], ranges)})
        return found

    def chain(self) -> StatedChain:
        """The statements in parts, once the tree has been rewritten."""
        chain = self._chain
        for name, dims, texts in zip(chain.names, chain.dims, self._texts, strict=True):
            every = prod(len(self._cuts[d]) for d in dims if d in self._cuts)
            need(len(texts) == every, f"not done: {every} boxes make up {name}, and {len(texts)} have leaves")
        return StatedChain(
            {
                "statements": [text for texts in self._texts for text in texts.values()],
                "extents": self._extents,
                "bytes": self._bytes,
                "semantics": "assign" if chain.assign else "accumulate",
                "outputs": [],
            }
        )

    def _inside(self, node: Any, ranges: Ranges) -> Ranges:
        for dim, (first, beyond) in node["box"].items():
            need(ranges.get(dim, (first, beyond)) == (first, beyond), f"not counted: a box of {dim} inside another")
            ranges = ranges | {dim: (first, beyond)}
        return ranges

    def _loop(self, node: Any, ranges: Ranges) -> dict[str, Any]:
        dim, tile = node["loop"], node["tile"]
        need(dim in self._chain.extents, f"malformed: a loop over {dim}, which is no dim")
        need(tile <= self._chain.extents[dim], f"malformed: a loop over {dim} in tiles of {tile}, which it has not")
        if dim not in self._cuts:
            return dict(node)
        need(dim in ranges, f"not counted: a loop over {dim} outside of its boxes")
        first, beyond = ranges[dim]
        begin, step = node.get("first", tile), min(tile, beyond - first)
        need(begin < tile or "first" not in node, f"malformed: a loop over {dim} that begins with no shorter step")
        found = {"loop": self._part_of(dim, (first, beyond)), "tile": step}
        return found | ({"first": begin} if begin < step else {})

    def _kept(self, tensors: list[str], below: Any, ranges: Ranges) -> list[str]:
        """The parts of some tensors that leaves touch, by the tensors that hold their elements."""
        held, found = self._chain.held, dict[str, None]()
        fine = len(set(tensors)) == len(tensors) and all(tensor in held for tensor in tensors)
        need(fine, "malformed: a keep of what is no tensor, or of one twice")
        touched = list(dict.fromkeys(self._touched(below, ranges)))
        for tensor in tensors:
            mine = [cell for name, cell in touched if held[name] == held[tensor]]
            need(bool(mine), f"malformed: a keep of {tensor}, which no statement below has")
            found |= dict.fromkeys(self._named(tensor, cell) for cell in mine)
        return list(found)

    def _touched(self, nodes: Any, ranges: Ranges) -> Iterator[tuple[str, Cell]]:
        for node in nodes:
            if "box" in node:
                ranges = self._inside(node, ranges)
            for branch in node.get("sequence", ()):
                yield from self._touched(branch, ranges)
            if "compute" in node:
                for access in self._chain.accesses[self._number(node["compute"])]:
                    yield access["tensor"], self._cell(access, ranges)

    def _number(self, name: str) -> int:
        need(name in self._chain.names, f"malformed: compute {name!r}, which is no statement")
        return self._chain.names.index(name)

    def _cell(self, access: Any, ranges: Ranges) -> Cell:
        """The part of a tensor that a leaf touches."""
        found: list[tuple[int, int] | None] = []
        shape: list[str] = []
        for axis in access["axes"]:
            dims = [d for d, _ in axis["terms"] if d in self._cuts]
            alone = axis == {"terms": [[d, 1] for d in dims], "offset": 0}
            need(not dims or alone, f"not counted: a box of {', '.join(dims)} beside what else is in its subscript")
            need(all(d in ranges for d in dims), f"not counted: {access['tensor']} is touched in several boxes at once")
            found.append(ranges[dims[0]] if dims else None)
            shape.append(str(self._cuts[dims[0]] if dims else ""))
        same = self._shapes.setdefault(access["tensor"], shape) == shape
        need(same, f"not counted: {access['tensor']} is cut in two ways")
        return tuple(found)

    def _leaf(self, name: str, ranges: Ranges) -> str:
        """Take in a statement for the boxes above a leaf of it."""
        number = self._number(name)
        accesses, dims = self._chain.accesses[number], self._chain.dims[number]
        cut = sorted(dims & set(self._cuts))
        written = {d for axis in accesses[0]["axes"] for d, _ in axis["terms"]}
        need(set(cut) <= written, f"not counted: {name} sums over boxes")
        cells = {(access["tensor"], self._cell(access, ranges)) for access in accesses}
        names = {tensor: self._named(tensor, cell) for tensor, cell in cells}
        need(len(names) == len(cells), f"not counted: {name} touches a tensor in two boxes at once")
        inner = {d: self._part_of(d, ranges[d]) for d in cut}
        for dim in dims:
            first, beyond = ranges[dim] if dim in inner else (0, self._chain.extents[dim])
            self._extents[inner.get(dim, dim)] = beyond - first
        self._bytes |= {part: self._chain.bytes[tensor] for tensor, part in names.items()}

        def parted(found: re.Match[str]) -> str:
            return f"{names[found[1]]}[{WORD.sub(lambda dim: inner.get(dim[0], dim[0]), found[2])}]"

        place = tuple(ranges[d] for d in cut)
        need(place not in self._texts[number], f"malformed: two leaves of {name} in one box")
        self._texts[number][place] = ACCESS.sub(parted, self._chain.said[number].text)
        return names[name]

    def _named(self, tensor: str, cell: Cell) -> str:
        return self._take("_".join([tensor, *(f"{each[0]}_{each[1]}" for each in cell if each is not None)]), tensor)

    def _part_of(self, dim: str, part: tuple[int, int]) -> str:
        return self._take(f"{dim}_{part[0]}_{part[1]}", dim)

    def _take(self, part: str, whole: str) -> str:
        """A name that only this part has."""
        other = part != whole and (part in self._chain.extents or part in self._chain.bits)
        need(not other and self.whole.setdefault(part, whole) == whole, f"not counted: another thing is called {part}")
        return part
