"""Extents from which a mapping can be completed at all, dim by dim.

Rules of inner levels (`channels=1`) leave no way on from many tiles outside. What one dim allows by
itself is known from inside outwards: the tile inside must be able to go on, and what lies between is ways
that some filling of the mesh has, times trips that no rule forbids. Dims together may allow less; that shows later.
"""

from __future__ import annotations

import numpy as np

from optmap.base.arrays import Flags
from optmap.machines.relations import Relation
from optmap.search.exact.frame import ExactFrame
from optmap.search.exact.splits import Splits


def extents_after(frame: ExactFrame, level: int, inside: list[Flags]) -> list[Flags]:
    """Per dim the divisors that trips at a level and an extent inside can make up.

    Args:
        frame: of the search.
        level: whose loops they are.
        inside: per dim the divisors that the level inside can hold.
    """
    found: list[Flags] = []
    for dim in range(frame.dims):
        quotient = frame.quotients[dim]
        allowed = np.array([_trips_allowed(frame, level, dim, int(trips)) for trips in frame.divisors[dim]])
        found.append(np.asarray(((quotient >= 0) & inside[dim][None, :] & allowed[quotient]).any(axis=1)))
    return found


def extents_at(frame: ExactFrame, level: int, splits: Splits, after: list[Flags]) -> list[Flags]:
    """Per dim the divisors that ways of a mesh and what comes after them can make up, and that a tile may have."""
    found: list[Flags] = []
    for dim in range(frame.dims):
        quotient = frame.quotients[dim][:, np.unique(splits.tiles[:, dim])]
        own = np.asarray(((quotient >= 0) & after[dim][quotient]).any(axis=1))
        for rule in frame.memory(level).tiles:
            if dim in rule.dims:
                own &= rule.met(frame.divisors[dim])
        found.append(own)
    return found


def _trips_allowed(frame: ExactFrame, level: int, dim: int, trips: int) -> bool:
    """Whether rules and order of a memory may allow a loop of so many trips."""
    memory = frame.memory(level)
    if trips > 1 and not memory.entries(dim):
        return False
    for rule in memory.rules:
        if dim not in rule.dims:
            continue
        alone = len(rule.dims) == 1
        if rule.relation is Relation.EQUAL and (trips != rule.value if alone else rule.value % trips):
            return False
        if rule.relation is Relation.AT_MOST and trips > rule.value:
            return False
        if rule.relation is Relation.AT_LEAST and alone and trips < rule.value:
            return False
    return True
