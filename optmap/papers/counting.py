"""What items of several papers count with: words that enter at a reuse dimension of each tensor, steps of windows."""

from __future__ import annotations

from collections.abc import Mapping

from optmap.count.levels.held import entering_words
from optmap.mappings.reuse import reuse_at
from optmap.workloads.workload import Workload


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
