"""The reference: literal walks and cache simulation that share no code with the closed forms.

Everything here is done the slow, obvious way: real loops over real tiles, real sets of elements,
one cache access per operand of every iteration. It uses `tally` and the problem types and nothing else,
so agreement with `whole_nest` is evidence, not tautology.
"""

from __future__ import annotations

import heapq
import itertools
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from math import prod
from typing import Literal

from optmap.base.errors import InputError, LimitError
from optmap.base.texts import several
from optmap.count.tally import Box, Budget, Element, Moved, WalkTally, tallies_of
from optmap.machines.machine import Machine
from optmap.mappings.held import Corner, Held
from optmap.mappings.levels import Mapping
from optmap.mappings.pieces import Piece
from optmap.workloads.workload import TensorAccess, Workload

Policy = Literal["lru", "belady"]


def walk_nest(workload: Workload, machine: Machine, mapping: Mapping, *, limit: int = 5_000_000) -> tuple[Moved, ...]:
    """Traffic of the concatenated nest, counted by walking it: what `exact` is.

    For the boundary outside level l exactly one tile of level l per tensor is kept. The tiles are visited in the order
    of all loops of levels L-1 … l; every step loads the elements that the previous tile did not hold. Implicit padding
    is no element, except along a subscript one of whose dims is split outside the boundary.

    Args:
        workload: what is computed.
        machine: gives the boundaries.
        mapping: tiles, loop orders and splits; the first child of every split is followed.
        limit: largest number of elements handled at one boundary.

    Returns:
        One entry per boundary (inner first) and tensor (output first).

    Raises:
        InputError: if the mapping does not belong to workload and machine.
        LimitError: if the limit is reached.
    """
    mapping.check(workload, machine)
    budget = Budget(limit)
    moved: list[Moved] = []
    for level, between in enumerate(machine.boundaries):
        moved.extend(walk_body(workload, between, Mapping(levels=mapping.levels[level:]), budget))
    return tuple(moved)


def walk_body(
    workload: Workload, between: tuple[str, str], nest: Mapping, budget: Budget, passing: int | None = None
) -> Iterator[Moved]:
    """What the innermost tile of a nest brings in, as `walk_nest`; of input number `passing`, if any, nothing stays."""
    budget.spend(_work(workload, nest, 0))
    for number, tally in enumerate(tallies_of(workload)):
        held: set[Element] = set()
        ranges = _ranges(tally.tensor, nest, 0)
        for tile in _nest(workload, nest, 0, 0):
            elements = budget.elements(tally.tensor, tile)
            real = {element for element in elements if all(element[i] in values for i, values in ranges)}
            tally.enter(real - held)
            held = set() if number == passing else real
        yield tally.result(between)


def simulate(
    workload: Workload,
    machine: Machine,
    mapping: Mapping,
    *,
    policy: Policy = "lru",
    held: Held | None = None,
    limit: int = 5_000_000,
) -> tuple[Moved, ...]:
    """Traffic of fully associative write-back caches with unit lines, access by access.

    The innermost tiles run point by point in the order of the innermost level's loops, or of what is held. Each
    iteration touches the inputs in the order written and then the output. Every boundary is simulated on its own: the
    whole stream against one cache of that level's capacity. Under `accumulate` a missing output element is loaded,
    under `assign` its first touch only allocates. Dirty elements are stored when evicted and at the end. With spatial
    splits a boundary sees one instance: outer levels hand it the first part of each of their tiles, and the children
    that it feeds run one after the other.

    Args:
        workload: what is computed; elements of different size are cached as that many words.
        machine: capacities and boundaries.
        mapping: tiles, loop orders and splits.
        policy: `lru`, or `belady`: evict what is used furthest in the future, which minimises
            loads (at equal distance, that is among elements never used again, clean ones go
            first; stores are not minimised).
        held: gives the order inside the innermost tiles, of one level also the corner that runs afterwards, or the
            pieces that run one after the other, in the same memory; a cache keeps what it likes.
        limit: largest number of accesses (iterations of the workload times tensors).

    Returns:
        One entry per boundary (inner first) and tensor (output first).

    Raises:
        InputError: for a mapping that does not belong here, an unknown policy, or a capacity
            below one element of every tensor.
        LimitError: if there are more accesses than `limit`.
    """
    mapping.check(workload, machine)
    if policy not in ("lru", "belady"):
        raise InputError(f"unknown replacement policy {policy!r}; use 'lru' or 'belady'")
    accesses = workload.operations * len(workload.tensors)
    if accesses > limit:
        raise LimitError(
            f"simulating {workload.title} needs {accesses:,} accesses, "
            f"the limit is {limit:,}; use smaller extents or raise the limit"
        )
    stream: list[tuple[int, Element]] = []
    moved: list[Moved] = []
    for number, (level, between) in enumerate(zip(machine.levels, machine.boundaries, strict=True)):
        capacity = level.words(workload.word_bits)
        least = sum(workload.weight(t) for t in workload.tensors)
        if capacity < least:
            raise InputError(
                f"level {level.name} holds {several(capacity, 'word')}; one element per tensor needs {least}"
            )
        splits = any(ways > 1 for outer in mapping.levels[1:] for ways in outer.spatial.values())
        if splits or not stream:
            known: dict[tuple[int, Element], tuple[int, Element]] = {}
            points = _run(workload, mapping, number, held)
            stream = [known.setdefault(access, access) for access in _stream(workload, points)]
        tallies = tallies_of(workload)
        if policy == "lru":
            _lru(stream, capacity, tallies)
        else:
            _belady(stream, capacity, tallies)
        moved.extend(tally.result(between) for tally in tallies)
    return tuple(moved)


