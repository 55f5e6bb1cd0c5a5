"""The mappings that are compared: blocks of a layer, the loops over them, and loops over register tiles inside.

A block takes the whole reduction or a cut of one of its dims, some vectors, some rows and everything else. Levels:
the register tile, with loops inside a block at level 0, reduction innermost; the block, with loops over blocks at
level 1; whatever is left (or a thread's share of it) further out. What each cache keeps of that is for the time
model to say: it does not depend on which level a block is called after.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product
from math import prod

from optmap.base.errors import InputError
from optmap.count.timing import first_cache
from optmap.kernels.code_options import ActivationLayout
from optmap.kernels.kernel_roles import KernelKind, KernelRoles
from optmap.machines.machine import Machine
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.search.space.sizes import even_cuts
from optmap.search.timed.shapes import free_dims
from optmap.workloads.workload import Workload

CUTS = 5
"""Sizes of a block in rows that are tried."""
WIDTHS = 3
"""Sizes of a block in vectors that are tried."""

Loop = tuple[str, int]
"""A dim, and the size of what its loop goes over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockedNest:
    """A candidate: a block around a register tile, and the loops."""

    tile: dict[str, int]
    """Of the registers."""
    block: dict[str, int]
    whole: dict[str, int]
    """What one thread does."""
    inner: tuple[str, ...]
    """Loops inside a block, outermost first."""
    outer: tuple[str, ...]
    """Loops over blocks."""
    split: dict[str, int]
    """Ways in which the work is shared among threads."""

    def loops(self) -> tuple[Loop, ...]:
        """The loops that have several iterations, outermost first; what tells nests apart."""
        outside = [(dim, self.block[dim]) for dim in self.outer if self.block[dim] < self.whole[dim]]
        inside = [(dim, self.tile[dim]) for dim in self.inner if self.tile[dim] < self.block[dim]]
        return (*outside, *inside)

    def mapping(self, machine: Machine, extents: dict[str, int], shared: int | None) -> Mapping:
        """The nest on a machine.

        Args:
            machine: names of levels.
            extents: of the workload.
            shared: number of the level whose tile is split among threads; None for one thread.
        """
        entries = []
        for number, level in enumerate(machine.levels):
            if number == 0:
                tile, order = self.tile, self.inner
            elif number == 1 and shared != 1:
                tile, order = self.block, self.outer
            else:
                tile, order = (extents if shared is None or number >= shared else self.whole), self.outer
            split = self.split if number == shared else {}
            entries.append(LevelMapping(level=level.name, tile=dict(tile), permutation=order, spatial=dict(split)))
        return Mapping(levels=tuple(entries))


