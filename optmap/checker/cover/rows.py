"""What every mapping of a kind moves and holds at least: sums of products of tile sizes and numbers of tiles.

A *node* is a set of mappings: a range of whole numbers for the tile size of every dim at every level, and
for some levels a flow (`dataflows.py`). A dim of extent N that is cut into tiles of at most T, however
unevenly, is cut into n >= max(N/T, a) tiles, with a = ceil(N/h) for T <= h, or more if there are few ways in which
it may be cut further outside. Two facts about a subscript's
number of values g, as a function of the size t of one dim on the tile, make rows of it:

- g is concave and g(0) = 0: each further value of the dim adds at most what the one before added.
- So between 1 and h it is at least its chord, and its sum over n tiles of N at least (slope N + rest n),
  with slope, rest >= 0: least for the fewest tiles. Between l and h its chord is below it, too; there
  g(t)/t >= g(T)/T for t <= T <= h makes the sum at least N/T times the chord at T.

Of the dims of a subscript at most one may be *variable*; the others count with the fewest tiles that their
range allows (where words move) or with the smallest size (where words are held). The elements of a tile
are the product over its subscripts, so rows are sums of products, all coefficients >= 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import islice, product
from math import ceil, gcd, prod
from typing import NamedTuple

from ..core.statement import Axis, StatedWork
from ..core.tools import count, need
from .dataflows import Flow, joined, live_dims

Key = tuple[str, int, str]
"""What a term has as a factor, at a level and of a dim: `size` T, `inverse` 1/T, or `number` n of tiles."""
Term = tuple[Fraction, tuple[Key, ...]]
Range = tuple[int, int]
Cut = tuple[int, int, int, int]
"""A level, the range of its tile size of a dim, and how many of them there are at least."""
Parts = tuple[tuple[int, int], ...]
"""Tiles of a dim: size, least first, and how many."""

MOST_TERMS = 256
"""Terms of an access, and corners of a subscript's dims that are not variable, at most: both double per dim."""
MOST_WAYS = 64
"""Ways in which the levels outside cut a dim that are told apart."""


class RefutedRow(NamedTuple):
    """Terms that add up to at most a limit in every mapping that would be refuted."""

    terms: tuple[Term, ...]
    limit: Fraction


class MappingSet(NamedTuple):
    """A set of mappings."""

    sizes: tuple[tuple[Range, ...], ...]
    """Per level, inner first, and per live dim: least and largest tile size."""
    flows: tuple[int | None, ...]
    """Per level: number of its flow; None for any."""


