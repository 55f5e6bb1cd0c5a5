"""Methods that propose mappings, as routes on machines with meshes and prices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from optmap.base.errors import InputError
from optmap.questions.options import TileRule
from optmap.search.route import ALL_MERITS, Route

if TYPE_CHECKING:
    from optmap.search.explore.protocol import Propose, Strategy
    from optmap.search.found import Found
    from optmap.search.question import Question


def explorer(strategy: Strategy | Propose) -> Route:
    """The route of a strategy, it itself or a generator function without settings: whatever counts judges mappings."""
    return explored(lambda: strategy_of(strategy))


def explored(load: Callable[[], Strategy]) -> Route:
    """The route of a strategy whose module `load` imports when it is first used."""
    return Route(
        solve=Explorer(load),
        objectives=ALL_MERITS,
        meshes=True,
        tiles=(TileRule.DIVISORS,),
        counts=lambda _: True,
        explores=True,
        constraints=True,  # whoever proposes what breaks one is told that it is not valid
    )


@dataclass(frozen=True, slots=True)
class Explorer:
    """A strategy as the solve function of a route."""

    load: Callable[[], Strategy]

    @property
    def strategy(self) -> Strategy:
        """The strategy, imported if need be."""
        return self.load()

    def __call__(self, question: Question) -> Found:
        """Explore, and hand in the best; raises what `run` does."""
        from optmap.search.explore.run import run

        return run(self.strategy, question)


def strategy_of(given: Strategy | Propose) -> Strategy:
    """A strategy, or a generator function as one without settings.

    Raises:
        InputError: for anything else.
    """
    from optmap.search.explore.protocol import Strategy

    if isinstance(given, Strategy):
        return given
    if not callable(given):
        raise InputError(f"{given!r} is no search; give a Strategy, or a generator function of a Brief")
    return Strategy(propose=given)
