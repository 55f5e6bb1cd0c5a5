"""The traffic of a mapping, counted anew from its definition.

The tiles of a level are visited in the order of a counter with one digit per loop; loops of outer
levels come first. A step keeps what the new tile shares with the old one and fetches the rest, so

    entering = sum over all tiles |tile| - sum over all steps |new tile and old tile|.

At every step one loop advances, the loops outside stand still and the loops inside go back to their
start. Hence each dim contributes one table of (old size, new size, distance) with frequencies, and
both sums are products over dims that share no subscript.

With implicit padding only the values of a subscript inside its range are elements; the tables of its dims
then carry the start of the new tile. Where one of the dims is split outside the boundary the first child
is not the busiest, and its padding counts as stored.
"""

from __future__ import annotations

import itertools
from collections import Counter
from math import prod
from typing import Any

from .shared_elements import Moves, common_elements
from .statement import Axis, Range, StatedWork
from .tools import SPAN, count, need, whole


class TiledNest:
    """The tiles of a mapping, dim by dim."""

    def __init__(self, work: StatedWork, levels: Any, machine: Any) -> None:
        self.work, self.depth = work, len(levels)
        doubled = sum(len(terms) for terms, _ in work.tensors[0][1]) > len(work.output)
        need(not (work.assign and doubled), "first touches are not defined: a dim is in two subscripts of the output")
        need([x["level"] for x in levels] == [x["name"] for x in machine], "mapping and machine have other levels")
        self.tiles: list[dict[str, int]] = [x["tile"] for x in levels]
        self.ways = [{d: x["spatial"].get(d, 1) for d in work.extents} for x in levels]
        self.orders: list[list[str]] = [x["permutation"] for x in levels]
        outer = work.extents
        for q in reversed(range(self.depth)):
            need(set(self.tiles[q]) == set(outer), f"level {q}: the tile does not have the dims of the workload")
            need(sorted(self.orders[q]) == sorted(outer), f"level {q}: the loops are not the dims")
            need(set(levels[q]["spatial"]) <= set(outer), f"level {q}: an unknown dim is split")
            for d in outer:
                need(1 <= whole(self.tiles[q][d], "tile", 1) <= outer[d], f"level {q}: the tile of {d} is too large")
                whole(self.ways[q][d], "spatial", 1)
            need(prod(self.ways[q].values()) <= machine[q]["fanout"], f"level {q}: more ways than children")
            outer = {d: self.share(d, self.tiles[q][d], q) for d in outer}

    def share(self, dim: str, size: int, q: int) -> int:
        """What the first child gets of a tile of level q."""
        ways: int = self.ways[q][dim]
        return -(-size // ways)

    def tiles_of(self, dim: str, q: int) -> Counter[int]:
        """Sizes of all tiles of level q; beyond the last level, of the whole dim."""
        if q == self.depth:
            return Counter({self.work.extents[dim]: 1})
        found: Counter[int] = Counter()
        for size, times in self.shares_of(dim, q + 1).items():
            full, rest = divmod(size, self.tiles[q][dim])
            found += Counter({self.tiles[q][dim]: times * full}) + Counter({rest: times * (rest > 0)})
        return found

    def shares_of(self, dim: str, q: int) -> Counter[int]:
        """Sizes of the first children's shares of all tiles of level q."""
        if q == self.depth:
            return self.tiles_of(dim, q)
        found: Counter[int] = Counter()
        for size, times in self.tiles_of(dim, q).items():
            found[self.share(dim, size, q)] += times
        return found

    def ends(self, dim: str, size: int, q: int, base: int) -> tuple[int, int, int]:
        """In a part that is cut into tiles of level q-1 down to base: first size, last start, last size."""
        first, start, last = size, 0, size
        for x in range(q - 1, base - 1, -1):
            tile = self.tiles[x][dim]
            first, skipped = min(first, tile), (last - 1) // tile * tile
            start, last = start + skipped, last - skipped
            if x > base:
                first, last = self.share(dim, first, x), self.share(dim, last, x)
        return first, start, last

    def cut(self, dim: str, q: int) -> list[tuple[int, int]]:
        """(start, size) of every tile of level q; beyond the last level, of the whole dim."""
        if q == self.depth:
            return [(0, self.work.extents[dim])]
        tile = self.tiles[q][dim]
        parts = self.given(dim, q + 1)
        return [(at + i, min(tile, size - i)) for at, size in parts for i in range(0, size, tile)]

    def given(self, dim: str, q: int) -> list[tuple[int, int]]:
        """(start, size) of the first children's shares of all tiles of level q."""
        parts = self.cut(dim, q)
        return parts if q == self.depth else [(at, self.share(dim, size, q)) for at, size in parts]

    def stay(self, dim: str, base: int, placed: bool = False) -> Moves:
        """Every tile of the base level against itself."""
        if placed:
            return Counter((size, size, 0, at) for at, size in self.cut(dim, base))
        return Counter({(size, size, 0, 0): n for size, n in self.tiles_of(dim, base).items()})

    def wrap(self, dim: str, q: int, base: int, placed: bool) -> Moves:
        """Back to the first tile within every part that a tile of level q hands on (q = base: stay)."""
        moves: Moves = Counter()
        if q == base:
            return self.stay(dim, base, placed)
        several = [((0, n), times) for n, times in self.shares_of(dim, q).items()]
        for (at, size), times in [(part, 1) for part in self.given(dim, q)] if placed else several:
            first, start, last = self.ends(dim, size, q, base)
            moves[last, first, -start, at] += times
        return moves

    def advance(self, dim: str, q: int, base: int, placed: bool = False) -> Moves:
        """On to the next tile of level q."""
        moves: Moves = Counter()
        tile = self.tiles[q][dim]
        inside = (lambda size: size) if q == base else (lambda size: self.share(dim, size, q))
        _, start, last = self.ends(dim, inside(tile), q, base)
        if placed:
            for at, size in self.given(dim, q + 1):
                for i in range(tile, size, tile):
                    new = self.ends(dim, inside(min(tile, size - i)), q, base)[0]
                    moves[last, new, tile - start, at + i] += 1
            return moves
        for size, times in self.shares_of(dim, q + 1).items():
            full, rest = divmod(size, tile)
            for new, steps in ((tile, full - 1), (rest, min(full, 1))):
                if new and steps > 0:
                    moves[last, self.ends(dim, inside(new), q, base)[0], tile - start, 0] += times * steps
        return moves

    def ranges(self, access: int, base: int) -> list[Range]:
        """The ranges of an access's subscripts that count at the boundary outside a level."""
        split = {d for ways in self.ways[base + 1 :] for d, n in ways.items() if n > 1}
        pairs = zip(self.work.tensors[access][1], self.work.ranges[access], strict=True)
        return [None if split & set(dict(terms)) else real for (terms, _), real in pairs]

    def whole_nest(self, access: int, base: int) -> int:
        """Elements that enter at the boundary outside a level when one-trip loops are skipped."""
        axes, ranges = self.work.tensors[access][1], self.ranges(access, base)
        placed = {d for (terms, _), real in zip(axes, ranges, strict=True) if real for d, _ in terms}
        total = common_elements(axes, {d: self.stay(d, base, d in placed) for d in self.work.extents}, ranges)
        for q in range(base, self.depth):
            for place, dim in enumerate(self.orders[q]):
                moves = {e: self.wrap(e, q, base, e in placed) for e in self.orders[q][:place]}
                moves |= {e: self.wrap(e, q + 1, base, e in placed) for e in self.orders[q][place + 1 :]}
                moves[dim] = self.advance(dim, q, base, dim in placed)
                total -= common_elements(axes, moves, ranges)
        return total

    def per_level(self, access: int, base: int) -> int:
        """Elements that enter, padding included, when tiles of the next level start anew and one-trip loops count."""
        axes = self.work.tensors[access][1]
        present = {d for terms, _ in axes for d, _ in terms}
        moves, at = {}, None
        for d in reversed(self.orders[base]):
            at = d if at is None and d in present else at
            moves[d] = self.stay(d, base) if at else Counter({(1, 1, 0, 0): self.shares_of(d, base + 1).total()})
        total = common_elements(axes, moves)
        if at is not None:
            total -= common_elements(axes, {**moves, at: self.advance(at, base, base)})
        return total

    def created(self, base: int, padded: bool = True) -> int:
        """Output elements whose first touch at the boundary outside a level is not a load; with padding, or without."""
        if not self.work.assign:
            return 0
        _, axes = self.work.tensors[0]
        ranges = [None] * len(axes) if padded else self.ranges(0, base)
        if all(n == 1 for ways in self.ways[base + 1 :] for n in ways.values()):
            moves = {d: self.stay(d, self.depth) for d in self.work.extents if d in self.work.output}
            return common_elements(axes, moves, ranges)
        counts = []
        for (terms, offset), real in zip(axes, ranges, strict=True):
            need(prod(self.work.extents[d] for d, _ in terms) <= SPAN // 16, "too many split iterations to enumerate")
            places = [[c * x for x in self.executed(d, base)] for d, c in terms]
            values = {offset + sum(point) for point in itertools.product(*places)}
            counts.append(sum(real is None or real[0] <= value <= real[1] for value in values))
        return prod(counts)

    def executed(self, dim: str, base: int) -> list[int]:
        """Iterations of a dim that the first child of every split outside the base level runs."""
        parts = [range(self.work.extents[dim])]
        for x in range(self.depth - 1, base, -1):
            tile = self.tiles[x][dim]
            cut = [part[i : i + tile] for part in parts for i in range(0, len(part), tile)]
            parts = [each[: self.share(dim, len(each), x)] for each in cut]
        return [i for part in parts for i in part]


def footprint(axes: list[Axis], box: dict[str, int]) -> int:
    """Elements of a tensor that a box of iterations touches."""
    return prod(count(dict(terms), box) for terms, _ in axes)


def traffic(nest: TiledNest, base: int, *, whole: bool) -> list[tuple[int, int]]:
    """(loads, stores) in words per access at the boundary outside a level: of the whole nest, or in per-level form."""
    rows = []
    for place, (name, _) in enumerate(nest.work.tensors):
        weight = nest.work.weights[name]
        elements = nest.whole_nest(place, base) if whole else nest.per_level(place, base)
        made = nest.created(base, padded=not whole) if place == 0 else 0
        rows.append((weight * (elements - made), weight * elements if place == 0 else 0))
    return rows
