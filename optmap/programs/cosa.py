"""CoSA's mixed-integer program as published (Dinh 6.1), for any accelerator: to be compared with, not to be trusted.

A binary X says of every prime factor of every dim at which memory its loop is, in space or in time; in the outermost
bounded memory time has ranks, one loop each, innermost first. Y[v, z] says that a loop relevant to tensor v is at
rank z or inside. Everything is in logs to base 2 and linear but for Y times X, which is written with one more
variable per tensor and rank. Equal factors of a dim and empty ranks have one order here, which leaves every mapping.

Capacity: the tile of each tensor at most a fixed share of each memory that keeps it. As in the public code
(ucb-bar/cosa) filter dims do not count for the input, so halo is ignored, and the stride multiplies every prime factor
of a height or width, not the extent. A memory of one tensor is all its own; of an input and an output a quarter and
three quarters, as in the code's global buffer; of others even shares. So mappings may overflow: whoever solves it
counts them again.

Objective: 10 x log of the cycles of computation + log traffic of every tensor - 0.1 x log tiles below the ranked
memory. Traffic is the sum of the paper's three: tile (D, with the code's 0.8 + 0.04 per memory, which prefers inner
ones), ways in the ranked memory's mesh (L, as the paper has it), trips that repeat (T), and all trips of the outermost
memory.

Where the code has one number of children per memory, a mesh has two axes here. Meshes that admit some dims only, and
rules of a machine on trips, are kept to; orders of loops are those of the machine or, in other memories than the
ranked one, the code's: filter dims innermost, then height, width, channels, filters, batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import floor, log2, prod
from typing import Any

import pyomo.environ as pyo

from optmap.machines.accelerator import KeepRule
from optmap.machines.fabric import Fabric, Rule, SharedRoom
from optmap.machines.relations import Relation
from optmap.machines.roles import roles_of
from optmap.mappings.nest import MemoryNest, Nest
from optmap.programs.program import Form, Program, Sense, Variable
from optmap.symbolic.numbers import prime_factors

COMPUTE, TRAFFIC, UTILISATION = 10.0, 1.0, -0.1
"""Weights of the objective in the public code."""
INNER, PER_MEMORY, REPEATED = 0.8, 0.04, 0.99
"""Its weights of tiles: of the innermost memory, more per memory, and of all."""
SHARES = (0.25, 0.75)
"""Of an input and an output that share a memory."""
ORDER = ("filter_height", "filter_width", "height", "width", "channels", "filters", "batch")
"""Of loops, innermost first, where no ranks are."""

Factor = tuple[int, int, int]
"""(dim, number among the prime factors of the dim, prime)."""


@dataclass(frozen=True, kw_only=True)
class Cosa:
    """CoSA's program of a fabric, and the way back to mappings."""

    fabric: Fabric

    @property
    def ranked(self) -> int:
        """The memory whose loops in time have ranks: the outermost bounded one."""
        return max(0, len(self.fabric.memories) - 2)

    @cached_property
    def factors(self) -> tuple[Factor, ...]:
        """The prime factors of all dims."""
        return tuple(
            (dim, place, prime)
            for dim, extent in enumerate(self.fabric.extents)
            for place, prime in enumerate(prime_factors(extent))
        )

    @cached_property
    def slots(self) -> tuple[tuple[int, str], ...]:
        """(memory, x, y or time, or a rank) at which loops can be."""
        found: list[tuple[int, str]] = []
        for number, memory in enumerate(self.fabric.memories):
            found += [(number, axis) for axis, one in (("x", memory.x), ("y", memory.y)) if one.size > 1]
            ranks = [f"rank{rank}" for rank in range(len(self.factors))]
            found += [(number, slot) for slot in (ranks if number == self.ranked else ["time"])]
        return tuple(found)

    def program(self) -> Program:
        """The program with its exports."""
        model = self.build()
        return Program(
            name=f"CoSA's program of {self.fabric.workload.title} on {self.fabric.machine.name}",
            form=Form.MILP,
            convex=True,
            sense=Sense.MINIMIZE,
            variables=tuple(
                Variable(name=v.name, quantity=v.name, lower=v.lb, upper=v.ub, integer=not v.is_continuous())
                for v in model.component_data_objects(pyo.Var, active=True)
            ),
            build=self.build,
            objective_unit="weighted log2",
            notes=("fixed shares of capacities, halo ignored, stride on every prime factor: mappings may not fit",),
        )

    def build(self) -> Any:
        """A new Pyomo model."""
        return _Model(self).model

    def nest(self, values: Mapping[str, float]) -> Nest:
        """The mapping of a point."""
        return _read_back(self, values)

    def name(self, factor: Factor, slot: tuple[int, str]) -> tuple[str, int, str, str]:
        """Index of a binary X."""
        dim, place, _ = factor
        return self.fabric.dims[dim], place, self.fabric.memories[slot[0]].name, slot[1]

    def counts(self, operand: int, dim: int) -> bool:
        """Whether a dim counts for the tile of an operand: A in the paper, 0 for the filter dims of a window."""
        output = next(each for each in self.fabric.operands if each.output)
        for axis in self.fabric.operands[operand].axes:
            if any(own == dim for own, _ in axis):
                return len(axis) == 1 or dim in output.dims or not any(own in output.dims for own, _ in axis)
        return False

    def keeps(self, operand: int, memory: int) -> bool:
        """Whether a memory keeps an operand: wherever it may."""
        return self.fabric.memories[memory].keeps[operand] is not KeepRule.REFUSED


