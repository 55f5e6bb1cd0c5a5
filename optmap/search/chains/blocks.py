"""Loops around statements that are done in turn on a mesh: what is worth trying, judged by the words that cross.

A group of statements is done block by block: loops over dims that all of them have, then the statements one after the
other on what the loops leave, with what one makes and another reads kept on chip. Small blocks leave room for tiles,
and bring more from outside. Before nests are looked for, blocks are compared by the words that enter and leave a group
at least; every number of trips that divides is looked at, in every order of the loops, with every set of tensors that
stay over the innermost loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, pairwise, permutations, product, zip_longest

import numpy as np
from numpy.typing import NDArray

from optmap.base.arrays import Floats
from optmap.machines.accelerator import KeepRule
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.given import homes_of
from optmap.symbolic.numbers import divisors_of
from optmap.workloads.access import TensorAccess
from optmap.workloads.chain import TensorRole
from optmap.workloads.single import is_of_rows, product_alone, touched_alone
from optmap.workloads.workload import Workload

Whole = NDArray[np.int64]
SHARES = (1.0, 0.75, 0.5, 0.25, 0.125)
"""Of the room of a level that what stays may take: the best block of each is tried."""
NEXT = 3
"""Blocks of each share that are tried."""
MOST_POINTS = 200_000
"""Blocks that are compared at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBlock:
    """How a group is cut."""

    loops: tuple[tuple[str, int], ...]
    """(dim, iterations of a step), outermost first."""
    stays: tuple[tuple[str, int], ...]
    """(tensor, number of loops around its Keep) of what enters or leaves the group and stays over inner loops."""

    @property
    def sort(self) -> tuple[frozenset[object], ...]:
        """The same for blocks that differ in the order of loops around the same Keeps."""
        around = ((tensor, frozenset(self.loops[:depth])) for tensor, depth in self.stays)
        return frozenset(self.loops), frozenset(around)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnGroup:
    """Statements that are done together."""

    names: tuple[str, ...]
    """The products, in order."""
    inner: tuple[tuple[str, str], ...]
    """(tensor, level) of what is made and read in the group and stays on chip; by the name of its elements."""


def loop_dims(workload: Workload, names: Sequence[str], inner: Sequence[str]) -> tuple[str, ...]:
    """Dims over which a loop may go around statements: all have them, and every iteration makes what it reads.

    Args:
        workload: the chain.
        names: of the products.
        inner: tensors that are made and read there.
    """
    every = (*names, *rows_within(workload, inner))
    statements = [workload.statement(name) for name in every]
    common = set.intersection(*(set(each.dims) for each in statements))
    common -= {each.row.dim for each in statements if each.row is not None}  # rows are complete before they are read
    found = []
    for dim in workload.dims:
        if dim in common and all(_aligned(workload, every, tensor, dim) for tensor in inner):
            found.append(dim)
    return tuple(found)


def rows_within(workload: Workload, inner: Sequence[str]) -> tuple[str, ...]:
    """Statements with a function of rows that is applied in place to what is made and read in a group.

    Args:
        workload: the chain.
        inner: the tensors, by the names of their elements.
    """
    stored = workload.stored_as
    every = (each for each in workload.statements if is_of_rows(each))
    return tuple(each.name for each in every if stored[each.name] in inner)


def accesses_to(workload: Workload, names: Sequence[str], tensor: str) -> list[TensorAccess]:
    """The accesses of some statements to a tensor, by the name of its elements."""
    stored = workload.stored_as
    return [access for name in names for access in workload.statement(name).accesses if stored[access.name] == tensor]


def _aligned(workload: Workload, names: Sequence[str], tensor: str, dim: str) -> bool:
    places = {
        next((place for place, axis in enumerate(access.axes) if axis.terms == ((dim, 1),)), None)
        for access in accesses_to(workload, names, tensor)
    }
    return len(places) == 1 and None not in places


def common_levels(fabrics: dict[str, Fabric], workload: Workload, names: Sequence[str], tensor: str) -> list[str]:
    """Bounded levels of one instance that may keep a tensor in all of some statements, inner first."""
    stored = workload.stored_as
    found: list[str] | None = None
    machine = next(iter(fabrics.values())).machine
    for name in (*names, *rows_within(workload, (tensor,))):
        mine = [
            place for place, access in enumerate(workload.statement(name).accesses) if stored[access.name] == tensor
        ]
        if not mine:
            continue
        fabric = fabrics[name] if name in fabrics else fabric_of(touched_alone(workload, name), machine)
        may = homes_of(fabric, mine)
        found = may if found is None else [level for level in found if level in may]
    return found or []


