"""NumPy arrays in the order of the statement, and the buffers of emitted code in theirs."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optmap.base.errors import InputError
from optmap.native.code import ALIGNMENT, Buffer
from optmap.native.layouts import pack, unpack

Array = NDArray[Any]


def dtype_of(buffer: Buffer) -> np.dtype[Any]:
    """The type of a buffer's elements: `float32` or `float64`."""
    return np.dtype(f"f{buffer.bits // 8}")


def stored_shape(buffer: Buffer) -> tuple[int, ...]:
    """Elements per piece of the layout, slowest first; filled up, where an axis has blocks."""
    return tuple(piece.extent for piece in buffer.layout.pieces(buffer.shape))


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Memory that begins at a multiple of `ALIGNMENT`, not set to anything."""
    size = prod(shape) * dtype.itemsize
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size].view(dtype).reshape(shape)


def aligned(array: Array) -> Array:
    """A copy, last subscript fastest, in memory that begins at a multiple of `ALIGNMENT`."""
    made = empty(array.shape, array.dtype)
    made[...] = array
    return made


def is_split(buffer: Buffer) -> bool:
    """Whether an axis is in blocks, so that strides of the statement's subscripts cannot say where elements lie."""
    return len(buffer.layout.order) > len(buffer.shape)


def view_of(buffer: Buffer, stored: Array) -> Array:
    """A buffer's memory under the statement's subscripts; a copy where an axis is in blocks.

    Args:
        buffer: says the layout.
        stored: of `stored_shape`.
    """
    if is_split(buffer):
        return unpack(buffer.layout, stored.reshape(-1), buffer.shape)
    back = np.argsort(np.array([axis for axis, _ in buffer.layout.order], int))
    return stored.transpose(back)


def memory_of(buffer: Buffer, array: Array) -> Array | None:
    """What an array occupies as the memory of a buffer, borrowed; None if its elements lie otherwise.

    Args:
        buffer: says the layout.
        array: under the statement's subscripts, or, of a layout in blocks, of `stored_shape`.
    """
    if array.ndim != len(buffer.shape) and array.shape == stored_shape(buffer):
        return array if array.flags.c_contiguous else None
    if array.shape != buffer.shape or is_split(buffer):
        return None
    turned = array.transpose([axis for axis, _ in buffer.layout.order])
    return turned if turned.flags.c_contiguous else None


def stored(buffer: Buffer, array: Array) -> Array:
    """A copy of an array as a buffer has it, filled up with zeros.

    Args:
        buffer: says the layout.
        array: under the statement's subscripts.
    """
    return aligned(pack(buffer.layout, array).reshape(stored_shape(buffer)))


def checked(title: str, buffer: Buffer, given: Array) -> Array:
    """An array of the type and shape of a buffer, in an order in memory that is taken, as a plain array.

    Args:
        title: what messages begin with.
        buffer: says what is wanted.
        given: what a caller gave.

    Raises:
        InputError: for anything else: what it is, and what would do.
    """
    where, dtype = f"{title}: {buffer.tensor}", dtype_of(buffer)
    if not isinstance(given, np.ndarray):
        raise InputError(
            f"{where} is a {type(given).__name__}; give a NumPy array, such as np.asarray(x, np.{dtype.name})"
        )
    if isinstance(given, np.ma.MaskedArray):
        raise InputError(
            f"{where} is a masked array, whose mask the code would not see: give .filled(0) of it, or .data"
        )
    given = given.view(np.ndarray)
    if given.dtype != dtype:
        raise InputError(f"{where} has elements of {given.dtype}; {dtype.name} is needed: .astype(np.{dtype.name})")
    if not given.flags.aligned:
        raise InputError(f"{where} begins inside an element's place in memory; give a copy of it: .copy()")
    split = not buffer.packed and given.ndim != len(buffer.shape) and given.shape == stored_shape(buffer)
    if given.shape != buffer.shape and not split:
        first = f" (the first element is that of index {', '.join(map(str, buffer.origin))})"
        raise InputError(
            f"{where} has shape {given.shape}; {buffer.shape} is needed{first if any(buffer.origin) else ''}"
        )
    taken = given.flags.c_contiguous or (not buffer.packed and memory_of(buffer, given) is not None)
    if not taken:
        better = "" if buffer.packed or is_split(buffer) else f", or memory that empty({buffer.tensor!r}) makes"
        raise InputError(
            f"{where} does not lie in memory in one piece, last subscript fastest (strides {given.strides}): give "
            f"np.ascontiguousarray of it{better}"
        )
    return given


def refuse_copy(title: str, buffer: Buffer, copy: bool) -> None:
    """Refuse an array that is not in the layout of a buffer, unless it may be copied.

    Raises:
        InputError: saying how memory is made that is.
    """
    if not copy:
        order = ", ".join(f"{axis}" if block == 1 else f"{axis} by {block}" for axis, block in buffer.layout.order)
        raise InputError(
            f"{title}: {buffer.tensor} would be copied: the code wants its subscripts in the order {order}, the last "
            f"one fastest; fill memory that empty({buffer.tensor!r}) makes, or allow copy"
        )
