"""From a spec to points, one after another, and what they will cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from optmap.base.shown import brief
from optmap.machines.machine import Machine, two_level
from optmap.sweeps.points import GridPoint, make_point
from optmap.sweeps.spec import SweepSpec
from optmap.workloads.amounts import Capacity
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One workload on one machine: what the capacities run along."""

    workload: Workload
    machine: Machine | None
    """None for a two-level machine."""
    level: str


Grid = Mapping[int, tuple[int, ...]]
"""Capacities of every curve by its number, in the unit of the axis, ascending."""


def curves(spec: SweepSpec) -> tuple[Curve, ...]:
    """Every workload on every machine, in the order of the spec."""
    machines: tuple[Machine | None, ...] = spec.machines or (None,)
    return tuple(
        Curve(workload=workload, machine=machine, level=_level(spec, machine))
        for workload in spec.workloads
        for machine in machines
    )


def _level(spec: SweepSpec, machine: Machine | None) -> str:
    return two_level(Capacity(amount=1)).levels[0].name if machine is None else spec.swept_level(machine)


def first_grid(spec: SweepSpec) -> dict[int, tuple[int, ...]]:
    """The capacities that the spec names, for every curve; 0 stands for the machine as it is."""
    amounts = (0,) if spec.capacities is None else spec.capacities.amounts()
    return dict.fromkeys(range(len(curves(spec))), amounts)


def points(spec: SweepSpec, grid: Grid) -> Iterator[tuple[int, int, GridPoint]]:
    """The points of a grid one by one: number of the curve, capacity in its unit, point.

    The methods of one capacity follow each other, so that a worker can share work among them.
    """
    for number, curve in enumerate(curves(spec)):
        for amount in grid.get(number, ()):
            machine = machine_at(spec, curve, amount)
            for method in spec.methods:
                yield (
                    number,
                    amount,
                    make_point(
                        curve.workload,
                        machine,
                        level=curve.level,
                        method=method,
                        options=spec.options.of(method),
                        seed=spec.seed,
                    ),
                )


def machine_at(spec: SweepSpec, curve: Curve, amount: int) -> Machine:
    """The machine of a curve with its level at a capacity."""
    if spec.capacities is None:
        if curve.machine is None:
            return two_level(Capacity(amount=max(1, amount)))
        return curve.machine
    capacity = Capacity(amount=amount, unit=spec.capacities.first.unit)
    if curve.machine is None:
        return two_level(capacity)
    levels = tuple(
        replace(level, capacity=capacity) if level.name == curve.level else level for level in curve.machine.levels
    )
    return replace(curve.machine, levels=levels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seconds:
    """Of one point, or of many: between the least and the most, about so many."""

    least: float
    about: float
    most: float

    def times(self, number: float) -> Seconds:
        """Of so many points."""
        return Seconds(least=self.least * number, about=self.about * number, most=self.most * number)

    def plus(self, other: Seconds) -> Seconds:
        """Of both."""
        return Seconds(least=self.least + other.least, about=self.about + other.about, most=self.most + other.most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a sweep will do, before it does it."""

    name: str
    points: int
    """Points of the grid; refinement adds to them."""
    stored: int
    """Points that the directory has already."""
    workloads: tuple[str, ...]
    machines: tuple[str, ...]
    """Empty for a two-level machine."""
    level: str
    capacities: tuple[int, ...]
    """In `capacity_unit`; empty for machines as they are."""
    capacity_unit: str
    methods: tuple[str, ...]
    most_points: int
    """Points at most, with refinement."""
    seconds: float
    """Estimated wall-clock time of the points of the grid that are not stored."""
    least_seconds: float
    """As many, if all points are as quick as the quickest that was tried."""
    most_seconds: float
    """As many, if all are as slow as the slowest, refinement included."""
    jobs: int

    def __repr__(self) -> str:
        return brief(self)


def missing_points(spec: SweepSpec, stored: Mapping[str, int]) -> dict[str, int]:
    """Points of the first grid that need work, by method.

    Args:
        spec: what is wanted.
        stored: number of points per method that need none.
    """
    per_method = sum(len(amounts) for amounts in first_grid(spec).values())
    return {method: per_method - stored.get(method, 0) for method in spec.methods}


def make_plan(spec: SweepSpec, *, jobs: int, stored: Mapping[str, int], seconds: Seconds) -> Plan:
    """The plan of a spec.

    Args:
        spec: what is wanted.
        jobs: processes that will work on it.
        stored: number of points per method that need no work.
        seconds: of all others, one after another.
    """
    grid = first_grid(spec)
    per_method = sum(len(amounts) for amounts in grid.values())
    count = per_method * len(spec.methods)
    most = count if spec.refine is None else max(count, len(grid) * spec.refine.most_points * len(spec.methods))
    level = {curve.level for curve in curves(spec)}
    return Plan(
        name=spec.name,
        points=count,
        stored=sum(stored.values()),
        workloads=tuple(workload.title for workload in spec.workloads),
        machines=tuple(machine.name for machine in spec.machines),
        level=", ".join(sorted(level)),
        capacities=() if spec.capacities is None else spec.capacities.amounts(),
        capacity_unit="" if spec.capacities is None else spec.capacities.first.unit,
        methods=spec.methods,
        most_points=most,
        seconds=seconds.about / max(1, jobs),
        least_seconds=seconds.least / max(1, jobs),
        most_seconds=seconds.most / max(1, jobs) * most / max(1, count),
        jobs=jobs,
    )
