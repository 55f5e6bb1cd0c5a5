"""What tiles move and hold at least, by how they cut every dim: tables of whole numbers, filled when asked.

A *cut* of a dim says how many tiles n there are at least and that none is larger than h. In what is moved (`rows.py`)
each dim of a tensor is cut at the level or at the next outer one, a dim that is not in it counts its tiles, and a
subscript the sum of its numbers of values g over all tiles of its dims:

- A variable dim: g is at least its chord between 1 and h, so the sum is at least slope N + rest n, rest >= 0. It is a
  whole number, so the next whole number is no more than it.
- A fixed dim: over all tiles of at most T that make up N, a concave g with g(0) = 0 has its least sum for as many
  tiles of T as there are, and one rest. (Of two tiles x <= y < T, x-1 and y+1 in their place never have more.)
  This holds dim by dim, the others left as they are, so for all of them together. Tiles of tiles are such, too:
  where it is known how a dim is cut further outside, a cut has those tiles.

So words are a product of numbers per tensor and flow. They do not fall where a cut has more tiles, nor where it has
smaller ones: the chord between 1 and a smaller h is not below that between 1 and h, a fixed dim's tiles of at most a
smaller T are of at most T, and tiles that are `apart` then count at the level, which makes no fewer tiles.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from itertools import product
from math import ceil, floor, prod
from operator import itemgetter
from typing import Any, NamedTuple

from ..core.tools import count, need
from .dataflows import joined
from .rows import MappingSet, Model, Parts, chord

Sizes = tuple[int, ...]
"""A number per dim, or per level."""


class DimCut(NamedTuple):
    """How a dim is cut."""

    number: int
    """At least."""
    largest: int
    """No tile is larger."""
    parts: Parts
    """The tiles of a fixed dim; none of a variable one."""


class _Table(dict[Any, int]):
    """Numbers that are found when they are asked for."""

    def __init__(self, find: Callable[[Any], int]) -> None:
        super().__init__()
        self.find = find

    def __missing__(self, key: Any) -> int:
        value = self[key] = self.find(key)
        return value


class CutWords:
    """Words by numbers of cuts; all that is asked is counted, and refused where it is too much.

    Args:
        model: what the mappings are of.
        node: the mappings.
        limits: words that may move outside a level, of some levels.
        most: questions at most.
    """

    def __init__(self, model: Model, node: MappingSet, limits: dict[int, Fraction], most: int) -> None:
        self.model, self.left = model, most
        self.limits = {q: floor(limit) for q, limit in limits.items()}
        self.known: list[dict[DimCut, int]] = [{} for _ in model.dims]
        self.cuts: list[list[DimCut]] = [[] for _ in model.dims]
        self.numbers: list[list[int]] = [[] for _ in model.dims]
        whole = [DimCut(1, model.extents[d], ((model.extents[d], 1),)) for d in model.dims]
        self.whole = tuple(self.number(i, one) for i, one in enumerate(whole))
        self.factors = cache(self._factors)
        self.apart = cache(lambda i, dims: [(d, model.place[d]) for d in dims if model.apart(i, d, 1)])
        self.flows: list[list[Sizes]] = []
        self.parts: list[list[tuple[int, frozenset[str]]]] = []
        self.joined: list[list[tuple[int, frozenset[str]]]] = []
        for q, chosen in enumerate(node.flows):
            flows = model.flows[q] if chosen is None else [model.flows[q][chosen]]
            parts = list(dict.fromkeys((i, dims) for flow in flows for i, dims in enumerate(flow)))
            self.parts.append(parts)
            self.joined.append(list(enumerate(joined(flows))))
            self.flows.append([tuple(parts.index((i, dims)) for i, dims in enumerate(flow)) for flow in flows])
        self.counts = [[self._counted(axis) for axis in axes if axis] for axes in model.axes]

    def worked(self, more: int = 1) -> None:
        """Count questions.

        Raises:
            RefusedError: if there were too many.
        """
        self.left -= more
        need(self.left >= 0, "there are too many numbers of tiles to look at")

    def number(self, i: int, cut: DimCut) -> int:
        """The number of a cut among those of a dim."""
        if cut not in self.known[i]:
            self.known[i][cut] = len(self.cuts[i])
            self.cuts[i].append(cut)
            self.numbers[i].append(cut.number)
        return self.known[i][cut]

    def keeps(self, q: int, cuts: tuple[int, ...]) -> bool:
        """Whether a level keeps its limit under some flow; its cuts come first, then those of the next outer one."""
        self.worked()
        if q not in self.limits:
            return True
        limit = self.limits[q]
        if sum([self._moved(i, dims, cuts) for i, dims in self.joined[q]]) > limit:
            return False  # not even if every access could have the reuse that it has under some flow
        words = [self._moved(i, dims, cuts) for i, dims in self.parts[q]]
        return any(sum([words[part] for part in flow]) <= limit for flow in self.flows[q])

    def fits(self, q: int, sizes: tuple[int, ...] | list[int]) -> bool:
        """Whether every part of a level holds a tile."""
        weights, tensors = self.model.work.weights, self.model.work.tensors
        for places, room in self.model.rooms[q]:
            held = 0
            for i in places:
                words = weights[tensors[i][0]]
                for getter, table in self.counts[i]:
                    words *= table[getter(sizes)]
                held += words
            if held > room:
                return False
        return True

    def _moved(self, i: int, dims: frozenset[str], cuts: tuple[int, ...]) -> int:
        """Words of an access that move, some dims cut at the next outer level only."""
        near = self.apart(i, dims)
        far = near and [d for d, p in near if self.model.apart(i, d, self.cuts[p][cuts[p]].largest)]
        words, factors = self.factors(i, dims.difference(far) if far else dims)
        for getter, table in factors:
            words *= table[getter(cuts)]
        return words

    def _factors(self, i: int, dims: frozenset[str]) -> tuple[int, list[tuple[itemgetter[Any], Any]]]:
        """What an access moves: a number, times those found by the cuts of the level and, behind them, the next one."""
        model = self.model
        places = [p + (len(model.dims) if d in dims else 0) for p, d in enumerate(model.dims)]
        constant = model.work.weights[model.work.tensors[i][0]] * (1 if i else 2)
        found: list[tuple[itemgetter[Any], Any]] = []
        inside = {d for axis in model.axes[i] for d, _ in axis}
        for p, d in enumerate(model.dims):
            if d not in inside:
                found.append((itemgetter(places[p]), self.numbers[p]))
        for axis in model.axes[i]:
            if len(axis) == 1:
                constant *= model.extents[axis[0][0]]
            elif axis:
                getter = itemgetter(*(places[model.place[d]] for d, _ in axis))
                found.append((getter, _Table(partial(self._summed, axis))))
        return constant, found

    def _summed(self, axis: list[tuple[str, int]], numbers: tuple[int, ...]) -> int:
        """Values of a subscript of several dims, summed over all tiles of them, at least."""
        cuts = {d: self.cuts[self.model.place[d]][n] for (d, _), n in zip(axis, numbers, strict=True)}
        main = next((d for d in cuts if d not in self.model.fixed), None)
        fixed = [d for d in cuts if d != main]
        ways = list(product(*(cuts[d].parts for d in fixed)))

        def total(size: int) -> Fraction:
            sizes = {} if main is None else {main: size}
            parts = ((prod(n for _, n in way), dict(zip(fixed, (s for s, _ in way), strict=True))) for way in ways)
            return Fraction(sum(n * count(dict(axis), {**at, **sizes}) for n, at in parts))

        if main is None:
            return int(total(1))
        number, high, _ = cuts[main]
        slope, rest = chord(1, total(1), high, total(high)) if high > 1 else (total(1), Fraction(0))
        return ceil(slope * self.model.extents[main] + rest * number)

    def _counted(self, axis: list[tuple[str, int]]) -> tuple[itemgetter[Any], Any]:
        """Where the sizes of a subscript's dims are, and its values by them."""
        return itemgetter(*(self.model.place[d] for d, _ in axis)), _Table(partial(self._values, axis))

    def _values(self, axis: list[tuple[str, int]], sizes: Any) -> int:
        """Values of a subscript on a tile."""
        dims = [d for d, _ in axis]
        return count(dict(axis), dict(zip(dims, sizes if len(dims) > 1 else [sizes], strict=True)))
