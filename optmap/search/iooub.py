"""`iooub`: IOOpt's upper bound, one memory at a time, with a reuse level per tensor.

One bounded level: the least loads (or loads and stores) over all loop orders, reuse levels and whole
tiles. Several levels: the least sum of the levels' traffic over bandwidth (IOOpt, section 6).
Source: IOOpt sections 4 and 6; dims that tensors see alike are bundled and tensors may be streamed
through a tile, which IOOpt does not do.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from enum import StrEnum

from optmap.errors import CheckError, InfeasibleError, InputError
from optmap.evaluate.held import held_occupancy, held_traffic
from optmap.problem.axes import touched_at_least
from optmap.problem.held import Held, access_names
from optmap.problem.machine import CapacityRule, Machine
from optmap.problem.mapping import LevelMapping, Mapping
from optmap.problem.partitions import CapacityGroup, capacity_groups
from optmap.problem.workload import Semantics, Workload
from optmap.search.iooub_flows import permutation_of, positions_of
from optmap.search.iooub_tiles import Tiling, best_tiling
from optmap.search.mopt import Request
from optmap.search.result import LevelReport, Relaxation, SolveResult, conclusion
from optmap.search.versions import versions
from optmap.solvers.status import Point


class Counted(StrEnum):
    """Which words of one level count."""

    LOADS = "loads"
    """Words that enter: IOOpt's convention, an output counts once."""
    TRAFFIC = "traffic"
    """Words that enter or leave."""


def solve(request: Request) -> SolveResult:
    """Solve a request: loads for one level, the weighted sum of traffic for several.

    Raises:
        InputError: for what the method does not know (LRU capacities, several cores, flooring).
        InfeasibleError: if nothing fits.
        CheckError: if a re-check of the answer fails.
    """
    if len(request.machine.levels) == 1:
        return solve_level(request, Counted.LOADS if request.objective == "loads" else Counted.TRAFFIC)[0]
    if request.objective != "sum":
        raise InputError(f"method iooub minimises the sum of several levels, not {request.objective}")
    from optmap.search.iooub_sum import solve_sum

    return solve_sum(request, "iooub")


def refuse(request: Request, method: str) -> None:
    """Refuse what neither one level nor the sum over levels knows.

    Args:
        request: what is asked.
        method: whom.

    Raises:
        InputError: naming the option.
    """
    several = len(request.machine.levels) > 1
    what = f"method {method}, objective sum over levels," if several else f"method {method}"
    other = ", or --method mopt and its bottleneck"
    if any(level.rule(request.rule) is not CapacityRule.TILE for level in request.machine.levels):
        raise InputError(f"{what} counts for scratchpads: use --capacity tile{other}")
    if request.cores > 1:
        raise InputError(f"{what} is for one core; use --cores 1{other}")
    if request.solver is not None and not several:
        raise InputError(f"{what} solves no relaxation of several programs; leave out --solver{other}")
    if request.floor:
        raise InputError(f"{what} searches whole tiles; leave out --integers floor{other}")
    for level in request.machine.levels:
        if level.microkernel is not None:
            raise InputError(
                f"{what} does not impose the microkernel of {level.name}; leave the register level out "
                f"(--innermost with the next level){other}"
            )


def solve_level(
    request: Request, counted: Counted = Counted.LOADS, *, streams: bool = True
) -> tuple[SolveResult, Held]:
    """The best tiling of one memory.

    Args:
        request: a machine of one level.
        counted: which words are minimised.
        streams: whether tensors may be streamed through a tile (not in IOOpt).

    Returns:
        The answer, and what it holds of every tensor.

    Raises:
        InputError: for what the method does not know.
        InfeasibleError: if nothing fits.
        CheckError: if a re-check of the answer fails.
    """
    begun = time.monotonic()
    refuse(request, "iooub")
    workload, machine = request.workload, request.machine
    if len(machine.levels) != 1:
        raise InputError(f"machine {machine.name} has {len(machine.levels)} levels; one is needed here")
    groups = capacity_groups(workload, machine.levels[0])
    weights = [2.0 if counted is Counted.TRAFFIC else 1.0, *[1.0] * len(workload.inputs)]
    tiling = best_tiling(
        workload,
        [(group.words, group.tensors) for group in groups],
        weights,
        streams=streams,
        divisors=request.divisors,
        deadline=begun + request.time_limit,
    )
    if tiling is None:
        raise InfeasibleError(too_small(workload, groups))
    late = time.monotonic() > begun + request.time_limit
    held = held_of(workload, tiling)
    mapping = mapping_of(workload, machine, tiling)
    return _assemble(request, counted, tiling, held, mapping, late=late, begun=begun), held


def mapping_of(workload: Workload, machine: Machine, tiling: Tiling) -> Mapping:
    """The tile and loop order of a tiling as a mapping of a one-level machine."""
    permutation = permutation_of(tiling.flow, workload, tiling.units)
    level = LevelMapping(level=machine.levels[0].name, tile=dict(tiling.tile), permutation=permutation, spatial={})
    return Mapping(levels=(level,))


def held_of(workload: Workload, tiling: Tiling) -> Held:
    """What a tiling holds of every tensor."""
    units, flow = tiling.units, tiling.flow
    streams = {
        name: tuple(d for u, unit in enumerate(units) if flow.stream(number) >> u & 1 for d in unit.dims)
        for number, name in enumerate(access_names(workload))
    }
    return Held(
        positions=positions_of(flow, workload, units),
        streams={name: dims for name, dims in streams.items() if dims},
        inner=tuple(d for u in flow.inner for d in units[u].dims),
    )


