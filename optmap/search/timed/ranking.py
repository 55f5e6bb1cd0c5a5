"""The mappings with the least predicted time: many estimated, the best counted exactly."""

from __future__ import annotations

import math
from collections import Counter

from optmap.base.clock import Clock
from optmap.base.share import Share, Tell
from optmap.count.timing import core_with_room, first_cache
from optmap.count.timing.floor import Running, core_of
from optmap.count.timing.kernel import KernelCycles, kernel_cycles, roles_of
from optmap.count.timing.predict import TimeModel
from optmap.count.timing.results import Prediction
from optmap.kernels.code_options import ActivationLayout, CodeOptions
from optmap.kernels.kernel_roles import KernelRoles
from optmap.machines.machine import Machine
from optmap.mappings.levels import Mapping
from optmap.search.timed.candidate import TimedCandidate
from optmap.search.timed.plain import plain_candidate
from optmap.search.timed.rough import Rough
from optmap.search.timed.shapes import TimedShape, shapes
from optmap.search.timed.space import BlockedNest, even_splits, nests, splits
from optmap.workloads.workload import Workload

COUNTED = 8
"""Nests per register tile and split that are counted exactly."""
WHOLE = 2
"""So many more of those whose kernels run through the whole reduction."""
ALIKE = 0.01
"""Predictions no further apart than this share are not told apart by their time, but by their traffic: what a
machine's numbers are worth."""
PER_SHAPE = 2
"""Candidates of one register tile among those that are handed out, as long as there are others."""


def ranked(
    workload: Workload,
    machine: Machine,
    options: CodeOptions | None = None,
    *,
    threads: int = 1,
    count: int = 5,
    time_limit: float = 60.0,
    progress: Tell | None = None,
) -> tuple[TimedCandidate, ...]:
    """The mappings with the least predicted time, best first; no two that differ in nothing that counts.

    Args:
        workload: what is computed, with the padding and semantics of the code.
        machine: with a core.
        options: of the code; None for the defaults.
        threads: that share the work.
        count: of mappings, at most.
        time_limit: seconds after which the best so far are handed out.
        progress: called with a text and the share of the time limit used.

    Raises:
        InputError: for a machine without a core, or without a shared level to split among threads.
        InfeasibleError: if plain loops have no mapping.
    """
    model = TimeModel(
        workload=workload,
        machine=machine,
        options=options or CodeOptions(),
        running=Running(threads=threads),
    )
    return rank(model, count=count, time_limit=time_limit, progress=progress)[0]


def rank(
    model: TimeModel, *, count: int, time_limit: float, progress: Tell | None = None
) -> tuple[tuple[TimedCandidate, ...], bool]:
    """As `ranked`; and whether the time ran out, or somebody asked to stop."""
    core = core_with_room(model.machine)
    roles = roles_of(model.workload, model.options.layout)
    if roles is None:
        plain, late = plain_candidate(model, time_limit, progress)
        return (plain,), late
    clock = Clock.after(time_limit)
    found: list[TimedCandidate] = []
    late = False
    levels = model.machine.levels[first_cache(model.machine) :]
    nearest = levels[0] if levels and model.options.layout is ActivationLayout.NHWC else None
    tiles = shapes(model.workload, roles, core, layout=model.options.layout, cache=nearest)
    ways = list(splits(model.workload, roles, model.running.threads))
    lanes = core.lanes(model.workload.output.bits)
    around = [
        (shape, split) for shape in tiles for split in even_splits(model.workload, roles, ways, shape.tile, lanes)
    ]
    for number, (shape, split) in enumerate(around):
        if found and clock.late:
            late = True
            break
        if progress is not None:
            progress("loops around register tiles", Share.counted(number, len(around), most_s=clock.left))
        found += _around(model, roles, shape, split)
    found.sort(key=lambda each: order_of(each.prediction))
    return tuple(_different(found, count, roles)), late


def order_of(prediction: Prediction) -> tuple[float, float]:
    """What candidates are sorted by: cycles, and where those are alike the parts one after another."""
    if not prediction.feasible:
        return (math.inf, math.inf)
    alike = math.floor(math.log(prediction.cycles) / math.log1p(ALIKE))
    parts = [row.cycles for row in prediction.boundaries]
    return (float(alike), prediction.compute_cycles + prediction.packing_cycles + sum(parts))


