"""The traffic of a held mapping of one level, counted anew from its meaning.

The tiles run in the order of the loops; inside a tile the loops named `inner` are outermost. Every access
has an area: the tile, but the whole extent of dims whose loops are inside its reuse position, and one
iteration of dims along which it is streamed. The words over the area are in the memory, of a streamed access
every word of the tile from its first area to its last one. When the tile changes, common words stay if no loop
over tiles outside the reuse position moved; with position 0 all of them are outside. Everything else enters.

So an access at position p fetches every area whole, except that a step of the loop at p spares what the
two areas share, and a streamed access fetches every tile once. `rolling` counts what it holds meanwhile, if its
dims are the outermost loops inside a tile, each in one subscript and the only one there. Dims of which a tile has
one iteration do not move inside it.

Tiles may leave out a corner: of two dims the last iterations of a whole tile, where both meet. What an access with
both has of it is counted as what it would have if the tiles were the corners alone, and taken off. `Corners` are a
run of their own, over the iterations that were left out.
"""

from __future__ import annotations

from collections import Counter
from copy import copy
from math import prod
from typing import Any

from ..core.nest import TiledNest, footprint
from ..core.shared_elements import Moves, common_elements
from ..core.statement import Axis
from ..core.tools import need, spelled
from .rolling import rolling_words


