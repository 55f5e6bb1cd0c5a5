"""From the relaxation to the best integer mapping, and what is proved about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

import numpy as np

from optmap.base.arrays import Ints
from optmap.base.clock import NO_LIMIT, Clock
from optmap.base.errors import InfeasibleError, LimitError
from optmap.search.relax.tree import RelaxationResult
from optmap.search.result import conclusion
from optmap.search.space.search_space import Setting
from optmap.search.whole.chain_costs import ChainCosts, IntegerPoint, all_chains, chain_count, least_chains
from optmap.search.whole.core_splits import core_splits
from optmap.search.whole.counts import EQUAL, aligned_chains, count_optimum
from optmap.search.whole.descent import BlockDescent
from optmap.search.whole.one_level import imposed_optimum, level_optimum
from optmap.search.whole.tile_pairs import beam, divisor_optimum, divisors_around
from optmap.search.whole.tops import Tops
from optmap.search.whole.whole_tiles import whole_tiles
from optmap.solvers.status import Stop

EXHAUSTIVE = 150_000
"""Chains up to which every one is evaluated, if nothing else proves the optimum."""
AT_ONCE = 5_000
"""Chains up to which every one is evaluated before anything else: as long as a descent takes."""
OTHER_STARTS = 3
"""Further relaxed points that the search starts from if the first leaves a gap."""
MANY_ORDERS = 200
"""Loop orders beyond which large tables of tiles are not priced under all of them."""
COUNTED_STARTS = 3
"""Chains with the most promising numbers of tiles that the search starts from."""
CORE_SPLITS = 6
"""Ways to split the cores that are searched in full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerResult:
    """The best integer point with its bound."""

    point: IntegerPoint
    """The best point found."""
    bound: float
    """Proved lower bound on the cost of every integer mapping that was allowed."""
    stop: Stop
    """`optimal` if the point reaches the bound, else `search_ended` or `time_limit`."""
    exhaustive: bool
    """Whether the point is proved optimal by enumeration."""
    others: tuple[IntegerPoint, ...] = ()
    """The next best of those that were priced, best first."""


@dataclass(slots=True)
class _Progress:
    """The task, the incumbent and the bound while the search goes on."""

    setting: Setting
    relaxation: RelaxationResult
    costs: ChainCosts
    descent: BlockDescent
    clock: Clock
    bound: float
    around: dict[int, Ints] = field(default_factory=dict)
    """Per level with an imposed tile: the smallest next outer tile with which it costs least."""
    best: IntegerPoint | None = None
    exhaustive: bool = False

    def offer(self, point: IntegerPoint | None) -> None:
        if point is not None and (self.best is None or point.key < self.best.key):
            self.best = point

    @property
    def value(self) -> float:
        return inf if self.best is None else self.best.value

    @property
    def goal(self) -> float:
        """Bottleneck at which nothing is left to gain: proofs look for what is less by `EQUAL` only."""
        return self.bound * (1 + 2 * EQUAL)

    @property
    def reached(self) -> bool:
        return self.value <= self.goal

    @property
    def done(self) -> bool:
        """Whether nothing is left to gain, or no time."""
        return self.reached or self.exhaustive or self.clock.late

    def prove(self, bound: float) -> None:
        """Raise the bound to another one, and that to what whole words cost."""
        self.bound = max(self.bound, self.costs.reachable(bound))

    def descend(self, chain: Ints, *, fine: bool = False) -> None:
        """Offer what a descent from a chain finds for one core."""
        self.offer(self.descent.run(chain, None, goal=self.goal, fine=fine))


@dataclass(frozen=True, slots=True)
class IntegerStrategy:
    """One idea of where better whole tiles are, or how a better bound is proved."""

    done: str
    """What was done, for progress."""
    run: Callable[[_Progress], None]
    """Offers points and raises the bound; ends early where the state is done."""


def integer_search(
    setting: Setting,
    relaxation: RelaxationResult,
    *,
    divisors: bool = False,
    clock: Clock = NO_LIMIT,
    progress: Callable[[str], None] | None = None,
    top: int = 1,
) -> IntegerResult:
    """Find the best integer mapping.

    One strategy after the other (`strategies`), until the bound is reached, the optimum is proved or the
    time is over.

    Args:
        setting: workload, machine, capacity rule and cores.
        relaxation: the proved relaxation of the setting.
        divisors: allow only tiles that divide the next outer one.
        clock: when the best so far is returned.
        progress: called with what is being done.
        top: points that are wanted; no two have the same cost at every level.

    Raises:
        InfeasibleError: if no chain of integer tiles fits.
    """
    tops = Tops[IntegerPoint](top) if top > 1 else None
    costs = ChainCosts(setting, tops)
    tell = progress or (lambda _: None)
    one_core = setting.split_level is None
    imposed = _imposed(setting, costs, clock, divisors=divisors) if one_core else {}
    state = _Progress(
        setting=setting,
        relaxation=relaxation,
        costs=costs,
        descent=BlockDescent(costs, divisors=divisors, clock=clock, least=relaxation.level_bounds),
        clock=clock,
        bound=costs.reachable(max([relaxation.bound, *(value for value, _ in imposed.values())])),
        around={level: tile for level, (_, tile) in imposed.items() if tile is not None},
    )
    for strategy in strategies(state):
        strategy.run(state)
        tell(strategy.done)
        if state.done and state.best is not None:  # late, the next one may still find something
            break
    if state.best is None and one_core:
        state.offer(_smallest(state, None))
    if state.best is None:
        raise InfeasibleError(_no_chain(setting))
    if not setting.complete:
        # Bounds over some of the loop orders are none over all.
        state.exhaustive, state.bound = False, relaxation.bound
    late = clock.late and not (state.reached or state.exhaustive)
    bound = state.value if state.exhaustive else min(state.bound, state.value)
    return IntegerResult(
        point=state.best,
        bound=bound,
        stop=conclusion(state.value, bound, late=late),
        exhaustive=state.exhaustive,
        others=() if tops is None else tops.beside(state.best),
    )


