"""Mappings in pieces: a dim cut into unequal parts, or into every other iteration, each part tiled in its own way.

**Unequal pieces.** Let f(t) be the least loads of t iterations of a dim that are one tile wide. Equal tiles of size t
cost about N/t f(t), rounded up to whole tiles; pieces of sizes t1 + t2 + ... = N cost the sum of f, and the best
sizes are a shortest path over 0..N. One table over all tiles gives f of all t: with the dim in a tensor its words are
the t/N-th part, without it they move once. Sizes that are alike become one piece again, tiled.

**Steps.** Where a tensor moves m times as fast along x as along r, as in[m*x + r] does, every m-th r needs every m-th
of its words, and no two such pieces have a word of it in common. Each piece has a filter m times smaller with a window
m times narrower: more of it fits. What they share, an output mostly, moves once for each.

**Boxes.** In the same way f of pieces that are one tile along three dims gives the best way to cut a box in two, and
its halves again: some channels may be cut by columns and others by rows (`boxes`).

Pieces are cut again while that gains. The flows that are tried are those that were best for the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf, prod

import numpy as np

from optmap.base.arrays import Floats
from optmap.base.clock import NO_LIMIT, Clock
from optmap.base.errors import CheckError, LimitError
from optmap.count.levels.held import held_words
from optmap.mappings.pieces import piece_dims, piece_of
from optmap.search.iooub.boxes import Boxes, Halves, Sizes, least_sum
from optmap.search.iooub.flows import ways_of
from optmap.search.iooub.grid import Grid, TileGrid, kept_grid
from optmap.search.iooub.piece_lengths import PieceLengths
from optmap.search.iooub.tiling import EQUAL, Tiling, least_words, tile_of
from optmap.search.iooub.units import Bundle, units_of
from optmap.symbolic.numbers import divisors_of
from optmap.workloads.workload import Workload

TRIED = 24
"""Flows that are looked at for every cut, if there are so many."""
SMALL = 50_000
"""Combinations of flow and tile that are looked at for every cut at least: of small grids more flows."""
WORK = 6_000_000
"""Combinations of flow and tile that are looked at for every cut; of more, candidates are thinned."""
SIZES = 256
"""Sizes of a piece along one dim, at most."""
SHAPES = 110_000
"""Shapes of boxes, at most."""
MOST_CUT = 3
"""Dims that boxes are cut along."""
BOXES = 64
"""Boxes that one workload is cut into, at most."""
DEEP = 2
"""How often pieces are cut again."""
STEPS = 4
"""Largest step between a piece's iterations."""
GAIN = 1e-3
"""Part of the loads that another cut has to spare."""


@dataclass(frozen=True, slots=True)
class TiledPiece:
    """A piece with its tiling."""

    of: dict[str, range]
    """The iterations of the dims of which it does not have all."""
    workload: Workload
    """What it computes."""
    tiling: Tiling


def best_in_pieces(
    workload: Workload, words: int, weights: Sequence[float], plain: Tiling, *, clock: Clock = NO_LIMIT
) -> tuple[TiledPiece, ...] | None:
    """A tiling in pieces, if one is found that is better than one tiling of everything.

    Args:
        workload: what is tiled.
        words: of the memory, one for all tensors.
        weights: objective weight per tensor, output first.
        plain: the tiling of everything, with the flows that are tried here, too.
        clock: when to stop looking.
    """
    if plain.value <= least_words(workload, weights):
        return None
    cutter, whole = _Cutter(workload, words, weights, plain, clock), TiledPiece({}, workload, plain)
    parts = min(cutter.cut(whole, DEEP), cutter.boxed(whole), key=value_of)
    return tuple(parts) if value_of(parts) < plain.value * (1 - EQUAL) else None


def value_of(parts: Sequence[TiledPiece]) -> float:
    """The weighted loads of all parts together, in words."""
    return sum(part.tiling.value for part in parts)


