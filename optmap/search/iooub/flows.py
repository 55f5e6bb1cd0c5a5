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
from functools import lru_cache
from itertools import permutations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from optmap.base.clock import NO_LIMIT, Clock
from optmap.mappings.reuse import Reuse, reuse_at
from optmap.search.iooub.units import Bundle
from optmap.workloads.axes import overlaps
from optmap.workloads.workload import TensorAccess, Workload, access_names

MOST_PERMUTED = 7
"""Units of which all orders are listed; of more, every order of the innermost ones."""
MOST_INNER = 5
"""Units of which all orders inside a tile are tried; of more, the outermost three loops."""
MOST_FLOWS = 60_000
"""Flows that are compared with each other; beyond it each array keeps one tile."""


class Hold(NamedTuple):
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


def flows_of(workload: Workload, units: tuple[Bundle, ...], clock: Clock = NO_LIMIT) -> tuple[Flow, ...]:
    """All flows that may be optimal, none dominated by another.

    Args:
        workload: gives the tensors.
        units: its units (`units_of`).
        clock: when to stop looking.

    Returns:
        Flows by decreasing reuse and increasing need of memory.

    Raises:
        LimitError: if the time is over.
    """
    own = tuple(_own(tensor, units) for tensor in workload.tensors)
    return _flows(len(units), own, tuple(_sliding(tensor, units) for tensor in workload.tensors), clock)


def modest_flow(workload: Workload, units: tuple[Bundle, ...]) -> Flow:
    """A flow that holds no more than a tile of each tensor, so that it fits if anything does.

    Args:
        workload: gives the tensors.
        units: its units.
    """
    order = tuple(range(len(units)))
    holds = (next(_holds(order, _own(tensor, units), _sliding(tensor, units))) for tensor in workload.tensors)
    return Flow(order=order, holds=tuple(holds))


@lru_cache(maxsize=64)
def _flows(count: int, own: tuple[int, ...], sliding: tuple[frozenset[int], ...], clock: Clock) -> tuple[Flow, ...]:
    """The flows of so many units, given what every tensor has; pieces and layers are often alike in that."""
    found: dict[tuple[Hold, ...], tuple[int, ...]] = {}
    for order in _orders(count):
        clock.check()
        choices = [tuple(_holds(order, mine, slides)) for mine, slides in zip(own, sliding, strict=True)]
        if len(found) > MOST_FLOWS:
            choices = [holds[:1] for holds in choices]
        for holds in product(*choices):
            found.setdefault(holds, order)
    return tuple(Flow(order=found[holds], holds=holds) for holds in undominated(list(found), clock))


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


def ways_of(flow: Flow, workload: Workload, units: tuple[Bundle, ...]) -> list[tuple[Reuse, tuple[str, ...]]]:
    """Per tensor its reuse in the loop order by dims, and the dims that it is streamed along inside a tile."""
    order, positions = permutation_of(flow, workload, units), positions_of(flow, workload, units)
    return [
        (reuse_at(tensor, order, positions[name]), tuple(d for u in flow.stream(number) for d in units[u].dims))
        for number, (tensor, name) in enumerate(zip(workload.tensors, access_names(workload), strict=True))
    ]


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


def undominated(flows: Sequence[tuple[Hold, ...]], clock: Clock) -> list[tuple[Hold, ...]]:
    """The flows that no other one covers for every tensor.

    Args:
        flows: distinct flows.
        clock: when to stop looking.

    Raises:
        LimitError: if the time is over.
    """
    if not flows:
        return []
    order = sorted(flows, key=_rank)
    codes = np.array([[(h.free, h.full, h.at) for h in flow] for flow in order], dtype=np.int64)
    chosen, left = list[tuple[Hold, ...]](), np.arange(len(order))
    while len(left):
        clock.check()
        chosen.append(order[left[0]])
        left = left[~_covered(codes[left[0]], codes[left])]
    return chosen


def _rank(flow: tuple[Hold, ...]) -> tuple[int, ...]:
    """Whatever covers a flow comes before it: more reuse, less memory, more sliding."""
    return (
        -sum(h.free.bit_count() for h in flow),
        sum(h.full.bit_count() for h in flow),
        -sum(h.at >= 0 for h in flow),
        *(x for h in flow for x in (h.free, h.full, h.at)),
    )


def _covered(by: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which flows one flow covers, itself among them."""
    free = (by[:, 0] | codes[:, :, 0]) == by[:, 0]
    full = (by[:, 1] & ~codes[:, :, 1]) == 0
    slides = (by[:, 2] == codes[:, :, 2]) | (codes[:, :, 2] == -1)
    covered: NDArray[np.bool_] = (free & full & slides).all(axis=1)
    return covered
