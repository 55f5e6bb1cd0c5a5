"""From the relaxation to the best integer mapping, and what is proved about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import inf

import numpy as np

from optmap.clock import Clock
from optmap.errors import InfeasibleError, LimitError
from optmap.search.relax.tree import RelaxationResult
from optmap.search.result import conclusion
from optmap.search.search_space import Setting
from optmap.search.sizes import factorizations
from optmap.search.whole.chain_costs import ChainCosts, IntArray, IntegerPoint, all_chains, chain_count, least_chains
from optmap.search.whole.descent import Descent
from optmap.search.whole.one_level import imposed_optimum, level_optimum
from optmap.search.whole.tile_pairs import beam, divisor_optimum
from optmap.solvers.status import Stop

EXHAUSTIVE = 150_000
"""Chains up to which every one is evaluated."""
EQUAL = 1e-9
"""Relative distance below which a cost counts as having reached a bound."""
OTHER_STARTS = 3
"""Further relaxed points that the search starts from if the first leaves a gap."""
MANY_ORDERS = 200
"""Loop orders beyond which large tables of tiles are not priced under all of them."""
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


@dataclass(slots=True)
class _State:
    """The task, the incumbent and the bound while the search goes on."""

    setting: Setting
    relaxation: RelaxationResult
    costs: ChainCosts
    descent: Descent
    clock: Clock
    bound: float
    around: dict[int, IntArray] = field(default_factory=dict)
    """Per level with an imposed tile: the smallest next outer tile with which it costs least."""
    best: IntegerPoint | None = None
    exhaustive: bool = False
    tried: set[bytes] = field(default_factory=set)

    def offer(self, point: IntegerPoint | None) -> None:
        if point is not None and (self.best is None or point.key < self.best.key):
            self.best = point

    @property
    def value(self) -> float:
        return inf if self.best is None else self.best.value

    @property
    def goal(self) -> float:
        """Bottleneck at which nothing is left to gain."""
        return self.bound * (1 + EQUAL)

    @property
    def reached(self) -> bool:
        return self.value <= self.goal


def integer_search(
    setting: Setting,
    relaxation: RelaxationResult,
    *,
    divisors: bool = False,
    deadline: float = inf,
    progress: Callable[[str], None] | None = None,
) -> IntegerResult:
    """Find the best integer mapping.

    Small problems are enumerated. Otherwise: descent from the relaxed tiles; if that leaves a gap,
    the exact integer optimum of the levels on their own (a sharper bound), the exact program over
    divisor tiles, a beam over evenly cut tiles and further relaxed points, each followed by a
    descent, until the bound is reached or the ideas run out.

    Args:
        setting: workload, machine, capacity rule and cores.
        relaxation: the proved relaxation of the setting.
        divisors: allow only tiles that divide the next outer one.
        deadline: `time.monotonic()` value after which the best so far is returned.
        progress: called with what is being done.

    Raises:
        InfeasibleError: if no chain of integer tiles fits.
    """
    costs = ChainCosts(setting)
    tell = progress or (lambda _: None)
    one_core = setting.split_level is None
    clock = Clock(deadline)
    imposed = _imposed(setting, costs, clock) if one_core else {}
    state = _State(
        setting=setting,
        relaxation=relaxation,
        costs=costs,
        descent=Descent(costs, divisors=divisors, deadline=deadline),
        clock=clock,
        bound=max([relaxation.bound, *(value for value, _ in imposed.values())]),
        around={level: tile for level, (_, tile) in imposed.items() if tile is not None},
    )
    steps = _split_steps if setting.split_level is not None else _steps
    for text in steps(state):
        tell(text)
        if state.reached or state.exhaustive or clock.late:
            break
    if state.best is None and one_core and not (divisors and setting.allowed.free):
        state.offer(_smallest(state, None))
    if state.best is None:
        raise InfeasibleError(_no_chain(setting))
    if not setting.complete:
        # Bounds over some of the loop orders are none over all.
        state.exhaustive, state.bound = False, relaxation.bound
    late = clock.late and not (state.reached or state.exhaustive)
    bound = state.value if state.exhaustive else min(state.bound, state.value)
    return IntegerResult(
        point=state.best, bound=bound, stop=conclusion(state.value, bound, late=late), exhaustive=state.exhaustive
    )


def _steps(state: _State) -> Iterator[str]:
    """The search for one core, one idea after the other; yields after each."""
    setting, relaxation, costs, descent = state.setting, state.relaxation, state.costs, state.descent
    divisors = descent.divisors
    extents = costs.extents.tolist()
    allowed = setting.allowed
    if not setting.fixed and chain_count(extents, costs.depth, divisors=divisors, allowed=allowed) <= EXHAUSTIVE:
        state.offer(costs.best(all_chains(extents, costs.depth, divisors=divisors, allowed=allowed)))
        state.exhaustive = True
        yield "every chain of tiles evaluated"
        return
    start = descent.start(relaxation.best.tiles, None)
    state.offer(descent.run(start, None, goal=state.goal))
    yield "descent from the relaxed tiles"
    for level, tile in state.around.items():
        state.offer(descent.run(_around(start, level + 1, tile), None, goal=state.goal))
        yield "descent from the best tile around the microkernel"
    if not divisors:
        state.offer(descent.run(start, None, goal=state.goal, fine=True))
        yield "descent with more candidates"
        if setting.most_orders > MANY_ORDERS:
            return
        _sharpen(state, start)
        yield "each level's own integer optimum"
    ceiling = inf if state.best is None else state.value * (1 + EQUAL)
    found, least = divisor_optimum(setting, costs, ceiling, clock=state.clock)
    if found is not None:
        state.offer(descent.run(found, None, goal=state.goal))
    if divisors:
        state.bound = max(state.bound, min(least, state.value))
        state.exhaustive = state.value <= least * (1 + EQUAL)
    yield "program over divisor tiles"
    if divisors:
        return
    centre = start if state.best is None else np.array(state.best.chain)
    chains = beam(setting, costs, centre, state.value * (1 - EQUAL), state.bound, clock=state.clock)
    if len(chains):
        promising = costs.best(chains)
        if promising is not None:
            state.offer(descent.run(np.array(promising.chain), None, goal=state.goal))
    yield "beam over evenly cut tiles"
    for other in relaxation.others[:OTHER_STARTS]:
        chain = descent.start(other.tiles, None)
        if chain.tobytes() not in state.tried:
            state.tried.add(chain.tobytes())
            state.offer(descent.run(chain, None, goal=state.goal))
            yield "descent from further relaxed tiles"


def _imposed(setting: Setting, costs: ChainCosts, clock: Clock) -> dict[int, tuple[float, IntArray | None]]:
    """What the levels with imposed tiles cost at least; none once the time is over."""
    try:
        return {level: imposed_optimum(setting, costs, level, clock=clock) for level in setting.fixed}
    except LimitError:
        return {}


def _sharpen(state: _State, start: IntArray) -> None:
    """Raise the bound to the levels' own integer optima, and start from the one that decides."""
    setting, relaxation, costs, descent = state.setting, state.relaxation, state.costs, state.descent
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
                state.offer(descent.run(_around(start, level, tile), None, goal=state.goal))


