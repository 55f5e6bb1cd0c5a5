"""Keeps on their paths: what each holds, and where from, whatever the iteration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from optmap.mappings.nodes import Address, PathLeaf, is_above
from optmap.mappings.tree import MappingTree
from optmap.workloads.chain import TensorRole

Pair = tuple[str, str, str]
"""Inner level, outer level, and the name under which a tensor is stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A Keep on a path."""

    address: Address
    level: str
    tensors: frozenset[str]
    """Names under which they are stored."""
    of: Mapping[str, range]
    ends: bool
    """Whether it is emptied in every iteration of the loops above it, as it is not there for all statements below."""


def placed(tree: MappingTree, leaf: PathLeaf) -> tuple[Placed, ...]:
    """The Keeps above a leaf that hold anything of their own, outermost first.

    The outermost level is the home of inputs and outputs wherever it is kept there; of an intermediate only from such
    a Keep on.
    """
    stored, roles = tree.kept.stored_as, tree.kept.roles
    found = []

    def below(address: Address) -> set[str]:
        return {each.statement for each in tree.leaves if is_above(address, each.address)}

    for address, keep in leaf.keeps:
        tensors = {stored[name] for name in keep.tensors}
        if keep.level == tree.machine.memory:
            tensors = {name for name in tensors if roles[name] is TensorRole.INTERMEDIATE}
        ends = bool(keep.only) and not below(address) <= set(keep.only)
        found.append(Placed(address=address, level=keep.level, tensors=frozenset(tensors), of=keep.of, ends=ends))
    return tuple(found)


def pairs(tree: MappingTree) -> tuple[Pair, ...]:
    """Every pair of levels between which a tensor may move, whether it does or not: inner levels first."""
    found, kept = set[Pair](), tree.kept
    for leaf in tree.leaves:
        path = placed(tree, leaf)
        for place, keep in enumerate(path):
            for tensor in keep.tensors:
                home = () if kept.roles[tensor] is TensorRole.INTERMEDIATE else (tree.machine.memory,)
                found.update((keep.level, level, tensor) for level in _sources(tensor, keep, path[:place], home))
    order = [level.name for level in tree.machine.levels] + [tree.machine.memory]
    names = list(dict.fromkeys(kept.stored_as.values()))
    return tuple(sorted(found, key=lambda k: (order.index(k[0]), order.index(k[1]), names.index(k[2]))))


def _sources(tensor: str, keep: Placed, outer: tuple[Placed, ...], home: tuple[str, ...]) -> Iterator[str]:
    for each in reversed(outer):
        if tensor in each.tensors and each.level != keep.level:
            yield each.level
            if not each.of:
                return
    yield from home
