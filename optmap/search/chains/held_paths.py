"""Held mappings of one statement as paths of a tree: a Keep per tensor, where its reuse position is."""

from __future__ import annotations

from collections.abc import Iterator

from optmap.mappings.held import Held
from optmap.mappings.levels import Mapping
from optmap.mappings.nodes import Compute, Loop, Node
from optmap.search.chains.trees import Branch, keeps
from optmap.workloads.workload import Workload, access_names


def held_path(workload: Workload, mapping: Mapping, held: Held) -> Branch:
    """The path of a held mapping of one memory, without pieces and corners.

    Args:
        workload: one product, no tensor of which is read twice.
        mapping: tile and loop order.
        held: reuse positions and streams, of every tensor along one window at most: where it rolls along several, a
            Keep has no room for what a window leaves behind in a row.
    """
    (entry,) = mapping.levels
    names = access_names(workload)
    inner = [d for d in held.inner if entry.tile[d] > 1]
    last = {
        name: max((inner.index(d) + 1 for d in held.streams.get(name, ()) if d in inner), default=0) for name in names
    }
    places = len(entry.permutation)

    def kept(position: int, steps: int) -> Iterator[Node]:
        """The Keep of tensors with a reuse position, behind so many loops inside a tile."""
        here = [n for n in names if max(held.positions[n], 1) == position and last[n] == steps]
        return keeps(entry.level, here)

    nodes: list[Node] = [*kept(places + 1, 0)]
    for place, d in enumerate(entry.permutation):
        nodes += [Loop(dim=d, tile=entry.tile[d]), *kept(places - place, 0)]
    for steps, d in enumerate(inner, start=1):
        nodes += [Loop(dim=d, tile=1), *kept(1, steps)]
    return (*nodes, Compute(statement=workload.only.name))