class HeldLevel:
    """One level on which every access has a reuse position of its own (IOOpt, section 4), or is streamed."""

    def __init__(self, nest: TiledNest, doc: Any) -> None:
        need(nest.depth == 1, "reuse positions belong to one level")
        need(all(n == 1 for n in nest.ways[0].values()), "a held tile runs in one order and cannot be split")
        self.nest, self.inner = nest, list(reversed(nest.orders[0]))
        self.names: list[str] = nest.work.names
        need(set(doc["positions"]) == set(self.names), "one reuse position per access is needed")
        need(set(doc["streams"]) <= set(self.names), "a stream belongs to no access")
        self.places: list[int] = [doc["positions"][name] for name in self.names]
        need(max(self.places) <= len(self.inner) + 1, "a reuse position is outside all loops")
        known_dims(doc["inner"], self.inner, "inner")
        self.streams: list[set[str]] = []
        self.loops: list[list[str]] = []
        for name, place, (_, axes) in zip(self.names, self.places, nest.work.tensors, strict=True):
            if name not in doc["streams"]:
                self.streams.append(set())
                self.loops.append([])
                continue
            dims = known_dims(doc["streams"][name], self.inner, f"streams of {name}")
            need(bool(dims), f"{name} is streamed along no dim")
            need(place == 0, f"{name} is streamed: nothing stays between tiles, so its reuse position must be 0")
            self.loops.append(self.check_slices(name, axes, dims, doc["inner"]))
            self.streams.append(dims)
        self.left_out: dict[str, int] = {}
        self.rest: HeldLevel | None = None
        if "corner" in doc:
            self.left_out = self.check_corner(doc["corner"]["sizes"])
            self.rest = self.corners(doc["corner"])

    def check_slices(self, name: str, axes: list[Axis], dims: set[str], inner: list[str]) -> list[str]:
        """The loops that a streamed access runs through, outermost first, if they can be counted."""
        moving = {d for d, n in self.nest.tiles[0].items() if n > 1}
        present = {d for terms, _ in axes for d, _ in terms}
        need(dims <= present, f"{name} is streamed along a dim that it does not have")
        order = [d for d in inner if d in moving]
        last = max((order.index(d) for d in dims & moving if d in order), default=-1)
        need(set(order[: last + 1]) == dims & moving, f"{name} is streamed more than once: slices come back")
        for d in order[: last + 1]:
            mine = [set(dict(terms)) for terms, _ in axes if d in dict(terms)]
            need(len(mine) == 1, f"slices of {name} overlap: {d} is in two subscripts")
            need(mine[0] & dims & moving == {d}, f"slices of {name} along {d} move in a subscript with others")
        return order[: last + 1]

    def lines(self) -> list[str]:
        """What the tiles leave out, and that it is done."""
        if self.rest is None:
            return []
        cut = " and ".join(f"{size:,} of {d}" for d, size in self.left_out.items())
        left = prod(self.rest.nest.work.extents.values())
        return [
            spelled(
                f"every tile leaves out the last {cut} where both meet; the {left:,} operations of all these "
                f"corners, and no others, run afterwards from an empty memory"
            )
        ]

    def check_corner(self, sizes: dict[str, int]) -> dict[str, int]:
        """The iterations of a tile that are in its corner; what a tensor has there is then a product over both dims."""
        nest = self.nest
        need(len(known_dims(list(sizes), self.inner, "a corner")) == 2, "a corner is cut along two dims")
        for d, size in sizes.items():
            need(size < nest.tiles[0][d], f"the corner takes all iterations of {d} in a tile")
            for (name, axes), ranges in zip(nest.work.tensors, nest.work.ranges, strict=True):
                mine = [(terms, real) for (terms, _), real in zip(axes, ranges, strict=True) if d in dict(terms)]
                need(len(mine) <= 1, f"a corner is cut along {d}, which is in two subscripts of {name}")
                others = {e for terms, _ in mine for e, _ in terms if nest.work.extents[e] > 1} - {d}
                need(not others, f"a corner is cut along {d}, which shares a subscript of {name}")
                need(all(real is None for _, real in mine), f"a corner is cut along {d}, which has padding in {name}")
        for name, (_, axes), streamed in zip(self.names, nest.work.tensors, self.streams, strict=True):
            mixed = set(sizes) <= {d for terms, _ in axes for d, _ in terms} and streamed & set(sizes)
            need(not mixed, f"{name} is streamed along a dim of the corner: no room is saved")
        return dict(sorted(sizes.items()))

    def corners(self, doc: Any) -> HeldLevel:
        """The run over what all tiles leave out: its operations are no others', and all of them."""
        work = copy(self.nest.work)
        work.extents = {
            d: sum(times * self.left_of(d, size) for size, times in self.nest.tiles_of(d, 0).items())
            if d in self.left_out
            else n
            for d, n in work.extents.items()
        }
        work.assign = work.assign and set(self.left_out) <= work.output  # else the tiles touch every output before
        level = {"level": "corners", "tile": doc["tile"], "permutation": doc["permutation"], "spatial": {}}
        return HeldLevel(TiledNest(work, [level], [{"name": "corners", "fanout": 1}]), doc["held"])

    def left_of(self, dim: str, size: int) -> int:
        """Iterations that a tile leaves out: a smaller one is the start of a whole one."""
        return max(0, size - (self.nest.tiles[0][dim] - self.left_out[dim]))

    def in_corners(self, axes: list[Axis], moves: dict[str, Moves], full: set[str]) -> int:
        """What the tiles of an access would share with those before them if they were their corners alone."""
        if self.rest is None or not set(self.left_out) <= {d for terms, _ in axes for d, _ in terms}:
            return 0
        found = dict(moves)
        for d in self.left_out:
            found[d] = Counter()
            for (old, new, far, at), times in moves[d].items():
                sizes = [self.rest.nest.work.extents[d] if d in full else self.left_of(d, size) for size in (old, new)]
                if all(sizes):
                    found[d][sizes[0], sizes[1], far, at] += times
        return common_elements(axes, found)

    def full(self, axes: list[Axis], place: int) -> set[str]:
        """Dims whose whole extent is held, or whose loop reloads nothing."""
        here = set(self.inner[place - 1 : place]) if place else set()
        present = {d for terms, _ in axes for d, _ in terms}
        return set(self.inner[: max(place - 1, 0)]) | here - present

    def traffic(self) -> list[tuple[int, int]]:
        """(loads, stores) in words per access."""
        rows, nest = [], self.nest
        for i, ((name, axes), place) in enumerate(zip(nest.work.tensors, self.places, strict=True)):
            full = self.full(axes, place)
            moves = {d: nest.stay(d, 1 if d in full else 0) for d in self.inner}
            elements = common_elements(axes, moves) - self.in_corners(axes, moves, full)
            if place and (rest := set(self.inner[place - 1 : place]) - full):
                (at,) = rest
                steps = {**moves, at: nest.advance(at, 0, 0)}
                elements -= common_elements(axes, steps) - self.in_corners(axes, steps, full)
            weight = nest.work.weights[name]
            made = nest.created(0) - (self.rest.nest.created(0) if self.rest else 0) if i == 0 else 0
            rows.append((weight * (elements - made), 0 if i else weight * elements))
        more = self.rest.traffic() if self.rest else [(0, 0)] * len(rows)
        return [(a + c, b + d) for (a, b), (c, d) in zip(rows, more, strict=True)]

    def occupancies(self) -> list[list[int]]:
        """Most words per access held at the same time, in the run of the tiles and in that of their corners."""
        return [self.occupancy(), *(self.rest.occupancies() if self.rest else [])]

    def occupancy(self) -> list[int]:
        """Most words per access held at the same time: those of the first tile, which is the largest."""
        nest, shares = self.nest, []
        for (name, axes), place, streamed, loops in zip(
            nest.work.tensors, self.places, self.streams, self.loops, strict=True
        ):
            full = self.full(axes, place)
            box = {d: nest.work.extents[d] if d in full else nest.tiles[0][d] for d in self.inner}
            slides = [axis for axis in axes if set(loops) & set(dict(axis[0]))]
            words = footprint([axis for axis in axes if axis not in slides], {**box, **dict.fromkeys(streamed, 1)})
            if len(slides) == 1 and in_runs(dict(slides[0][0]), box, loops[-1]):
                words *= footprint(slides, {**box, **dict.fromkeys(streamed, 1)})
            else:
                words *= rolling_words(slides, box, loops)
            if self.rest and set(self.left_out) <= {d for terms, _ in axes for d, _ in terms}:
                # Every pair of iterations of both dims has as many words: the corner's are taken off.
                both = [self.rest.nest.work.extents[d] if d in full else n for d, n in self.left_out.items()]
                words -= words // prod(box[d] for d in self.left_out) * prod(both)
            shares.append(nest.work.weights[name] * words)
        return shares


def in_runs(terms: dict[str, int], box: dict[str, int], d: str) -> bool:
    """Whether the slices along d that have a value follow each other: all values held are those of one slice."""
    beside = [c for e, c in terms.items() if e != d and box[e] > 1]
    return len(beside) < 2 and all(terms[d] % c == 0 for c in beside)


def known_dims(listed: list[str], dims: list[str], what: str) -> set[str]:
    """The dims of a list, refused unless they are known and named once."""
    need(len(set(listed)) == len(listed) and set(listed) <= set(dims), f"{what} must name dims, each once")
    return set(listed)