class _Cutter:
    """The search for cuts of one workload."""

    def __init__(self, workload: Workload, words: int, weights: Sequence[float], plain: Tiling, clock: Clock) -> None:
        self.workload, self.words, self.weights, self.clock = workload, words, tuple(weights), clock
        points = self._grid(TileGrid, workload, plain.units).points()
        self.flows = list(dict.fromkeys((plain.flow, *plain.tried)))[: max(TRIED, SMALL // points)]
        self.dims = tuple(unit.dims for unit in plain.units)
        self.bundled = self.dims == tuple(unit.dims for unit in units_of(workload))
        """Whether dims are tiled together where they may be, of pieces as of the whole."""
        self.known: dict[object, Tiling | None] = {}
        """Tilings of pieces, by what they are pieces of, and the numbers of iterations and steps."""

    def cut(self, part: TiledPiece, depth: int) -> list[TiledPiece]:
        """The best cut of a part that is found, its pieces cut again; the part itself if none gains."""
        best = [part]
        if depth == 0 or part.tiling.value <= least_words(part.workload, self.weights):
            return best
        with suppress(LimitError):
            for ranges in self._ways(part):
                if len(ranges) == 1:
                    continue
                tilings = [self._tiling(part.workload, each) for each in ranges]
                value = sum(inf if each is None else each.value for each in tilings)
                if value < min(value_of(best), part.tiling.value * (1 - GAIN)):
                    best = [self._piece(part, each) for each in ranges]
        return best if len(best) == 1 else [again for each in best for again in self.cut(each, depth - 1)]

    def _ways(self, part: TiledPiece) -> Iterator[list[dict[str, range]]]:
        """Ways to cut a part, each a list of pieces."""
        workload, units, dims = part.workload, part.tiling.units, piece_dims(part.workload)
        for dim, step in _strides(workload):
            if dim in dims:
                yield [{dim: range(i, workload.extents[dim], step)} for i in range(step)]
        for number, unit in enumerate(units):
            if unit.plain and len(unit.dims) == 1 and unit.dims[0] in dims:
                ends = np.cumsum([0, *(size * times for size, times in self._sizes(workload, units, number))])
                yield [{unit.dims[0]: range(int(a), int(b))} for a, b in pairwise(ends)]

    def _sizes(self, workload: Workload, units: tuple[Bundle, ...], number: int) -> list[tuple[int, int]]:
        """The sizes of pieces along a unit that cost least, and how many of each."""
        unit = next((d for d in divisors_of(units[number].extent) if units[number].extent // d <= SIZES), 1)
        least = self._whole(workload, units, {number: unit})
        total = np.concatenate([[0.0], np.full(len(least), inf)])
        last = np.zeros(len(total), dtype=np.int64)
        for n in range(1, len(total)):
            sums = total[n - 1 :: -1] + least[:n]
            last[n] = 1 + int(sums.argmin())
            total[n] = sums[last[n] - 1]
        found, left = Counter[int](), len(least) if np.isfinite(total[-1]) else 0
        while left:
            found[unit * int(last[left])] += 1
            left -= int(last[left])
        return sorted(found.items(), reverse=True)

    def _whole(self, workload: Workload, units: tuple[Bundle, ...], along: dict[int, int]) -> Floats:
        """What a piece costs that is one tile along some units, for all its sizes.

        Args:
            workload: what is cut.
            units: its units.
            along: per unit, what the sizes are multiples of.
        """
        changed = tuple(_in_multiples(unit, along[u]) if u in along else unit for u, unit in enumerate(units))
        grid = self._grid(PieceLengths, workload, changed, tuple(along))
        flows = {grid.alike(flow): flow for flow in self.flows}.values()
        found = []
        for lists in grid.slabs(grid.thinned(len(self.flows), WORK)):
            least: Floats = np.array(inf)
            for flow in flows:
                self.clock.check()
                least = np.minimum(least, grid.per_size(flow, lists))
            found.append(least)
        return np.concatenate(found)

    def _grid(self, kind: type[Grid], workload: Workload, units: tuple[Bundle, ...], *more: object) -> Grid:
        """A grid of the whole, with the tables of other capacities, or of a piece."""
        groups = [(self.words, tuple(range(len(workload.tensors))))]
        if workload is self.workload:
            return kept_grid(kind, workload, units, self.weights, *more).under(groups)
        return kind(workload, units, groups, self.weights, *more)

    def boxed(self, part: TiledPiece) -> list[TiledPiece]:
        """A part in the best boxes along dims of the tensor that takes most room; itself if late or they are many."""
        with suppress(LimitError):
            return self._boxes(part)
        return [part]

    def _boxes(self, part: TiledPiece) -> list[TiledPiece]:
        workload, units = part.workload, part.tiling.units
        along = _multiples(units, _widest(workload, part.tiling))
        if not along:
            return [part]
        whole, all_of_it = self._whole(workload, units, along), self._tiling(workload, {})
        if all_of_it is not None and all_of_it.value <= least_sum(whole) * (1 + GAIN):
            return [part]
        dims, steps = [units[u].dims[0] for u in along], tuple(along.values())
        halves = self._halves(workload, Boxes(whole, self.clock), dict(zip(dims, steps, strict=True)))
        found: list[TiledPiece] = []
        left = [(tuple(units[u].extent // step for u, step in along.items()), (0,) * len(along))]
        while left and halves is not None:
            box, at = left.pop()
            cut = halves[box]
            if cut is None:
                spans = zip(dims, at, box, steps, strict=True)
                ranges = {d: range(first * step, (first + size) * step) for d, first, size, step in spans}
                found.append(
                    self._piece(part, {d: each for d, each in ranges.items() if len(each) < workload.extents[d]})
                )
            else:
                one, other, d = cut
                left += [(other, tuple(a + one[d] * (i == d) for i, a in enumerate(at))), (one, at)]
        return found or [part]

    def _halves(self, workload: Workload, boxes: Boxes, steps: dict[str, int]) -> dict[Sizes, Halves | None] | None:
        """How boxes are cut, all of it and its halves again; None if they are too many, or some too large.

        The largest boxes come first, so that few are tiled where many would follow.

        Args:
            workload: what is cut.
            boxes: the costs of boxes that are one tile.
            steps: per dim, what the extents of boxes are multiples of.
        """
        found: dict[Sizes, Halves | None] = {}
        left, count = Counter({tuple(n - 1 for n in boxes.least.shape): 1}), 1
        while left:
            box = max(left, key=prod)
            times, cut = left.pop(box), boxes.halves(box)
            ranges = {d: range(size * step) for (d, step), size in zip(steps.items(), box, strict=True)}
            tiling = self._tiling(workload, {d: r for d, r in ranges.items() if len(r) < workload.extents[d]})
            if tiling is not None and (cut is None or tiling.value <= boxes.least[box] * (1 + GAIN)):
                found[box] = None
                continue
            count += times
            if cut is None or count > BOXES:
                return None
            found[box] = cut
            for half in cut[:2]:
                left[half] += times
        return found

    def _piece(self, part: TiledPiece, ranges: dict[str, range]) -> TiledPiece:
        """A piece of a part that fits, with the best tiling of the flows."""
        tiling = self._tiling(part.workload, ranges)
        if tiling is None:
            raise CheckError(f"the piece {ranges} of {part.workload.title} has a tiling no more")
        of = {**part.of, **{d: _inside(part.of.get(d), each) for d, each in ranges.items()}}
        return TiledPiece(of, piece_of(part.workload, ranges), tiling)

    def _tiling(self, whole: Workload, ranges: dict[str, range]) -> Tiling | None:
        """The best tiling of a piece by the flows; None if none fits, or its units are not the whole's.

        Where a piece begins does not matter.
        """
        asked = whole, tuple((d, len(each), each.step) for d, each in sorted(ranges.items()))
        if asked not in self.known:
            self.known[asked] = self._tiled(piece_of(whole, ranges))
        return self.known[asked]

    def _tiled(self, workload: Workload) -> Tiling | None:
        """The best tiling of a piece, whatever it is a piece of."""
        units = units_of(workload, bundled=self.bundled)
        if tuple(unit.dims for unit in units) != self.dims:
            return None
        grid = self._grid(TileGrid, workload, units)
        lists = grid.thinned(len(self.flows), WORK)
        value, best = inf, None
        for flow in self.flows:
            self.clock.check()
            found = grid.search(flow, lists, value)
            if found is not None:
                value, best = found.value, (flow, tile_of(workload, units, found))
        if best is None:
            return None
        return Tiling(units=units, flow=best[0], tile=best[1], value=value, complete=False, streams_complete=False)


def _in_multiples(unit: Bundle, step: int) -> Bundle:
    """A unit of which every multiple of a number is one tile."""
    boxes = tuple((n,) for n in range(step, unit.extent + 1, step))
    return replace(unit, boxes=boxes, numbers=(1,) * len(boxes), complete=False)


def _inside(outer: range | None, inner: range) -> range:
    """The iterations that some numbers of iterations stand for."""
    if outer is None:
        return inner
    first, step = outer[inner[0]], outer.step * inner.step
    return range(first, first + step * len(inner), step)


def _strides(workload: Workload) -> Iterator[tuple[str, int]]:
    """Dims beside which another one moves some times as fast, and how many times."""
    extents, found = workload.extents, set()
    for axis in (axis for tensor in workload.tensors for axis in tensor.axes):
        for dim, slow in axis.terms:
            for _, fast in axis.terms:
                step = fast // slow
                if 1 < step <= min(STEPS, extents[dim] // 2) and fast % slow == 0 and (dim, step) not in found:
                    found.add((dim, step))
                    yield dim, step


def _widest(workload: Workload, tiling: Tiling) -> list[int]:
    """The units of the tensor that takes most room, the longest ones first, as far as pieces are cut along them."""
    units, tensors = tiling.units, zip(workload.tensors, ways_of(tiling.flow, workload, tiling.units), strict=True)
    rooms = [held_words(workload, tensor, tiling.tile, *way) for tensor, way in tensors]
    tensor, dims = workload.tensors[rooms.index(max(rooms))], set(piece_dims(workload))
    mine = [u for u, unit in enumerate(units) if len(unit.dims) == 1 and set(unit.dims) <= tensor.dims & dims]
    return sorted(mine, key=lambda u: -units[u].extent)[:MOST_CUT]


def _multiples(units: tuple[Bundle, ...], chosen: Sequence[int]) -> dict[int, int]:
    """Per unit, in their order, a divisor that sizes are multiples of; few enough sizes altogether, or none at all."""
    steps = {u: divisors_of(units[u].extent) for u in sorted(chosen)}
    while prod(units[u].extent // each[0] for u, each in steps.items()) > SHAPES:
        most = max(steps, key=lambda u: units[u].extent // steps[u][0])
        steps[most] = steps[most][1:]
        if not steps[most]:
            return {}
    return {u: each[0] for u, each in steps.items()}
