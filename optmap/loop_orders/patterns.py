"""Loop orders that follow a user's patterns, reduced to those worth solving for.

Which classes of loop orders suffice depends on which loop orders are allowed. A class that another
one dominates is left out of the free ones, although the user may have forbidden every member of the
class that dominates it. So the classes are derived again among the allowed loop orders alone:

The cost of a level depends on its own loop order and on tiles, not on the loop orders of other
levels, and the patterns of a level speak of that level alone. Take a mapping that meets all
constraints, and let its loop order at some level be dominated by another *allowed* one: that one moves
at most as much of every tensor for all tile sizes (`loop_orders.dominance`) and, under `safe`, needs
no more room. Putting it there changes no tile, no other level and no other constraint, so the mapping
still meets them all, fits, and costs no more. Hence the undominated ones among the allowed loop orders
hold an optimum of the constrained problem. Nothing else is used: dims of one iteration are
not left out, since the user may put them where they undo reuse.

The loop orders are walked from the innermost loop outwards. What may come next depends on the set of
loops placed and on nothing else, since each pattern stands at a place that the named ones among
them determine; and a tensor that has met a loop keeps its reuse. So of two walks over the same loops
the one whose reuse so far is dominated can be dropped; under `safe`, where working sets depend on
the order of all meetings, only equal ones are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from optmap.loop_orders.signatures import NO_DIM, DimMasks, Signature, undominated
from optmap.loop_orders.structure import Structure, structure_of
from optmap.machines.machine import CapacityRule
from optmap.machines.relations import ends_at, step_along
from optmap.workloads.workload import Workload

Pattern = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedOrders:
    """Loop orders that follow patterns."""

    permutations: tuple[tuple[str, ...], ...]
    """Dims, outermost first; one per class that no other allowed one dominates. Empty if none is allowed."""
    complete: bool = True
    """Whether these are all; not so if there are more than were asked for."""


@dataclass(frozen=True, slots=True)
class _Partial:
    """Innermost loops that the patterns allow."""

    loops: tuple[int, ...]
    """Numbers of dims, innermost first."""
    places: tuple[int, ...]
    """Where each pattern stands, read from its end."""


def allowed_orders(
    workload: Workload, patterns: Iterable[Pattern], *, rule: CapacityRule, most: int | None = None
) -> AllowedOrders:
    """The loop orders of a workload that follow patterns, without those that another allowed one dominates.

    Args:
        workload: extents are ignored.
        patterns: dims and gaps, outermost first (`mappings.constraints`).
        rule: the capacity rule under which no optimum may be lost.
        most: about how many partial loop orders are followed at once; of more, a sample.
    """
    return _derive(structure_of(workload), tuple(patterns), rule, most)


@lru_cache(maxsize=256)
def _derive(structure: Structure, patterns: tuple[Pattern, ...], rule: CapacityRule, most: int | None) -> AllowedOrders:
    walk, safe = DimMasks(structure), rule is CapacityRule.SAFE
    backwards = tuple(pattern[::-1] for pattern in patterns)
    open_ = {(0, walk.start): _Partial((), (0,) * len(patterns))}
    complete = True
    for _ in structure.dims:
        open_ = _grown(walk, open_, backwards)
        if not safe:
            open_ = _thinned(open_, len(structure.accesses))
        if most is not None and len(open_) > most:
            complete, ordered = False, sorted(open_)
            open_ = {ordered[i * len(ordered) // most]: open_[ordered[i * len(ordered) // most]] for i in range(most)}
    ended = {
        flows: partial
        for (_, flows), partial in sorted(open_.items())
        if all(ends_at(pattern, place) for pattern, place in zip(backwards, partial.places, strict=True))
    }
    found = list(ended)
    kept = _best([walk.compared(flows, safe=safe) for flows in found], len(structure.accesses))
    return AllowedOrders(
        permutations=tuple(
            tuple(structure.dims[i] for i in reversed(ended[flows].loops))
            for flows, good in zip(found, kept, strict=True)
            if good
        ),
        complete=complete,
    )


_Open = dict[tuple[int, Signature], _Partial]
"""Walks by the set of loops placed and the reuse of every tensor so far."""


def _grown(walk: DimMasks, open_: _Open, backwards: tuple[Pattern, ...]) -> _Open:
    """Every walk with every loop that may come next."""
    following: _Open = {}
    for (placed, flows), partial in sorted(open_.items()):
        for number, dim in enumerate(walk.structure.dims):
            if placed >> number & 1:
                continue
            places = [step_along(p, at, dim) for p, at in zip(backwards, partial.places, strict=True)]
            if any(place is None for place in places):
                continue
            after = tuple(
                (placed, number if walk.sliding[number] >> t & 1 else NO_DIM)
                if mask >> number & 1 and not mask & placed
                else flow
                for t, (mask, flow) in enumerate(zip(walk.dims, flows, strict=True))
            )
            grown = _Partial((*partial.loops, number), tuple(place for place in places if place is not None))
            following.setdefault((placed | 1 << number, after), grown)
    return following


def _thinned(open_: _Open, tensors: int) -> _Open:
    """The walks that no other one over the same loops dominates."""
    together: dict[int, list[Signature]] = {}
    for placed, flows in open_:
        together.setdefault(placed, []).append(flows)
    kept: _Open = {}
    for placed, signatures in together.items():
        rows = [[mask for mask, _ in flows] + [at for _, at in flows] for flows in signatures]
        for flows, good in zip(signatures, _best(rows, tensors), strict=True):
            if good:
                kept[placed, flows] = open_[placed, flows]
    return kept


def _best(rows: list[list[int]], tensors: int) -> list[bool]:
    return list(undominated(np.array(rows), tensors)) if rows else []
