"""What the methods of the papers share: their real tiles become an answer like any other.

A paper's method is local: the optimum of its programs is no bound, and may be above the cost of its own mapping. So
the relaxation of the answer is the one that is proved for the same setting, and a note has what its programs gave.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from optmap.base.arrays import Ints
from optmap.base.clock import NO_LIMIT, Clock
from optmap.base.errors import InfeasibleError, LimitError
from optmap.base.texts import number, several
from optmap.search.found import Found
from optmap.search.papers.mopt import relaxation_report
from optmap.search.question import Question
from optmap.search.relax.tree import relax
from optmap.search.space.search_space import Setting, setting_of
from optmap.search.whole.chain_answer import found_chain, machine_notes
from optmap.search.whole.chain_costs import IntegerPoint
from optmap.solvers.status import PointKind


@dataclass(frozen=True, slots=True, kw_only=True)
class TileCandidate:
    """Tiles of every level under given loop orders, and the costs by which candidates compete."""

    costs: tuple[float, ...]
    """Cost of every level in the order in which they were fixed: the bottleneck first."""
    tiles: tuple[dict[str, float], ...]
    """Per level, inner first: extent per dim."""
    permutations: tuple[tuple[str, ...], ...]
    """Per level: dims, outermost first."""


@dataclass(slots=True)
class Hunt:
    """The best candidate so far, the clock and the count of programs."""

    clock: Clock = NO_LIMIT
    best: TileCandidate | None = None
    programs: int = 0
    late: bool = False

    def expired(self) -> bool:
        """Whether the time is up."""
        self.late = self.late or self.clock.late
        return self.late

    def offer(self, candidate: TileCandidate | None) -> None:
        """Keep a candidate if its costs, compared from the bottleneck down, are the least."""
        if candidate is not None and (self.best is None or candidate.costs < self.best.costs):
            self.best = candidate

    def winner(self, what: str) -> TileCandidate:
        """The best candidate.

        Args:
            what: name of the method, for the message.

        Raises:
            LimitError: if the time ran out before the first one.
            InfeasibleError: if there is none.
        """
        if self.best is None and self.late:
            raise LimitError(f"{what}: the time limit was reached before the first loop order was solved; raise it")
        if self.best is None:
            raise InfeasibleError(f"{what}: its programs have no solution here; use --method mopt")
        return self.best


T = TypeVar("T")


def bottleneck(
    state: Hunt, unfixed: set[int], largest: Callable[[int], tuple[float, T] | None]
) -> tuple[float, int, T] | None:
    """Of the levels that are not fixed yet the one that is the bottleneck: the least cost that it has as the largest.

    Args:
        state: counts the programs and has the clock.
        unfixed: levels that are left.
        largest: cost and sizes of a level if it is the largest of those left; None if it cannot be.

    Returns:
        Cost, level and sizes; None if no level can be, or out of time.
    """
    best: tuple[float, int, T] | None = None
    for level in sorted(unfixed):
        if state.expired():
            return None
        state.programs += 1
        found = largest(level)
        if found is not None and (best is None or found[0] < best[0]):
            best = (found[0], level, found[1])
    return best


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What a paper's method says about itself in the answer."""

    name: str
    formulation: str
    """Which program it solves."""
    solver: str
    """How."""


def answer(
    question: Question,
    recipe: Recipe,
    hunt: Callable[[Setting, Hunt], TileCandidate],
    integers: Callable[[Setting, TileCandidate], tuple[IntegerPoint, tuple[str, ...]]],
) -> Found:
    """Run a paper's method and report its mapping beside the certified bound.

    Args:
        question: what was asked.
        recipe: what the method says about itself.
        hunt: finds the tiles; counts its programs in the `Hunt`.
        integers: makes whole tiles of them; also returns notes.

    Raises:
        InfeasibleError: if nothing fits.
        LimitError: if the time runs out before there is an answer.
    """
    setting = setting_of(question)
    state = Hunt(clock=question.clock)
    question.tell(recipe.name)
    found = hunt(setting, state)
    point, notes = integers(setting, found)
    certified = relax(setting, clock=state.clock)
    optimum = (
        f"program optimum (local): {number(max(found.costs))} {question.objective.unit(question.machine)}, no bound: "
        f"{recipe.formulation} ({recipe.solver}, one start each, {several(state.programs, 'program')})"
    )
    return found_chain(
        question,
        setting,
        point,
        relaxation_report(setting, certified, attained=point.value),
        claimed=point.value,
        bound=certified.bound,
        late=state.late,
        known=PointKind.LOCAL_OPTIMUM,
        notes=(*machine_notes(setting), optimum, *notes),
    )


def shared_bandwidths(setting: Setting) -> tuple[float, ...]:
    """Words per cycle of every level with the cores working side by side inside the split level.

    Each core moves its share of the traffic inside the split level (MOpt section 7), which is
    the same as that many times the bandwidth.
    """
    return tuple(bandwidth * setting.cores_inside(level) for level, bandwidth in enumerate(setting.bandwidths))


def whole_tiles(setting: Setting, tiles: tuple[dict[str, float], ...]) -> Ints:
    """Tiles rounded down, nested and not below imposed ones, (L, D)."""
    chain = np.array([[int(tile[d] + 1e-6) for d in setting.workload.dims] for tile in tiles], dtype=np.int64)
    for level, (tile, _) in setting.fixed.items():
        chain[level] = [tile[d] for d in setting.workload.dims]
    return np.minimum(np.maximum.accumulate(np.maximum(chain, 1), axis=0), [n for _, n in setting.workload.sizes])