def strategies(state: _Progress) -> tuple[IntegerStrategy, ...]:
    """What is tried for a task, in this order: cheap ideas first, those that need an incumbent last."""
    setting, costs, descent = state.setting, state.costs, state.descent
    if setting.split_level is not None:
        return (SPLITS,)
    chains = chain_count(costs.extents.tolist(), costs.depth, divisors=descent.divisors, allowed=setting.allowed)
    every = () if setting.fixed or chains > EXHAUSTIVE else (ALL,)
    if every and chains <= AT_ONCE:
        return every
    if descent.divisors:
        return (AROUND_KERNELS, RELAXED, DIVISORS, *every)
    if every:
        return (RELAXED, *every)
    if setting.most_orders > MANY_ORDERS:
        return (AROUND_KERNELS, RELAXED, FINE)
    # An optimum among divisors often meets the bound, for a tenth of what numbers of tiles take.
    return (AROUND_KERNELS, RELAXED, DIVISORS, COUNTS, FINE, BEAM, OTHERS, ROUNDINGS)


def _all(state: _Progress) -> None:
    """Price every chain."""
    costs = state.costs
    extents, divisors = costs.extents.tolist(), state.descent.divisors
    state.offer(costs.best(all_chains(extents, costs.depth, divisors=divisors, allowed=state.setting.allowed)))
    state.exhaustive = True


def _relaxed(state: _Progress) -> None:
    state.descend(_start(state))


def _fine(state: _Progress) -> None:
    state.descend(_start(state), fine=True)


def _around_kernels(state: _Progress) -> None:
    for level, tile in state.around.items():
        if not state.done:
            state.descend(_around(state, level + 1, tile))


def _divisors(state: _Progress) -> None:
    """The exact program over divisor tiles: a start for any tiles, a bound if only they are allowed."""
    ceiling = inf if state.best is None else state.value * (1 - EQUAL)
    found, least = divisor_optimum(state.setting, state.costs, ceiling, clock=state.clock)
    if found is not None:
        state.descend(found)
    if state.descent.divisors:
        state.prove(min(least, state.value))


def _counts(state: _Progress) -> None:
    """Raise the bound to the optimum over numbers of tiles, and start from the chains that may attain it."""
    setting, costs = state.setting, state.costs
    if state.best is None:
        return
    found = None
    if costs.depth > 1:  # of one level alone every tile is priced as it is
        found = count_optimum(setting, costs, state.bound, state.value * (1 - EQUAL), clock=state.clock)
    if found is None:
        _levels(state)
        return
    chains, least = found
    state.prove(least)
    if len(chains):
        both = np.concatenate([chains, aligned_chains(costs.extents, chains)])
        state.offer(costs.best(both[setting.allowed.hold(both)]))
    for chain in chains[:COUNTED_STARTS]:
        if not state.done:
            state.descend(chain)


def _beam(state: _Progress) -> None:
    centre = _start(state) if state.best is None else np.array(state.best.chain)
    ceiling = state.value * (1 - EQUAL)
    chains = beam(state.setting, state.costs, centre, ceiling, state.bound, clock=state.clock)
    promising = state.costs.best(chains) if len(chains) else None
    if promising is not None:
        state.descend(np.array(promising.chain))


def _others(state: _Progress) -> None:
    tried = set[bytes]()
    for other in state.relaxation.others[:OTHER_STARTS]:
        chain = state.descent.start(other.tiles, None)
        if chain.tobytes() not in tried and not state.done:
            tried.add(chain.tobytes())
            state.descend(chain)


def _roundings(state: _Progress) -> None:
    """Roundings of the relaxed tiles, two sizes at a time, under their loop orders."""
    best, setting = state.relaxation.best, state.setting
    if not setting.allowed.free:
        return
    orders = [setting.order(permutation) for permutation in best.permutations]
    try:
        point = whole_tiles(setting, orders, best.tiles, lambda _: {})
    except InfeasibleError:
        return
    state.descend(np.array(point.chain))


def _start(state: _Progress) -> Ints:
    """The relaxed tiles, rounded to a chain."""
    return state.descent.start(state.relaxation.best.tiles, None)


