"""One step inwards: a split over the mesh, the tile of the level inside, and a loop order, for many labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from optmap.base.arrays import Flags, Floats, Ints
from optmap.base.rows import Rows
from optmap.machines.accelerator import KeepRule
from optmap.mappings.nest_batch import rules_met
from optmap.search.exact.costs import fitting
from optmap.search.exact.frame import ExactFrame, SplitWindow, Tiles, product
from optmap.search.exact.labels import Labels
from optmap.search.exact.reach import extents_after, extents_at
from optmap.search.exact.runs import OrderTable, slid
from optmap.search.exact.splits import Splits, splits_of


@dataclass(frozen=True, slots=True)
class Pairs(Rows):
    """Labels (operands kept) with a split each."""

    label: Ints
    split: Ints
    rest: Tiles
    """The tile divided by the ways: trips at the level, times the tile inside."""


@dataclass(frozen=True, slots=True)
class StepTable:
    """Tiles and loop orders for pairs. Pairs that leave the same and split windows in the same way share rows."""

    pair: Ints
    """Of each move."""
    row: Ints
    """Of each move, in the arrays below."""
    key: Ints
    """Per row, a pair that has it."""
    tile: Tiles
    trips: Floats
    """Of the loops at the level."""
    signature: Ints
    """Number in the level's table of orders."""


