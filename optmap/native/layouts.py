"""Buffers of a workload's tensors: how large they are, and where elements lie in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from optmap.errors import InputError
from optmap.native.code import Buffer, Layout
from optmap.problem import TensorAccess, Workload
from optmap.problem.code_options import ActivationLayout
from optmap.problem.kernel_roles import KernelKind, KernelRoles

LARGEST_BUFFER = 2**62
"""Bytes that addresses in C's `long` reach with room to spare."""

Array = npt.NDArray[Any]


def pack(layout: Layout, values: Array) -> Array:
    """A tensor as it lies in memory.

    Args:
        layout: where its elements lie.
        values: the tensor, one axis per subscript in the order of the statement.

    Returns:
        One axis; zeros where blocks are filled up.

    Raises:
        InputError: if the layout is not one of a tensor with so many subscripts.
    """
    split, order, filled = _digits(layout, values.shape)
    whole = np.zeros(filled, values.dtype)
    whole[tuple(slice(n) for n in values.shape)] = values
    return np.ascontiguousarray(whole.reshape(split).transpose(order)).reshape(-1)


def unpack(layout: Layout, flat: Array, shape: tuple[int, ...]) -> Array:
    """The way back from `pack`.

    Args:
        layout: where the elements lie.
        flat: the buffer, one axis.
        shape: of the tensor, in the order of the statement.

    Raises:
        InputError: if the layout or the length of the buffer does not belong to the shape.
    """
    split, order, filled = _digits(layout, shape)
    if flat.shape != (layout.size(shape),):
        raise InputError(
            f"buffer has shape {flat.shape}; a tensor of {shape} has {layout.size(shape):,} elements there"
        )
    back = np.argsort(np.array(order, dtype=int))
    whole = flat.reshape([split[place] for place in order]).transpose(back).reshape(filled)
    return np.array(whole[tuple(slice(n) for n in shape)], order="C")


def _digits(layout: Layout, shape: tuple[int, ...]) -> tuple[list[int], list[int], list[int]]:
    """Extents of the pieces axis by axis, their places from slowest to fastest in memory, and the filled-up shape."""
    pieces = layout.pieces(shape)
    slow_first = sorted(range(len(pieces)), key=lambda n: pieces[n].axis)  # stable: an axis' pieces stay in order
    filled = [1] * len(shape)
    for piece in pieces:
        filled[piece.axis] *= piece.extent
    return [pieces[n].extent for n in slow_first], [slow_first.index(n) for n in range(len(pieces))], filled


def activation_layouts(
    workload: Workload, roles: KernelRoles | None, layout: ActivationLayout, lanes: int
) -> tuple[Layout, ...]:
    """Per access the layout that a user wants for what layers hand to each other; weights as the statement has them.

    Channels are the subscript of the vector dim in the output, and in the image the one that is reduced with the
    weights (the vector dim's if depthwise); groups just before channels belong to them.

    Args:
        workload: gives the accesses.
        roles: of its dims; without them every layout is that of the statement.
        layout: the user's choice.
        lanes: elements of one vector, which are a block.
    """
    plain = list(plain_layouts(workload))
    if roles is None or layout is ActivationLayout.NCHW:
        return tuple(plain)
    image = workload.inputs[roles.images]
    for number, tensor, dims in (
        (0, workload.output, (roles.vector,)),
        (1 + roles.images, image, _image_channels(workload, roles)),
    ):
        channels = _channels(tensor, dims, roles)
        if channels:
            blocked = layout is ActivationLayout.BLOCKED and tensor.axes[channels[-1]].span(workload.extents) > lanes
            plain[number] = _channels_last(len(tensor.axes), channels, lanes if blocked else 1)
    return tuple(plain)


def _image_channels(workload: Workload, roles: KernelRoles) -> tuple[str, ...]:
    if roles.kind is KernelKind.DEPTHWISE:
        return (roles.vector,)
    weights = workload.inputs[roles.weights].dims
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


def _channels_last(rank: int, channels: list[int], block: int) -> Layout:
    """Channels fastest, or in blocks that are fastest."""
    others = [axis for axis in range(rank) if axis not in channels]
    if block == 1:
        return Layout(order=tuple((axis, 1) for axis in (*others, *channels)))
    *groups, last = channels
    before = [axis for axis in range(rank) if axis not in channels or axis in groups]
    at = before.index(groups[-1]) + 1 if groups else sum(axis < last for axis in others)
    order = [(axis, 1) for axis in before]
    return Layout(order=(*order[:at], (last, block), *order[at:], (last, 1)))


def plain_layouts(workload: Workload) -> tuple[Layout, ...]:
    """Per access the layout in which the statement writes it."""
    return tuple(Layout.plain(len(tensor.axes)) for tensor in workload.tensors)


def buffers_of(workload: Workload, layouts: tuple[Layout, ...], packed: tuple[bool, ...] = ()) -> tuple[Buffer, ...]:
    """One buffer per access, output first; a tensor that is read again has the same elements every time.

    Args:
        workload: gives the accesses.
        layouts: per access.
        packed: per access, as `Buffer.packed`; left out if none is.

    Raises:
        InputError: for elements that are no float or double, a tensor that is read with different numbers of
            subscripts, or a buffer beyond `LARGEST_BUFFER`.
    """
    found = []
    for tensor, layout, ahead in zip(workload.tensors, layouts, packed or [False for _ in layouts], strict=True):
        ranges = _ranges(workload, tensor)
        buffer = Buffer(
            tensor=tensor.name,
            shape=tuple(last - first + 1 for first, last in ranges),
            origin=tuple(first for first, _ in ranges),
            bits=tensor.bits,
            layout=layout,
            packed=ahead,
        )
        _check(workload, tensor, buffer)
        found.append(buffer)
    return tuple(found)


def _ranges(workload: Workload, tensor: TensorAccess) -> list[tuple[int, int]]:
    """First and last index value per subscript over all accesses of a tensor."""
    same = [other for other in workload.tensors if other.name == tensor.name]
    if len({len(other.axes) for other in same}) > 1:
        raise InputError(f"{workload.title}: {tensor.name} is read with different numbers of subscripts")
    extents = workload.extents
    every = [
        [axis.real or (axis.offset, axis.offset + axis.span(extents) - 1) for axis in other.axes] for other in same
    ]
    return [(min(first for first, _ in axis), max(last for _, last in axis)) for axis in zip(*every, strict=True)]


def _check(workload: Workload, tensor: TensorAccess, buffer: Buffer) -> None:
    if tensor.bits not in (32, 64):
        raise InputError(
            f"{workload.title}: {tensor.name} has elements of {tensor.bits} bits; code is written for float (4 bytes) "
            "and double (8 bytes)"
        )
    size = buffer.layout.size(buffer.shape)
    axes = tensor.axes
    pieces = buffer.layout.pieces(buffer.shape)
    reach = [(axes[p.axis].offset + axes[p.axis].span(workload.extents)) * p.stride for p in pieces]
    if max(size, *reach, *workload.extents.values()) * tensor.bits // 8 > LARGEST_BUFFER:
        raise InputError(
            f"{workload.title}: {tensor.name} spans more than 2^62 bytes; no machine addresses it, use smaller extents"
        )
