"""What a search over a family of mappings of statements in turn showed of their nests, as documents have it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from optmap.machines.given import KeptBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastNest:
    """What no nest of a statement costs less than, as the exact search proved."""

    statement: str
    sizes: tuple[tuple[str, int], ...]
    """(dim, iterations) that the loops around leave."""
    homes: tuple[tuple[str, str], ...]
    """(tensor, level) of what a Keep outside has, by the names of elements."""
    kept: tuple[KeptBlock, ...]
    """All that stays meanwhile, likewise."""
    begun: Fraction
    """Part of its runs in which its result begins empty, in the average of which the least is; 1 for all."""
    cycle_pj: Fraction
    """What each cycle is charged beside the energy, where the objective is energy-delay: the least is of their sum."""
    least: Fraction
    """Of the objective, or of that sum in pJ, of one run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyBound:
    """What no member of a family costs less than."""

    together: bool
    """Whether two statements are done together by some members."""
    members: int
    """That the family has, or more than are looked at."""
    least: Fraction
    unfinished: str
    """Why some members that may be better were not looked at; empty if all were."""
    nests: tuple[LeastNest, ...] = ()
    """What floors do not show."""
    evaluations: int = 0