def _smallest(state: _State, spatial: IntArray | None) -> IntegerPoint | None:
    """The best of the smallest chains that are allowed; None if not even they fit.

    Raises:
        LimitError: if none of very many fits, but not all of them were looked at.
    """
    chains, complete = least_chains(state.setting, spatial, divisors=state.descent.divisors)
    ways = None if spatial is None else np.repeat(spatial[None], len(chains), axis=0)
    point = state.costs.best(chains, ways)
    if point is None and not complete:
        raise LimitError("no tiles that meet the constraints were found among very many; use --tiles any")
    return point


def _around(chain: IntArray, level: int, tile: IntArray) -> IntArray:
    """The chain with one level's tile replaced, inner ones clipped to it and outer ones raised."""
    changed = chain.copy()
    changed[level] = tile
    changed[:level] = np.minimum(changed[:level], tile)
    changed[level:] = np.maximum(changed[level:], tile)
    return changed


def _split_steps(state: _State) -> Iterator[str]:
    """The search for several cores: the best few ways to split them, each with a descent."""
    setting, relaxation, costs, descent = state.setting, state.relaxation, state.costs, state.descent
    ranked = []
    for ways in _splits(setting, descent):
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
        if number >= CORE_SPLITS and state.best is not None:
            break
        state.offer(descent.run(chain, np.array(ways, dtype=np.int64), goal=state.goal))
        yield f"descent with {setting.cores} cores split {ways}"


def _splits(setting: Setting, descent: Descent) -> list[tuple[int, ...]]:
    """The ways to split the cores over the dims: the whole problem can be cut so, around imposed tiles too.

    Raises:
        InfeasibleError: if there is none.
    """
    reduction = set(setting.workload.reduction_dims)
    limits = [1 if d in reduction else n for d, n in setting.workload.sizes]
    inside = descent.inside(setting.split_level or 0).tolist()
    extents = [n for _, n in setting.workload.sizes]
    found = [
        ways
        for ways in factorizations(setting.cores, limits)
        if all(
            -(-extent // split) >= least and not (descent.divisors and extent % split)
            for extent, split, least in zip(extents, ways, inside, strict=True)
        )
        and (setting.allowed.free or len(least_chains(setting, np.array(ways), divisors=descent.divisors, most=1)[0]))
    ]
    if not found:
        names = ", ".join(d for d in setting.workload.dims if d not in reduction)
        divide = " that divide them" if descent.divisors else ""
        imposed = " and leave room for the microkernel" if setting.fixed else ""
        met = "" if setting.allowed.free else f" and meet the constraints {setting.constraints.text}"
        raise InfeasibleError(
            f"{setting.cores} cores cannot be written as a product of factors within the extents of the dims that are "
            f"not reduced ({names}){divide}{imposed}{met}; use fewer cores" + (" or --tiles any" if divide else "")
        )
    return found


def _no_chain(setting: Setting) -> str:
    names = ", ".join(level.name for level in setting.machine.levels)
    met = "" if setting.allowed.free else f" and meets the constraints {setting.constraints.text}"
    return f"no chain of integer tiles fits {names} together{met}; give the levels more words or use --tiles any"
