"""`mopt-algorithm1`: MOpt's Algorithm 1 as printed, with the derived classes of any workload.

For every class, used at all levels alike: one program per level that is not fixed yet minimises
that level's cost subject to being the largest of them (the decomposition of section 5); the least
of these optima says which level is the bottleneck, its tile is fixed, and the rest goes on
without it. The class with the least bottleneck wins, its tiles are rounded down and balanced.
A level that cannot be the bottleneck has no solution, which is no error.

Two lines of the printed algorithm cannot be meant. It fixes the tile of the level alone, but the
level's cost depends on the next outer tile too, and later programs, which no longer look at that
level, would raise it without limit: the sizes of the next outer tile that occur in the cost are
fixed as well, as in the published code. And it compares classes by the cost of the level fixed
last, which says nothing about the time: here the bottleneck decides, then the levels after it.
"""

from __future__ import annotations

from collections.abc import Sequence

from optmap.base.errors import InfeasibleError
from optmap.programs.tile import TileLevel, minmax_level_program, tiles
from optmap.search.found import Found
from optmap.search.papers.common import Hunt, Recipe, TileCandidate, answer, bottleneck, shared_bandwidths
from optmap.search.question import Question
from optmap.search.relax.tree import RelaxedPoint
from optmap.search.space.search_space import Order, Setting
from optmap.search.whole.chain_costs import IntegerPoint
from optmap.search.whole.floor import floor_and_balance
from optmap.solvers.registry import solve as solve_program
from optmap.solvers.status import PointKind
from optmap.workloads.axes import window

RECIPE = Recipe(
    name="mopt-algorithm1",
    formulation=(
        "MOpt Algorithm 1: the same loop order at every level, one program per level that it be the largest, "
        "levels fixed one by one"
    ),
    solver="configured nonlinear solver on the decomposition",
)
DEVIATIONS = (
    "other than line 17 prints, the sizes of the next outer tile that a fixed level's cost depends on are fixed with "
    "its tile, as in the published code: later programs would raise them without limit",
    "other than line 19 prints, classes are compared by their bottleneck, then by the levels after it: the cost of the "
    "level that is fixed last says nothing about the time",
)
"""What of the printed algorithm cannot be meant, and what is done instead."""
ROOM = 1e-6
"""Relative room for tiles that a solver left at the edge of a capacity once they are parameters."""


def solve(question: Question) -> Found:
    """Solve a question by MOpt's Algorithm 1 (section 8).

    Raises:
        InfeasibleError: if nothing fits.
        LimitError: if the time runs out before the first class is solved.
    """
    return answer(question, RECIPE, _hunt, _integers)


def _hunt(setting: Setting, state: Hunt) -> TileCandidate:
    for order in setting.orders:
        if state.expired():
            break
        orders = [setting.fixed[i][1] if i in setting.fixed else order for i in range(len(setting.capacities))]
        state.offer(fix_levels(setting, orders, state))
    return state.winner(RECIPE.name)


def fix_levels(setting: Setting, orders: Sequence[Order], state: Hunt) -> TileCandidate | None:
    """The loop of Algorithm 1, lines 4 to 18, for given loop orders; None without a solution, or out of time.

    Args:
        setting: what is searched.
        orders: loop order per level, inner first.
        state: counts the programs and has the clock.
    """
    depth = len(orders)
    unfixed = set(range(depth))
    known: list[dict[str, float]] = [
        {d: float(n) for d, n in setting.fixed[i][0].items()} if i in setting.fixed else {} for i in range(depth)
    ]
    costs: list[float] = []
    while unfixed:
        found = bottleneck(state, unfixed, lambda level: _largest(setting, orders, level, known, unfixed))
        if found is None:
            return None
        cost, level, sizes = found
        _fix(setting, known, level, sizes[level], setting.workload.dims)
        if level + 1 < depth:
            _fix(setting, known, level + 1, sizes[level + 1], _felt_outside(setting, orders[level]))
        costs.append(cost)
        unfixed.remove(level)
    return TileCandidate(
        costs=tuple(costs), tiles=tuple(known), permutations=tuple(order.permutation for order in orders)
    )


def _felt_outside(setting: Setting, order: Order) -> tuple[str, ...]:
    """Dims whose size in the next outer tile occurs in a level's cost.

    The number of tiles outside cancels with the number inside for every loop outside the reuse
    position; it does not for the loops inside, nor for a window that grows along the loop at it.
    """
    felt: set[str] = set()
    for tensor, reuse in zip(setting.workload.tensors, order.flow, strict=True):
        felt |= reuse.free
        if reuse.at is not None and window(tensor, reuse.at):
            felt.add(reuse.at)
    return tuple(d for d in setting.workload.dims if d in felt)


def _fix(
    setting: Setting, known: list[dict[str, float]], level: int, tile: dict[str, float], dims: tuple[str, ...]
) -> None:
    """Make sizes of a level parameters, without the rounding that would put them outside their neighbours."""
    for dim in dims:
        inside = [sizes[dim] for sizes in known[:level] if dim in sizes]
        outside = [sizes[dim] for sizes in known[level + 1 :] if dim in sizes]
        size = min([max([tile[dim], 1.0, *inside]), float(setting.workload.extents[dim]), *outside])
        known[level].setdefault(dim, size)


def _largest(
    setting: Setting,
    orders: Sequence[Order],
    level: int,
    known: Sequence[dict[str, float]],
    unfixed: set[int],
) -> tuple[float, tuple[dict[str, float], ...]] | None:
    """Cost of one level, and all tiles, if it is the largest of those left; None if it cannot be."""
    levels = []
    for i, (machine_level, order) in enumerate(zip(setting.machine.levels, orders, strict=True)):
        levels.append(
            TileLevel(
                name=machine_level.name,
                capacity=setting.capacities[i] * (1 + ROOM if known[i] else 1),
                bandwidth=shared_bandwidths(setting)[i],
                permutation=order.permutation,
                fixed=known[i],
                rule=machine_level.rule(setting.rule),
            )
        )
    try:
        program = minmax_level_program(setting.workload, levels, objective_level=level, against=unfixed)
    except InfeasibleError:
        return None
    solution = solve_program(program)
    if solution.point not in (PointKind.LOCAL_OPTIMUM, PointKind.GLOBAL_OPTIMUM) or solution.objective is None:
        return None
    found = tiles(setting.workload, [item.name for item in levels], program.read_back(solution.values))
    return solution.objective, found


def _integers(setting: Setting, found: TileCandidate) -> tuple[IntegerPoint, tuple[str, ...]]:
    relaxed = RelaxedPoint(value=max(found.costs), tiles=found.tiles, permutations=found.permutations, node=())
    return floor_and_balance(setting, relaxed), ("tiles rounded down and balanced, as Algorithm 1 ends", *DEVIATIONS)
