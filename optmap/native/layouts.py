"""Buffers of a workload's tensors: how large they are, and where elements lie in them."""

from __future__ import annotations

from optmap.errors import InputError
from optmap.native.code import Buffer, Layout
from optmap.problem import TensorAccess, Workload

LARGEST_BUFFER = 2**62
"""Bytes that addresses in C's `long` reach with room to spare."""


def buffers_of(workload: Workload, layouts: tuple[Layout, ...], packed: tuple[bool, ...]) -> tuple[Buffer, ...]:
    """One buffer per access, output first; a tensor that is read again has the same elements every time.

    Args:
        workload: gives the accesses.
        layouts: per access.
        packed: per access, as `Buffer.packed`.

    Raises:
        InputError: for elements that are no float or double, a tensor that is read with different numbers of
            subscripts, or a buffer beyond `LARGEST_BUFFER`.
    """
    found = []
    for tensor, layout, ahead in zip(workload.tensors, layouts, packed, strict=True):
        ranges = _ranges(workload, tensor)
        shape = tuple(last - first + 1 for first, last in ranges)
        buffer = Buffer(
            tensor=tensor.name,
            shape=shape,
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
