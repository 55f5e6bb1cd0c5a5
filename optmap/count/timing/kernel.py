r"""Cycles of the arithmetic of a mapping: every step of the register kernel, counted, not sampled.

The kernel keeps a tile of the output in registers while it runs through the reduction loops that stand
innermost at level 0 (`taken_dims`). One step, for one value of all of them, reads a vector of weights per
vector of the tile and an element of the image per point, and does a multiply-add per vector and point. A core
begins `fma_ports` of them and `load_ports` loads a cycle, out of order, so that only the scarcer of the two counts;
and every sum is added to once a step, so that a step takes no less than the latency of an addition:

    cycles of a step = max(vectors * points / fma_ports, loads / load_ports, fma_latency).

Loads are vectors + points of an outer product, where an element is broadcast as it is loaded and used for all
vectors. In a depthwise kernel an element of the image is used once per tap, vectors * points loads a step, and the
weights stay in registers while there are enough. Along rows `_RowLoads` counts what is really loaded: vectors begin
anywhere in a line, and most are in two, which the cache hands out one after the other.

The innermost cache hands out what is loaded or takes in a line, not both in one cycle (the ECM model: Stengel, Treibig,
Hager, Wellein, "Quantifying performance bottlenecks of stencil computations", ICS 2015): loads and lines add up, and
only arithmetic goes on beside them (`KernelCycles.beside`). A depthwise kernel asks for few lines per tile and for
them in the order of memory; its loads are taken to pass beside them, but along rows.

Before the first step of a visit the sums are loaded, unless it is the first visit under `assign`, and after the last
one they are stored, one vector a cycle; nothing of the same sums can be done meanwhile, and the last addition is
waited for: these cycles are added.

A tile of an outer product that the registers do not hold is computed in parts that they do, one after the other
(`kernels.kernel_roles.kernel_parts`): such a tile is a number of visits.

Ragged tiles are counted with their own sizes, and taps that fall on implicit padding are no steps of the points
concerned. As padding ties an output dim to a filter dim only, the number of points that a step works on is a product
over such pairs, and so it is enough to know how often each pair has how many: no tile is visited.

Plain loops get an estimate: what a compiler makes of the innermost loop. It works on vectors if the output and
each input either move by one element with that loop or stand still; else, also in a sum, which may not be
reordered, on scalars.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np

from optmap.kernels.code_options import LINE_BYTES, ActivationLayout
from optmap.kernels.depthwise_blocks import depthwise_block
from optmap.kernels.kernel_roles import (
    KernelKind,
    KernelRoles,
    RegisterShape,
    is_one_wide,
    kernel_parts,
    kernel_roles,
    taken_dims,
)
from optmap.machines.core import Core
from optmap.mappings.cutting import TileDescent
from optmap.mappings.levels import Mapping
from optmap.workloads.workload import Semantics, Subscript, Workload

MOST_SHUFFLED = 2
"""Elements from one lane to the next up to which a vector is put together from vectors, not element by element."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelCycles:
    """The arithmetic of a mapping."""

    kind: KernelKind
    registers: int
    """Needed by the largest kernel; 0 for plain loops."""
    fits: bool
    """Whether there are as many."""
    steps: float
    """Cycles of all steps."""
    sums: float
    """Cycles of loading and storing sums."""
    loads: float
    """Vectors that are loaded."""
    fetching: float
    """Cycles in which the innermost cache hands out what the steps load."""

    @property
    def cycles(self) -> float:
        """All of it."""
        return self.steps + self.sums

    def beside(self, lines: float) -> float:
        """Cycles of all of it while lines come into the innermost cache.

        A cache hands out vectors or takes in a line, one after the other; arithmetic goes on beside both.

        Args:
            lines: cycles in which they come in.
        """
        return max(self.steps, self.fetching + lines) + self.sums


