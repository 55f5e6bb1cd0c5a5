"""The reuse that the algebra of a workload allows (Table III), and the loop orders that it leaves (Figure 4)."""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

from optmap.base.shown import Concise
from optmap.machines.operands import operands_of
from optmap.search.sunstone.order_trie import Trie, trie_of
from optmap.workloads.workload import Workload, access_names


@dataclass(frozen=True, slots=True, kw_only=True)
class Inferred:
    """What loops can do for one tensor; dims in the order of the workload."""

    tensor: str
    indexed_by: tuple[str, ...]
    """Dims that occur in a subscript."""
    reused_by: tuple[str, ...]
    """Dims that do not: the same elements serve every iteration (Ordering Principle 1)."""
    partly_reused_by: tuple[str, ...]
    """Dims of a sliding window, a subscript of two dims or more: neighbours share elements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOrder:
    """An inner part of a loop order that the trie leaves; all loops outside it are open."""

    inner: tuple[str, ...]
    """Dims, outermost first."""
    reuses: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]
    """(tensor, dims that reuse it, dims that reuse a part of it)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopOrders(Concise):
    """What a trie leaves of the loop orders of one memory."""

    permutations: int
    grown: int
    """Nodes that were looked at."""
    no_further: int
    """Cut without further reuse than the node before (rule 1)."""
    dominated: int
    """Cut as another node reuses as much or more (rule 2)."""
    left: tuple[LeftOrder, ...]


def inferred_reuse(workload: Workload) -> tuple[Inferred, ...]:
    """Per tensor, the output first, which dims index, reuse and partly reuse it.

    A dim is partly reusing where a subscript has it and another dim of two iterations or more.
    """
    found = []
    for name, tensor in zip(access_names(workload), workload.tensors, strict=True):
        windows = [[dim for dim in axis.dims if workload.extents[dim] > 1] for axis in tensor.axes]
        sliding = {dim for dims in windows if len(dims) > 1 for dim in dims}
        found.append(
            Inferred(
                tensor=name,
                indexed_by=tuple(dim for dim in workload.dims if dim in tensor.dims),
                reused_by=tuple(dim for dim in workload.dims if dim not in tensor.dims),
                partly_reused_by=tuple(dim for dim in workload.dims if dim in sliding),
            )
        )
    return tuple(found)


def left_orders(workload: Workload) -> LoopOrders:
    """The loop orders of a memory that keeps every tensor, as the trie leaves them; dims of one iteration left out."""
    wide = [place for place, dim in enumerate(workload.dims) if workload.extents[dim] > 1]
    trie = trie_of(wide, list(enumerate(operands_of(workload))), frozenset(wide))
    return LoopOrders(
        permutations=factorial(len(wide)),
        grown=trie.grown,
        no_further=trie.no_further,
        dominated=trie.dominated,
        left=tuple(_left(workload, trie)),
    )


def _left(workload: Workload, trie: Trie) -> list[LeftOrder]:
    names, found = access_names(workload), []
    for node in trie.nodes:
        reuses = []
        for place, name in enumerate(names):
            uses = sorted((use for use in node.reuse if use.operand == place), key=lambda use: use.dim)
            whole, partly = (tuple(workload.dims[u.dim] for u in uses if u.partly is part) for part in (False, True))
            if uses:
                reuses.append((name, whole, partly))
        inner = tuple(workload.dims[dim] for dim in reversed(node.order))
        found.append(LeftOrder(inner=inner, reuses=tuple(reuses)))
    return found
