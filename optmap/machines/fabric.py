"""An accelerator as one workload sees it: dims and tensors by number, roles resolved, capacities in elements.

Everything that counts, searches or checks on an accelerator starts here, so that names and roles are
resolved in one place. Memories are numbered inner to outer; the outermost is the last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

from optmap.base.errors import InputError
from optmap.base.shown import Concise
from optmap.machines.accelerator import ROLES, TENSOR_ROLES, FactorRule, KeepRule, MeshAxis, Ports, Prices, Store
from optmap.machines.elements import Element, element_of, entries_of
from optmap.machines.machine import Level, Machine
from optmap.machines.operands import Operand, operands_of
from optmap.machines.relations import GAP, Relation
from optmap.machines.roles import image_of, roles_of
from optmap.workloads.workload import Padding, Workload, access_names

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A demand on the product of the trips of some dims (of one role) at one level or mesh axis."""

    dims: tuple[int, ...]
    """May be empty, for a role that the workload has not: then the trips are 1."""
    relation: Relation
    value: int
    text: str
    """As the machine writes it, with the level."""

    def product(self, trips: tuple[int, ...]) -> int:
        """What it is a demand on, of trips per dim."""
        return prod(trips[dim] for dim in self.dims)

    def admits(self, trips: tuple[int, ...]) -> bool:
        """Whether trips per dim meet it."""
        return bool(self.relation.holds(self.product(trips), self.value))

    def met(self, products: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether products of trips meet it, an array of them: `admits` for many."""
        found: NDArray[np.bool_] = self.relation.holds(products, self.value)
        return found

    def open(self, products: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether products of some trips may still meet it when more are multiplied in."""
        found: NDArray[np.bool_] = self.relation.open(products, self.value)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """One axis of a mesh."""

    size: int
    allowed: tuple[bool, ...]
    """Per dim, whether it may be unrolled here."""
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedRoom(Concise):
    """A capacity that some operands share."""

    operands: tuple[int, ...]
    weights: tuple[Fraction, ...]
    """Words of `capacity` that one element of each takes: 1 where the machine says the size of an entry, and its
    share of entries where they are packed. A tile takes `elements.whole` words of it."""
    capacity: int
    """In entries of the machine; where it has bytes and no entries, in words of the workload (`word_bits`)."""
    name: str
    """Of the partition, or of the level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(Concise):
    """One memory: a bounded level, or the outermost memory."""

    name: str
    rooms: tuple[SharedRoom, ...]
    """Each must hold the tiles of those of its operands that are kept; empty for unbounded."""
    keeps: tuple[KeepRule, ...]
    """Per operand."""
    prices: Prices
    """Of an access."""
    elements: tuple[Element, ...]
    """Per operand, what one of its elements takes."""
    read_rate: Fraction | None
    """Words per cycle and instance (`Element.passing`); None for no limit. Where the machine has bytes, in words of
    the workload."""
    write_rate: Fraction | None
    shared_rate: Fraction | None
    block: int
    cluster: int
    x: Direction
    y: Direction
    multicast: bool
    reduction: bool
    rules: tuple[Rule, ...]
    """Of its temporal loops."""
    order: tuple[tuple[int, ...] | None, ...]
    """Pattern of its temporal loops, outermost first: an entry is the dims of one role, which come next
    to one another in any order; None for any loops. Empty for any order."""
    hop_pj: Fraction
    router_pj: Fraction
    tiles: tuple[Rule, ...] = ()
    """A user's, of its tile: of the trips of all loops here and inside, each rule of one dim."""
    ways: tuple[Rule, ...] = ()
    """A user's, of its mesh: of the ways along both axes together, each rule of one dim."""

    @property
    def fanout(self) -> int:
        """Children of one instance."""
        return self.x.size * self.y.size

    @property
    def wired(self) -> bool:
        """Whether words pay for wires or routers of its mesh."""
        return bool(self.hop_pj or self.router_pj)

    def unordered(self, loops: tuple[int, ...]) -> tuple[int, ...]:
        """The dims of temporal loops, outermost first, from the first on that the memory's order has no place for.

        A named entry of the order takes the loops of its dims, a gap those of dims that are not named; none are left
        over of an order that is admitted.
        """
        if not self.order:
            return ()
        named = {dim for entry in self.order if entry is not None for dim in entry}
        place = 0
        for entry in self.order:
            while place < len(loops) and (loops[place] not in named if entry is None else loops[place] in entry):
                place += 1
        return loops[place:]

    def entries(self, dim: int) -> tuple[int, ...]:
        """Places in its order of the entries that a loop of a dim may belong to; 0 alone if it has no order."""
        pattern = self.order or (None,)
        named = any(entry is not None and dim in entry for entry in pattern)
        return tuple(place for place, entry in enumerate(pattern) if (not named if entry is None else dim in entry))

    def loopable(self, dims: int) -> tuple[bool, ...]:
        """Per dim, of so many, whether the memory's order has a place for a temporal loop of it."""
        return tuple(bool(self.entries(dim)) for dim in range(dims))

    def where(self, room: SharedRoom) -> str:
        """What one of its rooms is called in messages."""
        return self.name if room.name == self.name else f"{self.name}, {room.name}"

    def together(self, operand: Operand) -> bool:
        """Whether children with the same words of an operand are served, or added up, by one access."""
        return self.reduction if operand.output else self.multicast


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric(Concise):
    """A machine as one workload sees it."""

    workload: Workload
    machine: Machine
    dims: tuple[str, ...]
    extents: tuple[int, ...]
    operands: tuple[Operand, ...]
    """Output first, then the inputs, as `Workload.tensors`."""
    memories: tuple[Memory, ...]
    """Inner to outer, the outermost last."""
    arithmetic_pj: Fraction
    demanded: frozenset[int] = frozenset()
    """Dims of which a user demands tiles or ways."""

    @property
    def operations(self) -> int:
        """Multiply-accumulates: the product of the extents."""
        return prod(self.extents)

    @property
    def units(self) -> int:
        """Arithmetic units: the product of all fanouts."""
        return prod(memory.fanout for memory in self.memories)

    def resized(self, workload: Workload) -> Fabric:
        """The machine as the same workload with other extents sees it: of all that is here they decide nothing else.

        Args:
            workload: with the same statement, tensors and bits.
        """
        return replace(self, workload=workload, extents=tuple(workload.extents[dim] for dim in self.dims))

    def instances(self, number: int) -> int:
        """Instances of a memory in the machine."""
        return prod(memory.fanout for memory in self.memories[number + 1 :])

    def clusters(self, number: int) -> int:
        """Groups of instances of a memory that one access serves together: `cluster` of them, or all there are."""
        return max(1, self.instances(number) // self.memories[number].cluster)


def fabric_of(workload: Workload, machine: Machine) -> Fabric:
    """An accelerator as a workload sees it.

    What no level must keep the outermost memory keeps, also where the machine leaves that open.

    Raises:
        InputError: for a machine that is no accelerator, implicit padding, an unknown role or name in the machine, a
            tensor that no memory must keep and the outermost refuses, or one that a level may keep without a partition
            for it.
    """
    if machine.outermost is None:
        raise InputError(f"machine {machine.name} gives no energies and fanouts; use an accelerator, such as eyeriss")
    if workload.padding is Padding.IMPLICIT:
        raise InputError(f"{workload.title}: on an accelerator padding is stored; use --padding stored")
    names = access_names(workload)
    resolver = _Resolver(workload, names)
    outermost = Level(name=machine.memory, capacity=machine.levels[-1].capacity, store=machine.outermost)
    bounded = tuple(resolver.memory(level, bounded=True) for level in machine.levels)
    memories = (*bounded, _source(bounded, resolver.memory(outermost, bounded=False), names, machine))
    return Fabric(
        workload=workload,
        machine=machine,
        dims=workload.dims,
        extents=tuple(workload.extents[dim] for dim in workload.dims),
        operands=operands_of(workload),
        memories=memories,
        arithmetic_pj=Fraction(machine.arithmetic.energy_pj),
    )


def _source(bounded: tuple[Memory, ...], outermost: Memory, names: tuple[str, ...], machine: Machine) -> Memory:
    """The outermost memory, which must keep what no other must: every tensor comes from somewhere."""
    keeps = list(outermost.keeps)
    for place, name in enumerate(names):
        if any(memory.keeps[place] is KeepRule.KEPT for memory in bounded):
            continue
        if keeps[place] is KeepRule.REFUSED:
            raise InputError(
                f"machine {machine.name}: no memory must keep {name}, and {machine.memory} does not; add it to `keeps` "
                f"of {machine.memory}"
            )
        keeps[place] = KeepRule.KEPT
    return replace(outermost, keeps=tuple(keeps))


class _Resolver:
    """From roles and names of dims and tensors to numbers, for one workload."""

    def __init__(self, workload: Workload, names: tuple[str, ...]) -> None:
        self.workload = workload
        self.names = names
        self.roles = roles_of(workload)
        image = image_of(workload)
        first = next(place for place, tensor in enumerate(workload.tensors) if tensor is image)
        weight = next((place for place in range(1, len(names)) if place != first), None)
        self.tensors = {
            "output": (0,),
            "inputs": tuple(range(1, len(names))),
            "input": (first,),
            "weight": () if weight is None else (weight,),
        }

    def dims(self, name: str, where: str) -> tuple[int, ...]:
        """The dims that a role or a name stands for."""
        if name in ROLES:
            return tuple(place for place, dim in enumerate(self.workload.dims) if self.roles[dim] == name)
        if name in self.workload.dims:
            return (self.workload.dims.index(name),)
        raise InputError(
            f"{where}: {name!r} is neither a dim of {self.workload.title} ({', '.join(self.workload.dims)}) nor a role "
            f"({', '.join(ROLES)})"
        )

    def operands(self, name: str, where: str) -> tuple[int, ...]:
        """The operands that a role or a name stands for."""
        if name in TENSOR_ROLES:
            return self.tensors[name]
        found = tuple(place for place, own in enumerate(self.names) if own == name)
        if not found:
            raise InputError(
                f"{where}: {name!r} is neither a tensor of {self.workload.title} ({', '.join(self.names)}) nor a role "
                f"({', '.join(TENSOR_ROLES)})"
            )
        return found

    def memory(self, level: Level, *, bounded: bool) -> Memory:
        """A level as a memory; only a bounded one has rooms."""
        store = level.store or Store()
        rooms, keeps = self._rooms(level, store) if bounded else (), self._keeps(store, level.name)
        for place, keep in enumerate(keeps):
            if bounded and keep is not KeepRule.REFUSED and not any(place in room.operands for room in rooms):
                raise InputError(
                    f"{level.name}: no partition has room for {self.names[place]}; name it in one, or list in `keeps` "
                    "what is kept"
                )
        return Memory(
            name=level.name,
            rooms=rooms,
            keeps=keeps,
            prices=store.energy_pj,
            elements=tuple(
                element_of(store, tensor.bits, self.workload.weight(tensor)) for tensor in self.workload.tensors
            ),
            read_rate=self._rate(store.ports, store.ports.read),
            write_rate=self._rate(store.ports, store.ports.write),
            shared_rate=self._rate(store.ports, store.ports.shared),
            block=store.block,
            cluster=store.cluster,
            x=self._direction(store.mesh.x, f"{level.name}, axis x"),
            y=self._direction(store.mesh.y, f"{level.name}, axis y"),
            multicast=store.mesh.multicast,
            reduction=store.mesh.reduction,
            rules=self._rules(store.factors, level.name),
            order=tuple(None if name == GAP else self.dims(name, f"{level.name}: order") for name in store.order),
            hop_pj=Fraction(store.hop_pj),
            router_pj=Fraction(store.router_pj),
        )

    def _keeps(self, store: Store, where: str) -> tuple[KeepRule, ...]:
        if not store.keeps:
            return (KeepRule.KEPT,) * len(self.names)
        found = [KeepRule.REFUSED] * len(self.names)
        for name, keep in store.keeps:
            for place in self.operands(name, f"{where}: keeps"):
                found[place] = keep
        return tuple(found)

    def _rooms(self, level: Level, store: Store) -> tuple[SharedRoom, ...]:
        whole = tuple(range(len(self.names)))
        parts = [
            (
                part.name,
                tuple(place for name in part.tensors for place in self.operands(name, level.name)),
                part.capacity,
            )
            for part in level.partitions
        ] or [(level.name, whole, level.capacity)]
        rooms = []
        for name, operands, capacity in parts:
            words = capacity.words(store.word_bits or self.workload.word_bits)
            entries = capacity.unit == "words" or store.word_bits is not None
            tensors = [self.workload.tensors[place] for place in operands]
            weights = tuple(
                entries_of(store, tensor.bits) if entries else Fraction(self.workload.weight(tensor))
                for tensor in tensors
            )
            rooms.append(SharedRoom(operands=operands, weights=weights, capacity=words // level.buffering, name=name))
        return tuple(rooms)

    def _rate(self, ports: Ports, rate: Fraction | float | None) -> Fraction | None:
        """Words per cycle of a port: as the machine says, or words of the workload for its bytes."""
        word = Fraction(8, self.workload.word_bits) if ports.unit == "bytes" else Fraction(1)
        return None if rate is None else Fraction(rate) * word

    def _direction(self, axis: MeshAxis, where: str) -> Direction:
        dims = range(len(self.workload.dims))
        allowed = set(dims) if axis.dims is None else {place for name in axis.dims for place in self.dims(name, where)}
        return Direction(
            size=axis.size, allowed=tuple(place in allowed for place in dims), rules=self._rules(axis.factors, where)
        )

    def _rules(self, factors: tuple[FactorRule, ...], where: str) -> tuple[Rule, ...]:
        return tuple(
            Rule(
                dims=self.dims(rule.dim, where),
                relation=rule.relation,
                value=rule.value,
                text=f"{where}: {rule.text}",
            )
            for rule in factors
        )