def _imposed(
    setting: Setting, costs: ChainCosts, clock: Clock, *, divisors: bool
) -> dict[int, tuple[float, Ints | None]]:
    """What the levels with imposed tiles cost at least; none once the time is over."""
    try:
        return {
            level: (divisors_around(setting, costs, level, clock=clock) if divisors else None)
            or imposed_optimum(setting, costs, level, clock=clock)
            for level in setting.fixed
        }
    except LimitError:
        return {}


def _levels(state: _Progress) -> None:
    """Raise the bound to the levels' own integer optima, and start from the one that decides."""
    setting, relaxation, costs = state.setting, state.relaxation, state.costs
    for level in sorted(range(costs.depth), key=lambda i: -relaxation.level_bounds[i]):
        if level in setting.fixed or relaxation.level_bounds[level] < 0.5 * state.bound:
            continue
        ceiling = state.value * (1 + EQUAL)
        try:
            value, tile = level_optimum(setting, costs, level, relaxation.box_bounds[level], ceiling, clock=state.clock)
        except LimitError:
            return
        if costs.depth == 1:
            if tile is not None:
                state.offer(costs.best(tile[None, None, :]))
                state.exhaustive = True
            return
        if value > state.bound:
            state.bound = min(value, state.value)
            if tile is not None:
                state.descend(_around(state, level, tile))


def _smallest(state: _Progress, spatial: Ints | None) -> IntegerPoint | None:
    """The best of the smallest chains that are allowed; None if not even they fit.

    Raises:
        LimitError: if none of very many fits, but not all of them were looked at.
    """
    chains, complete = least_chains(state.setting, spatial, divisors=state.descent.divisors)
    ways = None if spatial is None else np.repeat(spatial[None], len(chains), axis=0)
    point = state.costs.best(chains, ways)
    if point is None and not complete:
        raise LimitError("no tiles that fit were found among very many; use --tiles any")
    return point


def _around(state: _Progress, level: int, tile: Ints) -> Ints:
    """The relaxed tiles with one level's tile replaced, inner ones clipped to it, outer ones whole numbers of it.

    What is cut at an outer tile's end would be another tile of this level, whose number is what its cost rests on.
    """
    changed, extents = _start(state), state.costs.extents
    changed[level] = tile
    changed[:level] = np.minimum(changed[:level], tile)
    for outer in range(level + 1, len(changed)):
        inner, now = changed[outer - 1], changed[outer]
        whole = np.lcm(now, inner) if state.descent.divisors else np.maximum(now // inner, 1) * inner
        changed[outer] = np.where(now == extents, extents, whole)
    return changed


def _splits_of_cores(state: _Progress) -> None:
    """The search for several cores: the best few ways to split them, each with a descent."""
    setting, relaxation, costs, descent = state.setting, state.relaxation, state.costs, state.descent
    ranked = []
    for ways in core_splits(setting, descent):
        spatial = np.array(ways, dtype=np.int64)
        chain = descent.start(relaxation.best.tiles, spatial)
        nests = bool(descent.nests(chain[None], spatial)[0])
        chain = chain if nests else descent.raise_to(chain, spatial)
        point = costs.best(chain[None], spatial[None])
        ranked.append((not nests, inf if point is None else point.value, ways, chain))
        if not setting.allowed.free:  # raising a tile need not find the sizes that are left
            state.offer(_smallest(state, spatial))
    ranked.sort(key=lambda entry: entry[:3])
    for number, (_, _, ways, chain) in enumerate(ranked):
        if state.done or (number >= CORE_SPLITS and state.best is not None):
            break
        state.offer(descent.run(chain, np.array(ways, dtype=np.int64), goal=state.goal))
    if state.best is None:  # descents that end early, or begin far away, are no proof that nothing fits
        for *_, ways, _ in ranked:
            state.offer(_smallest(state, np.array(ways, dtype=np.int64)))


ALL = IntegerStrategy("every chain of tiles evaluated", _all)
RELAXED = IntegerStrategy("descent from the relaxed tiles", _relaxed)
AROUND_KERNELS = IntegerStrategy("descent from the best tiles around microkernels", _around_kernels)
FINE = IntegerStrategy("descent with more candidates", _fine)
BEAM = IntegerStrategy("beam over evenly cut tiles", _beam)
COUNTS = IntegerStrategy("optimum over numbers of tiles", _counts)
DIVISORS = IntegerStrategy("program over divisor tiles", _divisors)
OTHERS = IntegerStrategy("descents from further relaxed tiles", _others)
ROUNDINGS = IntegerStrategy("roundings of two sizes at a time", _roundings)
SPLITS = IntegerStrategy("descents with the cores split in several ways", _splits_of_cores)


def _no_chain(setting: Setting) -> str:
    names = ", ".join(level.name for level in setting.machine.levels)
    met = "" if setting.allowed.free else f" and meets the constraints {setting.constraints.text}"
    return f"no chain of integer tiles fits {names} together{met}; give the levels more words or use --tiles any"
