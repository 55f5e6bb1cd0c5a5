"""Pyomo models of tile programs: the one-level form, the epigraph and the decomposition."""

from __future__ import annotations

from math import log
from typing import Any

import pyomo.environ as pyo

from optmap.programs.expressions import Size, first_touches
from optmap.programs.tile_plan import TilePlan, occupancy_terms, tensor_labels, tile_sizes, traffic_terms


def tile_frame(plan: TilePlan) -> tuple[Any, tuple[dict[str, Size], ...]]:
    """A model with everything that all forms share.

    Tile variables, named traffic and occupancy expressions (words per tensor), rows for the
    capacities and for the chains T^l <= T^{l+1}.

    Returns:
        The model without objective, and the sizes per level (extents last).
    """
    model = pyo.ConcreteModel(name=plan.name)
    keys = plan.free()
    index = [d if plan.single else (plan.levels[i].name, d) for i, d in keys]
    low = [plan.lower[i][d] for i, d in keys]
    high = [plan.upper[i][d] for i, d in keys]
    bounds = {k: (log(a), log(b)) if plan.log else (a, b) for k, a, b in zip(index, low, high, strict=True)}
    start = {k: bound[0] for k, bound in bounds.items()}
    var = pyo.Var(index, bounds=bounds, initialize=start)
    model.add_component("t" if plan.log else "T", var)
    free = {key: pyo.exp(var[k]) if plan.log else var[k] for key, k in zip(keys, index, strict=True)}
    sizes = tile_sizes(plan, free)
    traffic: dict[Any, Size] = {}
    occupancy: dict[Any, Size] = {}
    for i, level in enumerate(plan.levels):
        for name, term in traffic_terms(plan, i, sizes).items():
            traffic[name if plan.single else (level.name, name)] = term
        for name, term in occupancy_terms(plan, i, sizes).items():
            occupancy[name if plan.single else (level.name, name)] = term
    model.traffic = pyo.Expression(list(traffic), initialize=traffic, doc="words")
    model.occupancy = pyo.Expression(list(occupancy), initialize=occupancy, doc="words")
    _capacity_rows(plan, model)
    pairs = [(i, d) for i, d in keys if (i + 1, d) in free]
    if pairs:
        chain = {(plan.levels[i].name, d): (i, d) for i, d in pairs}
        where = dict(zip(keys, index, strict=True))
        rows = {k: var[where[key]] <= var[where[key[0] + 1, key[1]]] for k, key in chain.items()}
        model.chain = pyo.Constraint(list(rows), rule=lambda _, *k: rows[k])
    return model, sizes


def _capacity_rows(plan: TilePlan, model: Any) -> None:
    rows = {}
    for i, level in enumerate(plan.levels):
        if len(plan.fixed[i]) == len(plan.workload.dims):
            continue  # a parameter: checked before
        held = _total(plan, model.occupancy, i)
        rows[level.name] = pyo.log(held) <= log(level.capacity) if plan.log else held <= level.capacity
    if rows:
        model.capacity = pyo.Constraint(list(rows), rule=lambda _, k: rows[k])


def _total(plan: TilePlan, terms: Any, level: int) -> Any:
    names = [name for name, _ in tensor_labels(plan.workload)]
    return sum(terms[n] if plan.single else terms[plan.levels[level].name, n] for n in names)


def build_one_level(plan: TilePlan) -> Any:
    """The model that minimises the traffic of the only level (MOpt Eq. 3-5)."""
    model, _ = tile_frame(plan)
    _minimise_level(plan, model, 0)
    return model


def _minimise_level(plan: TilePlan, model: Any, level: int) -> None:
    """The objective traffic/bandwidth of a level; its logarithm leaves first touches to the offset."""
    moved, bandwidth = _total(plan, model.traffic, level), plan.levels[level].bandwidth
    touches = first_touches(plan.workload)
    if plan.log:
        goal = pyo.log(moved) - log(bandwidth)
    else:
        goal = moved - touches if touches else moved
        goal = goal / bandwidth if bandwidth != 1 else goal
    model.cost = pyo.Objective(expr=goal, sense=pyo.minimize)


def build_epigraph(plan: TilePlan) -> Any:
    """The model min z with traffic_l / bandwidth_l <= z at every level."""
    model, _ = tile_frame(plan)
    bounds = (plan.cost_floor(), plan.cost_ceiling())
    if plan.log:
        model.log_z = pyo.Var(bounds=(log(bounds[0]), log(bounds[1])), initialize=log(bounds[1]))
        z: Any = pyo.exp(model.log_z)
    else:
        model.z = pyo.Var(bounds=bounds, initialize=bounds[1])
        z = model.z
    touches = first_touches(plan.workload)
    rows = {}
    for i, level in enumerate(plan.levels):
        moved = _total(plan, model.traffic, i)
        if not plan.log:
            rows[level.name] = (moved - touches) / level.bandwidth <= z
        elif touches:
            rows[level.name] = pyo.log(moved) - pyo.log(level.bandwidth * z + touches) <= 0
        else:
            rows[level.name] = pyo.log(moved) - model.log_z <= log(level.bandwidth)
    model.bottleneck = pyo.Constraint(list(rows), rule=lambda _, k: rows[k])
    model.cost = pyo.Objective(expr=model.log_z if plan.log else model.z, sense=pyo.minimize)
    return model


def build_decomposition(plan: TilePlan, chosen: int, others: tuple[int, ...]) -> Any:
    """The model that minimises one level's cost while it is the largest (MOpt section 5)."""
    model, _ = tile_frame(plan)
    touches = first_touches(plan.workload)
    top = plan.levels[chosen]
    largest = _total(plan, model.traffic, chosen)
    rows = {}
    for k in others:
        level = plan.levels[k]
        moved = _total(plan, model.traffic, k)
        # (moved - touches)/BW_k <= (largest - touches)/BW_l with both sides kept positive.
        left = moved / level.bandwidth + touches / top.bandwidth
        right = largest / top.bandwidth + touches / level.bandwidth
        rows[level.name] = pyo.log(left) - pyo.log(right) <= 0 if plan.log else left <= right
    if rows:
        model.largest = pyo.Constraint(list(rows), rule=lambda _, k: rows[k])
    _minimise_level(plan, model, chosen)
    return model
