"""Ways to stream tensors through a tile: orders of the loops inside it, and what passes slice by slice.

Not in IOOpt, where the order inside a tile does not matter. A tensor that no loop outside the tile reuses, or that
gives up that reuse, may pass through it piece by piece: while the outermost loops inside the tile are its own dims,
a word is held from the first slice that has it to the last one. (A matrix product then needs Ti*Tj + Ti + 1 words
instead of Ti*Tj + Ti + Tj, a window of R x S on a strip of w columns R-1 rows and S words of its input instead of
all.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product
from math import prod

from optmap.count.levels.rolling import steady
from optmap.search.iooub.flows import MOST_INNER, Flow, Hold
from optmap.search.iooub.units import Bundle
from optmap.workloads.workload import TensorAccess, Workload

MOST_ROLLED = 2
"""Windows that one tensor is streamed along; one more is held over the tile."""
WIDEST_WINDOW = 2**14
"""Iterations of a subscript's dims up to which it rolls."""
Streams = tuple[tuple[int, ...], ...]
"""Per tensor the streamed units, outermost loop first; units whose order does not matter increase."""


def streaming(flow: Flow, workload: Workload, units: tuple[Bundle, ...], rolled: int = MOST_ROLLED) -> tuple[Flow, ...]:
    """The flow with the loops inside a tile ordered so that some tensors need not hold their tile.

    Args:
        flow: loops between tiles.
        workload: gives the tensors.
        units: its units.
        rolled: windows that one tensor is streamed along, at most.

    Returns:
        Variants of which none streams less than another; without those that stream nothing.
    """
    variants: dict[tuple[tuple[Hold, ...], Streams], Flow] = {}
    for chosen in product(*((False, True) if hold.free else (True,) for hold in flow.holds)):
        for streams, inner in _streams(chosen, workload, units, rolled).items():
            holds = tuple(Hold(0, 0, -1) if mine else h for h, mine in zip(flow.holds, streams, strict=True))
            variants[holds, streams] = Flow(order=flow.order, holds=holds, streams=streams, inner=inner)
    return tuple(variants.values())


@lru_cache(maxsize=64)
def _streams(
    chosen: tuple[bool, ...], workload: Workload, units: tuple[Bundle, ...], rolled: int
) -> dict[Streams, tuple[int, ...]]:
    """What the chosen tensors can stream along at the same time, none less than another, with an order inside a tile.

    Args:
        chosen: per tensor, whether it may pass through the tile.
        workload: gives the tensors.
        units: its units.
        rolled: windows that one tensor is streamed along, at most.

    Returns:
        Streamed units per tensor, and the loops inside a tile, outermost first.
    """
    kinds = [[passage(workload, tensor, unit) for unit in units] for tensor in workload.tensors]
    found: dict[Streams, tuple[int, ...]] = {}
    for inner in permutations(range(len(units)), len(units) if len(units) <= MOST_INNER else 3):
        streams = tuple(_prefix(inner, mine, rolled) if may else () for mine, may in zip(kinds, chosen, strict=True))
        if any(streams):
            found.setdefault(streams, inner)
    return {s: inner for s, inner in found.items() if not any(_hold_less(other, s, kinds) for other in found)}


@dataclass(frozen=True, slots=True)
class Passage:
    """How a tensor passes slice by slice along a unit."""

    window: int
    """Subscript in which slices overlap; -1 if slices have no word in common."""
    rolls: bool
    """Whether another window may be streamed along inside it: its subscript shares no dim with others."""


def passage(workload: Workload, tensor: TensorAccess, unit: Bundle) -> Passage | None:
    """How a tensor passes slice by slice along a unit; None if it does not.

    Args:
        workload: gives the extents.
        tensor: one of its tensors.
        unit: one of its units.
    """
    extents = workload.extents
    places = [i for i, axis in enumerate(tensor.axes) if set(unit.dims) & set(axis.dims)]
    if not places:
        return None
    if unit.plain:
        return Passage(-1, rolls=True)
    if len(places) > 1:
        return None
    axis, (dim,) = tensor.axes[places[0]], unit.dims
    beside = {d for d in axis.dims if d != dim and extents[d] > 1}
    if not beside:
        return Passage(-1, rolls=True)
    shared = any(beside & set(other.dims) for i, other in enumerate(tensor.axes) if i != places[0])
    small = prod(extents[d] for d in axis.dims) <= WIDEST_WINDOW
    if not steady(axis, dim, extents) and (shared or not small):
        return None
    return Passage(places[0], rolls=small and not shared)


def _prefix(inner: tuple[int, ...], kinds: list[Passage | None], rolled: int) -> tuple[int, ...]:
    """The units of the longest prefix of loops that a tensor is streamed along: what is apart, then windows."""
    apart: list[int] = []
    windows: dict[int, int] = {}
    for u in inner:
        kind = kinds[u]
        if kind is None or (windows and not (kind.rolls and kind.window >= 0 and kind.window not in windows)):
            break
        if kind.window < 0:
            apart.append(u)
            continue
        windows[kind.window] = u
        if not kind.rolls or len(windows) == rolled:
            break
    return (*sorted(apart), *windows.values())


def _hold_less(more: Streams, less: Streams, kinds: list[list[Passage | None]]) -> bool:
    """Whether every tensor holds no more when streamed in another way."""
    return more != less and all(_holds_less(*each) for each in zip(more, less, kinds, strict=True))


def _holds_less(more: tuple[int, ...], less: tuple[int, ...], kinds: list[Passage | None]) -> bool:
    """Whether one tensor does: along all these units, and further windows only inside these."""
    mine, other = ([u for u in way if (kind := kinds[u]) and kind.window >= 0] for way in (more, less))
    return set(less) <= set(more) and mine[: len(other)] == other
