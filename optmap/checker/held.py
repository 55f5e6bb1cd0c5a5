"""The traffic of a held mapping of one level, counted anew from its meaning.

The tiles run in the order of the loops; inside a tile the loops named `inner` are outermost. Every access
has an area: the tile, but the whole extent of dims whose loops are inside its reuse position, and one
iteration of dims along which it is streamed. Exactly the words over the area are in the memory. When the
area changes, common words stay if no loop over tiles outside the reuse position moved; with position 0
all of them are outside. Everything else of the new area enters.

So an access at position p fetches every area whole, except that a step of the loop at p spares what the
two areas share. A streamed access fetches every tile once if no slice comes back: its dims are the
outermost loops inside a tile, all but the last give slices without a common word, and along the last
one (coefficient a) a word is in a run of slices: it is alone in its one subscript, or has one moving dim
beside it, whose coefficient divides a. Dims of which a tile has one iteration do not move inside it.
"""

from __future__ import annotations

from typing import Any

from .nest import Nest, common_elements, footprint
from .statement import Axis
from .tools import need


class Held:
    """One level on which every access has a reuse position of its own (IOOpt, section 4), or is streamed."""

    def __init__(self, nest: Nest, doc: Any) -> None:
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
        for name, place, (_, axes) in zip(self.names, self.places, nest.work.tensors, strict=True):
            if name not in doc["streams"]:
                self.streams.append(set())
                continue
            dims = known_dims(doc["streams"][name], self.inner, f"streams of {name}")
            need(bool(dims), f"{name} is streamed along no dim")
            need(place == 0, f"{name} is streamed: nothing stays between tiles, so its reuse position must be 0")
            self.check_slices(name, axes, dims, doc["inner"])
            self.streams.append(dims)

    def check_slices(self, name: str, axes: list[Axis], dims: set[str], inner: list[str]) -> None:
        """No slice of a streamed access comes back inside a tile."""
        moving = {d for d, n in self.nest.tiles[0].items() if n > 1}
        present = {d for terms, _ in axes for d, _ in terms}
        need(dims <= present, f"{name} is streamed along a dim that it does not have")
        order = [d for d in inner if d in moving]
        last = max((order.index(d) for d in dims & moving if d in order), default=-1)
        need(set(order[: last + 1]) == dims & moving, f"{name} is streamed more than once: slices come back")
        for place, d in enumerate(order[: last + 1]):
            mine = [dict(terms) for terms, _ in axes if d in dict(terms)]
            need(len(mine) == 1, f"slices of {name} overlap: {d} is in two subscripts")
            beside = [c for e, c in mine[0].items() if e != d and e in moving]
            need(not beside or place == last, f"slices of {name} along {d} overlap and are moved apart")
            need(len(beside) < 2 and all(mine[0][d] % c == 0 for c in beside), f"slices of {name} overlap along {d}")

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
            elements = common_elements(axes, moves)
            if place and (rest := set(self.inner[place - 1 : place]) - full):
                (at,) = rest
                elements -= common_elements(axes, {**moves, at: nest.advance(at, 0, 0)})
            weight = nest.work.weights[name]
            made = nest.created(0) if i == 0 else 0
            rows.append((weight * (elements - made), 0 if i else weight * elements))
        return rows

    def occupancy(self) -> list[int]:
        """Words per access held at the same time: those of the first area, which is the largest."""
        nest, shares = self.nest, []
        for (name, axes), place, streamed in zip(nest.work.tensors, self.places, self.streams, strict=True):
            full = self.full(axes, place)
            sizes = {d: 1 if d in streamed else nest.tiles[0][d] for d in self.inner}
            box = {d: nest.work.extents[d] if d in full else n for d, n in sizes.items()}
            shares.append(nest.work.weights[name] * footprint(axes, box))
        return shares


def known_dims(listed: list[str], dims: list[str], what: str) -> set[str]:
    """The dims of a list, refused unless they are known and named once."""
    need(len(set(listed)) == len(listed) and set(listed) <= set(dims), f"{what} must name dims, each once")
    return set(listed)
