"""The reuse that the algebra of a workload allows (Table III)."""

from __future__ import annotations

from dataclasses import dataclass

from optmap.problem.workload import Workload, access_names


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