class Model:
    """Rows of a workload on a machine.

    Args:
        work: the statement.
        rooms: per level, inner first: (accesses, words) of every part that must hold their tiles.
        rates: words per cycle outside every level.
        flows: per level the flows of which a mapping's is contained in one.
        fixed: dims that are not variable.
        snapped: (level, dim, range, whole) to the range of the allowed sizes in it, of tiles cut from parts of a size
            `whole` or from smaller ones that it is a multiple of; None for none.
    """

    def __init__(
        self,
        *,
        work: StatedWork,
        rooms: list[list[tuple[list[int], int]]],
        rates: list[Fraction],
        flows: list[list[Flow]],
        fixed: set[str],
        snapped: Callable[[int, str, Range, int], Range | None],
    ) -> None:
        self.work, self.rooms, self.rates, self.flows, self.snapped = work, rooms, rates, flows, snapped
        self.depth, self.dims, self.fixed = len(rates), live_dims(work), fixed
        self.place = {d: i for i, d in enumerate(self.dims)}
        self.any = [joined(known) for known in flows]
        self.extents = {d: work.extents[d] for d in self.dims}
        self.axes: list[list[list[tuple[str, int]]]] = []
        for name, axes in work.tensors:
            self.axes.append([self._live(axis) for axis in axes])
            inside = [d for axis in self.axes[-1] for d, _ in axis]
            need(len(inside) == len(set(inside)), f"a dim is in two subscripts of {name}: its tiles are not bounded")
            wide = [axis for axis in self.axes[-1] if sum(d not in fixed for d, _ in axis) > 1]
            need(not wide, f"two variable dims are in one subscript of {name}")
        self.created = 0
        if work.assign:
            self.created = work.weights[work.tensors[0][0]] * prod(count(dict(a), self.extents) for a in self.axes[0])
        self.parted = lru_cache(maxsize=65536)(self._parted)
        self.moved = lru_cache(maxsize=65536)(self._moved)
        self.held = lru_cache(maxsize=65536)(self._held)

    def _live(self, axis: Axis) -> list[tuple[str, int]]:
        return [(d, c) for d, c in axis[0] if self.work.extents[d] > 1]

    def root(self) -> MappingSet | None:
        """All mappings; None if there is none."""
        whole = tuple(tuple((1, self.extents[d]) for d in self.dims) for _ in self.rates)
        node: MappingSet | None = MappingSet(whole, tuple(0 if len(known) == 1 else None for known in self.flows))
        for level in range(self.depth):
            for dim in self.dims:
                node = node and self.narrowed(node, level, dim, (1, self.extents[dim]))
        return node

    def narrowed(self, node: MappingSet, level: int, dim: str, new: Range) -> MappingSet | None:
        """The mappings of a node whose tile of a level is in a range, too; tiles inside are no larger. None if none."""
        at, sizes = self.place[dim], [list(row) for row in node.sizes]
        whole = top = self.extents[dim]
        for q in reversed(range(self.depth)):
            low, high = sizes[q][at]
            low, high = max(low, new[0]) if q >= level else low, min(high, top, new[1] if q <= level else top)
            left = self.snapped(q, dim, (low, high), whole) if low <= high else None
            if left is None:
                return None
            sizes[q][at], top = left, left[1]
            whole = top if left[0] == top else whole
        for q in range(1, self.depth):
            sizes[q][at] = max(sizes[q][at][0], sizes[q - 1][at][0]), sizes[q][at][1]
            if sizes[q][at][0] > sizes[q][at][1]:
                return None
        return node._replace(sizes=tuple(map(tuple, sizes)))

    def range(self, node: MappingSet, level: int, dim: str) -> Range:
        """The sizes of a dim's tile; beyond the last level, of the whole dim."""
        return (self.extents[dim],) * 2 if level == self.depth else node.sizes[level][self.place[dim]]

    def limit(self, level: int, value: Fraction, *, whole: bool) -> Fraction:
        """Words that may move outside a level if it costs less than a value: at most, in whole words, or fewer than."""
        words = value * self.rates[level] + self.created
        return Fraction(ceil(words) - 1) if whole else words

    def fewest(self, node: MappingSet, level: int, dim: str) -> int:
        """Tiles into which a dim is cut at a level, at least.

        It is the least number over all ways in which the outermost levels may cut, as far as these are few; cutting
        their parts once is no more than cutting them in stages. (Not so of two stages out of three: 10 cut by 3 and
        2 are 7 tiles, cut by 5, 3 and 2 they are 6.)
        """
        outer = tuple(self.range(node, q, dim) for q in reversed(range(level + 1, self.depth)))
        return self.parted(dim, outer, self.range(node, level, dim)[1])

    def _parted(self, dim: str, outer: tuple[Range, ...], high: int) -> int:
        """Tiles of at most a size into which a dim is cut inside levels with sizes in some ranges, outermost first."""
        ways: set[Parts] = {((self.extents[dim], 1),)}
        for level, (low, top) in zip(reversed(range(self.depth)), outer, strict=False):
            following = set[Parts]()
            for parts in ways:
                whole = parts[-1][0]
                sizes = islice(self._allowed(level, dim, (low, min(top, whole)), whole), MOST_WAYS + 1)
                following |= {cut_up(parts, size) for size in sizes}
            if len(following) > MOST_WAYS:
                break
            ways = following
        return min((sum(n * -(-part // high) for part, n in parts) for parts in ways), default=self.extents[dim])

    def _allowed(self, level: int, dim: str, sizes: Range, whole: int) -> Iterator[int]:
        """The sizes in a range that are allowed of tiles cut from a size."""
        low, high = sizes
        while low <= high and (left := self.snapped(level, dim, (low, high), whole)) is not None:
            yield left[0]
            low = left[0] + 1

    def rows(self, node: MappingSet, levels: list[int], limits: list[Fraction]) -> list[RefutedRow]:
        """One row of words moved per level that is asked for, with its limit, then one per part that holds tiles."""
        found = []
        for q, limit in zip(levels, limits, strict=True):
            number = node.flows[q]
            flow = self.any[q] if number is None else self.flows[q][number]
            terms: list[Term] = []
            for i, dims in enumerate(flow):
                cuts = [(d, q + (d in dims and not self.apart(i, d, self.range(node, q, d)[1]))) for d in self.dims]
                ranges = [(x, *self.range(node, x, d), self.fewest(node, x, d)) for d, x in cuts]
                terms += self.moved(i, tuple(ranges))
            found.append(RefutedRow(tuple(terms), limit))
        for q, rooms in enumerate(self.rooms):
            for places, words in rooms:
                held = [term for i in places for term in self.held(i, q, node.sizes[q])]
                found.append(RefutedRow(tuple(held), Fraction(words)))
        return found

    def apart(self, i: int, dim: str, high: int) -> bool:
        """Whether neighbouring tiles of at most a size along a dim of an access have no value in common.

        Two such values would differ by 1 to 2*high - 1 steps along the dim, and by a multiple of the greatest common
        divisor of the subscript's other coefficients.
        """
        for axis in self.axes[i]:
            steps = dict(axis)
            if dim in steps:
                divisor = gcd(*(c for d, c in axis if d != dim))
                return divisor // gcd(divisor, steps[dim]) >= 2 * high
        return False

    def _moved(self, i: int, ranges: tuple[Cut, ...]) -> list[Term]:
        """Loads of an access (of the output: and stores), each dim cut as told."""
        where = dict(zip(self.dims, ranges, strict=True))
        weight = self.work.weights[self.work.tensors[i][0]] * (1 if i else 2)
        terms: list[Term] = [(Fraction(weight), ())]
        inside = {d for axis in self.axes[i] for d, _ in axis}
        for d in self.dims:
            if d not in inside:
                terms = _times(terms, [self._number(d, where[d])])
        for axis in self.axes[i]:
            terms = _times(terms, self._summed(axis, where))
        return terms

    def _number(self, dim: str, where: Cut) -> Term:
        """How many tiles a dim is cut into."""
        level, _, _, fewest = where
        if dim in self.fixed or level == self.depth:
            return Fraction(fewest), ()
        return Fraction(1), (("number", level, dim),)

    def _summed(self, axis: list[tuple[str, int]], where: dict[str, Cut]) -> list[Term]:
        """Values of a subscript, summed over all tiles of its dims."""
        corners = []
        need(2 ** sum(d in self.fixed for d, _ in axis) <= MOST_TERMS, "a subscript has too many fixed dims")
        for d, _ in axis:
            if d in self.fixed:
                extent, (_, _, high, fewest) = self.extents[d], where[d]
                room = max(1, high - 1)
                ends = [(d, high, Fraction(extent - fewest, room)), (d, 1, Fraction(high * fewest - extent, room))]
                corners.append(ends if high > 1 else [(d, 1, Fraction(extent))])
        main = next((d for d, _ in axis if d not in self.fixed), None)

        def total(size: int) -> Fraction:
            parts = ((prod(w for _, _, w in ends), {d: n for d, n, _ in ends}) for ends in product(*corners))
            return Fraction(sum(w * count(dict(axis), {**at, main: size} if main else at) for w, at in parts))

        if main is None:
            return [(total(1), ())]
        (level, low, high, _), extent = where[main], self.extents[main]
        if level == self.depth:
            return [(total(extent), ())]
        if high == 1:
            return [(extent * total(1), ())]
        slope, rest = chord(1, total(1), high, total(high))
        if slope * low + rest == total(low):
            return _kept([(slope * extent, ()), (rest, (("number", level, main),))])
        slope, rest = chord(low, total(low), high, total(high))
        return _kept([(slope * extent, ()), (rest * extent, (("inverse", level, main),))])

    def _held(self, i: int, level: int, sizes: tuple[Range, ...]) -> list[Term]:
        """Words of a tile of an access."""
        terms: list[Term] = [(Fraction(self.work.weights[self.work.tensors[i][0]]), ())]
        for axis in self.axes[i]:
            smallest = {d: sizes[self.place[d]][0] for d, _ in axis}
            main = next((d for d, _ in axis if d not in self.fixed), None)
            low, high = sizes[self.place[main]] if main else (1, 1)
            least = Fraction(count(dict(axis), smallest))
            if main is None or low == high:
                terms = _times(terms, [(least, ())])
                continue
            slope, rest = chord(low, least, high, Fraction(count(dict(axis), {**smallest, main: high})))
            terms = _times(terms, _kept([(slope, (("size", level, main),)), (rest, ())]))
        return terms


@lru_cache(maxsize=65536)
def cut_up(parts: Parts, size: int) -> Parts:
    """Tiles cut into tiles of a size."""
    found = Counter[int]()
    for part, times in parts:
        full, rest = divmod(part, size)
        found[size] += times * full
        found[rest] += times
    return tuple(sorted((part, times) for part, times in found.items() if part and times))


def chord(low: int, first: Fraction, high: int, last: Fraction) -> tuple[Fraction, Fraction]:
    """Slope and rest of the line through two points of a concave function that vanishes at 0: neither is below 0."""
    slope = (last - first) / (high - low)
    return slope, first - slope * low


def _kept(terms: list[Term]) -> list[Term]:
    return [term for term in terms if term[0]]


def _times(left: list[Term], right: list[Term]) -> list[Term]:
    need(len(left) * len(right) <= MOST_TERMS, "a tensor has too many subscripts of several dims")
    return [(a * b, x + y) for a, x in left for b, y in right]
