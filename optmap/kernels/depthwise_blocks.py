"""What a depthwise kernel holds in registers at a time, and what it loads for that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

from optmap.kernels.code_options import ActivationLayout
from optmap.kernels.kernel_roles import KernelRoles
from optmap.kernels.memory_orders import Order, activation_orders
from optmap.machines.core import Core
from optmap.machines.machine import Level
from optmap.workloads.workload import TensorAccess, Workload

LARGEST_UNROLLED = 256
"""Multiply-adds that are written one by one; taps beyond are loops, so that code stays in the instruction cache."""

SPARE = 1
"""Registers that are left to the compiler; without one it moves sums to memory and back."""

Sizes = tuple[tuple[str, int], ...]
"""(dim, extent) pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthwiseBlock:
    """Points of one vector of the output whose sums are in registers together, and the order of their taps.

    The taps are taken in groups. The weights of a group are loaded once and stay; every element of the image that
    the points need in a group is loaded once and used for all of them: neighbouring points share most.
    """

    points: Sizes
    """Extent of the block per point dim, dims of one iteration left out."""
    looped: Sizes
    """Reduction dims that are loops around the groups."""
    groups: tuple[tuple[tuple[int, ...], ...], ...]
    """Per group its taps: one index per dim of `tapped`."""
    tapped: tuple[str, ...]
    """Reduction dims that are not looped, the innermost last."""
    multiply_adds: int
    """Vector operations on the whole block, padding included."""
    image_loads: int
    """Vectors of the image that are loaded, likewise."""
    weight_loads: int
    """Vectors of weights that are loaded."""
    registers: int
    """Needed: the sums, the weights of the largest group, and one element of the image."""

    @property
    def loads(self) -> int:
        """Vectors that are loaded for the block, its sums apart."""
        return self.image_loads + self.weight_loads

    @property
    def sums(self) -> int:
        """Points of the block: vectors that are stored at its end, and loaded before unless they start from zero."""
        return prod(size for _, size in self.points)


def depthwise_block(
    workload: Workload, roles: KernelRoles, tile: Mapping[str, int], taps: Mapping[str, int], core: Core
) -> DepthwiseBlock:
    """The block that a kernel holds of a tile.

    As many points as registers allow, later dims of the output first, beside the weights of the innermost window;
    a tile with more points is cut into such blocks, each with its own loads. Depthwise convolution by register tiles
    with reuse among neighbouring rows and columns.

    Args:
        workload: the tensor computation.
        roles: its `kernel_roles`, of the kind depthwise.
        tile: extent per dim of the register tile.
        taps: extent per reduction dim of what the kernel runs through in one visit.
        core: its registers.
    """
    reduction = _tap_order(workload, roles)
    order = [dim for axis in workload.output.axes for dim in axis.dims if dim in roles.points]
    order = [dim for dim in order if workload.extents[dim] > 1]
    points = tuple((dim, tile[dim]) for dim in order)
    return _block(workload, roles, points, tuple((dim, taps[dim]) for dim in reduction), core.registers)


