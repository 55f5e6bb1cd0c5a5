"""Why a solver stopped, and what it left in our hands: two separate questions."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from optmap.base.clock import stopping


class Stop(StrEnum):
    """Why a solver or a search stopped."""

    OPTIMAL = "optimal"
    """Its own optimality test was met."""
    SEARCH_ENDED = "search_ended"
    """A search took every step it knows, without a proof that nothing better exists."""
    INFEASIBLE = "infeasible"
    """No point satisfies the constraints, as far as the solver can tell."""
    TIME_LIMIT = "time_limit"
    """The time ran out."""
    INTERRUPTED = "interrupted"
    """Somebody asked to stop; what is held is the best until then, as at a time limit."""
    ITERATION_LIMIT = "iteration_limit"
    """The iterations (or nodes) ran out."""
    ERROR = "error"
    """Anything else; the message says what."""

    @classmethod
    def late(cls) -> Stop:
        """Why a search that is late stopped: the time, or somebody who asked."""
        return cls.INTERRUPTED if stopping() else cls.TIME_LIMIT

    @property
    def cut_short(self) -> bool:
        """Whether a search that went on might have found more."""
        return self in (Stop.TIME_LIMIT, Stop.INTERRUPTED, Stop.ITERATION_LIMIT)


class PointKind(StrEnum):
    """What kind of point is held; a local optimum never counts as a bound."""

    NONE = "none"
    """No point at all."""
    FEASIBLE = "feasible"
    """A point that satisfies every constraint on re-check."""
    LOCAL_OPTIMUM = "local_optimum"
    """A feasible point that meets the first-order conditions of a program not known to be convex."""
    GLOBAL_OPTIMUM = "global_optimum"
    """A feasible point that is optimal: a convex program, or a proof by enumeration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """The answer of one solver to one program."""

    stop: Stop
    """Why the solver stopped."""
    point: PointKind
    """What `values` is."""
    objective: float | None
    """Objective at `values` in the program's own unit (logarithms undone); None without a point."""
    bound: float | None = None
    """Proved bound on the optimal objective, same unit (a lower bound when minimising); None if unproved."""
    values: dict[str, float] = field(default_factory=dict)
    """Value per program variable (in the program's variables, so logarithms stay); empty without a point."""
    seconds: float = 0.0
    """Wall-clock time of the solver."""
    iterations: int = 0
    """Iterations, as the solver counts them."""
    solver: str = ""
    """Name of the solver."""
    message: str = ""
    """The solver's own words, and the largest violation found on re-check."""
    violation: float = 0.0
    """Largest violation of a constraint or bound at `values`, in the constraint's own unit."""
