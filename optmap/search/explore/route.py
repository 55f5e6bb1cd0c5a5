"""Methods that propose mappings, as routes on accelerators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from optmap.lazy import named
from optmap.problem.options import Counting, TileRule
from optmap.search.accelerators.route import AcceleratorRoute

if TYPE_CHECKING:
    from optmap.search.accelerators.answer import AcceleratorFound
    from optmap.search.accelerators.request import AcceleratorRequest
    from optmap.search.explore.protocol import Strategy


def explorer(strategy: Strategy | str, countings: Sequence[Counting] = tuple(Counting)) -> AcceleratorRoute:
    """The route of a strategy.

    Args:
        strategy: it, or its place as `module:name` under `optmap`, imported when it is first used.
        countings: that it is for.
    """
    return AcceleratorRoute(
        solve=Explorer(strategy), tiles=(TileRule.DIVISORS,), countings=tuple(countings), explores=True
    )


@dataclass(frozen=True, slots=True)
class Explorer:
    """A strategy as the solve function of a route."""

    strategy: Strategy | str

    def __call__(self, request: AcceleratorRequest) -> AcceleratorFound:
        """Explore, and hand in the best; raises what `run` does."""
        strategy = named(self.strategy) if isinstance(self.strategy, str) else self.strategy
        found: AcceleratorFound = named("search.explore.run:run")(strategy, request)
        return found
