"""The weighted sum of the levels' traffic: IOOpt's objective for several memories (section 6).

Every level has a tiling band of its own, each tensor keeps one tile per level, and the cost is the
sum over the levels of traffic over bandwidth. The sum of the levels' own optima is a proved bound;
the tiles are found by block descent, one level's whole tile at a time, from several starts, and from where these end
by variations of all levels at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

import numpy as np

from optmap.base.arrays import Floats, Ints
from optmap.base.clock import Clock
from optmap.base.errors import CheckError, InfeasibleError
from optmap.questions.options import TileRule
from optmap.search.found import Found
from optmap.search.iooub.sum_population import Chain, SumPopulation
from optmap.search.question import Question
from optmap.search.relax.cross_check import solver_title
from optmap.search.relax.tree import TOLERANCE, RelaxationResult, relax
from optmap.search.relaxation import Relaxation
from optmap.search.space.conflict import refuse_conflict
from optmap.search.space.search_space import Setting, setting_of
from optmap.search.space.sizes import even_cuts
from optmap.search.whole.chain_answer import found_chain
from optmap.search.whole.chain_costs import BATCH, ChainCosts, IntegerPoint, grid_of, least_chains, thin
from optmap.search.whole.descent import BlockDescent
from optmap.search.whole.integers import integer_search
from optmap.solvers.status import PointKind
from optmap.symbolic.numbers import divisors_of

GRID = 20_000
"""Tiles of one level looked at in one move."""
ROUNDS = 8
"""Rounds over all levels at most, per start."""


def solve(question: Question) -> Found:
    """The mapping with the least sum of cycles over the levels that the descent finds.

    Raises:
        InfeasibleError: if nothing fits.
        CheckError: if the sum is below its bound.
    """
    clock, setting = question.clock, setting_of(question)
    refuse_conflict(setting)
    relaxation = relax(setting, clock=clock, negligible=0.0)
    descent = SumDescent(setting, divisors=question.tiles is TileRule.DIVISORS, clock=clock)
    ends = list[Chain]()
    for start in _starts(setting, relaxation, descent):
        found = descent.run(start)
        ends += [] if found is None else [found]
        question.tell("descent on the sum")
        if clock.late:
            break
    if not ends:
        raise InfeasibleError("no chain of integer tiles fits all levels together; give the levels more words")
    point = descent.point(descent.varied(ends, least=sum(relaxation.level_bounds))[1])
    cost = sum(point.costs)
    report = _relaxation(setting, relaxation, cost)
    return found_chain(
        question,
        setting,
        point,
        report,
        claimed=cost,
        bound=report.value,
        late=clock.late or not relaxation.proved,
        known=PointKind.FEASIBLE,
        notes=("the cost is the sum over the levels of loads and stores over bandwidth",),
    )


def _relaxation(setting: Setting, relaxation: RelaxationResult, cost: float) -> Relaxation:
    """The sum of what every level costs at least.

    Raises:
        CheckError: if a sum found is below it.
    """
    bound = sum(relaxation.level_bounds)
    if cost < bound * (1 - TOLERANCE):
        raise CheckError(f"the sum found is {cost:.9g} cycles, below its bound of {bound:.9g}")
    return Relaxation(
        value=min(bound, cost),
        proved=bound > 0,
        formulation="sum over the levels of each level's own optimum with the whole problem as next outer tile",
        tolerance=TOLERANCE if relaxation.proved else max(0.0, cost / bound - 1),
        method=f"{solver_title(setting)} over {relaxation.programs} convex programs",
        classes=relaxation.best.permutations,
        tiles=relaxation.best.tiles,
        cross_check=None,
    )


class SumDescent:
    """Moves that replace the tile of one level and clip or raise the others."""

    def __init__(self, setting: Setting, *, divisors: bool, clock: Clock) -> None:
        self.costs = ChainCosts(setting)
        self.blocks = BlockDescent(self.costs, divisors=divisors, clock=clock)
        """Makes the other levels follow."""
        self.allowed = setting.allowed
        self.divisors = divisors
        self.clock = clock

    def varied(self, ends: Sequence[Chain], *, least: float) -> Chain:
        """The best chain that variations of some lead to, and a descent from there; `least` is a proved bound."""
        population = SumPopulation(costs=self.costs, blocks=self.blocks, value=self._values_of, clock=self.clock)
        best = population.improve(ends, least=least)
        return self.run(best[1]) or best

    def run(self, chain: Ints) -> Chain | None:
        """Improve a chain of tiles (L, D) until no move does; None if nothing that fits is met."""
        value = self._value(chain)
        for _ in range(ROUNDS):
            before = value
            for level in range(self.costs.depth - 1, -1, -1):
                for tied in (True, False):
                    if self.clock.late:
                        return None if value == inf else (value, chain)
                    found = self._move(chain, level, tied=tied)
                    if found is not None and found[0] < value:
                        value, chain = found
            if value >= before * (1 - 1e-12) or self.clock.late:
                break
        return None if value == inf else (value, chain)

    def point(self, chain: Ints) -> IntegerPoint:
        """The chain with its best loop orders."""
        found = self.costs.best(chain[None])
        if found is None:
            raise CheckError("the chain of tiles found does not fit on re-check")
        return found

    def _value(self, chain: Ints) -> float:
        return float(self._values_of(chain[None])[0])

    def _values_of(self, chains: Ints) -> Floats:
        return np.asarray(self.costs.evaluate(chains)[0].sum(axis=1))

    def _move(self, chain: Ints, level: int, *, tied: bool) -> Chain | None:
        """The best tile of one level, the others following."""
        lists = [self._values(chain, level, d) for d in range(chain.shape[1])]
        tiles = grid_of(thin(lists, chain[level], GRID))
        tiles = tiles[self.costs.fits_somehow(tiles, level)]
        best: Chain | None = None
        for first in range(0, len(tiles), BATCH):
            part = tiles[first : first + BATCH]
            chains, nest = self.blocks.follow(chain, level, part, None, tied=tied)
            values = self._values_of(chains)
            values = np.where(nest.all(axis=1), values, inf)
            row = int(values.argmin())
            if values[row] < (inf if best is None else best[0]):
                best = float(values[row]), chains[row]
        return best

    def _values(self, chain: Ints, level: int, d: int) -> list[int]:
        """Candidate extents of one dim at one level, increasing."""
        extent, now = int(self.costs.extents[d]), int(chain[level, d])
        if self.divisors:
            return self.allowed.among(divisors_of(extent), level, d)
        values = {*even_cuts(extent), now, now - 1, now + 1}
        if level:
            values.update(even_multiples(int(chain[level - 1, d]), extent))
        if level + 1 < len(chain):
            values.update(even_cuts(int(chain[level + 1, d])))
        return self.allowed.near(values, level, d)


def even_multiples(tile: int, extent: int, most: int = 24) -> list[int]:
    """Multiples of a tile up to an extent, at most about `most` of them."""
    step = max(1, -(-(extent // tile) // most))
    return list(range(tile, extent + 1, tile * step))


def _starts(setting: Setting, relaxation: RelaxationResult, descent: SumDescent) -> Iterator[Ints]:
    """Chains to start from: the mapping with the least bottleneck, relaxed tiles rounded, single points."""
    yield np.array(integer_search(setting, relaxation, divisors=descent.divisors, clock=descent.clock).point.chain)
    for point in (relaxation.best, *relaxation.others[:2]):
        start = descent.blocks.start(point.tiles, None)
        if descent.blocks.nests(start[None], None)[0]:  # of few sizes none may be near
            yield start
    yield from least_chains(setting, divisors=descent.divisors, most=1)[0]
