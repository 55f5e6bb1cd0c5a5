r"""Sets of a cache: which part of a working set stays although all of it would fit.

A cache of S sets of W lines is S caches of W lines: line n belongs to set n mod S, and every set keeps what of its own
lines was used last. So a working set is not kept or lost as a whole, but set by set: the lines of a set stay if no
more than W of them belong to it. Rows of a tile that are a power of two apart meet in few sets, and lose there what
the capacity would hold: of 56 x 5 pixels at a distance of 256 bytes, lines of 64 bytes fall on 16 of 64 sets.

**Counting.** An address is a sum over the subscripts of a tensor, so the lines per set are the cyclic convolution of
those of each subscript, counted exactly where the strides are whole lines (else within a line per subscript). Where a
tensor begins is not known: beside its own lines, a set holds its part of the other tensors' lines, spread evenly.
Packed weights are read as they lie, and are even.

**Traffic.** The lines of a tensor in the sets where a body of the nest fits move as that body says, those in the
other sets as the largest smaller one that fits there does. With even sets this is one body: the largest that fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from optmap.count.timing.kernel import roles_of
from optmap.kernels.code_options import ActivationLayout
from optmap.kernels.memory_orders import activation_orders, block_span
from optmap.machines.machine import Level
from optmap.workloads.workload import Subscript, Workload

Loads = NDArray[np.float64]
"""(sets,): lines."""
PAGE = 4096
"""Bytes of a page: a cache with more bytes per way chooses sets by where pages lie, which no program decides."""


def tile_loads(
    workload: Workload,
    number: int,
    tile: dict[str, int],
    *,
    layout: ActivationLayout,
    lanes: int,
    line_bytes: int,
    sets: int,
) -> Loads:
    """Lines of one tensor's tile per set.

    Args:
        workload: the tensor computation.
        number: of the tensor, output first.
        tile: iterations per dim.
        layout: of what is no weight.
        lanes: of a vector, the block of a blocked layout.
        line_bytes: of the cache.
        sets: of the cache.
    """
    tensor, roles = workload.tensors[number], roles_of(workload, layout)
    line = 8 * line_bytes
    if roles is not None and number == roles.packed:
        return np.full(sets, tensor.footprint(tile) * tensor.bits / line / sets)
    parts, stride = [], tensor.bits
    for values, extent in _memory_order(workload, number, tile, layout, lanes):
        parts.append((values, stride))
        stride *= extent
    return _loads(tuple(parts), tensor.bits, line, sets)


def cache_geometry(level: Level, word_bits: int) -> tuple[int, int, int]:
    """Sets, lines per set and bytes of a line; one set where there are no ways, or sets are not chosen by the program.

    Args:
        level: the cache.
        word_bits: size of one word (`Workload.word_bits`), the line of a level that has none.
    """
    line = level.line_bytes or max(word_bits // 8, 1)
    lines = int(level.capacity.bytes(word_bits)) // line // level.buffering
    sets = lines // level.ways if level.ways else 1
    return (sets, lines // sets, line) if 0 < sets * line <= PAGE else (1, lines, line)


def kept_shares(loads: Sequence[Loads], ways: int) -> tuple[float, ...]:
    """Share of each tensor's lines that are in sets where everything fits.

    Args:
        loads: lines per set, per tensor.
        ways: lines that a set holds.
    """
    even = [float(load.mean()) for load in loads]
    shares = []
    for load, own in zip(loads, even, strict=True):
        fits = load + (sum(even) - own) <= ways
        shares.append(float(load[fits].sum() / load.sum()))
    return tuple(shares)


@lru_cache(maxsize=4096)
def _loads(parts: tuple[tuple[tuple[int, ...], int], ...], size: int, line: int, sets: int) -> Loads:
    """Lines per set of all sums of a value of each part times its stride; the fastest part first; sizes in bits.

    Parts that go on where the faster ones end, or begin another element within the same line, are one run.
    """
    reach, rest = size, list(parts)
    while rest:
        values, stride = rest[0]
        if max((b - a for a, b in pairwise(values)), default=0) * stride > max(reach, line - 1):
            break
        reach += (values[-1] - values[0]) * stride
        rest.pop(0)
    loads = np.bincount(np.arange(-(-reach // line)) % sets, minlength=sets).astype(np.float64)
    for values, stride in rest:
        steps = np.bincount([value * stride // line % sets for value in values], minlength=sets)
        loads = sum(times * np.roll(loads, shift) for shift, times in enumerate(steps) if times)
    return loads


def _memory_order(
    workload: Workload, number: int, tile: dict[str, int], layout: ActivationLayout, lanes: int
) -> list[tuple[tuple[int, ...], int]]:
    """Values of every piece of a subscript over a tile, and their number; the fastest in memory first."""
    tensor = workload.tensors[number]
    order = activation_orders(workload, roles_of(workload, layout), layout, lanes)[number]
    found = []
    for place in range(len(order) - 1, -1, -1):
        (subscript, block), span = order[place], block_span(order, place)
        axis = tensor.axes[subscript]
        values = _values(axis, tuple(tile[dim] for dim in axis.dims))
        every = span or -(-axis.elements(workload.extents) // block)
        if block > 1 or span is not None:
            values = tuple(sorted({value // block % (span or every) for value in values}))
        found.append((values, every))
    return found


@lru_cache(maxsize=4096)
def _values(axis: Subscript, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Values of a subscript over a tile that starts at the first iteration, ascending, from 0 on."""
    found = {0}
    for (_, coefficient), size in zip(axis.terms, sizes, strict=True):
        found = {value + coefficient * step for value, step in product(found, range(size))}
    return tuple(sorted(found))