def nests(
    workload: Workload,
    roles: KernelRoles,
    machine: Machine,
    *,
    layout: ActivationLayout,
    tile: dict[str, int],
    split: dict[str, int],
) -> Iterator[BlockedNest]:
    """Every nest around a register tile, each once.

    The vectors of a depthwise kernel that lie side by side are one after another: caches fetch ahead what follows in
    memory, and a page is left once; no traffic tells these orders apart from others that cost twice the time.

    Args:
        workload: what is computed.
        roles: of its dims.
        machine: whose caches suggest how large a cut of the reduction is.
        layout: of activations.
        tile: of the registers.
        split: ways per dim among threads.
    """
    whole = {dim: -(-n // split.get(dim, 1)) for dim, n in workload.sizes}
    tile = {dim: min(size, whole[dim]) for dim, size in tile.items()}
    free, long = free_dims(roles), _longest(workload, roles)
    row = free[0] if len(free) > 1 else (free[-1] if free else roles.vector)
    together = roles.kind is KernelKind.DEPTHWISE and layout is ActivationLayout.NHWC
    widths = [whole[roles.vector]] if together else _multiples(tile[roles.vector], whole[roles.vector], WIDTHS)
    sizes = {roles.vector: widths, row: _multiples(tile[row], whole[row], CUTS)}
    if long is not None:
        panel = _panel(workload, roles, tile)
        sizes[long] = _halved(whole[long], [cache / panel for cache in _rooms(workload, machine)])
    rest = tuple(d for d in workload.dims if d not in roles.reduction and d not in (roles.vector, row, *free))
    taps = (*(d for d in roles.reduction if d != long), *([long] if long else []))
    turning = tuple(dict.fromkeys((row, *free)))
    insides = [(*turning, roles.vector)] if together else [(roles.vector, *turning), (*turning, roles.vector)]
    blocks = [whole]
    if len(machine.levels) > 1 and not (split and machine.split_level(2) == 1):
        fixed = {dim: tile[dim] if dim in rest else n for dim, n in whole.items()}
        blocks = [{**fixed, **dict(zip(sizes, chosen, strict=True))} for chosen in product(*sizes.values())]
    seen = set[tuple[Loop, ...]]()
    for block, inside, outside in product(blocks, insides, permutations(sizes)):
        order = tuple(d for d in workload.dims if d not in (*rest, *outside))
        inner, outer = (*rest, *dict.fromkeys(inside), *taps), (*rest, *outside, *order)
        nest = BlockedNest(tile=tile, block=block, whole=whole, inner=inner, outer=outer, split=split)
        key = nest.loops()
        if key not in seen:
            seen.add(key)
            yield nest


def splits(workload: Workload, roles: KernelRoles, threads: int) -> Iterator[dict[str, int]]:
    """Ways to share the work among threads: along one dim of the output, or two.

    Rows of the image are not cut as long as another dim is long enough: threads would share lines, or vectors.

    Raises:
        InputError: if no dim is long enough.
    """
    if threads == 1:
        yield {}
        return
    extents, last = workload.extents, free_dims(roles)[-1:] if roles.apart is None else (roles.vector,)
    dims = [d for d in workload.dims if d not in roles.reduction and d not in last and extents[d] > 1]
    dims += [d for d in last if all(extents[dim] < threads for dim in dims)]
    found = []
    for first in range(1, threads + 1):
        for one, two in product(dims, dims) if threads % first == 0 else ():
            ways = {dim: n for dim, n in ((one, first), (two, threads // first)) if n > 1}
            if (
                prod(ways.values()) == threads
                and all(n <= extents[dim] for dim, n in ways.items())
                and ways not in found
            ):
                found.append(ways)
    if not found:
        raise InputError(f"{workload.title}: no dim of the output is long enough to split among {threads} threads")
    yield from found


def even_splits(
    workload: Workload, roles: KernelRoles, ways: list[dict[str, int]], tile: dict[str, int], lanes: int
) -> list[dict[str, int]]:
    """Splits that let weights of a register tile lie together; all of them if none does.

    Weights are packed tile by tile where all tiles begin at multiples of their vectors. A thread that begins between
    two such multiples would have them lie as a row of all vectors per step of the reduction, each on another page.

    Args:
        workload: what is computed.
        roles: of its dims.
        ways: splits, per dim.
        tile: of the registers.
        lanes: of a vector.
    """
    if roles.kind is not KernelKind.OUTER_PRODUCT:
        return ways
    dim = roles.vector
    extent, found = workload.extents[dim], []
    for split in ways:
        part = -(-extent // split.get(dim, 1))
        vectors = -(-min(tile[dim], part) // lanes) * lanes
        if part == extent or part % vectors == 0:
            found.append(split)
    return found or ways


def _longest(workload: Workload, roles: KernelRoles) -> str | None:
    """The reduction dim that is cut: the longest one outside windows."""
    windowed = {d for t in workload.tensors for axis in t.axes if len(axis.terms) > 1 for d in axis.dims}
    dims = [dim for dim in roles.reduction if dim not in windowed]
    return max(dims, key=lambda dim: workload.extents[dim], default=None)


def _rooms(workload: Workload, machine: Machine) -> list[int]:
    """Capacities in words, inner first, those of registers left out."""
    return [level.capacity.words(workload.word_bits) for level in machine.levels[first_cache(machine) :]]


def _panel(workload: Workload, roles: KernelRoles, tile: dict[str, int]) -> int:
    """Words of weights that a register tile needs per iteration of the reduction dim that is cut."""
    weights = workload.tensors[roles.weights]
    cut = _longest(workload, roles)
    taps = {dim: 1 if dim == cut else workload.extents[dim] for dim in roles.reduction}
    return workload.weight(weights) * weights.footprint({**tile, **taps})


def _halved(extent: int, rooms: list[float]) -> list[int]:
    """Cuts of the reduction: none, and at about powers of two those whose weights take 1/8 to 3/4 of a cache.

    Args:
        extent: of the dim.
        rooms: iterations whose weights fill each cache.
    """
    sizes = [extent]
    for power in range(1, 12):
        size = -(-extent // 2**power)
        if size < sizes[-1] and any(room / 8 <= size <= 3 * room / 4 for room in rooms):
            sizes.append(size)
    return sizes


def _multiples(tile: int, extent: int, most: int) -> list[int]:
    """Multiples of a register tile that cut an extent evenly, falling: everything first, one tile last."""
    count = -(-extent // tile)
    sizes = [min(n * tile, extent) for n in reversed(even_cuts(count))]
    if len(sizes) > most:
        picked = {round(i * (len(sizes) - 1) / (most - 1)) for i in range(most)}
        sizes = [size for place, size in enumerate(sizes) if place in picked]
    return sizes
