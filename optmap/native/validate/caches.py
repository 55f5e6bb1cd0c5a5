"""Traffic of set-associative caches with lines under the accesses of a nest: the walk of `walk.c`, called."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from ctypes import POINTER, Structure, c_int64, c_void_p
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import chain
from math import prod

import numpy as np
from numpy.typing import NDArray

from optmap.base.arrays import Ints
from optmap.base.errors import InputError, LimitError
from optmap.count.tally import Moved
from optmap.machines.machine import Level, LevelKind, Machine
from optmap.mappings.levels import Mapping
from optmap.native.code import Buffer
from optmap.native.toolchain.build import build_library
from optmap.native.toolchain.libraries import load_library
from optmap.workloads.access import TensorAccess
from optmap.workloads.workload import Semantics, Workload, access_names

SOURCES = ("caches.c", "walk.c")
PAGE = 4096
"""Where buffers begin, if nobody says where they lie."""
MOST_AXES = 16
"""Subscripts of a tensor that a walk has room for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometry:
    """A cache: `sets` sets of `ways` lines."""

    sets: int
    ways: int
    inclusive: bool
    """Whether it holds whatever the caches inside it hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheTraffic:
    """What a nest moves through the caches of a machine, cold at first and written out at the end."""

    moved: tuple[Moved, ...]
    """Per cache (inner first) and access (output first), whole lines in words."""
    loads: int
    """Lines that the registers read from the innermost cache."""
    stores: int
    """Lines that they write."""

    def words(self, level: str) -> int:
        """Loads and stores between a cache and the next one, all tensors together."""
        return sum(row.loads_words + row.stores_words for row in self.moved if row.between[0] == level)


def caches_of(machine: Machine) -> tuple[Level, ...]:
    """The levels that are caches, inner first; registers and scratchpads are none."""
    return tuple(level for level in machine.levels if level.kind is LevelKind.CACHE)


def geometry_of(level: Level, word_bits: int) -> tuple[Geometry, int]:
    """How a cache is built, and the bytes of its lines.

    A level without `ways` is fully associative, one without `line_bytes` has lines of one word.

    Args:
        level: the cache.
        word_bits: size of one word (`Workload.word_bits`).

    Raises:
        InputError: if the capacity is no whole number of sets.
    """
    line = level.line_bytes or -(-word_bits // 8)
    lines = int(level.capacity.bytes(word_bits)) // line
    ways = level.ways or lines
    if lines < 1 or lines % ways:
        raise InputError(
            f"level {level.name}: {level.capacity} are {lines:,} lines of {line} bytes, which is no whole number of "
            f"sets of {ways} ways; mend capacity, line_bytes or ways"
        )
    return Geometry(sets=lines // ways, ways=ways, inclusive=level.inclusive), line


def replay_lines(
    geometries: Sequence[Geometry], lines: Ints, owners: Ints, writes: NDArray[np.bool_], tensors: int
) -> tuple[Ints, Ints]:
    """A stream of accesses through a chain of caches.

    Args:
        geometries: of the caches, inner first.
        lines: per access, number of the line.
        owners: per access, number of the tensor that the line belongs to, always the same for a line.
        writes: per access, whether it writes.
        tensors: how many there are.

    Returns:
        Lines loaded and lines stored, shape (caches, tensors).
    """
    loads, stores = _counters(geometries, tensors), _counters(geometries, tensors)
    given, whose = np.ascontiguousarray(lines, np.int64), np.ascontiguousarray(owners, np.int32)
    flags, table = np.ascontiguousarray(writes, np.int8), _table(geometries)
    count = c_int64(len(given))
    counters = _at(loads), _at(stores)
    _done(_library().replay(len(geometries), _at(table), tensors, *counters, count, _at(given), _at(whose), _at(flags)))
    return loads, stores


def simulate_caches(
    workload: Workload,
    machine: Machine,
    mapping: Mapping,
    buffers: Sequence[Buffer],
    *,
    registers: bool = True,
    bases: Sequence[int] = (),
) -> CacheTraffic:
    """Traffic of the machine's caches while the nest of a mapping runs on one core.

    Caches are as the machine describes them: sets and ways, lines, least recently used, write-back, a store to a
    line that is not there reads it. Each is asked by the one inside it only. A step is one tile of level 0, and uses
    every line under it once, in the order of their addresses; prefetching, translation of addresses and other cores are
    left out.

    Args:
        workload: what is computed.
        machine: its levels of kind `cache`.
        mapping: of workload and machine; its splits are not followed, one thread does everything.
        buffers: per access (output first), as the code of the nest has them.
        registers: whether level 0 is registers that hold the tile of the output while reductions run, as a
            microkernel does; if not, its tile is done point by point, and every point reads and writes.
        bases: address per access; buffers behind each other on pages of their own if left out.

    Raises:
        InputError: for a mapping that does not belong here, a cache that is no whole number of sets, lines of
            different sizes, or more subscripts than `MOST_AXES`.
        SolverUnavailableError: if there is no compiler.
        LimitError: if memory runs out.
    """
    mapping.check(workload, machine)
    levels = caches_of(machine)
    if not levels:
        raise InputError(f"machine {machine.name} has no level of kind cache; there is nothing to simulate")
    built = [geometry_of(level, workload.word_bits) for level in levels]
    geometries = [geometry for geometry, _ in built]
    if len({line for _, line in built}) > 1:
        raise InputError(f"machine {machine.name}: its caches have lines of different sizes; give them one line_bytes")
    line = built[0][1]
    count = len(workload.tensors)
    loads, stores = _counters(geometries, count), _counters(geometries, count)
    nest = _WalkCall(workload, mapping, buffers, bases or _addresses(buffers), line=line, registers=registers)
    table = _table(geometries)
    _done(_library().walk_nest(ctypes.byref(nest.walk), len(levels), _at(table), _at(loads), _at(stores)))
    words = 8 * line // workload.word_bits
    outer = dict(machine.boundaries)
    moved = tuple(
        Moved(
            between=(level.name, outer[level.name]),
            tensor=name,
            loads_words=int(loads[number, at]) * words,
            stores_words=int(stores[number, at]) * words,
        )
        for number, level in enumerate(levels)
        for at, name in enumerate(access_names(workload))
    )
    return CacheTraffic(moved=moved, loads=int(nest.reads.sum()), stores=int(nest.writes.sum()))


class _Axis(Structure):
    """`axis` of walk.c."""

    _fields_ = [
        *((name, c_int64) for name in ("offset", "low", "high", "terms")),
        *((name, c_void_p) for name in ("dims", "coefficients", "place", "reach", "values", "start", "bytes")),
        ("runs", c_int64),
        ("located", c_void_p),
    ]


class _Access(Structure):
    """`access` of walk.c."""

    _fields_ = [("base", c_int64), ("axes", c_int64), ("size", c_int64), ("axis", POINTER(_Axis))]


class _CacheWalk(Structure):
    """`walk` of walk.c."""

    _fields_ = [
        *((name, c_int64) for name in ("dims", "levels", "tensors", "line_bytes", "summed", "held", "assign")),
        *((name, c_void_p) for name in ("tiles", "orders", "reductions", "first", "number")),
        ("access", POINTER(_Access)),
        *((name, c_void_p) for name in ("reads", "writes")),
        ("levels_built", ctypes.c_int),
        ("caches", c_void_p),
        ("lines", c_void_p),
        *((name, c_int64) for name in ("kept", "room", "failed")),
    ]


class _WalkCall:
    """A `walk` and what its pointers lead to, which lives as long as it does."""

    def __init__(
        self,
        workload: Workload,
        mapping: Mapping,
        buffers: Sequence[Buffer],
        bases: Sequence[int],
        *,
        line: int,
        registers: bool,
    ) -> None:
        self._kept: list[object] = []
        self._dims = {dim: number for number, dim in enumerate(workload.dims)}
        tiles = [[level.tile[dim] for dim in workload.dims] for level in mapping.levels]
        orders = [[self._dims[dim] for dim in level.permutation] for level in mapping.levels]
        if not registers:
            tiles, orders = [[1] * len(self._dims), *tiles], [orders[0], *orders]
        inner = dict(zip(workload.dims, tiles[0], strict=True))
        self.reads, self.writes = np.zeros((2, len(workload.tensors)), np.int64)
        accesses = [
            self._access(tensor, buffer, base, inner)
            for tensor, buffer, base in zip(workload.tensors, buffers, bases, strict=True)
        ]
        array = (_Access * len(accesses))(*accesses)
        self._kept += [accesses, array]
        self.walk = _CacheWalk(
            dims=len(self._dims),
            levels=len(tiles),
            tensors=len(accesses),
            line_bytes=line,
            summed=_summed(workload, mapping),
            held=registers,
            assign=workload.semantics is Semantics.ASSIGN,
            tiles=self._numbers(chain(*tiles)),
            orders=self._numbers(chain(*orders)),
            reductions=self._numbers(dim in workload.reduction_dims for dim in workload.dims),
            first=self._numbers(0 for _ in self._dims),
            number=self._numbers(workload.extents.values()),
            access=array,
            reads=_at(self.reads),
            writes=_at(self.writes),
        )

    def _numbers(self, values: Iterable[int]) -> c_void_p:
        made = np.array(list(values), np.int64)
        self._kept.append(made)
        return _at(made)

    def _access(self, tensor: TensorAccess, buffer: Buffer, base: int, inner: dict[str, int]) -> _Access:
        if len(tensor.axes) > MOST_AXES:
            raise InputError(f"{tensor.name} has {len(tensor.axes)} subscripts; a walk has room for {MOST_AXES}")
        fastest = {axis: place for place, (axis, _) in enumerate(buffer.layout.order)}
        axes = [self._axis(tensor, buffer, number, inner) for number in sorted(fastest, key=fastest.__getitem__)]
        array = (_Axis * len(axes))(*axes)
        self._kept += [axes, array]
        return _Access(base=base, axes=len(axes), size=buffer.bits // 8, axis=array)

    def _axis(self, tensor: TensorAccess, buffer: Buffer, number: int, inner: dict[str, int]) -> _Axis:
        axis, low = tensor.axes[number], buffer.origin[number]
        first, last = axis.real or (low, low + buffer.shape[number] - 1)
        place = places(buffer, number)[first - low :]
        room = range(prod(inner[dim] for dim in axis.dims))
        return _Axis(
            offset=axis.offset,
            low=first,
            high=last,
            terms=len(axis.terms),
            dims=self._numbers(self._dims[dim] for dim in axis.dims),
            coefficients=self._numbers(c for _, c in axis.terms),
            place=self._numbers(place),
            reach=self._numbers(first + _runs(place, buffer.bits // 8)),
            values=self._numbers(room),
            start=self._numbers(room),
            bytes=self._numbers(room),
            located=self._numbers(0 for _ in range(2 * len(axis.terms))),
        )


def _runs(place: Ints, size: int) -> Ints:
    """Per place of ascending indices the number of the last one that lies behind it without a gap."""
    ends = np.flatnonzero(np.append(np.diff(place) != size, True))
    return ends[np.searchsorted(ends, np.arange(len(place)))]


def places(buffer: Buffer, axis: int) -> Ints:
    """Bytes that each index of a subscript adds to an element's address, from the buffer's first index on.

    The place of an element is a sum over its subscripts, as every piece of a layout belongs to one of them.
    """
    index = np.arange(buffer.shape[axis], dtype=np.int64)
    found = np.zeros_like(index)
    for piece in buffer.layout.pieces(buffer.shape):
        if piece.axis == axis:
            digit = index // piece.block
            found += (digit if piece.first else digit % piece.extent) * piece.stride
    return found * (buffer.bits // 8)


def _addresses(buffers: Sequence[Buffer]) -> list[int]:
    """Buffers behind each other, each on a page of its own; a tensor that is read again lies where it lies."""
    found: dict[str, int] = {}
    free = PAGE
    for buffer in buffers:
        if buffer.tensor not in found:
            found[buffer.tensor] = free
            free += -(-buffer.layout.size(buffer.shape) * buffer.bits // 8 // PAGE) * PAGE + PAGE
    return [found[buffer.tensor] for buffer in buffers]


def _summed(workload: Workload, mapping: Mapping) -> int:
    """Place in level 0's order from which on the loops are reductions, or have one trip."""
    inner, *outer = mapping.levels
    whole = outer[0].tile if outer else workload.extents
    at = len(inner.permutation)
    for place in range(len(inner.permutation) - 1, -1, -1):
        dim = inner.permutation[place]
        if dim in workload.reduction_dims:
            at = place
        elif inner.tile[dim] < whole[dim]:
            break
    return at


@cache
def _library() -> ctypes.CDLL:
    text = "\n".join(files(__package__).joinpath(name).read_text() for name in SOURCES)
    return load_library(build_library(text))


def _counters(geometries: Sequence[Geometry], tensors: int) -> Ints:
    return np.zeros((len(geometries), tensors), np.int64)


def _table(geometries: Sequence[Geometry]) -> Ints:
    return np.array([(g.sets, g.ways, g.inclusive) for g in geometries], np.int64)


def _at(array: NDArray[np.generic]) -> c_void_p:
    return c_void_p(array.ctypes.data)


def _done(good: int) -> None:
    if not good:
        raise LimitError("memory ran out while caches were simulated; use smaller caches or fewer at a time")
