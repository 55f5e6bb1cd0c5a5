"""One step inwards: a split over the mesh, the tile of the level inside, and a loop order, for many labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from optmap.problem.accelerator import Keep
from optmap.search.exact.costs import fitting
from optmap.search.exact.frame import Floats, Frame, Ints, Tiles, admits
from optmap.search.exact.labels import Labels
from optmap.search.exact.signatures import Run, Signature, signatures_of
from optmap.search.exact.splits import Splits, splits_of


@dataclass(frozen=True, slots=True)
class Pairs:
    """Labels (operands kept) with a split each."""

    label: Ints
    split: Ints
    rest: Tiles
    """The tile divided by the ways: trips at the level, times the tile inside."""


class Level:
    """What can be chosen at one memory, with tables that all labels share.

    Args:
        frame: of the search.
        number: of the memory.
    """

    def __init__(self, frame: Frame, number: int) -> None:
        self.frame, self.number = frame, number
        self._fitting: dict[int, Ints] = {}
        self._tiles: dict[int, Tiles] = {}
        self._orders: dict[int, tuple[Signature, ...]] = {}
        self.signatures: list[Signature] = []

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
            rest = self.frame.divided(np.repeat(tile[None, :], len(self.splits.tiles), axis=0), self.splits.tiles)
            self._fitting[code] = np.flatnonzero((rest >= 0).all(axis=1))
        return self._fitting[code]

    def inside(self, rest: Tiles) -> Tiles:
        """Tiles of the level inside: divisors of what a split leaves that fit and leave trips that are allowed."""
        frame = self.frame
        code = int(frame.codes(rest[None, :])[0])
        if code in self._tiles:
            return self._tiles[code]
        grids = [np.flatnonzero(frame.quotients[dim][rest[dim]] >= 0) for dim in range(frame.dims)]
        tiles = np.stack([own.ravel() for own in np.meshgrid(*grids, indexing="ij")], axis=1).astype(np.int16)
        trips = frame.values(frame.divided(np.repeat(rest[None, :], len(tiles), axis=0), tiles))
        tiles = tiles[admits(frame.memory(self.number).rules, trips)]
        must = sum(1 << k for k in range(frame.operands) if frame.keep(self.number - 1, k) is Keep.KEPT)
        values = frame.values(tiles)
        words = [frame.words(operand, tiles, values) for operand in range(frame.operands)]
        self._tiles[code] = tiles[fitting(frame, self.number - 1, must, words)]
        return self._tiles[code]

    def orders(self, present: int) -> tuple[Signature, ...]:
        """Loop orders over a set of dims, by effect."""
        if present not in self._orders:
            self._orders[present] = signatures_of(self.frame, self.number, present)
        return self._orders[present]

    def children(self, labels: Labels, pairs: Pairs) -> Labels:
        """Labels at the level inside: each pair with every tile and loop order."""
        frame = self.frame
        codes, places = np.unique(frame.codes(pairs.rest), return_inverse=True)
        first = np.zeros(len(codes), np.int64)
        first[places] = np.arange(len(pairs.label))
        options = [self.inside(pairs.rest[row]) for row in first]
        tiles = np.concatenate([options[place] for place in places])
        rows = np.repeat(np.arange(len(places)), np.array([len(own) for own in options])[places])
        trips = frame.values(frame.divided(pairs.rest[rows], tiles))
        present = ((trips > 1) << np.arange(frame.dims)).sum(axis=1)
        kinds, kind = np.unique(present, return_inverse=True)
        orders = [self._numbers(int(own)) for own in kinds]
        counts = np.array([len(own) for own in orders], np.int64)[kind]
        signature = np.concatenate([orders[own] for own in kind]) if len(kind) else np.zeros(0, np.int64)
        again = np.repeat(np.arange(len(rows)), counts)
        label, split = pairs.label[rows[again]], pairs.split[rows[again]]
        found = labels.take(label)
        return self._moved(found, tiles[again], trips[again], label=label, split=split, signature=signature)

    def _numbers(self, present: int) -> Ints:
        """Numbers of the signatures of a set of dims in `signatures`."""
        known = self._orders.get(present)
        if known is None or not hasattr(self, "_places"):
            self._places: dict[int, Ints] = getattr(self, "_places", {})
        if present not in self._places:
            found = self.orders(present)
            self._places[present] = np.arange(len(self.signatures), len(self.signatures) + len(found))
            self.signatures.extend(found)
        return self._places[present]

    def _moved(self, found: Labels, tile: Tiles, trips: Ints, *, label: Ints, split: Ints, signature: Ints) -> Labels:
        """Labels after their choices."""
        frame = self.frame
        values = frame.values(tile)
        ways = self.splits.ways[split]
        outside = frame.operations / (found.instances * frame.values(found.tile).prod(axis=1))
        share = found.share * self.shares(split, tile)
        instances = found.instances * self.units[split]
        reduced = found.reduced * self.copies[split, frame.output]
        still = np.array([own.still for own in self.signatures], np.int64).reshape(-1, frame.operands)[signature]
        reuse = np.empty_like(found.reuse)
        present = trips > 1
        for operand in range(frame.operands):
            held = (still[:, operand, None] >> np.arange(frame.dims) & 1).astype(np.bool_)
            run = np.where(held, trips, 1).prod(axis=1)
            moved = (present & frame.relevant[operand]).any(axis=1)
            reuse[:, operand] = np.where(moved, run, run * found.reuse[:, operand])
        choice = np.stack([split, signature, found.choice[:, 2]], axis=1)
        found = replace(
            found,
            tile=tile,
            share=share,
            instances=instances,
            reduced=reduced,
            reuse=reuse,
            origin=label,
            choice=choice,
        )
        for place in range(len(frame.sliding)):
            found = self._slid(found, place, signature, trips=trips, strides=values * ways, outside=outside)
        return found

    def shares(self, split: Ints, tile: Tiles) -> Floats:
        """(row, operand): children that one read serves, given their tile."""
        frame, memory = self.frame, self.frame.memory(self.number)
        found = self.copies[split].copy()
        for operand in frame.sliding:
            for window in frame.windows[operand]:
                found[:, operand] *= self._repeated(window.dims, window.factors, split, tile)
        if not memory.multicast:
            found[:, [k for k in range(frame.operands) if k != frame.output]] = 1.0
        if not memory.reduction:
            found[:, frame.output] = 1.0
        return found

    def _repeated(self, dims: tuple[int, ...], factors: tuple[int, ...], split: Ints, tile: Tiles) -> Floats:
        """Children over the different places at which their windows start."""
        own, ways = list(dims), self.splits.ways[split][:, list(dims)]
        found = np.ones(len(split))
        several = np.flatnonzero((ways > 1).sum(axis=1) > 1)
        if not len(several):
            return found
        extents = np.stack([self.frame.divisors[dim][tile[several, dim]] for dim in own], axis=1)
        cases, place = np.unique(np.concatenate([ways[several], extents], axis=1), axis=0, return_inverse=True)
        count = len(own)
        starts = np.array([_starts(tuple(case[:count]), tuple(case[count:]), factors) for case in cases])
        found[several] = ways[several].prod(axis=1) / starts[place.ravel()]
        return found

    def _slid(
        self, labels: Labels, place: int, signature: Ints, *, trips: Ints, strides: Ints, outside: Floats
    ) -> Labels:
        """Labels with the run of one operand with windows brought up to date.

        A step of a loop moves the tile by its own stride, back by what the loops of the run inside it have moved it;
        they stand at their last trip, or, in Timeloop's extrapolation, at their second.
        """
        frame = self.frame
        runs: list[Run] = [own.runs[place] for own in self.signatures]
        operand = frame.sliding[place]
        longest = max((len(run.entries) for run in runs), default=0)
        moved = ((trips > 1) & frame.relevant[operand]).any(axis=1)
        rows = len(trips)
        total = outside * trips.prod(axis=1)
        window = np.array([run.window for run in runs], np.int64)[signature]
        covers = np.array([run.covers for run in runs], np.bool_)[signature]
        goes_on = ~moved | (covers & (labels.window[:, place] == window))
        back = np.zeros(rows, np.int64)
        steps, counts = [], []
        step = labels.step[:, place].copy()
        bits = np.arange(frame.dims)
        for entry in range(longest):
            dim = np.array([run.entries[entry][0] if len(run.entries) > entry else -1 for run in runs])[signature]
            inside = np.array([run.entries[entry][1] if len(run.entries) > entry else 0 for run in runs])[signature]
            some = dim >= 0
            factor = np.zeros(rows, np.int64)
            for own in frame.windows[operand]:
                for one, coefficient in zip(own.dims, own.factors, strict=True):
                    factor[dim == one] = coefficient
            at = np.where(some, dim, 0)
            times = trips[np.arange(rows), at]
            stride = factor * strides[np.arange(rows), at]
            held = np.where((inside[:, None] >> bits & 1).astype(np.bool_), trips, 1).prod(axis=1)
            steps.append(np.where(some, stride - back, -1))
            counts.append(np.where(some, total * (times - 1) / times / held, 0.0))
            if entry == 0:
                step = np.where(some, stride, step)
            back += np.where(some, stride * (1 if frame.hulls else times - 1), 0)
        shift = np.where(goes_on[:, None] & (labels.shift[:, place] >= 0), labels.shift[:, place] - back[:, None], -1)
        count = np.where(shift >= 0, labels.count[:, place], 0.0)
        shift = np.concatenate([shift, *(own[:, None] for own in steps)], axis=1) if steps else shift
        count = np.concatenate([count, *(own[:, None] for own in counts)], axis=1) if steps else count
        shift, count = _packed(shift, count)
        labels = replace(labels, window=labels.window.copy(), step=labels.step.copy())
        labels.window[:, place] = np.where(moved, window, labels.window[:, place])
        labels.step[:, place] = step
        return _stored(labels, place, shift, count)


def _starts(ways: tuple[int, ...], extents: tuple[int, ...], factors: tuple[int, ...]) -> int:
    """Different places at which the windows of children start."""
    places = {0}
    for way, extent, factor in zip(ways, extents, factors, strict=True):
        places = {own + factor * int(extent) * k for own in places for k in range(int(way))}
    return len(places)


def _packed(shift: Ints, count: Floats) -> tuple[Ints, Floats]:
    """Steps that can save something, those of one shift added up, the largest shift first."""
    shift = np.where(shift >= 0, shift, -1)
    count = np.where(shift >= 0, count, 0.0)
    steps = shift.shape[1]
    for one in range(steps):
        for other in range(one + 1, steps):
            same = (shift[:, one] == shift[:, other]) & (shift[:, one] >= 0)
            count[:, one] += np.where(same, count[:, other], 0.0)
            count[:, other][same] = 0.0
            shift[:, other][same] = -1
    order = np.argsort(-shift, axis=1, kind="stable")
    shift, count = np.take_along_axis(shift, order, 1), np.take_along_axis(count, order, 1)
    used = max(1, int((shift >= 0).sum(axis=1).max(initial=0)))
    return shift[:, :used], count[:, :used]


def _stored(labels: Labels, place: int, shift: Ints, count: Floats) -> Labels:
    rows, slides, steps = labels.shift.shape
    width = max(steps, shift.shape[1]) if slides > 1 else shift.shape[1]
    shifts, counts = np.full((rows, slides, width), -1), np.zeros((rows, slides, width))
    if slides > 1:
        shifts[:, :, :steps], counts[:, :, :steps] = labels.shift, labels.count
    shifts[:, place, :] = -1
    counts[:, place, :] = 0.0
    shifts[:, place, : shift.shape[1]] = shift
    counts[:, place, : shift.shape[1]] = count
    return replace(labels, shift=shifts, count=counts)