@lru_cache(maxsize=4096)
def _block(workload: Workload, roles: KernelRoles, tile: Sizes, taps: Sizes, registers: int) -> DepthwiseBlock:
    row = taps[-1][1] if taps else 1
    left = max(registers - SPARE - 1 - min(row, max(registers // 4, 1)), 1)
    points: list[tuple[str, int]] = []
    for dim, size in reversed(tile):
        points.append((dim, min(size, left)))
        left //= points[-1][1]
    points.reverse()
    held = prod(size for _, size in points)
    looped, tapped = _unrolled(taps, held)
    groups = _groups(tapped, max(registers - SPARE - held - 1, 1))
    image, weights = workload.tensors[roles.images], workload.tensors[roles.weights]
    repeats = prod(size for _, size in looped)
    dims = tuple(dim for dim, _ in tapped)
    fetched = [len(_elements(image, tuple(points), dims, group)) for group in groups]
    loaded = [len(_elements(weights, (), dims, group)) for group in groups]
    return DepthwiseBlock(
        points=tuple(points),
        looped=looped,
        groups=groups,
        tapped=dims,
        multiply_adds=repeats * held * prod(size for _, size in tapped),
        image_loads=repeats * sum(fetched),
        weight_loads=repeats * sum(loaded),
        registers=held + max(loaded) + 1,
    )


def _tap_order(workload: Workload, roles: KernelRoles) -> list[str]:
    """Reduction dims, those in a window with a point dim innermost: along them neighbouring points share elements."""
    axes = workload.tensors[roles.images].axes
    sliding = {d for axis in axes if set(axis.dims) & set(roles.points) for d in axis.dims}
    return sorted((dim for dim in roles.reduction if workload.extents[dim] > 1), key=lambda dim: dim in sliding)


def _unrolled(taps: Sizes, points: int) -> tuple[Sizes, Sizes]:
    """The taps' dims that are loops, and those that are written out, at least the innermost."""
    written = points
    first = len(taps)
    while first and (first == len(taps) or written * taps[first - 1][1] <= LARGEST_UNROLLED):
        first -= 1
        written *= taps[first][1]
    return taps[:first], taps[first:]


def _groups(taps: Sizes, room: int) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """Taps in order, cut into groups of at most `room`: whole innermost runs while one fits."""
    every = tuple(product(*(range(size) for _, size in taps)))
    if len(every) <= room:
        return (every,)
    (_, size), *rest = taps
    inner = len(every) // size
    if inner > room:
        return tuple(tuple((i, *tap) for tap in group) for i in range(size) for group in _groups(tuple(rest), room))
    step = room // inner * inner
    return tuple(every[at : at + step] for at in range(0, len(every), step))


def _elements(
    access: TensorAccess, points: Sizes, dims: tuple[str, ...], taps: tuple[tuple[int, ...], ...]
) -> set[tuple[int, ...]]:
    """Distinct places, relative to the first, that points and taps read."""
    return {
        relative(access, {**point, **dict(zip(dims, tap, strict=True))}) for point in each_point(points) for tap in taps
    }


def each_point(points: Sizes) -> Iterator[dict[str, int]]:
    """Every point of a block, last dim fastest."""
    names = tuple(dim for dim, _ in points)
    for values in product(*(range(size) for _, size in points)):
        yield dict(zip(names, values, strict=True))


def relative(access: TensorAccess, at: Mapping[str, int]) -> tuple[int, ...]:
    """Per subscript of an access how far it is from where every dim of `at` is 0; dims not named stand still."""
    return tuple(sum(c * at.get(dim, 0) for dim, c in axis.terms) for axis in access.axes)


def lines_per_set(workload: Workload, roles: KernelRoles, block: DepthwiseBlock, level: Level) -> int:
    """Most lines in one set of a cache that a block's elements of image and output take, channels side by side.

    Pixels a power of two apart fall into few sets. Buffers are taken to begin at a set of their own.

    Args:
        workload: the tensor computation.
        roles: of its dims.
        block: whose elements are counted.
        level: a cache.

    Returns:
        0 if ways or lines of the cache are not known.
    """
    taps = [dict(zip(block.tapped, tap, strict=True)) for group in block.groups for tap in group]
    orders = activation_orders(workload, roles, ActivationLayout.NHWC, 1)
    found = 0
    for number, some in ((roles.images, taps), (0, [{}])):
        tensor, places = workload.tensors[number], []
        strides = _strides(tensor, workload, orders[number])
        for point, tap in product(each_point(block.points), some):
            away = zip(relative(tensor, {**point, **tap}), strides, strict=True)
            places.append(sum(n * stride for n, stride in away) * tensor.bits // 8)
        found += fullest_set(places, level, workload.word_bits)
    return found


def fullest_set(places: Iterable[int], level: Level, word_bits: int) -> int:
    """Most lines in one set of a cache that bytes at some addresses take.

    Args:
        places: the addresses.
        level: the cache.
        word_bits: size of one word (`Workload.word_bits`).

    Returns:
        0 if ways or lines of the cache are not known.
    """
    if level.ways is None or level.line_bytes is None:
        return 0
    sets = max(int(level.capacity.bytes(word_bits)) // (level.line_bytes * level.ways), 1)
    lines = {place // level.line_bytes for place in places}
    return max(Counter(line % sets for line in lines).values(), default=0)


def _strides(tensor: TensorAccess, workload: Workload, order: Order) -> list[int]:
    """Elements from one index value to the next per subscript, none of which is in blocks."""
    strides, step = [0] * len(order), 1
    for axis, _ in reversed(order):
        strides[axis] = step
        step *= tensor.axes[axis].elements(workload.extents)
    return strides