def compulsory(workload: Workload, counted: Counted) -> int:
    """Words that every schedule moves: every word once, created outputs not loaded."""
    memories: dict[str, int] = {}
    for tensor in workload.tensors:  # accesses of one memory may touch the same words
        words = workload.weight(tensor) * touched_at_least(tensor, workload.extents)
        memories[tensor.name] = max(words, memories.get(tensor.name, 0))
    out = workload.weight(workload.output) * touched_at_least(workload.output, workload.extents)
    loads = sum(memories.values()) - (out if workload.semantics is Semantics.ASSIGN else 0)
    return loads + (out if counted is Counted.TRAFFIC else 0)


def _assemble(
    request: Request,
    counted: Counted,
    tiling: Tiling,
    held: Held,
    mapping: Mapping,
    *,
    late: bool,
    begun: float,
) -> SolveResult:
    """The answer, recounted in exact integers."""
    workload, machine = request.workload, request.machine
    level = machine.levels[0]
    mapping.check(workload, machine)
    held.check(workload, machine, mapping, request.rule)
    boundaries = held_traffic(workload, mapping, held, machine.boundaries[0])
    for group in capacity_groups(workload, level):
        needed = held_occupancy(workload, mapping, held, group.tensors)
        if needed > group.words:
            raise CheckError(f"the tiling found needs {needed:,} words, {group.name} has {group.words:,}")
    loads, words = sum(b.loads_words for b in boundaries), sum(b.words for b in boundaries)
    chosen = loads if counted is Counted.LOADS else words
    created = boundaries[0].stores_words - boundaries[0].loads_words
    if abs(tiling.value - chosen - created) > 1e-9 * tiling.value:
        raise CheckError(f"the search claims {tiling.value:.9g} words, the recount finds {chosen + created:,}")
    floor = compulsory(workload, counted)
    if chosen < floor:
        raise CheckError(f"the tiling moves {chosen:,} words, fewer than the {floor:,} that must move")
    rate = level.bandwidth.words(workload.word_bits)
    cost, bound = float(chosen / rate), float(floor / rate)
    best = chosen == floor or (tiling.streams_complete and not late)
    unit = machine.cost_unit
    relaxation = _lower_estimate(mapping, cost if best else bound, best=best)
    return SolveResult(
        workload=workload,
        machine=machine,
        method="iooub",
        objective="loads" if counted is Counted.LOADS else _all_words(request),
        capacity_rule=request.rule,
        tiles="divisors" if request.divisors else "any",
        stop=conclusion(cost, cost if best else bound, late=late),
        point=Point.GLOBAL_OPTIMUM if best else Point.FEASIBLE,
        mapping=mapping,
        levels=(
            LevelReport(
                level=level.name,
                occupancy_words=held_occupancy(workload, mapping, held),
                capacity_words=sum(group.words for group in capacity_groups(workload, level)),
                traffic_words=words,
                bandwidth=float(rate),
                cycles=float(words / rate),
            ),
        ),
        boundaries=boundaries,
        cost=cost,
        cost_unit=unit,
        exact=cost,
        exact_unit=unit,
        bottleneck=level.name,
        relaxation=relaxation,
        integer_bound=cost if best else bound,
        integer_gap=relaxation.gap(cost),
        seconds=time.monotonic() - begun,
        seed=request.seed,
        versions=versions(),
        notes=_notes(counted, held, best=best),
        held=held,
        space=_space(request),
    )


def _all_words(request: Request) -> str:
    """What the objective is called that counts loads and stores of one memory."""
    return "sum" if request.objective == "loads" else request.objective


def _space(request: Request) -> str:
    tiles = "tiles that divide the extents" if request.divisors else "whole tiles of any size"
    return (
        f"{tiles}, any loop order, a reuse position per tensor (kept over more loops than the order alone allows, "
        "where it fits), tensors streamed through a tile"
    )


def _lower_estimate(mapping: Mapping, bound: float, *, best: bool) -> Relaxation:
    """What is proved below the cost: its optimum by enumeration, else compulsory traffic."""
    level = mapping.levels[0]
    enumerated = "whole tiles, all loop orders, reuse positions and streams: the optimum itself, no relaxation"
    return Relaxation(
        value=bound,
        proved=True,
        formulation=enumerated if best else "compulsory traffic: every word of every tensor once",
        tolerance=0.0,
        method="enumeration" if best else "counting",
        classes=(level.permutation,),
        tiles=({d: float(n) for d, n in level.tile.items()},),
        cross_check=None,
    )


def _notes(counted: Counted, held: Held, *, best: bool) -> tuple[str, ...]:
    what = "loads only, an output counts once per visit" if counted is Counted.LOADS else "loads and stores"
    notes = [f"the cost counts {what}"]
    positions = ", ".join(f"{name} {position}" for name, position in held.positions.items())
    notes.append(f"reuse position per tensor (1 is the innermost loop, 0 keeps nothing between tiles): {positions}")
    for name, dims in held.streams.items():
        notes.append(f"{name} passes through its tile one iteration of {', '.join(dims)} at a time")
    if held.streams:
        notes.append(f"inside a tile the outermost loops are {', '.join(held.inner)}, in this order")
    if best:
        notes.append("proved by enumeration: no other tile, loop order, reuse positions and streams move less")
    return tuple(notes)


def too_small(workload: Workload, groups: Sequence[CapacityGroup]) -> str:
    """Which part of a memory cannot hold one element of every tensor, and what would do."""
    for group in groups:
        least = sum(workload.weight(workload.tensors[i]) for i in group.tensors)
        if least > group.words:
            names = ", ".join(workload.tensors[i].name for i in group.tensors)
            return (
                f"{group.name} is short by {least - group.words:,} words: its {group.words:,} words cannot hold one "
                f"element of {names}, which takes {least:,} words; give {group.name} at least {least:,} words"
            )
    return f"no tile of {workload.name} was found that fits; raise the time limit"
