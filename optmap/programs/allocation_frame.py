"""The part of the allocation program that says what a mapping is: chains of tiles, meshes, rules, orders, rooms.

Everything is linear in logarithms of extents, which are sums over binaries; see `allocation` for the whole program.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import exp, log
from typing import Any

import pyomo.environ as pyo

from optmap.base.errors import InfeasibleError
from optmap.loop_orders.classes import DataflowClasses, dataflow_classes
from optmap.machines.accelerator import KeepRule
from optmap.machines.fabric import Rule
from optmap.machines.relations import Relation
from optmap.programs.allocation_layout import StageLayout, TabledSubscript, gain

NONE = -1
"""Number of the arithmetic as the innermost place of an operand."""
DEEP = 25.0
"""A term whose switch is off is at most exp(-25) of the objective; no tangent is taken below exp(-20)."""


@dataclass(slots=True)
class AllocationModel:
    """A model in the making."""

    layout: StageLayout
    model: Any
    classes: DataflowClasses

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the memories, inner first."""
        return tuple(memory.name for memory in self.layout.fabric.memories)

    def stage(self, number: int) -> str:
        """Name of a stage."""
        stage = self.layout.stages[number]
        return f"{self.names[stage.memory]}_{stage.kind}"

    def covered(self, dim: int, stage: int) -> Any:
        """Log of what is covered of a dim after a stage."""
        if dim not in self.layout.chains:
            return 0.0
        chain = self.layout.chains[dim]
        layer = chain.layer(stage)
        if layer == 0:
            return 0.0
        if layer == len(chain.stages):
            return log(self.layout.fabric.extents[dim])
        return self.model.size[self.layout.fabric.dims[dim], self.stage(chain.stages[layer - 1])]

    def trips(self, dim: int, stage: int) -> Any:
        """Log of the trips of a dim at a stage."""
        if dim not in self.layout.chains or stage not in self.layout.chains[dim].stages:
            return 0.0
        return self.covered(dim, stage) - self.covered(dim, stage - 1)

    def moved(self, dim: int, stage: int) -> Any:
        """1 if a dim has more than one trip at a stage."""
        chain = self.layout.chains.get(dim)
        if chain is None or stage not in chain.stages:
            return 0.0
        place = chain.stages.index(stage)
        name = (self.layout.fabric.dims[dim], self.stage(stage))
        return sum(self.model.step[(*name, old, new)] for old, new in chain.steps[place] if new > old)

    def at(self, dim: int, memory: int, extent: int) -> Any:
        """1 if the tile of a memory covers that much of a dim."""
        chain = self.layout.chains[dim]
        layer = chain.layer(self.layout.after(memory))
        if len(chain.layers[layer]) == 1:
            return 1.0
        return self.model.cover[self.layout.fabric.dims[dim], self.stage(chain.stages[layer - 1]), extent]

    def kept(self, operand: int, memory: int) -> Any:
        """1 if a memory keeps an operand."""
        keep = self.layout.fabric.memories[memory].keeps[operand]
        if keep is KeepRule.FREE:
            return self.model.keep[self.layout.fabric.operands[operand].name, self.names[memory]]
        return 1.0 if keep is KeepRule.KEPT else 0.0

    def words(self, operand: int, memory: int) -> Any:
        """Log of the tile of an operand in a memory."""
        found: Any = 0.0
        for place, axis in enumerate(self.layout.fabric.operands[operand].axes):
            window = next((w for w in self.layout.windows if (w.operand, w.axis) == (operand, place)), None)
            if window is not None:
                found += self.window_log(window, memory)
            else:
                found += sum(self.covered(dim, self.layout.after(memory)) for dim, _ in axis)
        return found

    def window_log(self, window: TabledSubscript, memory: int) -> Any:
        """Log of the words along a window in the tile of a memory."""
        table = {at: log(self.layout.values(window, at)) for at in self.layout.combinations(window, memory)}
        return self.table(window, memory, table)

    def gains(self, window: TabledSubscript, place: int, memory: int) -> Any:
        """Log of how much less than the whole window a step along one of its dims may bring; 0 or more."""
        table = {at: gain(self.layout, window, place, at) for at in self.layout.combinations(window, memory)}
        return self.table(window, memory, table)

    def table(self, window: TabledSubscript, memory: int, values: dict[tuple[int, ...], float]) -> Any:
        """A function of the extents of the dims of a window in a tile; linear in its joint binaries."""
        if memory == NONE or len(values) == 1:
            return next(iter(values.values()))
        name = f"{self.layout.fabric.operands[window.operand].name}_{window.axis}"
        return sum(
            value * self.model.joint[name, self.names[memory], "x".join(map(str, at))]
            for at, value in values.items()
            if value
        )


