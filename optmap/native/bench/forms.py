"""A workload as libraries know it: a convolution over images, or a product of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optmap.workloads.workload import Subscript, TensorAccess, Workload

Array = NDArray[Any]
MOST_SPATIAL = 3
"""Spatial axes of a convolution that libraries know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """How a tensor becomes an operand of a library: its subscripts in another order, groups of them joined."""

    order: tuple[int, ...]
    """Subscripts of the statement in the order of the operand."""
    shape: tuple[int, ...]
    """Of the operand."""
    kept: tuple[tuple[int, int], ...]
    """Per subscript of the statement first element and number of elements that the operand has."""

    def apply(self, array: Array) -> Array:
        """The operand as a contiguous array, from the tensor in the statement's order of subscripts."""
        cut = array[tuple(slice(first, first + count) for first, count in self.kept)]
        return np.ascontiguousarray(cut.transpose(self.order)).reshape(self.shape)

    def invert(self, operand: Array) -> Array:
        """The tensor in the statement's order of subscripts, from an operand that has all its elements."""
        sizes = tuple(self.kept[axis][1] for axis in self.order)
        back = tuple(int(axis) for axis in np.argsort(self.order))
        return np.ascontiguousarray(operand.reshape(sizes).transpose(back))


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryConvolution:
    """`Out[n, g*k, spatial] = In[n, g*c, stride*spatial + dilation*tap] * Ker[g, k, c, taps]`."""

    batch: int
    groups: int
    outputs: int
    """Output channels of a group."""
    channels: int
    """Input channels of a group."""
    image: tuple[int, ...]
    """Elements per spatial axis, without padding."""
    taps: tuple[int, ...]
    spatial: tuple[int, ...]
    """Output elements per spatial axis."""
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    """Distance of taps: 1 is dense."""
    before: tuple[int, ...]
    """Zeros before the image."""
    after: tuple[int, ...]
    """Zeros behind the image."""
    image_input: int
    """Which input of the workload the image is; the weights are the other."""
    folds: tuple[Fold, Fold, Fold]
    """Of output, image and weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """`C[b, m, n] = A[b, m, k] * B[b, k, n]`."""

    batch: int
    rows: int
    columns: int
    depth: int
    left_input: int
    """Which input of the workload A is; B is the other."""
    folds: tuple[Fold, Fold, Fold]
    """Of C, A and B."""


def library_forms(workload: Workload) -> tuple[LibraryConvolution | Product, ...]:
    """What libraries may be asked for to compute a workload.

    Args:
        workload: padding is what its subscripts say.

    Returns:
        A convolution, a product, or both for a convolution of single taps; nothing for anything else, as more inputs,
        one that is read twice, sums in the output's subscripts, windows of three dims, elements of several sizes.
    """
    if len(workload.inputs) != 2 or len({tensor.bits for tensor in workload.tensors}) > 1:
        return ()
    if workload.inputs[0].name == workload.inputs[1].name:
        return ()
    windowed = [index for index, tensor in enumerate(workload.inputs) if not all(map(_plain, tensor.axes))]
    if not all(map(_plain, workload.output.axes)) or len(windowed) > 1:
        return ()
    image = windowed[0] if windowed else 0
    found = (_convolution(workload, image) if windowed else None, _product(workload, image))
    return tuple(form for form in found if form is not None)


def tensor_shape(workload: Workload, tensor: TensorAccess) -> tuple[int, ...]:
    """Elements per subscript of a tensor."""
    return tuple(axis.elements(workload.extents) for axis in tensor.axes)


def _plain(axis: Subscript) -> bool:
    return len(axis.terms) == 1 and axis.terms[0][1] == 1 and axis.offset == 0 and axis.real is None


def _convolution(workload: Workload, image: int) -> LibraryConvolution | None:
    """The convolution of the input of a number with the other as weights."""
    pictures, weights, output = workload.inputs[image], workload.inputs[1 - image], workload.output
    size, windows = workload.extents, _windows(workload, image)
    ends = [_place_and_tap(axis, output, weights) for axis in windows]
    places, taps = [end[0] for end in ends if end], [end[1] for end in ends if end]
    window_dims = {dim for axis in windows for dim in axis.dims}
    rest = [dim for dim in workload.dims if dim not in window_dims]
    groups, batch, outputs, channels = _by_tensors(rest, workload, image)
    if not all(ends) or len(groups + batch + outputs + channels) != len(rest) or len(windows) > MOST_SPATIAL:
        return None
    before, after, kept = zip(*(_window(workload, axis) for axis in windows), strict=True)
    spatial = [dim for dim, _ in places]
    reach = dict(zip(spatial, kept, strict=True))
    return LibraryConvolution(
        batch=prod(size[d] for d in batch),
        groups=prod(size[d] for d in groups),
        outputs=prod(size[d] for d in outputs),
        channels=prod(size[d] for d in channels),
        image=tuple(elements for _, elements in kept),
        taps=tuple(size[d] if d else 1 for d, _ in taps),
        spatial=tuple(size[d] for d in spatial),
        stride=tuple(c for _, c in places),
        dilation=tuple(c for _, c in taps),
        before=before,
        after=after,
        image_input=image,
        folds=(
            _fold(workload, output, (batch, groups + outputs, *([d] for d in spatial)), {}),
            _fold(workload, pictures, (batch, groups + channels, *([d] for d in spatial)), reach),
            _fold(workload, weights, (groups, outputs, channels, *([d] if d else [] for d, _ in taps)), {}),
        ),
    )


def _windows(workload: Workload, image: int) -> list[Subscript]:
    """Subscripts of the image that a filter slides along, with those in which it has no taps if libraries take all."""
    pictures, weights, output = workload.inputs[image], workload.inputs[1 - image], workload.output
    windows = [axis for axis in pictures.axes if not _plain(axis)]
    beside = [a for a in pictures.axes[1:] if _plain(a) and a.dims[0] in output.dims - weights.dims]
    if len(windows) + len(beside) > MOST_SPATIAL:
        return windows
    return [axis for axis in pictures.axes if axis in windows or axis in beside]


def _place_and_tap(
    axis: Subscript, output: TensorAccess, weights: TensorAccess
) -> tuple[tuple[str, int], tuple[str, int]] | None:
    """The terms of a window's place and of its tap; of no dim if there is one tap, None if it is no window."""
    inner = [term for term in axis.terms if term[0] in weights.dims and term[0] not in output.dims]
    outer = [term for term in axis.terms if term not in inner]
    if len(outer) != 1 or len(inner) > 1 or outer[0][0] in weights.dims or outer[0][0] not in output.dims:
        return None
    return outer[0], inner[0] if inner else ("", 1)


