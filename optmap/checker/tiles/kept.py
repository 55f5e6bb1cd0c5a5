"""What a memory keeps of a nest whose time is predicted, and what it moves then.

Such a nest is cut between two loops, and the memory holds what the iterations inside the cut touch in one visit.
Anything that fits may be claimed, since a memory so large can keep it. If the cut is inside a split below the memory,
every child has such iterations, all at the same place of its part: tensors without the dims that are split are there
once, others once per child. Of one input a single element may be there instead, which passes: the iterations of a
visit are taken element by element.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any, NamedTuple

from ..core.nest import TiledNest, footprint, traffic
from ..core.shared_elements import common_elements
from ..core.tools import need


class LoopPlace(NamedTuple):
    """A place between two loops of a level; level -1 has the iterations of the innermost tiles."""

    level: int
    tile: dict[str, int]
    order: list[str]


def cuts(nest: TiledNest, q: int) -> Iterator[LoopPlace]:
    """The places where what one instance of a level runs through can be cut, the outermost first."""
    split = [p for p in range(q + 1, nest.depth) if prod(nest.ways[p].values()) > 1]
    for p in reversed(range(-1, min(split, default=nest.depth))):
        order = nest.orders[max(p, 0)]
        inside = nest.tiles[p] if p >= 0 else dict.fromkeys(nest.work.extents, 1)
        whole = nest.work.extents
        if p + 1 < nest.depth:
            whole = {d: nest.share(d, n, p + 1) for d, n in nest.tiles[p + 1].items()}
        for place in range(len(order) + 1):
            yield LoopPlace(p, {d: min(inside[d], n) if d in order[:place] else n for d, n in whole.items()}, order)


class KeptNestPart:
    """The part of a nest that a level keeps, as a document claims."""

    def __init__(self, doc: Any, nest: TiledNest, q: int) -> None:
        self.work, claimed, level = nest.work, doc["levels"][q]["kept"], doc["machine"]["levels"][q]
        found = [cut for cut in cuts(nest, q) if cut.tile == claimed["tile"]]
        need(bool(found), f"{level['name']} keeps {claimed['tile']}, which no cut between two loops leaves inside")
        cut = found[0]
        mine = {"level": "kept", "tile": cut.tile, "permutation": cut.order, "spatial": {}}
        outer = doc["mapping"]["levels"][cut.level + 1 :]
        names = [{"name": "kept", "fanout": 1}, *doc["machine"]["levels"][cut.level + 1 :]]
        self.nest = TiledNest(nest.work, [mine, *outer], names)
        inside = nest.ways[max(cut.level + 1, 0) : q + 1]
        self.copies = [
            prod(ways[d] for ways in inside for d in {d for terms, _ in axes for d, _ in terms})
            for _, axes in self.work.tensors
        ]
        # Elements that several children begin are begun once.
        self.made = nest.created(q, padded=False) if self.copies[0] > 1 else None
        self.passing = None
        if claimed["passing"] is not None:
            need(claimed["passing"] in self.work.names[1:], f"{claimed['passing']} is no input that could pass")
            self.passing = self.work.names.index(claimed["passing"])

    def shares(self) -> list[int]:
        """Words of every access that are there."""
        found = []
        for place, (name, axes) in enumerate(self.work.tensors):
            elements = 1 if place == self.passing else footprint(axes, self.nest.tiles[0])
            found.append(elements * self.copies[place] * self.work.weights[name])
        return found

    def moved(self) -> list[tuple[int, int]]:
        """(loads, stores) in words per access."""
        rows = traffic(self.nest, 0, whole=True)
        if self.passing is not None:
            name, axes = self.work.tensors[self.passing]
            ranges = self.nest.ranges(self.passing, 0)
            placed = {d for (terms, _), real in zip(axes, ranges, strict=True) if real for d, _ in terms}
            every = {d: self.nest.stay(d, 0, d in placed) for d in self.work.extents}
            rows[self.passing] = (self.work.weights[name] * common_elements(axes, every, ranges), 0)
        moved = [(times * a, times * b) for times, (a, b) in zip(self.copies, rows, strict=True)]
        if self.made is not None:
            loads, stores = moved[0]
            moved[0] = (max(loads, stores - self.made * self.work.weights[self.work.names[0]]), stores)
        return moved


def predicted_cycles(doc: Any) -> list[float]:
    """Per level what its link takes as predicted; registers, which have none, take what the kernel does."""
    names = [level["name"] for level in doc["machine"]["levels"]] + [doc["machine"]["memory"]]
    rows, said = doc["prediction"]["boundaries"], doc["prediction"]["compute_cycles"]
    first = len(names) - 1 - len(rows)
    need(first in (0, 1), "a time is predicted for every boundary, or all but that of the registers")
    for q, row in enumerate(rows, first):
        need(row["between"] == names[q : q + 2], f"the prediction says {row['between']}, not {names[q : q + 2]}")
    return [said] * first + [row["cycles"] for row in rows]
