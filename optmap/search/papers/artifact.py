"""`mopt-artifact`: what the code published with MOpt really solves, for comparison.

It differs from the paper's Algorithm 1. Read off that code (HPCRL/ASPLOS_artifact, the generator
of its models):

- three of the eight loop orders remain at the cache levels, in every combination: with rows h and
  columns w of the output, <{k,c,r,s},{n,h},w>, <{n,k,h,w},{c,r},s> and <{n,c,h,r,s},w,k>; the
  other five are dropped as symmetric or as given by the microkernel;
- the register level has the second of them and the tile of the microkernel;
- the filter is never tiled above the registers: T_r = N_r, T_s = N_s;
- an input tile counts as (T_h + T_r)(T_w + T_s), without the -1, and the stride is ignored;
- every level is solved once, as the largest of those left, and the sizes in the cost of the level
  chosen (its own tile and what matters of the next outer one) are rounded down and kept.

Combinations compare by the costs of their levels, bottleneck first. The mapping is then evaluated
like any other; where the true footprint does not fit (strides), it is shrunk and a note says so.
Its later steps, which make tiles multiples of each other for code generation, are left out.
"""

from __future__ import annotations

from itertools import product
from math import exp, floor, inf

import numpy as np

from optmap.base.arrays import Ints
from optmap.base.errors import InputError
from optmap.search.found import Found
from optmap.search.papers.artifact_model import ArtifactModel, ConvolutionDims
from optmap.search.papers.common import (
    Hunt,
    Recipe,
    TileCandidate,
    answer,
    bottleneck,
    shared_bandwidths,
    whole_tiles,
)
from optmap.search.question import Question
from optmap.search.space.search_space import Order, Setting
from optmap.search.whole.chain_costs import IntegerPoint
from optmap.search.whole.floor import price_and_split
from optmap.solvers.ipopt import solve_nlp
from optmap.solvers.status import Stop
from optmap.workloads.forms import convolution_form, why_no_convolution
from optmap.workloads.workload import Workload

RECIPE = Recipe(
    name="mopt-artifact",
    formulation=(
        "MOpt's published code: three loop orders per cache level, filter untiled, input tile without -1 and stride; "
        "one program per level that it be the largest, levels fixed and rounded down one by one"
    ),
    solver="Ipopt in logarithms on the decomposition",
)
WHOLE = 1e-6
"""How far below a whole number a solver's size still counts as that number."""


def solve(question: Question) -> Found:
    """Solve a dense two-dimensional convolution as MOpt's published code does.

    Raises:
        InfeasibleError: if its programs have no solution.
        LimitError: if the time runs out before the first combination is solved.
        SolverUnavailableError: without Ipopt.
    """
    return answer(question, RECIPE, _hunt, _integers)


def roles_of(workload: Workload) -> ConvolutionDims:
    """Which dim of a dense two-dimensional convolution plays which part.

    Raises:
        InputError: if the workload is none.
    """
    reason = why_no_convolution(workload)
    form = None if reason else convolution_form(workload)
    if form is None or form.groups or [len(form.windows), len(form.channels), len(form.features)] != [2, 1, 1]:
        raise InputError(
            f"{RECIPE.name} needs a dense two-dimensional convolution, Out[n,k,h,w] += In[n,c,h+r,w+s] * Ker[k,c,r,s], "
            f"because its loop orders are listed for that; {workload.title} is none. "
            "Use --method mopt or mopt-algorithm1"
        )
    (h, r), (w, s) = ((window.position, window.tap) for window in form.windows)
    batch = tuple(d for axis in form.image.axes for d in axis.dims if d in form.batch)
    return ConvolutionDims(n=batch, k=form.features[0], c=form.channels[0], h=h, w=w, r=r, s=s)


