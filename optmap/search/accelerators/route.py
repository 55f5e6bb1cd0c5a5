"""The way of a method on accelerators, with what it can do.

A method has one route there at most:

    def mine(request: AcceleratorRequest) -> AcceleratorFound: ...
    register_method(Method(name="mine", description="...", accelerator=AcceleratorRoute(solve=mine)))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from optmap.errors import InputError
from optmap.problem.options import WALKED, Counting, Merit, TileRule

if TYPE_CHECKING:
    from optmap.search.accelerators.answer import AcceleratorFound
    from optmap.search.accelerators.request import AcceleratorRequest

RULES = (TileRule.PADDED, TileRule.DIVISORS)
"""Tile rules on accelerators; `any` stands for the first that a route knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceleratorRoute:
    """The way of a method on accelerators, with what it can do."""

    solve: Callable[[AcceleratorRequest], AcceleratorFound]
    """From a request that it can do to a nest; what it raises is the answer."""
    merits: tuple[Merit, ...] = (Merit.EDP, Merit.ENERGY, Merit.CYCLES, Merit.TRAFFIC)
    """What it minimises, its default first."""
    countings: tuple[Counting, ...] = WALKED
    tiles: tuple[TileRule, ...] = RULES
    """Rules that it knows, its default first."""
    constraints: bool = False
    """Whether it keeps to what a user demands beside the rules of the machine."""
    confirms: bool = False
    """Whether it can prove an optimum a second time."""
    explores: bool = False
    """Whether it has mappings judged one by one, within a number of evaluations, and has settings."""

    def rule(self, tiles: TileRule) -> TileRule:
        """The tile rule in force: `any` is the route's default."""
        return self.tiles[0] if tiles is TileRule.ANY else tiles

    def refuse(self, request: AcceleratorRequest, name: str) -> None:
        """Refuse what the route cannot do, and what no mapping of the machine can, before anything is searched.

        Args:
            request: what is asked.
            name: of the method.

        Raises:
            InputError: naming the option.
            InfeasibleError: if no mapping is valid: what stands in the way, and what would do.
        """
        if request.counting not in self.countings:
            known = " or ".join(self.countings)
            raise InputError(f"method {name} does not count as {request.counting} does; use --counting {known}")
        if request.confirm and not self.confirms:
            raise InputError(f"method {name} proves nothing a second time; leave out --confirm, or use --method exact")
        given = {"--set": request.settings, "--evaluations": request.evaluations, "--journal": request.journal}
        for option in [] if self.explores else [option for option, value in given.items() if value]:
            raise InputError(f"method {name} is no search that has mappings judged; leave out {option}")
        if request.tiles not in self.tiles:
            known = " or ".join(self.tiles)
            raise InputError(f"method {name} does not know tiles {request.tiles}; use --tiles {known}")
        if request.constraints and not self.constraints:
            raise InputError(
                f"method {name} keeps to the rules of an accelerator (keeps, factors and order in its file) and knows "
                f"no other constraints; leave out --constraint ({request.constraints.text}), or write such rules into "
                "a copy of the machine"
            )
        from optmap.search.accelerators.infeasible import refuse_hopeless

        refuse_hopeless(request)
