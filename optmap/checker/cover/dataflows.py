"""The loop orders of a level, as far as traffic depends on them: which dims of which tensor come in larger parts.

At the boundary outside a level, the words of a tensor that enter are at least those of all its tiles, each
dim being cut either into the tiles of the level or only into those of the next outer one. The latter holds
for the dims inside the tensor's reuse position, its innermost loop, and for the dim at it if neighbouring
tiles along it overlap: then every value on the way enters at least once. A loop order is therefore a *flow*:
a set of dims per tensor. More dims in every set never mean more words, because a part of a tile never has
more elements than the tile, and two parts together never fewer than what they are parts of. So it suffices
to look at the flows that no other one contains.
"""

from __future__ import annotations

from ..core.statement import StatedWork
from ..core.tools import need

Flow = tuple[frozenset[str], ...]
"""Per access, output first: the dims that are cut into the tiles of the next outer level only."""
MOST = 3_000
"""Walks through the loops, and flows, that are looked at together."""


def live_dims(work: StatedWork) -> list[str]:
    """Dims of more than one iteration; the others are cut into one tile everywhere."""
    return [d for d, extent in work.extents.items() if extent > 1]


def _subscripts(work: StatedWork) -> list[list[set[str]]]:
    """Per access and subscript: the dims of more than one iteration."""
    live = set(live_dims(work))
    return [[{d for d, _ in terms} & live for terms, _ in axes] for _, axes in work.tensors]


def slides(subscripts: list[set[str]], dim: str) -> bool:
    """Whether neighbouring tiles along a dim may overlap: it never stands alone in a subscript."""
    return all(len(dims) > 1 for dims in subscripts if dim in dims)


def flow_of(work: StatedWork, order: list[str]) -> Flow:
    """The flow of a loop order, outermost loop first."""
    found = []
    live = [d for d in order if work.extents[d] > 1]
    for subscripts in _subscripts(work):
        mine = set[str]().union(*subscripts)
        inside = len(live) - max((i for i, d in enumerate(live) if d in mine), default=-1) - 1
        dims = set(live[len(live) - inside :])
        if inside < len(live) and slides(subscripts, live[len(live) - inside - 1]):
            dims.add(live[len(live) - inside - 1])
        found.append(frozenset(dims))
    return tuple(found)


def best_flows(work: StatedWork) -> list[Flow]:
    """The flows of all loop orders that no other one contains, in an order that depends on the statement alone.

    From the innermost loop outwards, a loop *meets* the tensors that have its dim and were not met before.
    A dim of no tensor that is left to meet goes inside at once: later sets only grow. What remains is the
    sequence of meetings, and every loop order has one.

    Raises:
        RefusedError: if there are too many.
    """
    subscripts, live = _subscripts(work), live_dims(work)
    holders = {d: frozenset(i for i, axes in enumerate(subscripts) if any(d in axis for axis in axes)) for d in live}
    everything: Flow = tuple(frozenset(live) for _ in subscripts)
    unmet = frozenset(i for i, axes in enumerate(subscripts) if any(axes))
    open_, done = {(frozenset[str](), unmet, everything)}, set[Flow]()
    while open_:
        need(len(open_) <= MOST, "there are too many loop orders to cover")
        following = set()
        for placed, left, flow in open_:
            if not left:
                done.add(flow)
                continue
            inside = placed | {d for d in live if not holders[d] & left}
            for d in live:
                met = holders[d] & left
                if met:
                    after = list(flow)
                    for i in met:
                        after[i] = inside | {d} if slides(subscripts[i], d) else inside
                    following.add((inside | {d}, left - met, tuple(after)))
        open_ = following
    need(len(done) <= MOST, "there are too many loop orders to cover")
    kept = [a for a in done if not any(a != b and contains(b, a) for b in done)]
    return sorted(kept, key=lambda flow: [sorted(dims) for dims in flow])


def contains(larger: Flow, smaller: Flow) -> bool:
    """Whether every set of one flow is in that of another."""
    return all(b <= a for a, b in zip(larger, smaller, strict=True))


def joined(flows: list[Flow]) -> Flow:
    """What no loop order is better than: the union, tensor by tensor."""
    return tuple(frozenset[str]().union(*dims) for dims in zip(*flows, strict=True))
