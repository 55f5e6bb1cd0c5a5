"""The members of a family of mappings of statements in turn: what is done together, loops around it, and what stays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, combinations, permutations, product

from optmap.machines.fabric import Fabric
from optmap.search.chains.blocks import BlockChoice, GroupBlock, TurnGroup, common_levels, stays_inside
from optmap.search.chains.turn_problems import NO_LOOPS
from optmap.symbolic.numbers import divisors_of
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnMember:
    """What is decided of a mapping before its nests are."""

    segments: tuple[tuple[TurnGroup, GroupBlock], ...]
    """Statements that are done together, and how they are cut."""


def family_of(workload: Workload, fabrics: dict[str, Fabric], *, together: bool) -> Iterator[TurnMember]:
    """Statements one after the other, and two together with what they hand on in one level on chip.

    Args:
        workload: the chain.
        fabrics: of each statement alone that has a nest, in order.
        together: whether there are such as do two together.
    """
    names = tuple(fabrics)
    yield TurnMember(segments=tuple((TurnGroup(names=(name,), inner=()), NO_LOOPS) for name in names))
    tensors = [workload.stored_as[name] for name in names]
    inner = [tensor for tensor in tensors if stays_inside(workload, tensor, names)]
    if not together or len(names) != 2 or len(inner) != 1:
        return
    for level in common_levels(fabrics, workload, names, inner[0]):
        group = TurnGroup(names=names, inner=((inner[0], level),))
        yield from members_of(BlockChoice(workload, group, fabrics))


def members_of(choice: BlockChoice) -> Iterator[TurnMember]:
    """Every way to cut a group that has what it hands on in one level.

    Loops go over dims that all statements have and that subscript what is handed on, in every order, in every number of
    steps that divides; any set of other tensors stays in that level over the innermost loops that do not move them.

    Args:
        choice: the blocks of the group.
    """
    extents, seen = choice.workload.extents, set[tuple[frozenset[object], ...]]()
    able = [tensor for tensor in choice.outer if choice.may_stay(tensor)]
    orders = chain.from_iterable(permutations(choice.dims, size) for size in range(len(choice.dims) + 1))
    for order in orders:
        held = [t for t in able if order and order[-1] not in choice.outer[t][0].dims]
        for tiles in product(*(divisors_of(extents[dim])[:-1] for dim in order)):
            for some in chain.from_iterable(combinations(held, size) for size in range(len(held) + 1)):
                stays = tuple((t, around(order, choice.outer[t][0].dims)) for t in some)
                block = GroupBlock(loops=tuple(zip(order, tiles, strict=True)), stays=stays)
                if block.sort not in seen:
                    seen.add(block.sort)
                    yield TurnMember(segments=((choice.group, block),))


def around(order: tuple[str, ...], dims: Iterable[str]) -> int:
    """How many loops are around a tensor that stays over the innermost ones that do not move it."""
    moving = {*dims}
    return max((number for number, dim in enumerate(order, 1) if dim in moving), default=0)
