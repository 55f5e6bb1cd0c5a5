"""Loop orders with a reuse level per tensor, reduced to what traffic and occupancy depend on.

IOOpt lets every array choose its reuse position l under the capacity (section 4.2): it then holds
the footprint of everything inside l and is reloaded by the loops outside l only. What counts for
one tensor is which absent dims are inside l (they reuse it for free), which of its own dims are
(they are held whole), and whether the loop at l moves a window. Many loop orders agree in that, and
many are dominated: for every tensor another one reuses at least as much and holds no more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from optmap.problem.axes import overlaps
from optmap.problem.workload import TensorAccess, Workload, access_names
from optmap.search.iooub.units import Bundle

MOST_PERMUTED = 7
"""Units of which all orders are listed; of more, every order of the innermost ones."""
MOST_INNER = 5
"""Units of which all orders inside a tile are tried; of more, the outermost three loops."""
MOST_FLOWS = 60_000
"""Flows that are compared with each other; beyond it each array keeps one tile."""


@dataclass(frozen=True, slots=True, order=True)
class Hold:
    """The `Reuse` of one tensor with units in place of dims; sets of units are bit masks."""

    free: int
    """Absent units inside the reuse position: their loops reload nothing."""
    full: int
    """Own units inside the reuse position: they are held over their whole extent."""
    at: int
    """The own unit at the reuse position if its tiles overlap partly there, else -1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """A loop order of units and, per tensor, how it is held."""

    order: tuple[int, ...]
    """Bundle numbers, innermost first."""
    holds: tuple[Hold, ...]
    """Per tensor, output first."""
    streams: tuple[tuple[int, ...], ...] = ()
    """Per tensor, own units of which one iteration at a time is needed inside a tile, outermost loop first;
    empty for none at all."""
    inner: tuple[int, ...] = ()
    """Units whose loops run outermost inside a tile, outermost first; needed for the streams."""

    def stream(self, tensor: int) -> tuple[int, ...]:
        """The streamed units of a tensor, outermost loop first."""
        return self.streams[tensor] if self.streams else ()


def flows_of(workload: Workload, units: tuple[Bundle, ...]) -> tuple[Flow, ...]:
    """All flows that may be optimal, none dominated by another.

    Args:
        workload: gives the tensors.
        units: its units (`units_of`).

    Returns:
        Flows by decreasing reuse and increasing need of memory.
    """
    own = [_own(tensor, units) for tensor in workload.tensors]
    sliding = [_sliding(tensor, units) for tensor in workload.tensors]
    found: dict[tuple[Hold, ...], tuple[int, ...]] = {}
    for order in _orders(len(units)):
        choices = [tuple(_holds(order, mine, slides)) for mine, slides in zip(own, sliding, strict=True)]
        if len(found) > MOST_FLOWS:
            choices = [holds[:1] for holds in choices]
        for holds in product(*choices):
            found.setdefault(holds, order)
    return tuple(Flow(order=found[holds], holds=holds) for holds in undominated(list(found)))


def permutation_of(flow: Flow, workload: Workload, units: tuple[Bundle, ...]) -> tuple[str, ...]:
    """The loop order of a flow by dims, outermost first; dims in no unit (of extent 1) are outermost."""
    inner = [d for u in flow.order for d in units[u].dims]
    return (*(d for d in workload.dims if d not in inner), *reversed(inner))


def positions_of(flow: Flow, workload: Workload, units: tuple[Bundle, ...]) -> dict[str, int]:
    """The reuse position of every tensor in the loop order by dims (1: the innermost loop).

    A tensor that is streamed keeps nothing between tiles and has position 0; one that is read twice
    has one entry per access (`access_names`).
    """
    positions: dict[str, int] = {}
    accesses = zip(access_names(workload), workload.tensors, flow.holds, strict=True)
    for number, (name, tensor, hold) in enumerate(accesses):
        own, sliding = _own(tensor, units), _sliding(tensor, units)
        positions[name] = 0 if flow.stream(number) else _position(flow.order, hold, own, sliding, units)
    return positions


