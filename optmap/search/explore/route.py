"""Methods that propose mappings, as routes on accelerators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from optmap.errors import InputError
from optmap.problem.options import Counting, TileRule
from optmap.search.accelerators.route import AcceleratorRoute

if TYPE_CHECKING:
    from optmap.search.accelerators.answer import AcceleratorFound
    from optmap.search.accelerators.request import AcceleratorRequest
    from optmap.search.explore.protocol import Propose, Strategy


def explorer(strategy: Strategy | Propose, countings: Sequence[Counting] = tuple(Counting)) -> AcceleratorRoute:
    """The route of a strategy.

    Args:
        strategy: it, or a generator function without settings.
        countings: that it is for.
    """
    return explored(lambda: strategy_of(strategy), countings)


def explored(load: Callable[[], Strategy], countings: Sequence[Counting] = tuple(Counting)) -> AcceleratorRoute:
    """The route of a strategy whose module `load` imports when it is first used; `countings` as for `explorer`."""
    return AcceleratorRoute(solve=Explorer(load), tiles=(TileRule.DIVISORS,), countings=tuple(countings), explores=True)


@dataclass(frozen=True, slots=True)
class Explorer:
    """A strategy as the solve function of a route."""

    load: Callable[[], Strategy]

    @property
    def strategy(self) -> Strategy:
        """The strategy, imported if need be."""
        return self.load()

    def __call__(self, request: AcceleratorRequest) -> AcceleratorFound:
        """Explore, and hand in the best; raises what `run` does."""
        from optmap.search.explore.run import run

        return run(self.strategy, request)


def strategy_of(given: Strategy | Propose) -> Strategy:
    """A strategy, or a generator function as one without settings.

    Raises:
        InputError: for anything else.
    """
    from optmap.search.explore.protocol import Strategy

    if isinstance(given, Strategy):
        return given
    if not callable(given):
        raise InputError(f"{given!r} is no search; give a Strategy, or a generator function of a Question")
    return Strategy(propose=given)