def _tiles(whole: range, tile: int) -> list[range]:
    return [range(start, min(start + tile, whole.stop)) for start in range(whole.start, whole.stop, tile)]


def _work(workload: Workload, mapping: Mapping, level: int) -> int:
    """Tiles of a level that a walk will visit, without walking."""

    def along(dim: str, size: int, at: int) -> int:
        if at < level:
            return 1
        tile, ways = mapping.levels[at].tile[dim], mapping.levels[at].spatial.get(dim, 1)
        count = size // tile * along(dim, -(-tile // ways), at - 1)
        return count + (along(dim, -(-(size % tile) // ways), at - 1) if size % tile else 0)

    return prod(along(dim, extent, len(mapping.levels) - 1) for dim, extent in workload.sizes)


def tiles_in_order(parent: Box, tile: dict[str, int], order: Sequence[str]) -> Iterator[Box]:
    """The tiles of a box in the order of the loops."""
    for choice in itertools.product(*(_tiles(parent[dim], tile[dim]) for dim in order)):
        yield dict(zip(order, choice, strict=True))


def _shares(tile: Box, mapping: Mapping, level: int, *, every: bool) -> Iterator[Box]:
    """The parts into which a tile of a level is split: the first child's, or every child's."""
    ways = mapping.levels[level].spatial
    share = {dim: -(-len(part) // ways.get(dim, 1)) for dim, part in tile.items()}
    for box in tiles_in_order(tile, share, tuple(tile)):
        yield box
        if not every:
            return


def _nest(workload: Workload, mapping: Mapping, level: int, instance: int) -> Iterator[Box]:
    """The tiles of a level in the order of the concatenated loops.

    Levels outside `instance` hand on their first child's part, the others every child's.
    """

    def visit(parent: Box, at: int) -> Iterator[Box]:
        here = mapping.levels[at]
        for tile in tiles_in_order(parent, here.tile, here.permutation):
            if at == level:
                yield tile
            else:
                for share in _shares(tile, mapping, at, every=at <= instance):
                    yield from visit(share, at - 1)

    yield from visit({dim: range(n) for dim, n in workload.sizes}, len(mapping.levels) - 1)


def _ranges(tensor: TensorAccess, mapping: Mapping, level: int) -> list[tuple[int, range]]:
    """(position, real values) of the subscripts with implicit padding none of whose dims is split outside a level."""
    split = {dim for outer in mapping.levels[level + 1 :] for dim in outer.spatial if outer.spatial[dim] > 1}
    return [
        (i, range(axis.real[0], axis.real[1] + 1))
        for i, axis in enumerate(tensor.axes)
        if axis.real is not None and not any(dim in split for dim in axis.dims)
    ]


def corner_iterations(workload: Workload, mapping: Mapping, corner: Corner) -> dict[str, list[int]]:
    """The iterations of both dims of a corner that are in it: the last ones of a whole tile."""
    tile, extents = mapping.levels[0].tile, workload.extents
    return {d: [i for i in range(extents[d]) if i % tile[d] >= tile[d] - n] for d, n in corner.sizes.items()}


def point_order(permutation: tuple[str, ...], inner: Sequence[str]) -> tuple[str, ...]:
    """The loops over the points of a tile, outermost first: `inner`, then the others in the order of the tiles."""
    return (*inner, *(dim for dim in permutation if dim not in inner))


def _run(workload: Workload, mapping: Mapping, instance: int, held: Held | None) -> Iterator[dict[str, int]]:
    """The iterations of one instance in their order: of all pieces, or of all tiles and then of their corners."""
    if held is not None and held.pieces:
        return _in_pieces(workload, held.every(mapping))
    points = _points(workload, mapping, instance, () if held is None else held.inner)
    return points if held is None or held.corner is None else _around(workload, mapping, held.corner, points)


def _points(workload: Workload, mapping: Mapping, instance: int, inner: Sequence[str]) -> Iterator[dict[str, int]]:
    """The iterations of one instance in their order."""
    order = point_order(mapping.levels[0].permutation, inner)
    for tile in _nest(workload, mapping, 0, instance):
        for share in _shares(tile, mapping, 0, every=True):
            for point in itertools.product(*(share[dim] for dim in order)):
                yield dict(zip(order, point, strict=True))


def _in_pieces(workload: Workload, pieces: Sequence[Piece]) -> Iterator[dict[str, int]]:
    """The points of all pieces."""
    for piece in pieces:
        for at in _points(piece.workload(workload), piece.mapping, 0, piece.held.inner):
            yield {d: piece.of[d][i] if d in piece.of else i for d, i in at.items()}


def _around(
    workload: Workload, mapping: Mapping, corner: Corner, points: Iterator[dict[str, int]]
) -> Iterator[dict[str, int]]:
    """The points that are in no corner, and then those of all corners."""
    cut = corner_iterations(workload, mapping, corner)
    yield from (at for at in points if not all(at[d] in listed for d, listed in cut.items()))
    for at in _points(corner.rest(workload, mapping), corner.mapping, 0, corner.held.inner):
        yield {**at, **{d: listed[at[d]] for d, listed in cut.items()}}


def _stream(workload: Workload, points: Iterator[dict[str, int]]) -> Iterator[tuple[int, Element]]:
    """(tensor number, element) of every access at some points; inputs first, the output last.

    Operations on implicit padding are not done.
    """
    turns = [*range(1, len(workload.tensors)), 0]
    for at in points:
        touched = [_element(tensor, at) for tensor in workload.tensors]
        if all(map(_is_real, workload.tensors, touched)):
            yield from ((number, touched[number]) for number in turns)


def _element(tensor: TensorAccess, point: dict[str, int]) -> Element:
    return tuple(axis.offset + sum(c * point[d] for d, c in axis.terms) for axis in tensor.axes)


def _is_real(tensor: TensorAccess, element: Element) -> bool:
    """Whether an operation that touches this element is done: its indices are inside the ranges."""
    pairs = zip(tensor.axes, element, strict=True)
    return all(axis.real is None or axis.real[0] <= value <= axis.real[1] for axis, value in pairs)


def _lru(stream: list[tuple[int, Element]], capacity: int, tallies: list[WalkTally]) -> None:
    cache: OrderedDict[tuple[int, Element], None] = OrderedDict()
    used = 0
    for access in stream:
        if access in cache:
            cache.move_to_end(access)
            continue
        number, element = access
        tallies[number].fetch(element)
        used += tallies[number].weight
        cache[access] = None
        while used > capacity:
            (victim, _), _ = cache.popitem(last=False)
            used -= tallies[victim].weight
            tallies[victim].stores += tallies[victim].is_output
    for number, _ in cache:
        tallies[number].stores += tallies[number].is_output


def _belady(stream: list[tuple[int, Element]], capacity: int, tallies: list[WalkTally]) -> None:
    later: list[int] = [0] * len(stream)
    upcoming: dict[tuple[int, Element], int] = {}
    for i in range(len(stream) - 1, -1, -1):
        later[i] = upcoming.get(stream[i], len(stream))
        upcoming[stream[i]] = i
    next_use: dict[tuple[int, Element], int] = {}  # what the cache holds
    furthest: list[tuple[int, bool, tuple[int, Element]]] = []  # heap with stale entries
    used = 0
    for i, access in enumerate(stream):
        number, element = access
        if access not in next_use:
            tallies[number].fetch(element)
            used += tallies[number].weight
        next_use[access] = later[i]
        heapq.heappush(furthest, (-later[i], tallies[number].is_output, access))
        while used > capacity:
            used -= _evict(furthest, next_use, tallies, keep=access)
    for number, _ in next_use:
        tallies[number].stores += tallies[number].is_output


def _evict(
    furthest: list[tuple[int, bool, tuple[int, Element]]],
    next_use: dict[tuple[int, Element], int],
    tallies: list[WalkTally],
    *,
    keep: tuple[int, Element],
) -> int:
    """Drop the element that is used last; returns its words. The current access stays."""
    aside = []
    while True:
        entry = heapq.heappop(furthest)
        distance, _, victim = entry
        if next_use.get(victim) != -distance:
            continue  # stale: used again since, or gone
        if victim != keep:
            break
        aside.append(entry)
    for entry in aside:
        heapq.heappush(furthest, entry)
    del next_use[victim]
    tally = tallies[victim[0]]
    tally.stores += tally.is_output
    return tally.weight
