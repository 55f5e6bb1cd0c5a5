"""The numbers of one exact search: divisors, words of tiles, overlaps of windows, and prices, as arrays.

A tile is a row of divisor numbers (`tile[dim]` is a place in the ascending list of the dim's divisors), so
that dividing one tile by another is a look-up. Words are counted as `count.meshes` counts them:
exactly, or as hulls in the counting of Timeloop.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np
from numpy.typing import NDArray

from optmap.base.arrays import Floats, Ints
from optmap.base.errors import InputError
from optmap.count.meshes.policy import NestPolicy
from optmap.machines.accelerator import KeepRule
from optmap.machines.elements import energies
from optmap.machines.fabric import Fabric, Memory
from optmap.machines.operands import Operand
from optmap.questions.options import Merit
from optmap.questions.policy import Footprint
from optmap.symbolic.numbers import divisors_of
from optmap.workloads.halo import value_mask

Tiles = NDArray[np.int16]

MOST_DIMS = 8
SLACK = 1e-9
"""Relative tolerance of comparisons of bounds and values."""
LARGEST_TABLE = 2**23
"""Entries of the tables of one window."""
LARGEST_EXTENT = 2**40
"""Of a dim: its divisors are found one by one."""
MOST_TILES = 2**22
"""Different tiles of a workload, which are made all at once."""
WHOLE = Fraction(1)
"""Of the runs of a statement: all of them."""
NOTHING = Fraction(0)
"""What a cycle is charged where cycles do not count."""
ROUNDING = 1e-12
"""Relative error that sums of floats here stay well below, where a number of accesses or cycles is rounded up."""


@dataclass(frozen=True, slots=True, eq=False)
class SplitWindow:
    """A subscript of several dims, whose neighbouring tiles overlap; tables over the divisors of its dims."""

    dims: tuple[int, ...]
    factors: tuple[int, ...]
    strides: tuple[int, ...]
    """Of the divisor numbers in the rows of the tables."""
    words: Floats
    """Words of a tile as they are counted."""
    shared: Floats
    """Row, shift: words that a tile shares with itself moved, as they are counted."""
    touched: Floats
    """Words of a tile, gaps left out: what certainly passes, however it is cut."""
    kept: Floats
    """Row, shift: of these the ones that may be there already when the tile has moved: those that it shares with itself
    moved, or, where tiles are hulls, those inside the hull before, gaps or not."""

    def boxes(self, frame: ExactFrame) -> list[tuple[int, ...]]:
        """Extents of its dims per row of the tables."""
        sizes = [len(frame.divisors[dim]) for dim in self.dims]
        each = zip(self.dims, self.strides, sizes, strict=True)
        own = list(each)
        return [tuple(int(frame.divisors[d][row // s % n]) for d, s, n in own) for row in range(prod(sizes))]

    def rows(self, tiles: Tiles) -> Ints:
        """Rows of the tables for tiles."""
        found = np.zeros(len(tiles), np.int64)
        for dim, stride in zip(self.dims, self.strides, strict=True):
            found += tiles[:, dim].astype(np.int64) * stride
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Charges:
    """Energy of one kind of access per memory, in pJ."""

    least: Floats
    """(level, operand): of an element in a full access, its bits included."""
    access: Floats
    """(level,): of an access."""
    bits: Floats
    """(level, operand): of the bits of an element, beside the accesses."""


class ExactFrame:
    """A fabric as arrays, for one counting and one merit.

    Args:
        fabric: machine and workload.
        counting: how words are counted.
        merit: what is minimised.
        begun: part of the runs of the statement in which its output starts empty; in the others it starts from values
            that are read. What is minimised is that of an average run.
        cycle_pj: what each cycle is charged beside the energy, where that is minimised.

    Raises:
        InputError: for more than 8 dims, a dim in two subscripts of one tensor, an output whose subscripts have
            several dims or factors, extents that are too large or have too many divisors, or a window of too many
            places.
    """

    def __init__(
        self,
        fabric: Fabric,
        counting: NestPolicy,
        merit: Merit,
        begun: Fraction = WHOLE,
        cycle_pj: Fraction = NOTHING,
    ) -> None:
        refuse(fabric)
        self.fabric, self.counting, self.merit = fabric, counting, merit
        self.cycle_pj = float(cycle_pj)
        self.dims, self.operands = len(fabric.dims), len(fabric.operands)
        self.levels = len(fabric.memories)
        self.extents = np.array(fabric.extents, np.int64)
        self.operations = float(fabric.operations)
        self.divisors = [np.array(divisors_of(extent), np.int64) for extent in fabric.extents]
        tiles = prod(len(own) for own in self.divisors)
        if tiles > MOST_TILES:
            raise InputError(
                f"{fabric.workload.title}: its extents have divisors for {tiles:,} tiles; the exact search takes up to "
                f"{MOST_TILES:,}: use extents with fewer divisors"
            )
        self.number_of = [{int(n): place for place, n in enumerate(own)} for own in self.divisors]
        self.quotients = [_quotients(own, places) for own, places in zip(self.divisors, self.number_of, strict=True)]
        self.whole = np.array([[len(own) - 1 for own in self.divisors]], np.int16)
        sizes = [len(own) for own in self.divisors]
        self.strides = np.array([prod(sizes[dim + 1 :]) for dim in range(self.dims)], np.int64)
        self.relevant = np.array([[dim in o.dims for dim in range(self.dims)] for o in fabric.operands])
        self.windows = [self._windows(operand) for operand in fabric.operands]
        inside = {dim for own in self.windows for window in own for dim in window.dims}
        self.window_dims = np.array([dim in inside for dim in range(self.dims)])
        self.sliding = [place for place, own in enumerate(self.windows) if own]
        self.output = next(place for place, operand in enumerate(fabric.operands) if operand.output)
        words = float(prod(fabric.extents[dim] for dim in fabric.operands[self.output].dims))
        self.runs = ((1.0, words),) if begun == WHOLE else ((float(begun), words), (float(1 - begun), 0.0))
        """Per kind of run its part, and the words of the output whose first touch is free."""
        self.output_words = sum(part * free for part, free in self.runs)
        """Of the output whose first touch is free, in an average run."""
        self._prices()

    def _prices(self) -> None:
        """Prices and ports per memory; a last entry of 0 stands for no memory, so that -1 finds it."""
        memories, none = self.fabric.memories, [0.0] * self.operands
        limited = [k for k, m in enumerate(memories) if m.read_rate or m.write_rate or m.shared_rate]
        self.limited = limited
        self.port = np.full(self.levels + 1, -1)
        self.port[limited] = np.arange(len(limited))
        inf = float("inf")

        def rates(key: str) -> Floats:
            return np.array([float(getattr(memories[k], key) or inf) for k in limited])

        self.read_rate, self.write_rate, self.shared_rate = (
            rates("read_rate"),
            rates("write_rate"),
            rates("shared_rate"),
        )
        self.arithmetic = float(self.fabric.arithmetic_pj) * self.operations
        there = [self.fabric.instances(k) for k in range(self.levels)]
        groups = [max(1, n // m.cluster) for n, m in zip(there, memories, strict=True)]
        self.groups = np.array([*(float(n) for n in groups), 1.0])
        """Clusters: as many instances as that are paid for."""

        def charges(kind: int) -> Charges:
            return Charges(
                least=np.array([*([float(e.least_pj[kind]) for e in m.elements] for m in memories), none]),
                access=np.array([*(float(energies(m.prices)[kind]) for m in memories), 0.0]),
                bits=np.array([*([float(e.bits_pj[kind]) for e in m.elements] for m in memories), none]),
            )

        self.read, self.fill, self.update = (charges(kind) for kind in range(3))
        ones = [1.0] * self.operands
        self.bulk = np.array([*([float(m.block / e.entries) for e in m.elements] for m in memories), ones])
        """(level, operand): elements of one access."""
        parted = [[(e.entries / m.block).denominator > 1 for e in m.elements] for m in memories]
        self.parted = np.array([*parted, [False] * self.operands])
        """(level, operand): whether several elements share an access, so that the last one may be partly empty."""
        self.passing = np.array([*([float(e.passing) for e in m.elements] for m in memories), none])
        """(level, operand): words of a port that pass with an element."""
        self.spread = np.array([*(k / n for n, k in zip(there, groups, strict=True)), 1.0])
        """Part of the accesses that is paid, where all instances are in use: the least."""
        self.grouped = grouped(self.fabric)

    def memory(self, level: int) -> Memory:
        """A memory by number."""
        return self.fabric.memories[level]

    def keep(self, level: int, operand: int) -> KeepRule:
        """Whether a memory holds an operand."""
        return self.fabric.memories[level].keeps[operand]

    def values(self, tiles: Tiles) -> Ints:
        """Extents of tiles: (tiles, dims), a dim's together in memory."""
        found = np.empty((self.dims, len(tiles)), np.int64)
        for dim in range(self.dims):
            found[dim] = self.divisors[dim][tiles[:, dim]]
        return found.T

    @staticmethod
    def columns(values: Ints | Floats) -> Floats:
        """Numbers per dim as floats, a dim's together in memory."""
        return np.ascontiguousarray(values.T, np.float64).T

    def distinct(self, one: Ints, other: Ints) -> tuple[Ints, Ints]:
        """Places of the different pairs of two codes, and for each place the number of its pair."""
        most = int(self.strides[0]) * len(self.divisors[0])
        if most < 2**31:
            joint = one * most + other
            _, first, places = np.unique(joint, return_index=True, return_inverse=True)
        else:
            _, first, places = np.unique(np.stack([one, other]), axis=1, return_index=True, return_inverse=True)
        return first, places.ravel()

    def codes(self, tiles: Tiles) -> Ints:
        """One number per tile."""
        return np.asarray(tiles.astype(np.int64) @ self.strides)

    def divided(self, tiles: Tiles, by: Tiles) -> Tiles:
        """Quotients of tiles; -1 where one does not divide."""
        found = np.empty((self.dims, len(tiles)), np.int16)
        for dim in range(self.dims):
            found[dim] = self.quotients[dim][tiles[:, dim], by[:, dim]]
        return found.T

    def words(self, operand: int, tiles: Tiles, values: Ints, *, certain: bool = False) -> Floats:
        """Words of an operand that tiles need; with `certain` those that they touch, gaps left out."""
        found = np.ones(len(tiles))
        own = self.windows[operand]
        inside = {dim for window in own for dim in window.dims}
        for dim in self.fabric.operands[operand].dims - inside:
            found *= values[:, dim]
        for window in own:
            table = window.touched if certain else window.words
            found *= table[window.rows(tiles)]
        return found

    def irrelevant(self, operand: int, values: Ints) -> Floats:
        """Product of the extents of the dims that do not occur in an operand."""
        found = np.ones(len(values))
        for dim in range(self.dims):
            if not self.relevant[operand, dim]:
                found *= values[:, dim]
        return found

    def _windows(self, operand: Operand) -> list[SplitWindow]:
        return [self._window(axis) for axis in operand.axes if len(axis) > 1 or (self.hulls and self._gaps(axis))]

    @property
    def hulls(self) -> bool:
        """Whether tiles are counted as hulls."""
        return self.counting.footprint is Footprint.HULL

    @staticmethod
    def _gaps(axis: tuple[tuple[int, int], ...]) -> bool:
        return any(factor > 1 for _, factor in axis)

    def _window(self, axis: tuple[tuple[int, int], ...]) -> SplitWindow:
        dims, factors = tuple(dim for dim, _ in axis), tuple(factor for _, factor in axis)
        sizes = [len(self.divisors[dim]) for dim in dims]
        strides = tuple(prod(sizes[place + 1 :]) for place in range(len(dims)))
        widest = 1 + sum(f * (self.fabric.extents[d] - 1) for d, f in axis)
        rows = prod(sizes)
        if rows * widest > LARGEST_TABLE:
            names = " and ".join(self.fabric.dims[dim] for dim in dims)
            raise InputError(
                f"{self.fabric.workload.title}: the windows along {names} reach over {widest:,} places, with {rows:,} "
                "kinds of tiles; the exact search has no room for that: use smaller extents"
            )
        hull, hull_kept, touched, kept = [], [], [], []
        shifts = np.arange(widest + 1)
        for place in range(rows):
            box = tuple(int(self.divisors[d][place // s % n]) for d, s, n in zip(dims, strides, sizes, strict=True))
            width = 1 + sum(f * (n - 1) for f, n in zip(factors, box, strict=True))
            own = np.zeros(widest + 1)
            bits = _bits(value_mask(factors, box), width)
            own[:width] = np.cumsum(bits)[::-1] if self.hulls else _overlaps(bits)
            touched.append(own[0])
            kept.append(own)
            hull.append(float(width))
            hull_kept.append(np.maximum(0.0, width - shifts))
        certain = np.array(touched), np.array(kept)
        counted = (np.array(hull), np.array(hull_kept)) if self.hulls else certain
        return SplitWindow(dims, factors, strides, counted[0], counted[1], certain[0], certain[1])


def grouped(fabric: Fabric) -> bool:
    """Whether several words may share an access, so that their energy is no multiple of one word's."""
    partly = any(e.entries / memory.block != 1 for memory in fabric.memories for e in memory.elements)
    return partly or any(memory.cluster > 1 for memory in fabric.memories)


def product(values: Ints | Floats) -> Floats:
    """Product per row; quicker than `prod` for a few columns."""
    found = values[:, 0].astype(np.float64)
    for column in range(1, values.shape[1]):
        found *= values[:, column]
    return found


def refuse(fabric: Fabric) -> None:
    """What this search cannot count.

    Raises:
        InputError: see `ExactFrame`.
    """
    if len(fabric.dims) > MOST_DIMS:
        raise InputError(f"{fabric.workload.title}: {len(fabric.dims)} dims; the exact search takes up to {MOST_DIMS}")
    for dim, extent in zip(fabric.dims, fabric.extents, strict=True):
        if extent > LARGEST_EXTENT:
            raise InputError(
                f"{fabric.workload.title}: {dim} has {extent:,} iterations; the exact search takes up to "
                f"{LARGEST_EXTENT:,}"
            )
    for operand in fabric.operands:
        named = [dim for axis in operand.axes for dim, _ in axis]
        if len(set(named)) < len(named):
            raise InputError(f"{operand.name}: a dim in two subscripts; the exact search counts dims that occur once")
        if operand.output and any(len(axis) > 1 or any(f > 1 for _, f in axis) for axis in operand.axes):
            raise InputError(f"{operand.name}: an output with sums or factors in a subscript is not searched exactly")


def _bits(mask: int, width: int) -> Floats:
    """Whether each of the values below `width` is in a set, as numbers."""
    octets = np.frombuffer(mask.to_bytes(-(-width // 8), "little"), np.uint8)
    return np.unpackbits(octets, bitorder="little")[:width].astype(np.float64)


def _overlaps(bits: Floats) -> Floats:
    """Values that a set has in common with itself moved by 0, 1, ... places: whole numbers that floats hold."""
    width = len(bits)
    spectrum = np.fft.rfft(bits, 2 * width)
    return np.asarray(np.rint(np.fft.irfft(np.abs(spectrum) ** 2, 2 * width)[:width]))


def _quotients(own: Ints, places: dict[int, int]) -> NDArray[np.int16]:
    return np.array([[places.get(int(a // b), -1) if a % b == 0 else -1 for b in own] for a in own], np.int16)
