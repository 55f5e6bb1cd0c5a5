"""The allocation program: mappings on an accelerator as one mixed-integer program, after CoSA (Dinh 6.1).

What CoSA chooses per prime factor, level, rank, and space or time is chosen here without its symmetries: per dim a
path through the divisors that are covered after every stage (of a memory: x, y, time); per memory one class of loop
orders that no other dominates; per free operand whether a memory keeps it. Capacities are those of the machine, with
halo and stride: windows are tables over the divisors of their dims, and the words of the tiles that share a room are
exponentials of sums of logs, bounded below by tangents.

The objective is the machine's: energy is a sum of exponentials of linear forms in logs, cycles are a maximum of such,
and their product again a sum of exponentials, with the log of the cycles added to every term. All are convex, so
tangents bound them from below, and the program is linear. A solver adds tangents where it stands.

**It is a relaxation.** Every mapping with perfect factors is a point of the program, of no more than its true cost in
either counting. Exact in it: tiles, capacities, meshes, rules, spatial ways, all words of operands without windows.
Below the truth:

- words of windows: the reuse of tiles that slide is the most that any step can have (`allocation_traffic`), and
  children with the same part of a window are at most their number over the ways of the dim with most;
- read-modify-write of an output between the thresholds of visits;
- a block of words that is not full, accesses shared by a cluster that is not full, wires, the last cycle;
- loop orders that the machine prescribes: what must stand inside is kept to, groups may mix.

So its optimum is a lower bound over all mappings, and a mapping that attains it is proved optimal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Any

import pyomo.environ as pyo

from optmap.machines.fabric import Fabric
from optmap.mappings.nest import MemoryNest, Nest
from optmap.programs.allocation_costs import Curve, add_energy, add_ports
from optmap.programs.allocation_frame import AllocationModel, add_rooms, new_frame
from optmap.programs.allocation_layout import StageKind, StageLayout, layout_of
from optmap.programs.allocation_traffic import add_traffic
from optmap.programs.program import Form, Program, Sense, Variable
from optmap.questions.options import Merit
from optmap.questions.policy import Policy

POINTS = (*(-n / 4 for n in range(13)), -3.5, -4, -5, -6, -7, -8, -10, -12, -15, -18)
"""Logs, relative to the objective or to a full room or port, at which tangents are there from the start."""


@dataclass(frozen=True, kw_only=True)
class Allocation:
    """The program of a fabric, and the way back to mappings."""

    fabric: Fabric
    merit: Merit
    counting: Policy
    reference: float
    """Value of the objective that the model's objective is relative to."""

    @cached_property
    def layout(self) -> StageLayout:
        """Chains of divisors."""
        return layout_of(self.fabric, self.counting)

    @cached_property
    def built(self) -> tuple[Any, tuple[Curve, ...]]:
        """The Pyomo model, with the exponentials whose tangents it has."""
        return _build(self)

    @property
    def curves(self) -> tuple[Curve, ...]:
        """The exponentials: whoever solves may add tangents to them."""
        return self.built[1]

    @property
    def is_log(self) -> bool:
        """Whether the model's objective is the log of the objective over the reference."""
        return self.merit in (Merit.CYCLES, Merit.PORT_CYCLES)

    def program(self) -> Program:
        """The program with its exports."""
        workload, machine = self.fabric.workload, self.fabric.machine
        model = self.built[0]
        return Program(
            name=f"allocation of {workload.title} on {machine.name}, {self.merit}",
            form=Form.MILP,
            convex=True,
            sense=Sense.MINIMIZE,
            variables=tuple(_variable(each) for each in model.component_data_objects(pyo.Var, active=True)),
            build=lambda: _build(self)[0],
            objective_unit=f"part of {self.reference:.9g}",
            objective_log=self.is_log,
            notes=(
                "a relaxation: no mapping with perfect factors costs less than its optimum",
                "cover: 1 for what is covered of a dim after a stage; order: the class of the loops of a memory",
                f"counting {self.counting}; exponentials by tangents, more may be added",
            ),
        )

    def nest(self, values: Mapping[str, float]) -> Nest:
        """The mapping of a point, its loops ordered as the classes of the point are.

        Args:
            values: per variable of the model.
        """
        return _read_back(self, values)

    @property
    def switches(self) -> tuple[str, ...]:
        """Names of the binaries that say whether a memory keeps an operand."""
        return tuple(each.name for each in self.built[0].keep.values())

    def chosen(self, nest: Nest) -> list[str]:
        """Names of the binaries of tiles and keeps that a mapping sets to 1."""
        return list(_chosen(self, nest))


def _variable(each: Any) -> Variable:
    lower = float("-inf") if each.lb is None else float(each.lb)
    upper = float("inf") if each.ub is None else float(each.ub)
    integer = not each.is_continuous()
    if each.name.startswith("size["):  # a log: what is covered of a dim is read back
        quantity = each.name.replace("size[", "T[", 1)
        return Variable(name=each.name, quantity=quantity, lower=lower, upper=upper, log=True, unit="iterations")
    return Variable(name=each.name, quantity=each.name, lower=lower, upper=upper, integer=integer)


