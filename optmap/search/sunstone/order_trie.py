"""Loop orders of one memory as a trie, pruned by the reuse that they give (section IV-A).

An order is written from the innermost loop outwards, as the paper's trie is read from its root. A node is the
inner part of an order; the loops outside it are left open, as none of them reuses anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from optmap.machines.operands import Operand

Order = tuple[int, ...]
"""Dims, innermost first."""


@dataclass(frozen=True, slots=True)
class Use:
    """An operand whose elements a loop finds where they are."""

    operand: int
    dim: int
    partly: bool
    """Some of them: the loop slides a window."""


@dataclass(frozen=True, slots=True)
class InnerOrder:
    """The inner part of a loop order."""

    order: Order
    reuse: frozenset[Use]

    @property
    def stationary(self) -> frozenset[int]:
        """Operands that stay whole while a loop of the order runs."""
        return frozenset(use.operand for use in self.reuse if not use.partly)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trie:
    """What is left of it."""

    nodes: tuple[InnerOrder, ...]
    """At least one; without any reuse the root, which leaves all loops open."""
    grown: int
    """Nodes that were looked at, the root left out."""
    no_further: int
    """Of these, without further reuse than the node before: they and all that would continue them are cut."""
    dominated: int
    """Of the others, with no reuse that another node has not."""


def reuse_of(order: Order, operands: Sequence[tuple[int, Operand]], wide: frozenset[int]) -> frozenset[Use]:
    """What an order reuses (Ordering Principles 1 and 2).

    An operand is reused by the innermost loops up to the first one that indexes it, reuse(T) = {d_1 .. d_j} with
    d_i not in dims(T) for i <= j; that first one slides a window if a subscript has it with another wide dim.

    Args:
        order: inner loops.
        operands: those whose reuse counts, with their numbers.
        wide: dims of two iterations or more.
    """
    found = set()
    for number, operand in operands:
        for dim in order:
            if dim in operand.dims:
                if any(dim in dims and len(wide.intersection(dims)) > 1 for dims in map(_dims, operand.axes)):
                    found.add(Use(number, dim, True))
                break
            found.add(Use(number, dim, False))
    return frozenset(found)


def _dims(axis: Iterable[tuple[int, int]]) -> frozenset[int]:
    return frozenset(dim for dim, _ in axis)


def no_further_reuse(child: InnerOrder, parent: InnerOrder) -> bool:
    """Rule 1: reuse(child) = reuse(parent), so nothing that continues the child reuses more (Ordering Principle 3)."""
    return child.reuse == parent.reuse


def dominated(node: InnerOrder, others: Iterable[InnerOrder]) -> bool:
    """Rule 2: reuse(node) is part of reuse(other), for another order of the same or more reuse.

    Of orders with the same reuse the first one is kept.
    """
    return any(node.reuse < other.reuse or (node.reuse == other.reuse and other is not node) for other in others)


def trie_of(
    dims: Sequence[int],
    operands: Sequence[tuple[int, Operand]],
    wide: frozenset[int],
    *,
    further_reuse: bool = True,
    dominated_orders: bool = True,
) -> Trie:
    """The orders worth trying.

    Args:
        dims: of the loops.
        operands: those whose reuse counts, with their numbers.
        wide: dims of two iterations or more.
        further_reuse: whether rule 1 holds.
        dominated_orders: whether rule 2 does.
    """
    root = InnerOrder((), frozenset())
    kept, no_further, grown, ends = [root], 0, 0, [root]
    while ends:
        parent = ends.pop()
        for dim in dims:
            if dim in parent.order:
                continue
            grown += 1
            order = (*parent.order, dim)
            child = InnerOrder(order, reuse_of(order, operands, wide))
            if further_reuse and no_further_reuse(child, parent):
                no_further += 1
            else:
                kept.append(child)
                ends.append(child)
    nodes = _undominated(kept) if dominated_orders else tuple(kept)
    return Trie(nodes=nodes, grown=grown, no_further=no_further, dominated=len(kept) - len(nodes))


def _undominated(nodes: Sequence[InnerOrder]) -> tuple[InnerOrder, ...]:
    """One node per reuse that no other has, and more."""
    firsts = list({node.reuse: node for node in reversed(nodes)}.values())
    return tuple(node for node in nodes if any(node is own for own in firsts) and not dominated(node, firsts))
