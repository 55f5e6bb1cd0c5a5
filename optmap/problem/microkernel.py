"""The fixed register tile of an outer-product microkernel, for workloads that have one."""

from __future__ import annotations

from optmap.problem.machine import Microkernel
from optmap.problem.workload import Workload


def microkernel_tile(workload: Workload, kernel: Microkernel) -> dict[str, int] | None:
    """The register tile that a microkernel imposes on a workload (MOpt section 6, Listing 4).

    The vector runs along an output dim u and the broadcast along an output dim v such that one
    input has u but not v and another has v but not u. Dims that stand alone in every subscript
    come first for the vector (a window cannot be a vector), the last output dim for the
    broadcast; ties go to the later dim of the output.

    Args:
        workload: the tensor computation.
        kernel: widths of the microkernel.

    Returns:
        Extent per dim (1 beyond the two dims, never above the extent), or None if the workload
        has no such pair of dims, as a depthwise convolution has not.
    """
    order = [dim for axis in workload.output.axes for dim in axis.dims]
    windowed = {d for t in workload.tensors for axis in t.axes if len(axis.terms) > 1 for d in axis.dims}
    best: tuple[tuple[bool, int, int], str, str] | None = None
    for vector in order:
        for broadcast in order:
            if not _outer_product(workload, vector, broadcast):
                continue
            score = (vector not in windowed, order.index(vector), order.index(broadcast))
            if best is None or score > best[0]:
                best = (score, vector, broadcast)
    if best is None:
        return None
    tile = dict.fromkeys(workload.dims, 1)
    _, vector, broadcast = best
    tile[vector] = min(kernel.vector, workload.extents[vector])
    tile[broadcast] = min(kernel.broadcast, workload.extents[broadcast])
    return tile


def microkernel_permutation(workload: Workload) -> tuple[str, ...]:
    """Loop order around the microkernel: output dims outside, reduction dims innermost."""
    reduction = workload.reduction_dims
    return tuple(d for d in workload.dims if d not in reduction) + reduction


def _outer_product(workload: Workload, vector: str, broadcast: str) -> bool:
    has_vector = any(vector in t.dims and broadcast not in t.dims for t in workload.inputs)
    has_broadcast = any(broadcast in t.dims and vector not in t.dims for t in workload.inputs)
    return has_vector and has_broadcast