class _Model:
    """The model in the making."""

    def __init__(self, cosa: Cosa) -> None:
        self.cosa, self.fabric = cosa, cosa.fabric
        self.model = pyo.ConcreteModel(name=f"cosa {cosa.fabric.workload.title}")
        names = [cosa.name(factor, slot) for factor in cosa.factors for slot in cosa.slots if self._may(factor, slot)]
        self.model.X = pyo.Var(names, domain=pyo.Binary)
        self._assignment()
        self._meshes()
        self._capacities()
        self._objective()

    def _may(self, factor: Factor, slot: tuple[int, str]) -> bool:
        memory = self.fabric.memories[slot[0]]
        if slot[1] in ("x", "y"):
            axis = memory.x if slot[1] == "x" else memory.y
            return axis.allowed[factor[0]] and factor[2] <= axis.size
        return True

    def at(self, factor: Factor, slot: tuple[int, str]) -> Any:
        """A binary X, or 0."""
        name = self.cosa.name(factor, slot)
        return self.model.X[name] if name in self.model.X else 0.0  # noqa: SIM401 # variables have no `get`

    def log(self, slots: Iterator[tuple[int, str]], *, tensor: int | None = None, strided: bool = False) -> Any:
        """Log of the trips at some slots, of the dims that count for a tensor."""
        found: Any = 0.0
        for slot in slots:
            for factor in self.cosa.factors:
                if tensor is None or self.cosa.counts(tensor, factor[0]):
                    step = self._stride(tensor, factor[0]) if strided and tensor is not None else 1
                    found += log2(step * factor[2]) * self.at(factor, slot)
        return found

    def _stride(self, tensor: int, dim: int) -> int:
        axes = self.fabric.operands[tensor].axes
        return next((c for axis in axes if len(axis) > 1 for own, c in axis if own == dim), 1)

    def slots(self, memory: int | None = None, *, time: bool | None = None) -> Iterator[tuple[int, str]]:
        """Slots of a memory, in time or in space."""
        for slot in self.cosa.slots:
            timed = slot[1] not in ("x", "y")
            if (memory is None or slot[0] == memory) and (time is None or timed == time):
                yield slot

    def _assignment(self) -> None:
        """Every factor at one slot, every rank for one factor; equal factors and empty ranks in one order."""
        model, cosa = self.model, self.cosa
        model.assigned, model.rank, model.same = pyo.ConstraintList(), pyo.ConstraintList(), pyo.ConstraintList()
        for factor in cosa.factors:
            model.assigned.add(sum(self.at(factor, slot) for slot in cosa.slots) == 1)
        used = [sum(self.at(factor, slot) for factor in cosa.factors) for slot in self._ranks()]
        for one in used:
            model.rank.add(one <= 1)
        for inner, outer in pairwise(used):
            model.same.add(inner >= outer)
        for one, two in pairwise(cosa.factors):
            if one[0] == two[0] and one[2] == two[2]:
                where = [sum(n * self.at(each, slot) for n, slot in enumerate(cosa.slots)) for each in (one, two)]
                model.same.add(where[0] <= where[1])

    def _meshes(self) -> None:
        """Children of every axis, and rules on trips."""
        model = self.model
        model.mesh, model.rule = pyo.ConstraintList(), pyo.ConstraintList()
        for number, memory in enumerate(self.fabric.memories):
            for name, axis in (("x", memory.x), ("y", memory.y)):
                self._add(model.mesh, self.log(iter([(number, name)])), None, log2(axis.size + 0.5))
                for rule in axis.rules:
                    self._rule(rule, [(number, name)])
            for rule in memory.rules:
                self._rule(rule, list(self.slots(number, time=True)))

    def _rule(self, rule: Rule, slots: list[tuple[int, str]]) -> None:
        own = (factor for factor in self.cosa.factors if factor[0] in rule.dims)
        trips = sum(log2(factor[2]) * self.at(factor, slot) for factor in own for slot in slots)
        least = log2(rule.value - 0.5) if rule.relation is not Relation.AT_MOST else None
        most = log2(rule.value + 0.5) if rule.relation is not Relation.AT_LEAST else None
        self._add(self.model.rule, trips, least, most)

    @staticmethod
    def _add(rows: Any, body: Any, least: float | None, most: float | None) -> None:
        if isinstance(body, int | float):
            return
        if least is not None:
            rows.add(body >= least)
        if most is not None:
            rows.add(body <= most)

    def _capacities(self) -> None:
        """Logs of tiles at most logs of fixed shares."""
        self.model.room = pyo.ConstraintList()
        for number, memory in enumerate(self.fabric.memories):
            for room in memory.rooms:
                tenants = [t for t in room.operands if self.cosa.keeps(t, number)]
                for tensor in tenants:
                    words = share(self.fabric, room, tenants, tensor)
                    tile = self.tile(tensor, number, strided=True)
                    self._add(self.model.room, tile, None, log2(max(words, 1.0)) + 1e-9)

    def tile(self, tensor: int, memory: int, *, strided: bool) -> Any:
        """Log of the tile of a tensor in a memory, as CoSA counts it."""
        inside = (slot for slot in self.cosa.slots if slot[0] <= memory)
        return self.log(inside, tensor=tensor, strided=strided)

    def _objective(self) -> None:
        model, cosa = self.model, self.cosa
        tensors = range(len(self.fabric.operands))
        last = len(self.fabric.memories) - 1
        used: Any = 0.0
        for memory in range(cosa.ranked):
            used += sum(self.tile(t, memory, strided=True) for t in tensors if cosa.keeps(t, memory))
        computed = self.log(self.slots(time=True))
        moved: Any = 0.0
        model.repeats = pyo.ConstraintList()
        model.Y = pyo.Var([(o.name, s[1]) for o in self.fabric.operands for s in self._ranks()], domain=pyo.Binary)
        model.T = pyo.Var([(o.name, s[1]) for o in self.fabric.operands for s in self._ranks()], bounds=(0, 64))
        for tensor in tensors:
            for memory in range(cosa.ranked):
                weight = REPEATED * (INNER + PER_MEMORY * memory)
                moved += weight * self.log(self.slots(memory), tensor=tensor)
            moved += REPEATED * self.log(self.slots(cosa.ranked, time=False), tensor=tensor)
            moved += self._repeated(tensor)
            if last != cosa.ranked:
                moved += self.log(self.slots(last, time=True))
        model.cost = pyo.Objective(expr=UTILISATION * used + COMPUTE * computed + TRAFFIC * moved)

    def _ranks(self) -> list[tuple[int, str]]:
        return list(self.slots(self.cosa.ranked, time=True))

    def _repeated(self, tensor: int) -> Any:
        """T in the paper: logs of the loops at the innermost rank that is relevant to a tensor and all outside it."""
        model, name = self.model, self.fabric.operands[tensor].name
        largest = log2(max((factor[2] for factor in self.cosa.factors), default=2))
        before = None
        total: Any = 0.0
        for slot in self._ranks():
            seen, here = model.Y[name, slot[1]], model.T[name, slot[1]]
            relevant = sum(self.at(f, slot) for f in self.cosa.factors if self.cosa.counts(tensor, f[0]))
            if before is not None:
                model.repeats.add(seen >= before)
            model.repeats.add(seen >= relevant)
            model.repeats.add(here >= self.log(iter([slot])) - largest * (1 - seen))
            model.repeats.add(here >= self.log(iter([slot]), tensor=tensor))
            total += here
            before = seen
        return total