class MemorySteps:
    """What can be chosen at one memory, with tables that all labels share.

    Args:
        frame: of the search.
        number: of the memory.
        inner: the level inside, None for the innermost.
    """

    def __init__(self, frame: ExactFrame, number: int, inner: MemorySteps | None) -> None:
        self.frame, self.number = frame, number
        self.inner = inner
        ones = [own == 1 for own in frame.divisors]
        self.after: list[Flags] = extents_after(frame, number, ones if inner is None else inner.open)
        """Per dim the extents that a split may leave."""
        self.open: list[Flags] = extents_at(frame, number, self.splits, self.after)
        """Per dim the extents from which a mapping can go on."""
        self._fitting: dict[int, Ints] = {}
        self._tiles: dict[int, Tiles] = {}
        self._starting: dict[SplitWindow, tuple[Ints, Floats]] = {}
        self.table = OrderTable(frame, number)

    @cached_property
    def splits(self) -> Splits:
        """Fillings of its mesh."""
        return splits_of(self.frame, self.number)

    @cached_property
    def copies(self) -> Floats:
        """(split, operand): ways over dims that do not occur in the operand."""
        frame, ways = self.frame, self.splits.ways
        found = [np.where(frame.relevant[k], 1, ways).prod(axis=1) for k in range(frame.operands)]
        return np.stack(found, axis=1).astype(np.float64)

    @cached_property
    def doubled(self) -> Floats:
        """(split, operand): children that may need the same part of a window, at most."""
        frame, ways = self.frame, self.splits.ways
        found = np.ones((len(ways), frame.operands))
        for operand in frame.sliding:
            for window in frame.windows[operand]:
                own = ways[:, list(window.dims)]
                found[:, operand] *= own.prod(axis=1) / own.max(axis=1)
        return found

    @cached_property
    def units(self) -> Floats:
        """(split,): children."""
        return np.asarray(self.splits.ways.prod(axis=1).astype(np.float64))

    def pairs(self, labels: Labels) -> Pairs:
        """Every label with every split that divides its tile."""
        codes, places = np.unique(self.frame.codes(labels.tile), return_inverse=True)
        first = np.zeros(len(codes), np.int64)
        first[places] = np.arange(len(labels))
        options = [self._options(int(code), labels.tile[row]) for code, row in zip(codes, first, strict=True)]
        counts = np.array([len(own) for own in options])[places]
        split = np.concatenate([options[place] for place in places]) if len(labels) else np.zeros(0, np.int64)
        label = np.repeat(np.arange(len(labels)), counts)
        return Pairs(label, split, self.frame.divided(labels.tile[label], self.splits.tiles[split]))

    def _options(self, code: int, tile: Tiles) -> Ints:
        if code not in self._fitting:
            fits = np.ones(len(self.splits.tiles), np.bool_)
            for dim in range(self.frame.dims):
                rest = self.frame.quotients[dim][tile[dim]]
                fits &= ((rest >= 0) & self.after[dim][rest])[self.splits.tiles[:, dim]]
            self._fitting[code] = np.flatnonzero(fits)
        return self._fitting[code]

    def inside(self, rest: Tiles) -> Tiles:
        """Tiles of the level inside: divisors of what a split leaves that fit and leave trips that are allowed."""
        frame = self.frame
        code = int(frame.codes(rest[None, :])[0])
        if code in self._tiles:
            return self._tiles[code]
        can = self.inner.open if self.inner is not None else [own == 1 for own in frame.divisors]
        grids = [np.flatnonzero((frame.quotients[dim][rest[dim]] >= 0) & can[dim]) for dim in range(frame.dims)]
        tiles = np.stack([own.ravel() for own in np.meshgrid(*grids, indexing="ij")], axis=1).astype(np.int16)
        if frame.memory(self.number).rules:
            trips = frame.values(frame.divided(np.repeat(rest[None, :], len(tiles), axis=0), tiles))
            tiles = tiles[rules_met(frame.memory(self.number).rules, trips)]
        must = sum(1 << k for k in range(frame.operands) if frame.keep(self.number - 1, k) is KeepRule.KEPT)
        if must:
            values = frame.values(tiles)
            words = [frame.words(operand, tiles, values) for operand in range(frame.operands)]
            tiles = tiles[fitting(frame, self.number - 1, must, words)]
        self._tiles[code] = tiles
        return tiles

    def moves(self, pairs: Pairs) -> StepTable:
        """Every tile inside and loop order for every pair."""
        frame, windows = self.frame, self.frame.window_dims
        ways = np.where(windows, self.splits.tiles[pairs.split], 0)
        keys, places = frame.distinct(frame.codes(pairs.rest), frame.codes(ways))
        options = [self.inside(pairs.rest[row]) for row in keys]
        sizes = np.array([len(own) for own in options])
        tile = np.concatenate(options)
        key = np.repeat(keys, sizes)
        trips = frame.values(frame.divided(pairs.rest[key], tile))
        present = np.zeros(len(tile), np.int64)
        for dim in range(frame.dims):
            present |= (trips[:, dim] > 1).astype(np.int64) << dim
        kinds, kind = np.unique(present, return_inverse=True)
        orders = [self.table.numbers(int(own)) for own in kinds]
        several = np.array([len(own) for own in orders], np.int64)[kind]
        again = np.repeat(np.arange(len(tile)), several)
        starts = np.concatenate([[0], np.cumsum(several)])
        offset = np.arange(len(again)) - starts[again]
        first = np.concatenate([[0], np.cumsum([len(own) for own in orders])[:-1]]).astype(np.int64)
        numbers = np.concatenate(orders) if orders else np.zeros(0, np.int64)
        signature = numbers[first[kind[again]] + offset]
        bounds = starts[np.concatenate([[0], np.cumsum(sizes)])]
        counts = np.diff(bounds)[places]
        ends = np.cumsum(counts)
        pair = np.repeat(np.arange(len(places)), counts)
        row = np.arange(len(pair)) - (ends - counts)[pair] + bounds[:-1][places][pair]
        return StepTable(
            pair=pair,
            row=row,
            key=key[again],
            tile=tile[again],
            trips=frame.columns(trips[again]),
            signature=signature,
        )

    def children(self, labels: Labels, pairs: Pairs, moves: StepTable, chosen: Ints) -> Labels:
        """Labels at the level inside, for some of the moves."""
        frame = self.frame
        pair, row = moves.pair[chosen], moves.row[chosen]
        label, split = pairs.label[pair], pairs.split[pair]
        found = labels.take(label)
        tile, signature = moves.tile[row], moves.signature[row]
        trips = frame.columns(moves.trips[row])
        outside = frame.operations / (found.instances * product(frame.values(found.tile)))
        share = found.share * self.shares(split, tile)
        reuse = np.empty_like(found.reuse)
        for operand in range(frame.operands):
            run, moved = self.table.still(operand, signature, trips)
            reuse[:, operand] = np.where(moved, run, run * found.reuse[:, operand])
        found = replace(
            found,
            tile=tile,
            share=share,
            instances=found.instances * self.units[split],
            reduced=found.reduced * self.copies[split, frame.output],
            reuse=reuse,
            origin=label,
            choice=np.stack([split, signature, found.choice[:, 2]], axis=1),
        )
        strides = frame.values(tile) * self.splits.ways[split]
        for place in range(len(frame.sliding)):
            steps = self.table.steps(place, signature, trips, strides)
            found = slid(found, place, steps, outside)
        return found

    def shares(self, split: Ints, tile: Tiles) -> Floats:
        """(row, operand): children that one read serves, given their tile."""
        frame, memory = self.frame, self.frame.memory(self.number)
        found = self.copies[split].copy()
        for operand in frame.sliding:
            for window in frame.windows[operand]:
                found[:, operand] *= self._repeated(window, split, tile)
        if not memory.multicast:
            found[:, [k for k in range(frame.operands) if k != frame.output]] = 1.0
        if not memory.reduction:
            found[:, frame.output] = 1.0
        return found

    def _repeated(self, window: SplitWindow, split: Ints, tile: Tiles) -> Floats:
        """Children over the different places at which their windows start."""
        if window not in self._starting:
            own = list(window.dims)
            cases, case = np.unique(self.splits.ways[:, own], axis=0, return_inverse=True)
            extents = window.boxes(self.frame)
            table = [[ways.prod() / _starts(ways, box, window.factors) for box in extents] for ways in cases]
            self._starting[window] = case.ravel(), np.array(table, np.float64)
        case, table_ = self._starting[window]
        return np.asarray(table_[case[split], window.rows(tile)])


def _starts(ways: Ints, extents: tuple[int, ...], factors: tuple[int, ...]) -> int:
    """Different places at which the windows of children start."""
    if (ways > 1).sum() < 2:
        return int(ways.prod())
    places = {0}
    for way, extent, factor in zip(ways, extents, factors, strict=True):
        places = {own + factor * int(extent) * k for own in places for k in range(int(way))}
    return len(places)