def entry(variables: Any, key: tuple[Any, ...]) -> Any:
    """A binary, or 1 where there is nothing to choose and so no variable."""
    return variables[key] if key in variables else 1.0  # noqa: SIM401 # variables of Pyomo have no `get`


def new_frame(layout: StageLayout, name: str) -> AllocationModel:
    """A model of all mappings: chains, windows, keeps, meshes, rules, classes of loop orders."""
    frame = AllocationModel(
        layout=layout,
        model=pyo.ConcreteModel(name=name),
        classes=dataflow_classes(layout.fabric.workload, concrete=True),
    )
    _chains(frame)
    _keeps(frame)
    _windows(frame)
    _meshes(frame)
    _orders(frame)
    return frame


def _chains(frame: AllocationModel) -> None:
    """Node binaries per stage and dim, steps between them: a path per dim."""
    model, layout = frame.model, frame.layout
    nodes, steps, sizes = [], [], []
    for dim, chain in layout.chains.items():
        label = layout.fabric.dims[dim]
        for place, number in enumerate(chain.stages):
            at = (label, frame.stage(number))
            if place + 1 < len(chain.stages):
                sizes.append(at)
                if len(chain.layers[place + 1]) > 1:
                    nodes += [(*at, extent) for extent in chain.layers[place + 1]]
            steps += [(*at, old, new) for old, new in chain.steps[place]]
    model.cover = pyo.Var(nodes, domain=pyo.Binary)
    model.step = pyo.Var(steps, bounds=(0, 1))
    model.size = pyo.Var(sizes, bounds=lambda _, d, *rest: (0, log(_extent(layout, d))))
    model.chain = pyo.ConstraintList()
    for dim, chain in layout.chains.items():
        label = layout.fabric.dims[dim]
        for place, number in enumerate(chain.stages):
            at = (label, frame.stage(number))
            for new in chain.layers[place + 1]:
                came = sum(model.step[(*at, old, n)] for old, n in chain.steps[place] if n == new)
                here = entry(model.cover, (*at, new))
                model.chain.add(came == here)
                if place + 1 < len(chain.stages):
                    onward = (label, frame.stage(chain.stages[place + 1]))
                    left = sum(model.step[(*onward, o, n)] for o, n in chain.steps[place + 1] if o == new)
                    model.chain.add(left == here)
            if at in model.size:
                ends = chain.layers[place + 1]
                known = sum(log(n) * model.cover[(*at, n)] for n in ends) if len(ends) > 1 else log(ends[0])
                model.chain.add(model.size[at] == known)


def _extent(layout: StageLayout, label: str) -> int:
    return layout.fabric.extents[layout.fabric.dims.index(label)]


def _keeps(frame: AllocationModel) -> None:
    model, fabric = frame.model, frame.layout.fabric
    free = [
        (operand.name, memory.name)
        for number, operand in enumerate(fabric.operands)
        for memory in fabric.memories
        if memory.keeps[number] is KeepRule.FREE
    ]
    model.keep = pyo.Var(free, domain=pyo.Binary)
    model.somewhere = pyo.ConstraintList()
    for number in range(len(fabric.operands)):
        if all(memory.keeps[number] is not KeepRule.KEPT for memory in fabric.memories):
            model.somewhere.add(sum(frame.kept(number, m) for m in range(len(fabric.memories))) >= 1)