def _build(made: Allocation) -> tuple[Any, tuple[Curve, ...]]:
    """The model and its exponentials."""
    frame = new_frame(made.layout, f"allocation {made.fabric.workload.title}")
    model = frame.model
    curves = add_rooms(frame)
    traffic = add_traffic(frame)
    machine = log(made.fabric.operations) + 60.0
    model.cycles = pyo.Var(bounds=(0 if made.merit is not Merit.PORT_CYCLES else -60, machine))
    if made.merit is not Merit.PORT_CYCLES:
        meshes = range(len(made.layout.stages))
        units = sum(
            frame.trips(d, s) for s in meshes if made.layout.stages[s].size is not None for d in made.layout.chains
        )
        model.compute = pyo.Constraint(expr=model.cycles >= log(made.fabric.operations) - units)
    if made.merit is not Merit.ENERGY:
        curves += add_ports(frame, traffic)
    if made.is_log:
        model.cost = pyo.Objective(expr=model.cycles - log(made.reference), sense=pyo.minimize)
    else:
        curves += add_energy(frame, traffic, reference=made.reference, timed=made.merit is Merit.EDP)
    _tangents(model, curves)
    return model, tuple(curves)


def _tangents(model: Any, curves: list[Curve]) -> None:
    """Rows x >= e^a (1 + v - a) at the points from which any solver starts."""
    model.tangent = pyo.ConstraintList()
    named = {variable.name: variable for variable in model.component_data_objects(pyo.Var)}
    for upper, lower in curves:
        x, v = named[upper], named[lower]
        for at in POINTS:
            slope = pyo.exp(at)
            model.tangent.add(x >= slope * v + slope * (1 - at))


def _read_back(made: Allocation, values: Mapping[str, float]) -> Nest:
    layout, fabric = made.layout, made.fabric
    frame = AllocationModel(layout=layout, model=made.built[0], classes=_classes(made))
    trips = {(dim, stage): 1 for dim in range(len(fabric.dims)) for stage in range(len(layout.stages))}
    for dim, chain in layout.chains.items():
        before = 1
        for place, number in enumerate(chain.stages):
            ends = chain.layers[place + 1]
            at = (fabric.dims[dim], frame.stage(number))
            after = ends[0]
            if len(ends) > 1:
                covers = {end: values[frame.model.cover[(*at, end)].name] for end in ends}
                after = max(covers, key=covers.__getitem__)
            trips[dim, number] = after // before
            before = after
    memories = []
    for number in range(len(fabric.memories)):
        where = {stage.kind: n for n, stage in enumerate(layout.stages) if stage.memory == number}
        ways = {
            kind: tuple(trips[d, where[kind]] if kind in where else 1 for d in range(len(fabric.dims)))
            for kind in StageKind
        }
        order = _order(made, frame, values, number)
        memories.append(
            MemoryNest(
                x=ways[StageKind.X],
                y=ways[StageKind.Y],
                temporal=tuple((d, ways[StageKind.TIME][d]) for d in order if ways[StageKind.TIME][d] > 1),
                keeps=tuple(_keeps(frame, values, t, number) for t in range(len(fabric.operands))),
            )
        )
    return Nest(memories=tuple(memories))


def _classes(made: Allocation) -> Any:
    from optmap.loop_orders.classes import dataflow_classes

    return dataflow_classes(made.fabric.workload, concrete=True)


def _order(made: Allocation, frame: AllocationModel, values: Mapping[str, float], memory: int) -> tuple[int, ...]:
    """All dims, outermost first, as the class of a memory has them, but where an order is asked for."""
    name = frame.names[memory]
    if memory == 0:
        return tuple(range(len(made.fabric.dims)))
    count = range(len(frame.classes.classes))
    best = max(count, key=lambda c: values[frame.model.order[name, c].name])
    order = [made.fabric.dims.index(dim) for dim in frame.classes.classes[best].representative]
    asked = made.fabric.memories[memory].order
    gap = next((place for place, entry in enumerate(asked) if entry is None), 0)
    places = {dim: place for place, entry in enumerate(asked) for dim in entry or ()}
    return tuple(sorted(order, key=lambda dim: places.get(dim, gap)))


def _keeps(frame: AllocationModel, values: Mapping[str, float], operand: int, memory: int) -> bool:
    kept = frame.kept(operand, memory)
    return kept == 1.0 if isinstance(kept, float) else values.get(kept.name, 0.0) > 0.5


def _chosen(made: Allocation, nest: Nest) -> Iterator[str]:
    layout, fabric = made.layout, made.fabric
    frame = AllocationModel(layout=layout, model=made.built[0], classes=_classes(made))
    for dim, chain in layout.chains.items():
        covered = 1
        for place, number in enumerate(chain.stages):
            stage, own = layout.stages[number], nest.memories[layout.stages[number].memory]
            covered *= (
                own.trips(dim) if stage.kind is StageKind.TIME else (own.x if stage.kind is StageKind.X else own.y)[dim]
            )
            if place + 1 < len(chain.stages) and len(chain.layers[place + 1]) > 1:
                yield frame.model.cover[fabric.dims[dim], frame.stage(number), covered].name
    for number in range(len(fabric.memories)):
        for operand in range(len(fabric.operands)):
            kept = frame.kept(operand, number)
            if not isinstance(kept, float) and nest.memories[number].keeps[operand]:
                yield kept.name