def stays_inside(workload: Workload, tensor: str, names: Sequence[str]) -> bool:
    """Whether an intermediate is read by some statements, and by no others but those that change it in place.

    Args:
        workload: the chain.
        tensor: the name of its elements.
        names: of the statements.
    """
    stored = workload.stored_as
    if workload.roles[tensor] is not TensorRole.INTERMEDIATE:
        return False
    others = (each for each in workload.statements if stored[each.name] != tensor)
    readers = {each.name for each in others if any(stored[access.name] == tensor for access in each.inputs)}
    return bool(readers) and readers <= {*names}


class BlockChoice:
    """The blocks of a group, compared.

    Args:
        workload: the chain.
        group: what is done together.
        fabrics: of each product alone.
    """

    def __init__(self, workload: Workload, group: TurnGroup, fabrics: dict[str, Fabric]) -> None:
        self.workload, self.group, self.fabrics = workload, group, fabrics
        self.stored = workload.stored_as
        self.inner = dict(group.inner)
        self.dims = loop_dims(workload, group.names, tuple(self.inner))
        grids = np.meshgrid(*(np.array(divisors_of(workload.extents[d]), np.int64) for d in self.dims), indexing="ij")
        self.tiles = {d: grid.ravel() for d, grid in zip(self.dims, grids, strict=True)}
        self.outer = self._outer()
        machine = fabrics[group.names[0]].machine
        self.level = next(level for _, level in group.inner if level != machine.memory)
        self.prices = {tensor: self._price(tensor) for tensor in self.outer}

    def _outer(self) -> dict[str, tuple[TensorAccess, bool]]:
        """Tensors that enter or leave, with an access and whether they are made here."""
        found: dict[str, tuple[TensorAccess, bool]] = {}
        for name in self.group.names:
            for number, access in enumerate(product_alone(self.workload, name).tensors):
                tensor = self.stored[access.name]
                if tensor not in self.inner:
                    found[tensor] = access, number == 0
        return found

    def best(self, *, timed: bool) -> list[GroupBlock]:
        """Blocks that look best, of each share of the room, the best ones first.

        Args:
            timed: whether cycles count, so that blocks with few words are looked at beside those of little energy.
        """
        if any(len(grid) > MOST_POINTS for grid in self.tiles.values()):
            return []
        found: dict[tuple[int, float], dict[GroupBlock, float]] = {}
        for order, held in self._ways():
            energy, words, room, stays = self._judge(order, held)
            for share, (kind, cost) in product(SHARES, enumerate((energy, words)[: 1 + timed])):
                able = np.where(room <= share * self._capacity(), cost, np.inf)
                for row in np.argsort(able)[:NEXT]:
                    if able[row] < np.inf:
                        block = self._block(order, stays, int(row))
                        kept = found.setdefault((kind, share), {})
                        kept[block] = min(float(able[row]), kept.get(block, np.inf))
        ranked = [sorted(kept, key=kept.__getitem__)[:NEXT] for _, kept in sorted(found.items(), key=_rank)]
        several = {block.sort: block for each in zip_longest(*ranked) for block in reversed(each) if block}
        return list(several.values())

    def _ways(self) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Orders of loops, and what stays."""
        may = [t for t in self.outer if self.may_stay(t)]
        for order in permutations(self.dims) if len(self.dims) <= 4 else [self.dims]:
            for size in range(min(len(may), 3) + 1):
                for held in combinations(may, size):
                    if all(order and order[-1] not in self.outer[t][0].dims for t in held):
                        yield order, held

    def may_stay(self, tensor: str) -> bool:
        """Whether a tensor that enters or leaves may stay over inner loops in the level of what is handed on."""
        access = self.outer[tensor][0]
        inside = accesses_to(self.workload, self.group.names, tensor)
        intermediate = self.workload.roles[tensor] is TensorRole.INTERMEDIATE
        return (
            all(len(axis.dims) <= 1 for axis in access.axes)
            and sum(len(axis.dims) for axis in access.axes) == len(access.dims)  # no diagonals
            and len({a.axes for a in inside}) == 1
            and not (intermediate and self.outer[tensor][1])
            and self.level in common_levels(self.fabrics, self.workload, self.group.names, tensor)
            and self._comes_straight(tensor)
            and not any(m.wired for f in self.fabrics.values() for m in f.memories)
        )

    def _comes_straight(self, tensor: str) -> bool:
        """Whether a tensor comes from the outermost memory, past no level that must keep it."""
        for name in self.group.names:
            fabric = self.fabrics[name]
            for place, access in enumerate(self.workload.statement(name).accesses):
                if self.stored[access.name] == tensor:
                    keeps = [memory.keeps[place] for memory in fabric.memories]
                    border = [memory.name for memory in fabric.memories].index(self.level)
                    if keeps[-1] is KeepRule.REFUSED or KeepRule.KEPT in keeps[border + 1 : -1]:
                        return False
        return True

    def _judge(
        self, order: tuple[str, ...], held: tuple[str, ...]
    ) -> tuple[Floats, Floats, Whole, tuple[tuple[str, int], ...]]:
        """Energy and words of what enters and leaves, the room of what stays, and where that is kept."""
        extents = self.workload.extents
        trips = {d: extents[d] // self.tiles[d] for d in self.dims}
        every = self._product([trips[d] for d in order])
        energy, words, room = np.zeros(every.shape), np.zeros(every.shape), np.zeros_like(every)
        stays = []
        for tensor, (access, made) in self.outer.items():
            block, times = self._footprint(access, self.dims), every
            different = self._product([trips[d] for d in order if d in access.dims])
            outside, inside = self.prices[tensor]
            nests = block * ((2 * every - different) if made else every)
            if tensor in held:
                depth = len(order)
                while depth and order[depth - 1] not in access.dims:
                    depth -= 1
                stays.append((tensor, depth))
                block = self._footprint(access, order[:depth])
                times = self._product([trips[d] for d in order[:depth]])
                room = room + block
            moved = block * ((2 * times - different) if made else times)
            energy, words = energy + moved * outside + nests * inside, words + moved
        for tensor, level in self.inner.items():
            if level == self.level:
                access, *_ = accesses_to(self.workload, self.group.names, tensor)
                room = room + self._footprint(access, self.dims)
        return energy, words, room, tuple(stays)

    def _price(self, tensor: str) -> tuple[float, float]:
        """Energy of a word between the outermost memory and the level that keeps what stays, and inside of that."""
        outside = inside = 0.0
        for name, fabric in self.fabrics.items():
            stored = [self.stored[access.name] for access in self.workload.statement(name).accesses]
            if name not in self.group.names or tensor not in stored:
                continue
            place = stored.index(tensor)
            keepers = [n for n, memory in enumerate(fabric.memories) if memory.keeps[place] is not KeepRule.REFUSED]
            border = [memory.name for memory in fabric.memories].index(self.level)
            outside = 0.0
            for inner, outer in pairwise(keepers):
                far, near = (fabric.memories[n].elements[place].least_pj for n in (outer, inner))
                price = float(far.update if place == 0 else far.read + near.fill)
                outside, inside = (outside + price, inside) if outer > border else (outside, inside + price)
        return outside, inside

    def _product(self, factors: list[Whole]) -> Whole:
        one = np.ones_like(next(iter(self.tiles.values()))) if self.tiles else np.ones(1, np.int64)
        return reduce(np.multiply, factors, one)

    def _footprint(self, access: TensorAccess, cut: Sequence[str]) -> Whole:
        """Words of an access where some dims are cut, at most: a window as far as it reaches."""
        axes = []
        for axis in access.axes:
            reach = self._product([])
            for dim, factor in axis.terms:
                size = self.tiles[dim] if dim in cut else self.workload.extents[dim]
                reach = reach + abs(factor) * (size - 1)
            axes.append(reach)
        return self._product(axes)

    def _capacity(self) -> int:
        fabric = self.fabrics[self.group.names[0]]
        memory = next(memory for memory in fabric.memories if memory.name == self.level)
        return sum(room.capacity for room in memory.rooms)

    def _block(self, order: tuple[str, ...], stays: tuple[tuple[str, int], ...], row: int) -> GroupBlock:
        extents = self.workload.extents
        sizes = [(d, int(self.tiles[d][row])) for d in order]
        loops = tuple((d, size) for d, size in sizes if size < extents[d])
        kept = []
        for tensor, depth in stays:
            around = sum(size < extents[d] for d, size in sizes[:depth])
            if around < len(loops):
                kept.append((tensor, around))
        return GroupBlock(loops=loops, stays=tuple(kept))


def _rank(kept: tuple[tuple[int, float], object]) -> tuple[int, float]:
    (kind, share), _ = kept
    return kind, -share


def level_choices(levels: Sequence[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """Every choice of a level per intermediate, the outermost ones first."""
    return product(*(list(reversed(each)) for each in levels))