def _windows(frame: AllocationModel) -> None:
    """Joint binaries of the dims of a window: relaxed, they are whole where the chains are."""
    model, layout = frame.model, frame.layout
    wanted, ties = [], []
    for window in layout.windows:
        name = f"{layout.fabric.operands[window.operand].name}_{window.axis}"
        for memory in range(len(layout.fabric.memories)):
            if layout.fabric.memories[memory].keeps[window.operand] is KeepRule.REFUSED:
                continue
            every = layout.combinations(window, memory)
            if len(every) == 1:
                continue
            wanted += [(name, frame.names[memory], "x".join(map(str, at))) for at in every]
            ties.append((window, name, memory, every))
    model.joint = pyo.Var(wanted, bounds=(0, 1))
    model.marginal = pyo.ConstraintList()
    for window, name, memory, every in ties:
        for place, dim in enumerate(window.dims):
            for extent in layout.extents(dim, memory):
                parts = (at for at in every if at[place] == extent)
                total = sum(model.joint[name, frame.names[memory], "x".join(map(str, at))] for at in parts)
                model.marginal.add(total == frame.at(dim, memory, extent))


def _meshes(frame: AllocationModel) -> None:
    """Ways per mesh axis, and rules on trips; logs of whole numbers, so half a unit separates them."""
    model, layout = frame.model, frame.layout
    model.mesh, model.rule = pyo.ConstraintList(), pyo.ConstraintList()
    for number, stage in enumerate(layout.stages):
        if stage.size is not None and sum(stage.moves) > 1:
            model.mesh.add(sum(frame.trips(dim, number) for dim in layout.chains) <= log(stage.size + 0.5))
        for rule in stage.rules:
            _rule(frame, rule, [number])
    for place, memory in enumerate(layout.fabric.memories):
        own = [n for n, stage in enumerate(layout.stages) if stage.memory == place and stage.size is not None]
        for rule in memory.ways:
            _rule(frame, rule, own)


def _rule(frame: AllocationModel, rule: Rule, stages: list[int]) -> None:
    """A rule of the trips at some stages, one after the other."""
    total = sum(frame.trips(dim, stage) for dim in rule.dims for stage in stages)
    if isinstance(total, int | float):  # no choice is left there
        if not rule.relation.holds(round(exp(total)), rule.value):
            raise InfeasibleError(f"no mapping keeps to {rule.text}: {round(exp(total))} is all that is left there")
        return
    least = log(rule.value - 0.5) if rule.relation is not Relation.AT_MOST else None
    most = log(rule.value + 0.5) if rule.relation in (Relation.EQUAL, Relation.AT_MOST) else None
    frame.model.rule.add(
        pyo.inequality(least, total, most)
        if least is not None and most is not None
        else (total >= least if least is not None else total <= most)
    )
    if rule.relation is Relation.MULTIPLE:
        for dim in rule.dims:
            _multiples(frame, rule, dim, stages)