def _position(order: tuple[int, ...], hold: Hold, own: int, sliding: frozenset[int], units: tuple[Bundle, ...]) -> int:
    free = full = dims = 0
    for unit in order:
        if own >> unit & 1:
            if Hold(free, full, unit if unit in sliding else -1) == hold:
                break
            full |= 1 << unit
        else:
            free |= 1 << unit
        dims += len(units[unit].dims)
    return dims + 1


def _orders(count: int) -> Iterator[tuple[int, ...]]:
    if count <= MOST_PERMUTED:
        yield from permutations(range(count))
        return
    for inner in permutations(range(count), 3):
        yield (*inner, *(u for u in range(count) if u not in inner))


def _own(tensor: TensorAccess, units: tuple[Bundle, ...]) -> int:
    return sum(1 << u for u, unit in enumerate(units) if set(unit.dims) & tensor.dims)


def _sliding(tensor: TensorAccess, units: tuple[Bundle, ...]) -> frozenset[int]:
    return frozenset(
        u
        for u, unit in enumerate(units)
        if not unit.plain and unit.dims[0] in tensor.dims and overlaps(tensor, unit.dims[0])
    )


def _holds(order: tuple[int, ...], own: int, sliding: frozenset[int]) -> Iterator[Hold]:
    """The useful reuse positions of one tensor in one loop order, from the innermost outwards."""
    seen: list[Hold] = []
    free = full = 0
    for unit in (*order, -1):
        if unit >= 0 and not own >> unit & 1:
            free |= 1 << unit
            continue
        hold = Hold(free, full, unit if unit in sliding else -1)
        if not any(_covers(other, hold) for other in seen):
            seen.append(hold)
            yield hold
        if unit >= 0:
            full |= 1 << unit


def _covers(better: Hold, other: Hold) -> bool:
    """Whether one way of holding a tensor is never worse than another, in traffic and in memory."""
    return better.free | other.free == better.free and better.full & ~other.full == 0 and other.at in (better.at, -1)


def undominated(flows: Sequence[tuple[Hold, ...]]) -> list[tuple[Hold, ...]]:
    """The flows that no other one covers for every tensor.

    Args:
        flows: distinct flows.
    """
    if not flows:
        return []
    order = sorted(flows, key=_rank)
    codes = np.array([[(h.free, h.full, h.at) for h in flow] for flow in order], dtype=np.int64)
    kept: NDArray[np.int64] = np.empty((0, *codes.shape[1:]), dtype=np.int64)
    chosen: list[tuple[Hold, ...]] = []
    buffer: list[NDArray[np.int64]] = []
    for flow, code in zip(order, codes, strict=True):
        if _covered(kept, code) or (buffer and _covered(np.stack(buffer), code)):
            continue
        chosen.append(flow)
        buffer.append(code)
        if len(buffer) == 64:
            kept = np.concatenate([kept, np.stack(buffer)])
            buffer = []
    return chosen


def _rank(flow: tuple[Hold, ...]) -> tuple[int, ...]:
    """Whatever covers a flow comes before it: more reuse, less memory, more sliding."""
    return (
        -sum(h.free.bit_count() for h in flow),
        sum(h.full.bit_count() for h in flow),
        -sum(h.at >= 0 for h in flow),
        *(x for h in flow for x in (h.free, h.full, h.at)),
    )


def _covered(kept: NDArray[np.int64], code: NDArray[np.int64]) -> bool:
    free = (kept[:, :, 0] | code[:, 0]) == kept[:, :, 0]
    full = (kept[:, :, 1] & ~code[:, 1]) == 0
    slides = (kept[:, :, 2] == code[:, 2]) | (code[:, 2] == -1)
    return bool((free & full & slides).all(axis=1).any())
