"""What items of several papers count with: words that enter at a reuse dimension of each tensor, steps of windows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import comb, factorial, prod

from optmap.count.levels.held import entering_words
from optmap.mappings.reuse import reuse_at
from optmap.symbolic.numbers import prime_factors
from optmap.workloads.workload import Workload

Sizes = dict[str, int]
"""By dim: extents, a tile, ways."""
PRODUCT = "C[i,j] += A[i,k]*B[k,j]"
"""The matrix product of all papers."""


def entering(
    workload: Workload, tile: Mapping[str, int], order: tuple[str, ...], level: Mapping[str, int]
) -> dict[str, int]:
    """Words of every tensor that enter, counted in whole numbers.

    Args:
        workload: what is computed.
        tile: extent per dim.
        order: loops over tiles, outermost first.
        level: per tensor its reuse dimension, 1 for the innermost loop.
    """
    return {
        tensor.name: entering_words(workload, tensor, dict(tile), reuse_at(tensor, order, level[tensor.name]))
        for tensor in workload.tensors
    }


def window_steps(workload: Workload) -> dict[str, int]:
    """What the dims of windows are multiplied by in the inputs of a statement: strides and dilations."""
    steps: dict[str, int] = {}
    for access in workload.only.inputs:
        for axis in access.axes:
            if len(axis.terms) > 1:
                steps |= dict(axis.terms)
    return steps


def map_space(extents: Iterable[int], levels: int, memories: int) -> int:
    """Mappings, valid or not: orders of all loops per memory, and ways to give the prime factors of dims to levels.

    Args:
        extents: of dims, those of one iteration left out.
        levels: memories and meshes.
        memories: levels whose loops have an order.

    Source: QuickFlow, section III-D, |MS|.
    """
    sizes = list(extents)
    powers = (power for size in sizes for power in Counter(prime_factors(size)).values())
    orders = prod([factorial(len(sizes))] * memories)
    return orders * prod(comb(power + levels - 1, levels - 1) for power in powers)