def _around(model: TimeModel, roles: KernelRoles, shape: TimedShape, split: dict[str, int]) -> list[TimedCandidate]:
    """The best nests around a register tile: estimated, and the best of them counted exactly."""
    workload, machine = model.workload, model.machine
    rough = Rough(model, first_cache(machine))
    shared = machine.split_level(model.running.threads)
    kernels: dict[tuple[int, ...], KernelCycles] = {}
    estimates = []
    for number, nest in enumerate(
        nests(workload, roles, machine, layout=model.options.layout, tile=shape.tile, split=split)
    ):
        key = tuple(nest.block[dim] for dim in (*roles.reduction, *workload.dims))
        if key not in kernels:
            mapping = nest.mapping(machine, workload.extents, shared)
            kernels[key] = kernel_cycles(workload, mapping, core_of(machine), model.options.layout)
        cycles, parts = rough.cycles(nest, kernels[key], tuple(d for d in nest.inner if d in roles.reduction))
        estimates.append((cycles, parts, number, nest))
    estimates.sort(key=lambda each: (each[0] * (1 + ALIKE) + ALIKE * each[1], each[2]))
    whole = [each for each in estimates[COUNTED:] if all(each[3].block[d] == each[3].whole[d] for d in roles.reduction)]
    best = [*estimates[:COUNTED], *whole[:WHOLE]]
    return [_counted(model, nest, shared) for _, _, _, nest in best]


def _counted(model: TimeModel, nest: BlockedNest, shared: int | None) -> TimedCandidate:
    mapping: Mapping = nest.mapping(model.machine, model.workload.extents, shared)
    mapping.check(model.workload, model.machine)
    return TimedCandidate(mapping=mapping, options=model.options, prediction=model.predict(mapping))


def _different(found: list[TimedCandidate], count: int, roles: KernelRoles) -> list[TimedCandidate]:
    """The first ones that differ in what counts: their register tile, or what crosses some boundary.

    The best of every number of vectors is among them: what instructions and loads a step of it takes, and what a
    core makes of them when another thread shares it, is more than the model knows.
    """
    ranks: list[tuple[int, TimedCandidate]] = []
    seen = set[tuple[object, ...]]()
    per_shape: Counter[tuple[int, ...]] = Counter()
    best = {id(each) for each in _best_of_widths(found, roles)}
    for each in found:
        tile = tuple(each.mapping.levels[0].tile.values())
        key = (
            tile,
            round(each.prediction.compute_cycles),
            *(f"{row.cycles:.3g}" for row in each.prediction.boundaries),
        )
        if key in seen and id(each) not in best:
            continue
        seen.add(key)
        per_shape[tile] += 1
        ranks.append((0 if id(each) in best else 1 if per_shape[tile] <= PER_SHAPE else 2, each))
    picked = sorted(ranks, key=lambda each: each[0])[:count]
    return sorted((each for _, each in picked), key=lambda each: order_of(each.prediction))


def _best_of_widths(found: list[TimedCandidate], roles: KernelRoles) -> list[TimedCandidate]:
    """The best of every number of vectors; among those alike one whose kernels run through the whole reduction.

    Sums that come back are loaded before a kernel can add to them, and it begins more often: where that saves nothing
    but lines that pass beside the arithmetic, it costs more than is predicted.
    """
    best: dict[int, TimedCandidate] = {}
    for each in found:
        width = each.mapping.levels[0].tile[roles.vector]
        first = best.setdefault(width, each)
        alike = each.prediction.cycles <= first.prediction.cycles * (1 + ALIKE)
        if alike and _sums_once(each, roles) and not _sums_once(first, roles):
            best[width] = each
    return list(best.values())


def _sums_once(candidate: TimedCandidate, roles: KernelRoles) -> bool:
    """Whether a block takes the whole reduction."""
    levels = candidate.mapping.levels[1:] or candidate.mapping.levels
    return all(levels[0].tile[dim] == levels[-1].tile[dim] for dim in roles.reduction)
