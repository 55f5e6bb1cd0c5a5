"""Method `exhaustive`: every mapping with perfect factors is judged, so that the best is proved.

For mapspaces of some millions of mappings, where nothing is to be believed; `exact` proves the same optimum without
looking at each of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from optmap.base.errors import InputError
from optmap.search.explore.mapspace import Mapspace
from optmap.search.explore.protocol import Brief, Exhausted, Proposals, Strategy
from optmap.search.explore.settings import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class ExhaustiveSettings:
    """What is too much."""

    limit: int = setting(4_000_000, "mappings; a larger mapspace is refused with its size")


def propose(brief: Brief[ExhaustiveSettings]) -> Proposals:
    """Every mapping, each once.

    Raises:
        InputError: for a mapspace beyond the limit, with its size.
    """
    fabric, limit = brief.fabric, brief.settings.limit
    space = Mapspace(fabric)
    size = space.size(limit)
    if size.mappings > limit or not size.exact:
        more = f", or --set limit={size.mappings}" if size.exact else ""
        raise InputError(
            f"{fabric.workload.title} has {size.text} mappings with perfect factors on {fabric.machine.name}, the "
            f"limit is {limit:,}; use --method exact, which need not look at each{more}"
        )
    brief.tally.total = size.mappings
    yield from space.batches()
    return Exhausted(f"each of the {size.text} mappings with perfect factors was judged")


STRATEGY = Strategy(propose=propose, settings=ExhaustiveSettings)