def share(fabric: Fabric, room: SharedRoom, tenants: list[int], tensor: int) -> float:
    """Elements of one of the tensors that it keeps that CoSA gives room to, in whole entries where they share them."""
    weight = room.weights[room.operands.index(tensor)]
    words = room.capacity / weight.numerator
    two = len(tenants) == 2 and any(fabric.operands[t].output for t in tenants)
    given = words * SHARES[fabric.operands[tensor].output] if two else words / len(tenants)
    return given if weight.denominator == 1 else float(floor(given) * weight.denominator)


def _read_back(cosa: Cosa, values: Mapping[str, float]) -> Nest:
    fabric = cosa.fabric
    model = cosa.build()
    trips: dict[tuple[int, str], dict[int, int]] = {}
    ranks: list[int] = []
    for slot in cosa.slots:
        for factor in cosa.factors:
            name = cosa.name(factor, slot)
            if name in model.X and values[model.X[name].name] > 0.5:
                kind = slot[1] if slot[1] in ("x", "y") else "time"
                own = trips.setdefault((slot[0], kind), {})
                own[factor[0]] = own.get(factor[0], 1) * factor[2]
                if slot[1].startswith("rank") and factor[0] not in ranks:
                    ranks.append(factor[0])
    memories = []
    for number in range(len(fabric.memories)):
        time = trips.get((number, "time"), {})
        order = _order(cosa, number, ranks if number == cosa.ranked else [])
        memories.append(
            MemoryNest(
                x=tuple(trips.get((number, "x"), {}).get(dim, 1) for dim in range(len(fabric.dims))),
                y=tuple(trips.get((number, "y"), {}).get(dim, 1) for dim in range(len(fabric.dims))),
                temporal=tuple((dim, time[dim]) for dim in order if time.get(dim, 1) > 1),
                keeps=tuple(cosa.keeps(t, number) for t in range(len(fabric.operands))),
            )
        )
    found = Nest(memories=tuple(memories))
    assert prod(found.tiles()[-1]) == fabric.operations  # noqa: S101 # every factor is at one slot
    return found


def _order(cosa: Cosa, memory: int, ranks: list[int]) -> list[int]:
    """All dims, outermost first: by rank, or as the machine or else the public code has them."""
    fabric = cosa.fabric
    roles = roles_of(fabric.workload)
    places = [ORDER.index(roles[dim]) for dim in fabric.dims]
    inner = {dim: place for place, dim in enumerate(ranks)}
    order = sorted(range(len(fabric.dims)), key=lambda dim: (inner.get(dim, len(ranks)), places[dim]), reverse=True)
    asked = fabric.memories[memory].order
    if not asked:
        return order
    gap = next((place for place, group in enumerate(asked) if group is None), len(asked))
    group = {dim: place for place, dims in enumerate(asked) if dims is not None for dim in dims}
    return sorted(order, key=lambda dim: group.get(dim, gap))
