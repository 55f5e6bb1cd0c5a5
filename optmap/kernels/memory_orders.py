"""In which order the elements of a workload's tensors lie in memory: code, predictions and sets of caches go by it."""

from __future__ import annotations

from functools import lru_cache

from optmap.kernels.code_options import ActivationLayout
from optmap.kernels.kernel_roles import KernelKind, KernelRoles
from optmap.workloads.workload import TensorAccess, Workload

Order = tuple[tuple[int, int], ...]
"""(subscript, block) from the slowest to the fastest: an index divided by the block, modulo the slower block of the
same subscript if there is one. A subscript that is not cut has one piece, of block 1."""


@lru_cache(maxsize=1024)
def activation_orders(
    workload: Workload, roles: KernelRoles | None, layout: ActivationLayout, lanes: int
) -> tuple[Order, ...]:
    """Per access the order that a user wants for what layers hand to each other; weights as the statement has them.

    Channels are the subscript of the vector dim in the output, and in the image the one that is reduced with the
    weights (the vector dim's if depthwise); groups just before channels belong to them.

    Args:
        workload: gives the accesses.
        roles: of its dims; without them every order is that of the statement.
        layout: the user's choice.
        lanes: elements of one vector, which are a block.
    """
    found = [_plain(tensor) for tensor in workload.tensors]
    if roles is None or layout is ActivationLayout.NCHW:
        return tuple(found)
    for number, dims in ((0, (roles.vector,)), (roles.images, _image_channels(workload, roles))):
        tensor = workload.tensors[number]
        channels = _channels(tensor, dims, roles)
        if channels:
            blocked = layout is ActivationLayout.BLOCKED and tensor.axes[channels[-1]].span(workload.extents) > lanes
            found[number] = _channels_last(len(tensor.axes), channels, lanes if blocked else 1)
    return tuple(found)


def _plain(tensor: TensorAccess) -> Order:
    return tuple((axis, 1) for axis in range(len(tensor.axes)))


def _image_channels(workload: Workload, roles: KernelRoles) -> tuple[str, ...]:
    if roles.kind is KernelKind.DEPTHWISE:
        return (roles.vector,)
    weights = workload.tensors[roles.weights].dims
    return tuple(d for d in roles.reduction if d in weights)


def _channels(tensor: TensorAccess, dims: tuple[str, ...], roles: KernelRoles) -> list[int]:
    """Subscripts of the channels: the last that is one of some dims alone, after the groups just before it."""
    alone = [axis.terms[0][0] if len(axis.terms) == 1 else None for axis in tensor.axes]
    last = max((n for n, dim in enumerate(alone) if dim in dims), default=None)
    if last is None:
        return []
    first = last
    while first > 0 and alone[first - 1] in roles.shared:
        first -= 1
    return list(range(first, last + 1))


def _channels_last(rank: int, channels: list[int], block: int) -> Order:
    """Channels fastest, or in blocks that are fastest."""
    others = [axis for axis in range(rank) if axis not in channels]
    if block == 1:
        return tuple((axis, 1) for axis in (*others, *channels))
    *groups, last = channels
    before = [axis for axis in range(rank) if axis not in channels or axis in groups]
    at = before.index(groups[-1]) + 1 if groups else sum(axis < last for axis in others)
    order = [(axis, 1) for axis in before]
    return (*order[:at], (last, block), *order[at:], (last, 1))


def block_span(order: Order, place: int) -> int | None:
    """Values of the piece at a place of an order: a block of its subscript over its own; None if nothing is slower."""
    axis, block = order[place]
    slower = [each for at, each in order[:place] if at == axis]
    return slower[-1] // block if slower else None