def kernel_cycles(
    workload: Workload, mapping: Mapping, core: Core, layout: ActivationLayout = ActivationLayout.NHWC
) -> KernelCycles:
    """Count the steps of a mapping, those of the first child of every split.

    Args:
        workload: what is computed.
        mapping: tiles, loop orders and splits; the tile of its innermost level is in registers.
        core: ports, latency, length and number of registers.
        layout: of image and output, which the vectors of depthwise layers follow.
    """
    roles = roles_of(workload, layout)
    if roles is None or (roles.kind is KernelKind.DEPTHWISE and is_one_wide(workload, mapping, roles)):
        return _plain(workload, mapping, core)
    taken = taken_dims(workload, mapping, roles.reduction)
    lanes = core.lanes(workload.output.bits)
    paths = {dim: TileDescent.of(workload, mapping, dim, 0) for dim in workload.dims}
    visits = {dim: _pieces(path, dim in taken) for dim, path in paths.items()}
    parts = {dim: max(visits[dim]) for dim in visits if dim not in roles.reduction}
    if roles.kind is KernelKind.OUTER_PRODUCT:
        parts = kernel_parts(roles, parts, lanes=lanes, registers=core.registers)
    for dim, part in parts.items():
        visits[dim] = _cut(visits[dim], part)
    along = None if roles.apart is None else _row_loads(workload, roles, core, parts, visits)
    vectors = Counter[int]()
    for size, times in visits[roles.vector].items():
        vectors[-(-size // lanes)] += times
    points = prod(part for dim, part in parts.items() if dim != roles.vector)
    shape = RegisterShape(vectors=max(vectors), points=points)
    visited = _Visits(
        workload=workload, roles=roles, core=core, vectors=vectors, pieces=visits, parts=parts, along=along
    )
    steps, loads = visited.steps(mapping)
    sums, moved = visited.sums()
    return KernelCycles(
        kind=roles.kind,
        registers=shape.registers,
        fits=shape.registers <= core.registers,
        steps=steps,
        sums=sums,
        loads=loads + moved,
        fetching=0.0 if roles.kind is KernelKind.DEPTHWISE and along is None else loads / core.load_ports,
    )


@lru_cache(maxsize=256)
def roles_of(workload: Workload, layout: ActivationLayout = ActivationLayout.NHWC) -> KernelRoles | None:
    """`kernel_roles`, once per workload and layout."""
    return kernel_roles(workload, layout)


@lru_cache(maxsize=65536)
def _pieces(path: TileDescent, whole: bool) -> Counter[int]:
    """Sizes of what the visits of the kernel cover of a dim: a tile of level 0, or what it is cut from."""
    found: Counter[int] = Counter()
    for (_, size), times in path.shares(1).items():
        full, rest = (1, 0) if whole else divmod(size, path.tiles[0])
        found[size if whole else path.tiles[0]] += times * full
        if rest:
            found[rest] += times
    return +found


def _cut(pieces: Counter[int], part: int) -> Counter[int]:
    """Sizes of what is left of pieces when they are cut into parts."""
    found: Counter[int] = Counter()
    for size, times in pieces.items():
        full, rest = divmod(size, part)
        found[part] += times * full
        found[rest] += times
    del found[0]
    return +found


def _tied(workload: Workload, mapping: Mapping, roles: KernelRoles) -> dict[str, tuple[str, Subscript]]:
    """Per point dim that padding ties to a reduction dim of its own: that dim, and the subscript of both.

    Where a split cuts one of them nothing is skipped: the first child is not the one with the most to do.
    """
    split = {dim for level in mapping.levels for dim, ways in level.spatial.items() if ways > 1}
    found: dict[str, tuple[str, Subscript]] = {}
    for axis in workload.tensors[roles.images].axes:
        points = [dim for dim in axis.dims if dim in roles.points or dim in roles.shared]
        taps = [dim for dim in axis.dims if dim in roles.reduction and all(dim != tap for tap, _ in found.values())]
        apart = len(axis.terms) == 2 and len(points) == len(taps) == 1 and not split & set(axis.dims)
        if axis.real is not None and apart and points[0] not in found:
            found[points[0]] = (taps[0], axis)
    return found


@lru_cache(maxsize=65536)
def _valid(
    axis: Subscript, dims: tuple[str, str], path: TileDescent, taps: TileDescent, part: int
) -> tuple[tuple[int, int], ...]:
    """How many (part of a tile of the point dim, value of the tap) have how many points on real elements; none of 0."""
    point, tap = dims
    starts, sizes = [], []
    for (at, size), times in path.shares(1).items():
        for begin, tile, _ in path.cut(at, size, path.tiles[0]):
            for start, piece, _ in path.cut(begin, tile, part):
                starts += [start] * times
                sizes += [piece] * times
    values = [v for (at, size), times in taps.shares(1).items() for v in list(range(at, at + size)) * times]
    step, other = dict(axis.terms)[point], dict(axis.terms)[tap]
    low, high = axis.real or (0, 0)
    rest = axis.offset + other * np.array(values, dtype=np.int64)[:, None]
    first = np.maximum(-((rest - low) // step), np.array(starts))
    last = np.minimum((high - rest) // step, np.array(starts) + np.array(sizes) - 1)
    counts = np.bincount(np.maximum(last - first + 1, 0).ravel())
    return tuple((size, int(n)) for size, n in enumerate(counts) if n and size)


@dataclass(frozen=True, slots=True, kw_only=True)
class _RowLoads:
    """What a depthwise kernel loads whose vectors run along rows of the image."""

    step: float
    """Of the image per vector of the output and tap: lines that the cache hands out."""
    weights: float
    """Of a vector of points: elements that are broadcast."""


def _row_loads(
    workload: Workload, roles: KernelRoles, core: Core, parts: dict[str, int], pieces: dict[str, Counter[int]]
) -> _RowLoads:
    """Loads of the block of points that registers hold, each element of the image once per group of taps.

    A vector that begins at any element of a line, with equal chance, is in 1 + (bytes - element) / line lines.
    """
    lanes, apart, element = core.lanes(workload.output.bits), roles.apart or 1, workload.output.bits / 8
    taps = {dim: max(pieces[dim]) for dim in roles.reduction}
    block = depthwise_block(workload, roles, parts, taps, core)
    lines = vectors = 0.0
    for size, times in pieces[roles.vector].items():
        for width, many in ((lanes, size // lanes), (size % lanes, 1)):
            if width:
                span = apart * (width - 1) + 1
                loads = -(-span // lanes) if apart <= MOST_SHUFFLED else width
                lines += times * many * (loads + (span - loads) * element / LINE_BYTES * (apart <= MOST_SHUFFLED))
                vectors += times * many
    return _RowLoads(step=lines / vectors * block.image_loads / block.multiply_adds, weights=block.weight_loads)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Visits:
    """The visits of a kernel."""

    workload: Workload
    roles: KernelRoles
    core: Core
    vectors: Counter[int]
    """Numbers of vectors along the vector dim."""
    pieces: dict[str, Counter[int]]
    """Per dim what visits cover."""
    parts: dict[str, int]
    """Per dim of the output the largest of them."""
    along: _RowLoads | None
    """Where vectors run along rows."""

    def steps(self, mapping: Mapping) -> tuple[float, float]:
        """Cycles of all steps, and vectors that they load."""
        roles, core, tied = self.roles, self.core, _tied(self.workload, mapping, self.roles)
        taps = {tap for tap, _ in tied.values()}
        counts = {dim: self.pieces[dim] for dim in (*roles.filters, *roles.points, *roles.shared)}
        for dim, (tap, axis) in tied.items():
            ways = [TileDescent.of(self.workload, mapping, each, 0, placed=True) for each in (dim, tap)]
            counts[dim] = Counter(dict(_valid(axis, (dim, tap), *ways, self.parts[dim])))
        groups = [_products([counts[dim] for dim in dims]) for dims in (roles.filters, roles.shared, roles.points)]
        free = [dim for dim in roles.reduction if dim not in taps]
        repeats = prod(sum(size * times for size, times in self.pieces[dim].items()) for dim in free)
        cycles = loads = 0.0
        for shape in product(self.vectors.items(), *(group.items() for group in groups)):
            sizes, times = tuple(size for size, _ in shape), prod(many for _, many in shape)
            fetched = loads_of_step(roles.kind, sizes) * (self.along.step if self.along else 1)
            cycles += times * max(prod(sizes) / core.fma_ports, fetched / core.load_ports, core.fma_latency)
            loads += times * fetched
        return repeats * cycles, repeats * loads

    def sums(self) -> tuple[float, float]:
        """Cycles of loading and storing sums over all visits, and vectors that they load."""
        roles, core = self.roles, self.core
        points = _products([self.pieces[dim] for dim in (*roles.filters, *roles.points, *roles.shared)])
        visited = prod(self.pieces[dim].total() for dim in roles.reduction)
        first = 1 if self.workload.semantics is Semantics.ASSIGN else 0
        tiles = sum(self.vectors.values()) * points.total()
        held = sum(v * a for v, a in self.vectors.items()) * sum(p * n for p, n in points.items())
        loads = (visited - first) * held
        weights = visited * tiles * self.along.weights if self.along else 0.0
        return (loads + weights) / core.load_ports + visited * (held + tiles * core.fma_latency), loads + weights


def loads_of_step(kind: KernelKind, sizes: tuple[int, ...]) -> int:
    """Vectors, or elements to broadcast, that one step loads.

    Args:
        kind: of the kernel.
        sizes: vectors of the tile along the vector dim; elements that the weights have and the image has not; that
            both have; that the image has and the weights have not.
    """
    vectors, filters, shared, points = sizes
    if kind is KernelKind.DEPTHWISE:
        return vectors * shared * points
    return vectors * filters * shared + shared * points


def _products(choices: list[Counter[int]]) -> Counter[int]:
    """How often the product of a size of each is what."""
    found = Counter({1: 1})
    for sizes in choices:
        larger: Counter[int] = Counter()
        for (one, many), (size, times) in product(found.items(), sizes.items()):
            larger[one * size] += many * times
        found = larger
    return found


def _plain(workload: Workload, mapping: Mapping, core: Core) -> KernelCycles:
    """An estimate for what a compiler makes of the loops, see the module."""
    paths = {dim: TileDescent.of(workload, mapping, dim, 0) for dim in workload.dims}
    operations = prod(path.executed for path in paths.values())
    tile = mapping.levels[0].tile
    order = [dim for dim in mapping.levels[0].permutation if _trips(paths[dim]) > 1 or tile[dim] > 1]
    inner = order[-1] if order else workload.dims[-1]
    tensors = workload.tensors
    along = all(_moves_by_one(tensor.axes, inner) for tensor in tensors if inner in tensor.dims)
    lanes = core.lanes(workload.output.bits) if along and inner in workload.output.dims else 1
    reads = sum(inner in tensor.dims for tensor in tensors)
    writes = 1 if inner in workload.output.dims else 0
    latency = 0 if inner in workload.output.dims else core.fma_latency
    step = max(len(workload.inputs) / core.fma_ports, reads / core.load_ports, writes, latency)
    return KernelCycles(
        kind=KernelKind.PLAIN,
        registers=0,
        fits=True,
        steps=operations / lanes * step,
        sums=0.0,
        loads=operations / lanes * reads,
        fetching=operations / lanes * reads / core.load_ports,
    )


def _trips(path: TileDescent) -> int:
    """Most tiles that a tile of the next level is cut into."""
    return max(-(-size // path.tiles[0]) for _, size in path.shares(1))


def _moves_by_one(axes: tuple[Subscript, ...], dim: str) -> bool:
    """Whether a tensor's next element in memory, as the statement writes it, is that of the dim's next value."""
    return [axis.terms for axis in axes if dim in axis.dims] == [axis.terms for axis in axes[-1:]] and dict(
        axes[-1].terms
    ).get(dim) == 1
