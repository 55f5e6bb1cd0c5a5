"""Mapping trees on machines with meshes and prices, read as nests that are done in turn.

    loops and Keeps, then a sequence; in each of its branches again, until a path without a sequence

Such a path is the nest of one statement (`mappings.forms`), on the part of its dims that the loops outside leave, with
a machine that has what the Keeps outside hold as rules (`machines.given`). A nest begins with empty memories and ends
with its result stored: what moves adds up. A function of elements in place is a leaf alone, and moves nothing; one of
rows is a leaf alone as well, and goes through its rows where they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from optmap.base.errors import InputError, TreeError
from optmap.machines.accelerator import KeepRule
from optmap.machines.fabric import fabric_of
from optmap.machines.given import KeptBlock, refuse_home, with_given
from optmap.machines.machine import Machine
from optmap.mappings.forms import levels_of, path_of, several_trips
from optmap.mappings.levels import Mapping
from optmap.mappings.nodes import Address, Compute, Keep, Loop, Node, PathLeaf, Sequence
from optmap.mappings.tree import MappingTree
from optmap.mappings.turn_parts import OuterLoop, RowsPart, Stay, TurnPart, TurnTree
from optmap.workloads.access import TensorAccess
from optmap.workloads.axes import touched_at_least
from optmap.workloads.chain import TensorRole
from optmap.workloads.single import (
    UNCOUNTED,
    has_nest,
    is_in_place,
    product_alone,
    row_reads,
    touched_alone,
)
from optmap.workloads.statement import Statement
from optmap.workloads.workload import Semantics, Workload


def parts_of(tree: MappingTree) -> TurnTree:
    """The nests of a tree.

    Args:
        tree: on a machine with meshes and prices.

    Raises:
        TreeError: for a tree that means nothing: elements that are read before they are complete, or an intermediate
            without a home.
        InputError: for what is not counted so: the first thing by name.
    """
    if tree.workload.semantics is not Semantics.ASSIGN:
        raise InputError(f"mapping tree: {UNCOUNTED}outputs that have values before; write semantics: assign")
    names = {name for leaf in tree.leaves for _, keep in leaf.keeps for name in keep.tensors}
    unknown = sorted(names - tree.workload.stored_as.keys())
    if unknown:
        raise InputError(f"mapping tree: {UNCOUNTED}a Keep of {unknown[0]}, which no memory holds")
    _check_order(tree)
    reader = _Reader(tree)
    parts = tuple(reader.read(tree.nodes, (), _Above(left=tree.workload.extents)))
    return TurnTree(tree=tree, parts=parts, moving=tuple(dict.fromkeys(s for s in reader.seen if s.source)))


def branch_of(mapping: Mapping, workload: Workload, machine: Machine, given: Collection[str]) -> tuple[Node, ...]:
    """The nodes of a nest inside a tree: `path_of`, without Keeps of what is given and loops of one trip.

    Args:
        mapping: the nest.
        workload: its statement alone.
        machine: with what is given as rules.
        given: names of tensors that a Keep outside has, at the outermost level that keeps them.
    """
    outermost = {tensor: _outermost(mapping, tensor) for tensor in given}
    nodes = [
        replace(node, tensors=tuple(t for t in node.tensors if outermost.get(t) != node.level))
        if isinstance(node, Keep)
        else node
        for node in path_of(mapping, workload, machine).nodes
    ]
    return several_trips(nodes, workload.extents)


def _outermost(mapping: Mapping, tensor: str) -> str:
    return next((entry.level for entry in reversed(mapping.levels) if tensor in (entry.keeps or ())), "")


def _check_order(tree: MappingTree) -> None:
    """Refuse elements that are read before they are complete, and intermediates without a home.

    Raises:
        TreeError: as said.
    """
    workload = tree.workload
    homes: dict[str, set[Address | None]] = {}
    for number, leaf in enumerate(tree.leaves):
        for access in workload.statement(leaf.statement).accesses:
            tensor = workload.stored_as[access.name]
            if workload.roles[tensor] is TensorRole.INTERMEDIATE and not is_in_place(workload, leaf.statement):
                homes.setdefault(tensor, set()).add(
                    next((address for address, keep in leaf.keeps if _holds(workload, keep, tensor)), None)
                )
        for place, reader in enumerate(tree.leaves):
            for access in workload.statement(reader.statement).inputs:
                if access.name == leaf.statement:
                    if place <= number:
                        raise TreeError("incomplete", f"{reader.statement} reads {access.name} before it is made")
                    _check_common(leaf, reader, access, workload)
    for tensor, found in homes.items():
        if len(found) != 1 or None in found:
            raise TreeError(
                "lost", f"{tensor} has no home: one Keep of it above all statements that make and read it is needed"
            )


def _holds(workload: Workload, keep: Keep, tensor: str) -> bool:
    return tensor in {workload.stored_as[name] for name in keep.tensors}


def _check_common(maker: PathLeaf, reader: PathLeaf, access: TensorAccess, workload: Workload) -> None:
    """Refuse a loop around both that makes another part of a tensor than it reads."""
    made = workload.statement(maker.statement).output
    for address, node in maker.path:
        if not isinstance(node, Loop) or (address, node) not in reader.path:
            continue
        alike = any(
            one.terms == other.terms == ((node.dim, 1),) and one.offset == other.offset
            for one, other in zip(made.axes, access.axes, strict=True)
        )
        if not alike:
            raise TreeError(
                "incomplete",
                f"the loop over {node.dim} is around {maker.statement} and {reader.statement}, and an iteration does "
                f"not make what it reads of {made.name}: put it inside, or loop over a dim of {made.name} in both",
            )


@dataclass(frozen=True, slots=True)
class _Above:
    """What is above a node."""

    left: dict[str, int]
    """Iterations per dim."""
    loops: tuple[OuterLoop, ...] = ()
    stays: tuple[Stay, ...] = ()
    emptied: int = 0
    """How many of the loops are around the innermost sequence."""


class _Reader:
    """Walks a tree from the outside in."""

    def __init__(self, tree: MappingTree) -> None:
        self.tree, self.workload, self.machine = tree, tree.workload, tree.machine
        self.seen: list[Stay] = []

    def read(self, nodes: tuple[Node, ...], base: Address, above: _Above) -> Iterator[TurnPart | RowsPart]:
        """The parts of a list of nodes."""
        last = nodes[-1]
        if isinstance(last, Compute):
            yield from self._leaf(nodes, last.statement, above)
            return
        below = [self.workload.statement(each) for each in _computed(last)]
        for number, node in enumerate(nodes[:-1]):
            address = (*base, number)
            if isinstance(node, Loop):
                loops = (*above.loops, self._loop(node, address, above.left, below))
                above = replace(above, loops=loops, left={**above.left, node.dim: node.tile})
            elif isinstance(node, Keep) and not node.of and not node.only:
                found = tuple(self._stay(node, name, address, above, below) for name in node.tensors)
                above = replace(above, stays=(*above.stays, *found))
                self.seen += found
            else:
                kind = "a pinned Keep" if isinstance(node, Keep) else type(node).__name__.lower()
                raise InputError(f"mapping tree: {UNCOUNTED}{kind} outside a sequence")
        if isinstance(last, Sequence):
            for number, branch in enumerate(last.branches):
                inside = replace(above, emptied=len(above.loops))
                yield from self.read(branch, (*base, len(nodes) - 1, number), inside)

    def _loop(self, node: Loop, address: Address, left: dict[str, int], below: list[Statement]) -> OuterLoop:
        lacking = next((each.name for each in below if node.dim not in each.dims), None)
        if lacking is not None:
            raise InputError(f"mapping tree: {UNCOUNTED}a loop over {node.dim} around {lacking}, which has no such dim")
        if node.first or left[node.dim] % node.tile:
            raise InputError(
                f"mapping tree: {UNCOUNTED}{left[node.dim]} iterations of {node.dim} in steps of {node.tile}, of "
                f"which the {'first' if node.first else 'last'} is shorter"
            )
        return OuterLoop(address=address, dim=node.dim, trips=left[node.dim] // node.tile)

    def _stay(self, node: Keep, name: str, address: Address, above: _Above, below: list[Statement]) -> Stay:
        workload, tensor = self.workload, self.workload.stored_as[name]
        accesses = [a for each in below for a in each.accesses if workload.stored_as[a.name] == tensor]
        outer = next((stay.level for stay in reversed(above.stays) if stay.tensor == tensor), "")
        inner = workload.roles[tensor] is TensorRole.INTERMEDIATE
        source = outer or ("" if inner else self.machine.memory)
        if node.level == self.machine.memory:
            source = ""
        else:
            refuse_home(self.machine, node.level)
        footprint = accesses[0].footprint({d: above.left[d] for d in accesses[0].dims})
        stay = Stay(
            address=address,
            tensor=tensor,
            level=node.level,
            source=source,
            above=above.loops,
            emptied=above.emptied,
            block=KeptBlock(level=node.level, tensor=tensor, elements=footprint, bits=accesses[0].bits),
            access=accesses[0],
            made=any(workload.stored_as[each.name] == tensor for each in below),
        )
        if source:
            self._check_moving(stay, accesses, above.left)
            self._check_way(stay, below)
        return stay

    def _check_moving(self, stay: Stay, accesses: list[TensorAccess], left: dict[str, int]) -> None:
        """Refuse contents that share elements, and wires on the way."""
        where = f"mapping tree: {UNCOUNTED}{stay.tensor} that stays in {stay.level}"
        if len({access.axes for access in accesses}) > 1:
            raise InputError(f"{where} for accesses with other subscripts")
        if stay.block.elements != touched_at_least(accesses[0], left):
            raise InputError(f"{where}: subscripts of it share a dim")
        windows = {d for axis in accesses[0].axes if len(axis.dims) > 1 for d in axis.dims}
        if any(loop.dim in windows and loop.trips > 1 for loop in stay.above):
            raise InputError(f"{where} under a loop over a dim of a window: neighbouring contents overlap")
        if stay.made and self.workload.roles[stay.tensor] is TensorRole.INTERMEDIATE:
            raise InputError(f"{where} while it is made, and further out as well")
        names = [level.name for level in self.machine.levels]
        if stay.source in names and names.index(stay.source) <= names.index(stay.level):
            raise TreeError(
                "malformed", f"{stay.tensor} is kept at {stay.level} inside {stay.source}; levels go inwards"
            )
        between = [each.store for each in self.machine.levels[names.index(stay.level) + 1 :]]
        if any(store is not None and store.wired for store in (*between, self.machine.outermost)):
            raise InputError(f"{where}, behind wires with a price")

    def _check_way(self, stay: Stay, below: list[Statement]) -> None:
        """Refuse what is brought from a level that has it not, or past one that must."""
        for each in below:
            if is_in_place(self.workload, each.name):
                continue
            memories = fabric_of(touched_alone(self.workload, each.name), self.machine).memories
            names = [memory.name for memory in memories]
            for place, access in enumerate(each.accesses):
                if self.workload.stored_as[access.name] != stay.tensor:
                    continue
                passed = memories[names.index(stay.level) + 1 : names.index(stay.source)]
                must = next((memory.name for memory in passed if memory.keeps[place] is KeepRule.KEPT), None)
                if must is not None:
                    raise TreeError("not kept", f"{stay.tensor} passes {must}, which must keep it for {each.name}")
                if memories[names.index(stay.source)].keeps[place] is KeepRule.REFUSED:
                    raise InputError(
                        f"mapping tree: {UNCOUNTED}{stay.tensor} that stays in {stay.level}: {stay.source} does not "
                        f"keep it for {each.name}"
                    )

    def _check_handed(self, alone: Workload, homes: dict[str, str]) -> None:
        """Refuse an intermediate that the outermost memory does not keep for all its statements."""
        outermost = fabric_of(alone, self.machine).memories[-1]
        for access, keep in zip(alone.tensors, outermost.keeps, strict=True):
            if homes.get(access.name) == outermost.name and keep is KeepRule.REFUSED:
                raise InputError(
                    f"mapping tree: {UNCOUNTED}{access.name}, which {alone.only.name} does not find in {outermost.name}"
                )

    def _leaf(self, nodes: tuple[Node, ...], name: str, above: _Above) -> Iterator[TurnPart | RowsPart]:
        if not has_nest(self.workload, name):
            if len(nodes) > 1:
                raise InputError(
                    f"mapping tree: {UNCOUNTED}loops and Keeps around {name} alone, which is done where it is"
                )
            if not is_in_place(self.workload, name):
                yield self._rows(name, above)
            return
        alone, stays = product_alone(self.workload, name, above.left), above.stays
        mine = {access.name: self.workload.stored_as[access.name] for access in alone.tensors}
        last = {stay.tensor: stay.level for stay in stays}
        homes = {access: last[tensor] for access, tensor in mine.items() if tensor in last}
        self._check_handed(alone, homes)
        given = {access for access, level in homes.items() if level != self.machine.memory}
        machine = with_given(self.machine, alone, homes, self._blocks(mine, stays))
        if machine is not None and self._keeps_in_full(nodes, alone, machine, homes):
            machine = None
        mapping = None if machine is None else self._nest(nodes, alone, machine, homes, given)
        yield TurnPart(statement=name, loops=above.loops, workload=alone, machine=machine, mapping=mapping, stays=stays)

    def _blocks(self, mine: dict[str, str], stays: tuple[Stay, ...]) -> list[KeptBlock]:
        """What stays while a statement is done, by its own names of tensors where it has any."""
        names = {tensor: access for access, tensor in reversed(mine.items())}
        held = (stay for stay in stays if stay.level != self.machine.memory)
        return [replace(stay.block, tensor=names.get(stay.tensor, stay.tensor)) for stay in held]

    def _rows(self, name: str, above: _Above) -> RowsPart:
        """A function of rows where its rows are."""
        statement = self.workload.statement(name)
        along = next((loop for loop in above.loops if statement.row and loop.dim == statement.row.dim), None)
        if along is not None and along.trips > 1:
            raise TreeError(
                "incomplete",
                f"the loop over {along.dim} is around {name}, a function of rows along it: every iteration has a part "
                "of them; put it inside",
            )
        alone = touched_alone(self.workload, name, above.left)
        mine = {access.name: self.workload.stored_as[access.name] for access in alone.tensors}
        last = {stay.tensor: stay.level for stay in above.stays}
        homes = {access: last.get(tensor, self.machine.memory) for access, tensor in mine.items()}
        self._check_handed(alone, homes)
        return RowsPart(
            statement=name,
            loops=above.loops,
            workload=alone,
            levels=tuple(homes[access.name] for access in alone.tensors),
            first=row_reads(statement),
            stays=above.stays,
            fits=with_given(self.machine, alone, homes, self._blocks(mine, above.stays)) is not None,
        )

    def _keeps_in_full(self, nodes: tuple[Node, ...], alone: Workload, machine: Machine, homes: dict[str, str]) -> bool:
        """Whether a path keeps something where what stays leaves no room."""
        plain, given = (fabric_of(alone, each).memories for each in (self.machine, machine))
        order = [memory.name for memory in plain]
        return any(
            plain[number].keeps[place] is not KeepRule.REFUSED and given[number].keeps[place] is KeepRule.REFUSED
            for node in nodes
            if isinstance(node, Keep)
            for number in [order.index(node.level)]
            for place, access in enumerate(alone.tensors)
            if access.name in node.tensors and number < order.index(homes.get(access.name, self.machine.memory))
        )

    def _nest(
        self, nodes: tuple[Node, ...], alone: Workload, machine: Machine, homes: dict[str, str], given: set[str]
    ) -> Mapping:
        """The nest of a path in which what is given has its Keep outside."""
        path = tuple(
            replace(node, tensors=(*node.tensors, *(t for t in sorted(given) if homes[t] == node.level)))
            if isinstance(node, Keep)
            else node
            for node in nodes
        )
        found = levels_of(MappingTree(workload=alone, machine=machine, nodes=path))
        if found is None:
            raise InputError(
                f"mapping tree: {UNCOUNTED}the path to {alone.only.name}; per level, outermost first, its loops over "
                "time, its Keep, and its loops over children are, and every step divides what is outside it"
            )
        return found


def _computed(node: Node) -> tuple[str, ...]:
    if isinstance(node, Compute):
        return (node.statement,)
    if isinstance(node, Sequence):
        return tuple(name for branch in node.branches for name in _computed(branch[-1]))
    return ()
