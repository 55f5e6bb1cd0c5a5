"""A user's constraints as rules of an accelerator: whatever counts, searches or bounds on its fabric keeps to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from optmap.base.errors import InfeasibleError, InputError
from optmap.machines.accelerator import KeepRule
from optmap.machines.fabric import Direction, Fabric, Memory, Rule
from optmap.machines.relations import GAP
from optmap.mappings.constraints import (
    SPATIAL,
    Constraints,
    KeepConstraint,
    OrderConstraint,
    SplitConstraint,
    TileConstraint,
)
from optmap.mappings.levels import Mapping


def demanded(fabric: Fabric, constraints: Constraints) -> Fabric:
    """A fabric whose mappings are those that also meet constraints.

    Args:
        fabric: machine and workload, without constraints.
        constraints: that belong to them (`Constraints.refuse_foreign`).

    Raises:
        InputError: for an order where the machine, or another constraint, says one.
        InfeasibleError: for a tensor that the machine, or another constraint, has kept or refused there.
    """
    return _Binding(fabric).bound(constraints)


class _Binding:
    """One constraint after the other; what each has set is remembered for messages."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.memories = list(fabric.memories)
        self.number = {memory.name: place for place, memory in enumerate(fabric.memories)}
        self.ordered: dict[int, str] = {}
        self.kept: dict[tuple[int, int], str] = {}

    def bound(self, constraints: Constraints) -> Fabric:
        """The fabric with all of them."""
        orders_first = sorted(constraints.items, key=lambda item: not isinstance(item, OrderConstraint))
        for item in orders_first:  # what cannot be accepted is said before what cannot be met
            place = self.number[item.level]
            match item:
                case TileConstraint():
                    memory = self.memories[place]
                    self.memories[place] = replace(memory, tiles=(*memory.tiles, self._rule(item)))
                case SplitConstraint():
                    self.memories[place] = _split(self.memories[place], item, self._rule(item))
                case OrderConstraint():
                    self._order(item, place + 1)
                case KeepConstraint():
                    self._keep(item, place)
        sized = (item.dim for item in constraints.items if isinstance(item, TileConstraint | SplitConstraint))
        dims = frozenset(map(self.fabric.dims.index, sized))
        return replace(self.fabric, memories=tuple(self.memories), demanded=dims)

    def _rule(self, item: TileConstraint | SplitConstraint) -> Rule:
        dim = self.fabric.dims.index(item.dim)
        return Rule(dims=(dim,), relation=item.relation, value=item.value, text=f"constraint {item.text}")

    def _order(self, item: OrderConstraint, place: int) -> None:
        """The loops over the tiles of a level are those of the memory outside it."""
        memory = self.memories[place]
        if place in self.ordered:
            raise InputError(
                f"constraints {self.ordered[place]} and {item.text} are about the same loops; on an accelerator write "
                "them as one order, with ... where any loops may stand"
            )
        if memory.order:
            raise InputError(
                f"constraint {item.text}: {self.fabric.machine.name} says itself in which order {memory.name} runs the "
                f"loops over the tiles of {item.level}; leave it out, or change `order` in a copy of the machine"
            )
        self.ordered[place] = item.text
        order = tuple(None if name == GAP else (self.fabric.dims.index(name),) for name in item.pattern)
        self.memories[place] = replace(memory, order=order)

    def _keep(self, item: KeepConstraint, place: int) -> None:
        memory, keeps = self.memories[place], list(self.memories[place].keeps)
        for operand, tensor in enumerate(self.fabric.operands):
            wanted = item.demands(tensor.name)
            if wanted is None:
                continue
            keep = KeepRule.KEPT if wanted else KeepRule.REFUSED
            if keeps[operand] not in (keep, KeepRule.FREE):
                said = self.kept.get((place, operand))
                who = f"constraint {said}" if said else self.fabric.machine.name
                raise InfeasibleError(
                    f"constraint {item.text} cannot be met: {who} has {tensor.name} "
                    f"{'bypass' if wanted else 'kept in'} {memory.name}"
                )
            if keeps[operand] is KeepRule.FREE:
                self.kept[place, operand] = item.text
            keeps[operand] = keep
        self.memories[place] = replace(memory, keeps=tuple(keeps))


def _split(memory: Memory, item: SplitConstraint, rule: Rule) -> Memory:
    if item.axis == SPATIAL:
        return replace(memory, ways=(*memory.ways, rule))
    if item.axis == "x":
        return replace(memory, x=_along(memory.x, rule))
    return replace(memory, y=_along(memory.y, rule))


def _along(direction: Direction, rule: Rule) -> Direction:
    return replace(direction, rules=(*direction.rules, rule))


def as_demanded(mapping: Mapping, constraints: Constraints) -> Mapping:
    """A mapping of an accelerator with loops of one trip where the orders of constraints want them.

    Args:
        mapping: an entry per memory, the outermost last, whose loops of two trips or more come as demanded.
        constraints: whose orders are looked at.
    """
    levels = list(mapping.levels)
    for place, (inner, outer) in enumerate(zip(mapping.levels, mapping.levels[1:], strict=False)):
        still = {d for d, size in inner.tile.items() if size * outer.spatial.get(d, 1) == outer.tile[d]}
        for pattern in constraints.patterns(inner.level):
            order = tuple(_placed(inner.permutation, still, pattern))
            levels[place] = replace(inner, permutation=order)
    return Mapping(levels=tuple(levels))


def _placed(order: Sequence[str], still: set[str], pattern: Iterable[str]) -> Iterator[str]:
    """Loops in their order, the still ones that a pattern names where it does, the others in its last gap."""
    parts = list(pattern)
    moving = [dim for dim in order if dim not in still]
    others = [dim for dim in order if dim in still and dim not in parts]
    for place, part in enumerate(parts):
        if part != GAP:
            yield part
            moving = moving[1:] if moving[:1] == [part] else moving
            continue
        while moving and moving[0] not in parts:
            yield moving.pop(0)
        if GAP not in parts[place + 1 :]:
            yield from others
