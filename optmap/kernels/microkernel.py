"""The fixed register tile of an outer-product microkernel, for workloads that have one."""

from __future__ import annotations

from optmap.kernels.kernel_roles import outer_product_dims
from optmap.machines.core import Microkernel
from optmap.workloads.workload import Workload


def microkernel_tile(workload: Workload, kernel: Microkernel) -> dict[str, int] | None:
    """The register tile that a microkernel imposes on a workload (MOpt section 6, Listing 4).

    The vector runs along the first and the broadcast along the second dim of the best pair of `outer_product_dims`.

    Args:
        workload: the tensor computation.
        kernel: widths of the microkernel.

    Returns:
        Extent per dim (1 beyond the two dims, never above the extent), or None if the workload
        has no such pair of dims, as a depthwise convolution has not.
    """
    pair = next(outer_product_dims(workload), None)
    if pair is None:
        return None
    tile = dict.fromkeys(workload.dims, 1)
    vector, broadcast = pair
    tile[vector] = min(kernel.vector, workload.extents[vector])
    tile[broadcast] = min(kernel.broadcast, workload.extents[broadcast])
    return tile


def microkernel_permutation(workload: Workload) -> tuple[str, ...]:
    """Loop order around the microkernel: output dims outside, reduction dims innermost."""
    reduction = workload.reduction_dims
    return tuple(d for d in workload.dims if d not in reduction) + reduction
