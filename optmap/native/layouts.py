"""Buffers of a workload's tensors: how large they are, and where elements lie in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from optmap.base.errors import InputError
from optmap.kernels.code_options import ActivationLayout
from optmap.kernels.kernel_roles import KernelRoles
from optmap.kernels.memory_orders import activation_orders
from optmap.native.code import Buffer, TensorLayout
from optmap.workloads.access import TensorAccess
from optmap.workloads.workload import Workload

LARGEST_BUFFER = 2**62
"""Bytes that addresses in C's `long` reach with room to spare."""

Array = npt.NDArray[Any]


def pack(layout: TensorLayout, values: Array) -> Array:
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


def unpack(layout: TensorLayout, flat: Array, shape: tuple[int, ...]) -> Array:
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


def _digits(layout: TensorLayout, shape: tuple[int, ...]) -> tuple[list[int], list[int], list[int]]:
    """Extents of the pieces axis by axis, their places from slowest to fastest in memory, and the filled-up shape."""
    pieces = layout.pieces(shape)
    slow_first = sorted(range(len(pieces)), key=lambda n: pieces[n].axis)  # stable: an axis' pieces stay in order
    filled = [1] * len(shape)
    for piece in pieces:
        filled[piece.axis] *= piece.extent
    return [pieces[n].extent for n in slow_first], [slow_first.index(n) for n in range(len(pieces))], filled


def activation_layouts(
    workload: Workload, roles: KernelRoles | None, layout: ActivationLayout, lanes: int
) -> tuple[TensorLayout, ...]:
    """Per access its layout where a user wants one for what layers hand to each other: see `activation_orders`."""
    return tuple(TensorLayout(order=order) for order in activation_orders(workload, roles, layout, lanes))


def plain_layouts(workload: Workload) -> tuple[TensorLayout, ...]:
    """Per access the layout in which the statement writes it."""
    return tuple(TensorLayout.plain(len(tensor.axes)) for tensor in workload.accesses)


def buffers_of(
    workload: Workload, layouts: tuple[TensorLayout, ...], packed: tuple[bool, ...] = ()
) -> tuple[Buffer, ...]:
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
    for tensor, layout, ahead in zip(workload.accesses, layouts, packed or [False for _ in layouts], strict=True):
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
    same = [other for other in workload.accesses if other.name == tensor.name]
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
