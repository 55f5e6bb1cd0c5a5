"""`mopt`: all loop orders and levels at once, the relaxation proved, the integers searched."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from optmap.errors import CheckError, InputError
from optmap.evaluate import boundary_cycles, evaluate_cost, exact_traffic
from optmap.evaluate.first_touches import check_output
from optmap.problem.machine import CapacityRule, Machine
from optmap.problem.mapping import LevelMapping, Mapping
from optmap.problem.workload import Workload
from optmap.search.chains import IntegerPoint
from optmap.search.crosscheck import cross_check, other_solver, solver_title
from optmap.search.integers import integer_search
from optmap.search.relaxation import TOLERANCE, RelaxationResult, relax
from optmap.search.result import LevelReport, Relaxation, SolveResult, conclusion
from optmap.search.setting import Setting
from optmap.search.versions import versions
from optmap.solvers.config import relaxation_solver
from optmap.solvers.status import Point, Stop

FORMULATION = (
    "epigraph over all levels and loop orders, tile sizes real, filter-like extents integer; "
    "one geometric program per loop orders and filter extents"
)
ORDERS_PER_SECOND = 250
"""Loop orders per second of the time limit and level that a search can do with."""
LEAST_ORDERS = 64
"""Loop orders that are looked at however short the time is."""
MOST_ORDERS = 20_000
"""Loop orders that are looked at however long it is."""
CROSS_CHECK_TOLERANCE = 1e-5
"""Relative distance at which two solvers contradict each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of a mapping method."""

    workload: Workload
    machine: Machine
    rule: CapacityRule = CapacityRule.TILE
    objective: str = "bottleneck"
    """What is minimised; a method knows some of `OBJECTIVES`."""
    divisors: bool = False
    """Allow only tiles that divide the next outer one."""
    floor: bool = False
    """Round the relaxed tiles down and balance them, as MOpt does, instead of searching."""
    cores: int = 1
    solver: str | None = None
    """Of the relaxation, `batch` or `ipopt`; None takes the one of `solvers.cfg`."""
    time_limit: float = 60.0
    """Seconds."""
    seed: int = 0
    progress: Callable[[str, float], None] | None = None
    """Called with what is being done and the share of the time limit used."""


def solve(request: Request) -> SolveResult:
    """Solve a request with the certified method.

    Raises:
        InputError: for cores without a shared level.
        InfeasibleError: if nothing fits, with the smallest fix.
        CheckError: if a re-check of the answer fails.
    """
    if request.objective == "sum" and len(request.machine.levels) > 1:
        from optmap.search.iooub_sum import solve_sum

        return solve_sum(request, "mopt")
    begun = time.monotonic()
    deadline = begun + request.time_limit

    def tell(text: str) -> None:
        if request.progress is not None:
            request.progress(text, min(1.0, (time.monotonic() - begun) / request.time_limit))

    if request.floor and request.divisors:
        raise InputError("--integers floor rounds tiles down and cannot keep to divisors; use --tiles any")
    setting = setting_of(request)
    tell("relaxation over all loop orders")
    relaxation = relax(setting, deadline=deadline)
    if request.floor:
        from optmap.search.floor import floor_and_balance

        point, bound, late = floor_and_balance(setting, relaxation.best), relaxation.bound, False
    else:
        found = integer_search(setting, relaxation, divisors=request.divisors, deadline=deadline, progress=tell)
        point, bound, late = found.point, found.bound, found.stop is Stop.TIME_LIMIT
    late = late or not relaxation.proved
    return assemble(
        request, setting, relaxation_report(setting, relaxation), point, bound=bound, late=late, begun=begun
    )


def setting_of(request: Request) -> Setting:
    """The setting of a request, refused if it cannot be searched.

    Raises:
        InputError: for more cores than one without a shared level, or more than the machine has; for `=` with
            a dim in two subscripts of the output.
        InfeasibleError: if not even the smallest tile fits.
    """
    machine = request.machine
    check_output(request.workload)
    setting = Setting(
        workload=request.workload,
        machine=machine,
        rule=request.rule,
        cores=request.cores,
        solver=relaxation_solver(request.solver),
        most=max(LEAST_ORDERS, int(min(MOST_ORDERS, ORDERS_PER_SECOND * request.time_limit / len(machine.levels)))),
    )
    if request.cores > 1 and setting.split_level is None:
        raise InputError(f"machine {machine.name} has no shared level to split among {request.cores} cores; use 1")
    if request.cores > max(1, machine.cores):
        raise InputError(f"machine {machine.name} has {machine.cores} cores, {request.cores} were asked for")
    children = 1 if setting.split_level is None else machine.levels[setting.split_level].fanout
    if request.cores > children:
        shared = machine.levels[setting.split_level or 0].name
        raise InputError(
            f"machine {machine.name}: {shared} feeds {children} of the {machine.cores} cores, and one level alone "
            f"splits the work; use --cores {children} or fewer"
        )
    setting.check_capacities()
    return setting


def relaxation_report(setting: Setting, result: RelaxationResult) -> Relaxation:
    """The relaxation as the answer shows it, its best program solved again by the other solver.

    Raises:
        CheckError: if that finds a value below the proved bound.
    """
    checked = cross_check(setting, result.best.node) if result.best.node and result.proved else None
    if checked is not None and checked < result.bound * (1 - CROSS_CHECK_TOLERANCE):
        raise CheckError(
            f"{other_solver(setting)} reaches {checked:.9g}, below the bound {result.bound:.9g}: one of the two is "
            "wrong; please report the workload and the machine"
        )
    return Relaxation(
        value=result.bound,
        proved=result.proved,
        formulation=FORMULATION,
        tolerance=TOLERANCE,
        method=f"{solver_title(setting)}, best first over {result.programs} convex programs"
        + (f", {result.unproved} of them without a dual bound" if result.unproved else ""),
        classes=result.best.permutations,
        tiles=result.best.tiles,
        cross_check=checked,
        checked_by=other_solver(setting),
    )


def mapping_of(setting: Setting, point: IntegerPoint) -> Mapping:
    """An integer point as a mapping."""
    dims = setting.workload.dims
    levels = []
    for number, level in enumerate(setting.machine.levels):
        split = number == setting.split_level
        levels.append(
            LevelMapping(
                level=level.name,
                tile=dict(zip(dims, point.chain[number], strict=True)),
                permutation=point.orders[number].permutation,
                spatial={d: p for d, p in zip(dims, point.spatial, strict=True) if p > 1} if split else {},
            )
        )
    return Mapping(levels=tuple(levels))


def assemble(
    request: Request,
    setting: Setting,
    relaxation: Relaxation,
    point: IntegerPoint,
    *,
    bound: float,
    late: bool,
    begun: float,
    method: str = "mopt",
) -> SolveResult:
    """The answer, with every number recomputed from the mapping in exact integers.

    Args:
        request: what was asked.
        setting: the setting that was searched.
        relaxation: its relaxation.
        point: the integer point found.
        bound: proved lower bound on the integer cost.
        late: whether the time ran out.
        begun: `time.monotonic()` at the start.
        method: name of the method.

    Raises:
        CheckError: if the mapping does not fit, or its cost is not what the search claimed, or it
            is below a proved bound.
    """
    workload, machine = request.workload, request.machine
    mapping = mapping_of(setting, point)
    mapping.check(workload, machine)
    report = evaluate_cost(workload, machine, mapping, request.rule)
    boundaries = exact_traffic(workload, machine, mapping)
    cost = report.value
    if not report.fits:
        raise CheckError("the mapping found does not fit its machine: the search and the evaluation disagree")
    if abs(cost - point.value) > 1e-9 * cost:
        raise CheckError(f"the search claims a cost of {point.value:.9g}, the evaluation finds {cost:.9g}")
    if relaxation.proved and cost < relaxation.value * (1 - 1e-9):
        raise CheckError(f"the mapping costs {cost:.9g}, below the proved bound {relaxation.value:.9g}")
    unit = machine.cost_unit
    return SolveResult(
        workload=workload,
        machine=machine,
        method=method,
        objective=request.objective,
        capacity_rule=request.rule,
        tiles="divisors" if request.divisors else "any",
        stop=conclusion(cost, min(bound, cost), late=late),
        point=Point.GLOBAL_OPTIMUM if relaxation.proved else Point.FEASIBLE,
        mapping=mapping,
        levels=tuple(
            LevelReport(
                level=item.level,
                occupancy_words=item.occupancy_words,
                capacity_words=item.capacity_words,
                traffic_words=item.traffic_words,
                bandwidth=float(rate),
                cycles=item.cycles,
            )
            for item, rate in zip(report.levels, machine.rates(workload.word_bits), strict=True)
        ),
        boundaries=boundaries,
        cost=cost,
        cost_unit=unit,
        exact=float(max(boundary_cycles(machine, boundaries, workload.word_bits))),
        exact_unit=unit,
        bottleneck=report.bottleneck,
        relaxation=relaxation,
        integer_bound=min(bound, cost),
        integer_gap=relaxation.gap(cost),
        seconds=time.monotonic() - begun,
        seed=request.seed,
        versions=versions(),
        notes=_notes(setting),
        space=space_of(request),
    )


def space_of(request: Request) -> str:
    """The mappings among which the search looks for the best, in words."""
    tiles = "tiles that divide the next outer one" if request.divisors else "whole tiles of any size"
    split = f", every split over {request.cores} cores" if request.cores > 1 else ""
    return (
        f"{tiles} and any loop order per level{split}; one tile of every tensor per level, kept while the loops inside "
        "the innermost one that the tensor depends on run"
    )


def _notes(setting: Setting) -> tuple[str, ...]:
    notes = []
    for number, level in enumerate(setting.machine.levels):
        if level.microkernel is None:
            continue
        if number in setting.fixed:
            tile = ", ".join(f"{d}={n}" for d, n in setting.fixed[number][0].items() if n > 1) or "one point"
            notes.append(f"{level.name} holds the microkernel tile of the machine: {tile}")
        else:
            notes.append(f"{level.name}: the microkernel does not apply (no outer product); its tile was searched")
    if setting.rule is CapacityRule.TILE and any(level.kind == "cache" for level in setting.machine.levels):
        notes.append("caches were filled with one tile; LRU may move more (see --capacity safe)")
    return tuple(notes)
