"""A tile program before any model is built: checked input, and which sizes are parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from math import isfinite, log
from typing import Any

from optmap.base.errors import InfeasibleError, InputError
from optmap.machines.machine import CapacityRule
from optmap.mappings.reuse import TensorRoom, dataflow, safe_working_set
from optmap.programs.expressions import (
    Size,
    approximations,
    first_touches,
    geometric,
    tensor_occupancy,
    tensor_traffic,
)
from optmap.programs.program import Form, Program, Sense, Variable
from optmap.workloads.workload import TensorAccess, Workload, access_names


class Scale(StrEnum):
    """What the variables of a tile program are."""

    LOG = "log"
    """Natural logarithms of sizes and costs: convex where the program is geometric."""
    RAW = "raw"
    """The sizes and costs themselves: for reading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TileLevel:
    """One bounded level of a tile program."""

    capacity: float
    """Words that fit."""
    permutation: tuple[str, ...]
    """Loops over the tiles of this level, outermost first."""
    bandwidth: float = 1.0
    """Words per cycle across the boundary to the next outer level."""
    name: str = "L1"
    fixed: Mapping[str, float] = field(default_factory=dict)
    """Tile sizes that are parameters, per dim."""
    rule: CapacityRule = CapacityRule.TILE
    """Which working set must fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TilePlan:
    """A tile program before Pyomo: checked input, and which sizes are parameters."""

    workload: Workload
    levels: tuple[TileLevel, ...]
    scale: Scale
    name: str
    single: bool
    lower: tuple[dict[str, float], ...]
    """Smallest size per level and dim: the fixed sizes further in."""
    upper: tuple[dict[str, float], ...]
    """Largest size per level and dim: the extent, or the fixed sizes further out."""

    @property
    def log(self) -> bool:
        """Whether variables are logarithms."""
        return self.scale is Scale.LOG

    @property
    def fixed(self) -> tuple[dict[str, float], ...]:
        """Sizes without a choice, per level."""
        return tuple(
            {d: low[d] for d in self.workload.dims if low[d] == high[d]}
            for low, high in zip(self.lower, self.upper, strict=True)
        )

    def quantity(self, level: int, dim: str) -> str:
        """Name of a tile size."""
        return f"T[{dim}]" if self.single else f"T[{self.levels[level].name},{dim}]"

    def free(self) -> list[tuple[int, str]]:
        """(level, dim) of every size with a choice, inner level first."""
        return [(i, d) for i, fixed in enumerate(self.fixed) for d in self.workload.dims if d not in fixed]

    def offset(self, target: int | None) -> float:
        """First touches per bandwidth that the logarithm of a level's cost leaves out."""
        if target is None or not self.log or not first_touches(self.workload):
            return 0.0
        return -first_touches(self.workload) / self.levels[target].bandwidth

    def cost_ceiling(self) -> float:
        """The largest cost of a level at the smallest tiles: an upper bound on the min-max."""
        smallest = tile_sizes(self, {key: Fraction(self.lower[key[0]][key[1]]) for key in self.free()})
        touches = first_touches(self.workload)
        costs = [
            (float(level_traffic(self, i, smallest)) - touches) / level.bandwidth for i, level in enumerate(self.levels)
        ]
        return max(2.0 * self.cost_floor(), *costs)

    def cost_floor(self) -> float:
        """At least one word crosses every boundary."""
        return 1.0 / min(level.bandwidth for level in self.levels)

    def program(
        self, build: Callable[[], Any], *, unit: str, target: int | None = None, convex: bool = True
    ) -> Program:
        """The finished program; `target` is the level whose cost is the objective, None for the epigraph."""
        variables = []
        for level, dim in self.free():
            quantity = self.quantity(level, dim)
            ends = (self.lower[level][dim], self.upper[level][dim])
            variables.append(self.variable(quantity, "t" + quantity[1:], ends, "iterations"))
        if target is None:
            variables.append(self.variable("z", "log_z", (self.cost_floor(), self.cost_ceiling()), unit))
        outer: tuple[Mapping[str, float], ...] = (*self.fixed[1:], self.workload.extents)
        posynomial = all(geometric(self.workload, f, o) for f, o in zip(self.fixed, outer, strict=True))
        return Program(
            name=self.name,
            form=Form.NLP,
            convex=convex and self.log and posynomial,
            sense=Sense.MINIMIZE,
            variables=tuple(variables),
            build=build,
            objective_unit=unit,
            objective_log=self.log,
            objective_offset=self.offset(target),
            fixed=tuple((self.quantity(i, d), float(v)) for i, f in enumerate(self.fixed) for d, v in f.items()),
            notes=tuple(dict.fromkeys(n for f in self.fixed for n in approximations(self.workload, f))),
        )

    def variable(self, quantity: str, log_name: str, ends: tuple[float, float], unit: str) -> Variable:
        """A variable between two ends of its quantity, logarithmic if the plan is."""
        low, high = (log(ends[0]), log(ends[1])) if self.log else ends
        name = log_name if self.log else quantity
        return Variable(name=name, quantity=quantity, lower=low, upper=high, log=self.log, unit=unit)