def _by_tensors(dims: Sequence[str], workload: Workload, first: int) -> tuple[list[str], ...]:
    """Dims of all three tensors, of output and the input of a number, of output and the other, and of both inputs."""
    output, left, right = workload.output.dims, workload.inputs[first].dims, workload.inputs[1 - first].dims
    kinds = (output & left & right, (output & left) - right, (output & right) - left, (left & right) - output)
    return tuple([d for d in dims if d in kind] for kind in kinds)


def _window(workload: Workload, axis: Subscript) -> tuple[int, int, tuple[int, int]]:
    """Zeros before and behind, and first element and number of those that are read."""
    span, real = axis.span(workload.extents), axis.real
    if real is None:
        return 0, 0, (0, span)
    before, after = real[0] - axis.offset, axis.offset + span - 1 - real[1]
    first = max(-before, 0)
    return max(before, 0), max(after, 0), (first, real[1] - real[0] + 1 - first - max(-after, 0))


def _product(workload: Workload, first: int) -> Product | None:
    """The product of the input of a number and the other; subscripts of several dims count if all but one are 1."""
    size, output = workload.extents, workload.output
    left, right = workload.inputs[first], workload.inputs[1 - first]
    ones = {d for axis in left.axes if len(axis.terms) > 1 for d in axis.dims if size[d] == 1 and d not in output.dims}
    for axis in left.axes:
        wide = [c for dim, c in axis.terms if dim not in ones]
        if wide not in ([1], []) or axis.offset or axis.real is not None:
            return None
    dims = [d for d in workload.dims if d not in ones]
    batch, rows, columns, depth = _by_tensors(dims, workload, first)
    if len(batch + rows + columns + depth) != len(dims):
        return None
    return Product(
        batch=prod(size[d] for d in batch),
        rows=prod(size[d] for d in rows),
        columns=prod(size[d] for d in columns),
        depth=prod(size[d] for d in depth),
        left_input=first,
        folds=(
            _fold(workload, output, (batch, rows, columns), {}),
            _fold(workload, left, (batch, rows, depth), {}),
            _fold(workload, right, (batch, depth, columns), {}),
        ),
    )


def _fold(
    workload: Workload, tensor: TensorAccess, groups: tuple[list[str], ...], windows: dict[str, tuple[int, int]]
) -> Fold:
    """Subscripts in the order of groups of dims; a window stands where its output dim does."""
    kept = []
    for axis in tensor.axes:
        window = next((windows[d] for d in axis.dims if d in windows), None)
        kept.append(window or (0, axis.elements(workload.extents)))
    order, shape = [], []
    for dims in groups:
        found = [next(i for i, axis in enumerate(tensor.axes) if dim in axis.dims) for dim in dims]
        order += found
        shape.append(prod(kept[i][1] for i in found))
    order += [i for i in range(len(kept)) if i not in order]  # single elements
    return Fold(order=tuple(order), shape=tuple(shape), kept=tuple(kept))