def _hunt(setting: Setting, state: Hunt) -> TileCandidate:
    roles = roles_of(setting.workload)
    model = ArtifactModel(
        workload=setting.workload,
        roles=roles,
        capacities=setting.capacities,
        bandwidths=shared_bandwidths(setting),
        imposed={i: tile for i, (tile, _) in setting.fixed.items()},
    )
    known = tuple(setting.order(p) for p in roles.permutations)
    choices = [(setting.fixed[i][1],) if i in setting.fixed else known for i in range(len(setting.capacities))]
    for orders in product(*choices):
        if state.expired():
            break
        state.offer(_fix_levels(model, orders, state))
    return state.winner(RECIPE.name)


def _fix_levels(model: ArtifactModel, orders: tuple[Order, ...], state: Hunt) -> TileCandidate | None:
    """Fix the levels one by one, the most constraining first; None without a solution, or out of time."""
    sizes = model.start()
    unfixed = set(range(len(orders)))
    costs: list[float] = []
    tiles: dict[tuple[int, str], float] = {}
    while unfixed:
        found = bottleneck(state, unfixed, lambda level: _largest(model, orders, level, sizes, unfixed))
        if found is None:
            return None
        cost, level, tiles = found
        costs.append(cost)
        unfixed.remove(level)
        for key in model.priced(level, orders[level].flow):
            sizes.setdefault(key, float(floor(tiles[key] + WHOLE)))
    return TileCandidate(
        costs=tuple(costs),
        tiles=tuple(
            {d: sizes.get((i, d), float(floor(tiles[i, d] + WHOLE))) for d in model.workload.dims}
            for i in range(len(orders))
        ),
        permutations=tuple(order.permutation for order in orders),
    )


def _largest(
    model: ArtifactModel,
    orders: tuple[Order, ...],
    level: int,
    sizes: dict[tuple[int, str], float],
    unfixed: set[int],
) -> tuple[float, dict[tuple[int, str], float]] | None:
    """Cost and sizes if the level is the largest of those left; None if it cannot be."""
    flows = tuple(order.flow for order in orders)
    program = model.program(level, flows, sizes, unfixed)
    if program is None:
        return None
    solution = solve_nlp(program.nlp)
    if solution.stop is not Stop.OPTIMAL or solution.objective is None:
        return None
    found = dict(program.constants)
    for name, key in zip(program.nlp.names, program.keys, strict=True):
        found[key] = exp(solution.values[name])
    return exp(solution.objective), found


def _integers(setting: Setting, found: TileCandidate) -> tuple[IntegerPoint, tuple[str, ...]]:
    orders = tuple(setting.order(permutation) for permutation in found.permutations)
    notes = [
        "loop orders tried per cache level: "
        + ", ".join("".join(p) for p in roles_of(setting.workload).permutations)
        + " (outermost first); sizes rounded down after every level"
    ]
    chain = whole_tiles(setting, found.tiles)
    fitted = shrink(setting, chain, orders)
    if (fitted != chain).any():
        names = [
            level.name for level, a, b in zip(setting.machine.levels, chain, fitted, strict=True) if (a != b).any()
        ]
        notes.append(f"its model ignores the stride: tiles of {', '.join(names)} did not fit and were made smaller")
    return price_and_split(setting, fitted, orders), tuple(notes)


def shrink(setting: Setting, chain: Ints, orders: tuple[Order, ...]) -> Ints:
    """Take one off the largest extent of a tile until every level fits, outer level first.

    Args:
        setting: gives capacities and imposed tiles.
        chain: (L, D) nested tiles.
        orders: loop order per level.
    """
    fitted = chain.copy()
    least = setting.allowed.low
    limit = np.full(chain.shape[1], np.iinfo(np.int64).max)
    for level in range(len(chain) - 1, -1, -1):
        row = np.minimum(fitted[level], limit)
        while _occupancy(setting, row, orders[level], level) > setting.capacities[level] and (row > least[level]).any():
            room = np.where(row > least[level], row.astype(float), -inf)
            row[int(room.argmax())] -= 1
        fitted[level] = limit = row
    return fitted


def _occupancy(setting: Setting, row: Ints, order: Order, level: int) -> int:
    return setting.occupancy(dict(zip(setting.workload.dims, row.tolist(), strict=True)), order, level)