def make_plan(
    workload: Workload, levels: tuple[TileLevel, ...], scale: Scale, *, name: str, single: bool = False
) -> TilePlan:
    """Check the input and find which sizes have a choice."""
    if not levels:
        raise InputError(f"{workload.title}: a tile program needs at least one level")
    if len({level.name for level in levels}) != len(levels):
        raise InputError(f"{workload.title}: level names repeat in {[level.name for level in levels]}")
    for level in levels:
        _check_level(workload, level)
    lower: list[dict[str, float]] = []
    reached: dict[str, float] = dict.fromkeys(workload.dims, 1)
    for level in levels:
        reached = {d: max(reached[d], level.fixed.get(d, 1)) for d in workload.dims}
        lower.append(reached)
    upper: list[dict[str, float]] = []
    limit: dict[str, float] = dict(workload.extents)
    for level in reversed(levels):
        limit = {d: min(limit[d], level.fixed.get(d, limit[d])) for d in workload.dims}
        upper.insert(0, limit)
    for level, low, high in zip(levels, lower, upper, strict=True):
        for dim in workload.dims:
            if low[dim] > high[dim] or level.fixed.get(dim, low[dim]) < low[dim]:
                raise InputError(
                    f"level {level.name}: the fixed tile of {dim} is larger than one further out; "
                    "fixed sizes must not shrink from inner to outer levels"
                )
    plan = TilePlan(
        workload=workload, levels=levels, scale=scale, name=name, single=single, lower=tuple(lower), upper=tuple(upper)
    )
    _check_smallest(plan)
    return plan


def _check_level(workload: Workload, level: TileLevel) -> None:
    where = f"level {level.name}"
    if sorted(level.permutation) != sorted(workload.dims):
        raise InputError(
            f"{where}: permutation {','.join(level.permutation)} must name each of {','.join(workload.dims)} once"
        )
    if not (isfinite(level.capacity) and level.capacity > 0):
        raise InputError(f"{where}: capacity is {level.capacity} words; it must be positive and finite")
    if not (isfinite(level.bandwidth) and level.bandwidth > 0):
        raise InputError(f"{where}: bandwidth is {level.bandwidth}; it must be positive and finite")
    for dim, size in level.fixed.items():
        if dim not in workload.dims:
            raise InputError(f"{where}: fixed size of unknown dim {dim}; dims are {', '.join(workload.dims)}")
        if not 1 <= size <= workload.extents[dim]:
            raise InputError(f"{where}: fixed size {size} of {dim} must lie in 1 … {workload.extents[dim]}")


def _check_smallest(plan: TilePlan) -> None:
    """Refuse a program whose smallest tiles do not fit, before any solver sees it."""
    smallest = tile_sizes(plan, {key: Fraction(plan.lower[key[0]][key[1]]) for key in plan.free()})
    for i, level in enumerate(plan.levels):
        needed = float(level_occupancy(plan, i, smallest))
        if needed > level.capacity * (1 + 1e-9):
            raise InfeasibleError(
                f"level {level.name} is short by {needed - level.capacity:,.0f} words: the smallest tile "
                f"needs {needed:,.0f} of {level.capacity:,.0f}; enlarge it or fix smaller sizes"
            )


def tile_sizes(plan: TilePlan, free: Mapping[tuple[int, str], Size]) -> tuple[dict[str, Size], ...]:
    """Sizes per level, parameters and given free ones, with the extents as the outermost entry."""
    found: list[dict[str, Size]] = [
        {d: fixed[d] if d in fixed else free[i, d] for d in plan.workload.dims} for i, fixed in enumerate(plan.fixed)
    ]
    return (*found, dict(plan.workload.extents))


def traffic_terms(plan: TilePlan, level: int, sizes: Sequence[Mapping[str, Size]]) -> dict[str, Size]:
    """Words per tensor across the boundary of a level (first touches not subtracted)."""
    flows = dataflow(plan.workload, plan.levels[level].permutation)
    return {
        name: tensor_traffic(plan.workload, tensor, flow, sizes[level], sizes[level + 1])
        for (name, tensor), flow in zip(tensor_labels(plan.workload), flows, strict=True)
    }


def level_traffic(plan: TilePlan, level: int, sizes: Sequence[Mapping[str, Size]]) -> Size:
    """Words across the boundary of a level, first touches not subtracted."""
    return sum(traffic_terms(plan, level, sizes).values())


def occupancy_terms(plan: TilePlan, level: int, sizes: Sequence[Mapping[str, Size]]) -> dict[str, Size]:
    """Words per tensor that a level must hold."""
    workload = plan.workload
    if plan.levels[level].rule is CapacityRule.SAFE:
        rooms = safe_working_set(workload, plan.levels[level].permutation)
    else:
        rooms = tuple(TensorRoom() for _ in workload.tensors)
    return {
        name: tensor_occupancy(workload, tensor, sizes[level], room)
        for (name, tensor), room in zip(tensor_labels(workload), rooms, strict=True)
    }


def level_occupancy(plan: TilePlan, level: int, sizes: Sequence[Mapping[str, Size]]) -> Size:
    """Words that a level must hold."""
    return sum(occupancy_terms(plan, level, sizes).values())


def tensor_labels(workload: Workload) -> tuple[tuple[str, TensorAccess], ...]:
    """Every access, output first, with its name in the files of programs."""
    return tuple(zip(access_names(workload, "_"), workload.tensors, strict=True))