def _multiples(frame: AllocationModel, rule: Rule, dim: int, stages: list[int]) -> None:
    """What is covered before and after stages excludes each other where its quotient is no multiple."""
    chain, label = frame.layout.chains[dim], frame.layout.fabric.dims[dim]
    before, after = chain.layer(stages[0] - 1), chain.layer(stages[-1])
    for old, new in product(chain.layers[before], chain.layers[after]):
        if new % old == 0 and not rule.relation.holds(new // old, rule.value):
            ends = ((before, old), (after, new))
            keys = [(label, frame.stage(chain.stages[layer - 1]), extent) for layer, extent in ends if layer]
            chosen = [frame.model.cover[key] for key in keys if key in frame.model.cover]
            if not chosen:
                raise InfeasibleError(f"no mapping keeps to {rule.text}: {new // old} is all that is left there")
            frame.model.rule.add(sum(chosen) <= len(chosen) - 1)


def _orders(frame: AllocationModel) -> None:
    """One class of loop orders per memory, and how much of every operand its loops reuse there.

    `run[t,m,d]`: log of the trips of d in the innermost run of loops of m that are irrelevant to t. It needs a class
    whose loops inside the reuse position of t contain d. Loops of one trip do not count: they can be written
    outermost, so the class of an order is that of its loops with more than one trip. The loops of the innermost memory
    are inside all that is counted.
    """
    model, layout, fabric = frame.model, frame.layout, frame.layout.fabric
    count = range(len(frame.classes.classes))
    memories = [fabric.memories[layout.stages[s].memory].name for s in layout.times(0)]
    model.order = pyo.Var([(m, c) for m in memories for c in count], domain=pyo.Binary)
    model.one_order = pyo.Constraint(memories, rule=lambda mod, m: sum(mod.order[m, c] for c in count) == 1)
    runs = [
        (operand.name, frame.names[layout.stages[stage].memory], fabric.dims[dim])
        for operand in fabric.operands
        for stage in layout.times(0)
        for dim in layout.chains
        if dim not in operand.dims and layout.stages[stage].moves[dim]
    ]
    model.run = pyo.Var(runs, bounds=(0, None))
    model.runs = pyo.ConstraintList()
    for number, operand in enumerate(fabric.operands):
        for stage in layout.times(0):
            memory = layout.stages[stage].memory
            for dim in layout.chains:
                key = (operand.name, frame.names[memory], fabric.dims[dim])
                if key not in model.run:
                    continue
                inside = [c for c in count if fabric.dims[dim] in frame.classes.classes[c].signature[number].free]
                allowed = sum(model.order[frame.names[memory], c] for c in inside)
                model.runs.add(model.run[key] <= frame.trips(dim, stage))
                model.runs.add(model.run[key] <= log(fabric.extents[dim]) * allowed)
                for other in _forced_inside(frame, memory, dim) & operand.dims:
                    if not isinstance(stopped := frame.moved(other, stage), float):
                        model.runs.add(model.run[key] <= log(fabric.extents[dim]) * (1 - stopped))


def _forced_inside(frame: AllocationModel, memory: int, dim: int) -> set[int]:
    """Dims whose loops the machine's order puts inside the loop of a dim."""
    groups = [group for group in frame.layout.fabric.memories[memory].order if group is not None]
    place = next((n for n, group in enumerate(groups) if dim in group), len(groups))
    return {other for group in groups[place + 1 :] for other in group}


def add_rooms(frame: AllocationModel) -> list[tuple[str, str]]:
    """Capacities: the words of the tiles that are kept, weighted, at most what there is.

    A room of one tile is one row in logs. Otherwise `share` is at least the exponential of the log of a tile, as a part
    of the room; tangents say so, and whoever solves adds those that are missing. Where elements share entries a tile
    takes one at least; that the others are rounded up, too, is left out.

    Returns:
        Pairs (name of the share, name of its logarithm), for tangents.
    """
    model, layout = frame.model, frame.layout
    places = [
        (layout.fabric.operands[t].name, memory.name, room.name)
        for memory in layout.fabric.memories
        for room in memory.rooms
        for t in _tenants(memory.keeps, room.operands)
    ]
    model.share = pyo.Var(places, bounds=(0, 1))
    model.share_log = pyo.Var(places, bounds=(None, 0))
    model.room = pyo.ConstraintList()
    curves = []
    for number, memory in enumerate(layout.fabric.memories):
        for room in memory.rooms:
            tenants = _tenants(memory.keeps, room.operands)
            weights = dict(zip(room.operands, room.weights, strict=True))
            if tenants:
                names = (memory.name, room.name)
                model.room.add(sum(model.share[(layout.fabric.operands[t].name, *names)] for t in tenants) <= 1)
            for t in tenants:
                key = (layout.fabric.operands[t].name, memory.name, room.name)
                full = frame.words(t, number) + log(weights[t] / max(room.capacity, 1))
                kept = frame.kept(t, number)
                slack = (
                    0.0 if isinstance(kept, float) else (_most(layout, t, number) + log(weights[t]) + DEEP) * (1 - kept)
                )
                model.room.add(model.share_log[key] >= full - slack)
                if weights[t] < 1:
                    model.room.add(model.share_log[key] >= -log(max(room.capacity, 1)) - slack)
                curves.append((model.share[key].name, model.share_log[key].name))
    return curves


def _tenants(keeps: tuple[KeepRule, ...], operands: tuple[int, ...]) -> list[int]:
    return [t for t in operands if keeps[t] is not KeepRule.REFUSED]


def _most(layout: StageLayout, operand: int, memory: int) -> float:
    """Log of the largest tile there may be."""
    return sum(
        log(
            layout.counting.footprint.words(
                tuple(c for _, c in axis), tuple(max(layout.extents(d, memory)) for d, _ in axis)
            )
        )
        for axis in layout.fabric.operands[operand].axes
        if axis
    )
