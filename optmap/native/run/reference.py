"""What the output must be: the statement in float64 by NumPy, which knows nothing of tiles, layouts or emitted code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optmap.native.code import Buffer
from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.workload import Workload

Double = NDArray[np.float64]
Places = NDArray[np.intp]
Region = Mapping[str, Places]
"""Iterations that are looked at: rising values per dim of the output."""


def whole_region(workload: Workload) -> dict[str, Places]:
    """All iterations of the output's dims."""
    return {dim: np.arange(workload.extents[dim]) for dim in workload.dims if dim in workload.output.dims}


def looped_dims(workload: Workload) -> tuple[str, ...]:
    """Dims whose values are taken one by one, so that every other dim has a subscript of its own in every tensor.

    Of a window such as `h+r` it is the shorter one.
    """
    extents, looped = workload.extents, set[str]()
    for tensor in workload.inputs:
        for axis in tensor.axes:
            free = [dim for dim in axis.dims if dim not in looped]
            looped.update(sorted(free, key=lambda dim: (extents[dim], dim))[:-1])
    for tensor in workload.inputs:
        seen = [dim for axis in tensor.axes for dim in axis.dims]
        looped.update(dim for dim in seen if seen.count(dim) > 1)
    return tuple(dim for dim in workload.dims if dim in looped)


def sums(workload: Workload, buffers: tuple[Buffer, ...], arrays: Mapping[str, Double], region: Region) -> Double:
    """Per iteration of the output's dims the sum over all others.

    Args:
        workload: the statement.
        buffers: one per access, which say the index value of element 0 of the arrays.
        arrays: by name of tensor, under the statement's subscripts.
        region: which iterations.

    Returns:
        An array over the output's dims in canonical order.
    """
    looped, accesses = looped_dims(workload), list(zip(workload.inputs, buffers[1:], strict=True))
    filled = [(tensor, _with_rim(workload, tensor, buffer, arrays[tensor.name])) for tensor, buffer in accesses]
    out_dims = tuple(region)
    free_out = [dim for dim in out_dims if dim not in looped]
    values = {dim: region.get(dim, np.arange(workload.extents[dim])) for dim in workload.dims}
    label = {dim: number for number, dim in enumerate(workload.dims)}
    result = np.zeros([len(region[dim]) for dim in out_dims])
    for numbers in product(*(range(len(values[dim])) for dim in looped)):
        fixed = {dim: int(values[dim][number]) for dim, number in zip(looped, numbers, strict=True)}
        operands: list[Any] = []
        covered = set[str]()
        for tensor, array in filled:
            dims, part = _part(tensor, array, fixed, values)
            operands += [part, [label[dim] for dim in dims]]
            covered.update(dims)
        for dim in free_out:
            if dim not in covered:  # of no input: the same for all its values
                operands += [np.ones(len(values[dim])), [label[dim]]]
        part = np.einsum(*operands, [label[dim] for dim in free_out], optimize=True)
        at = dict(zip(looped, numbers, strict=True))
        result[tuple(at.get(dim, slice(None)) for dim in out_dims)] += part
    return result


def _with_rim(workload: Workload, tensor: TensorAccess, buffer: Buffer, array: Double) -> Double:
    """A tensor over all index values of an access, zero where they are not real."""
    shape = [axis.span(workload.extents) for axis in tensor.axes]
    ends = [
        (max(first, axis.offset), min(last, axis.offset + size - 1))
        for axis, size, (first, last) in zip(tensor.axes, shape, _real(tensor, buffer), strict=True)
    ]
    made = np.zeros(shape)
    starts = [axis.offset for axis in tensor.axes]
    made[_cut(ends, starts)] = array[_cut(ends, buffer.origin)]
    return made


def _real(tensor: TensorAccess, buffer: Buffer) -> Iterator[tuple[int, int]]:
    for axis, first, size in zip(tensor.axes, buffer.origin, buffer.shape, strict=True):
        yield axis.real or (first, first + size - 1)


def _cut(ends: list[tuple[int, int]], starts: Any) -> tuple[slice, ...]:
    return tuple(slice(first - start, last - start + 1) for (first, last), start in zip(ends, starts, strict=True))


def _part(
    tensor: TensorAccess, array: Double, fixed: Mapping[str, int], values: Mapping[str, Places]
) -> tuple[tuple[str, ...], Double]:
    """The elements that an access reads while some dims are fixed, and the dims that are left, one per subscript."""
    dims = list[str]()
    for axis in tensor.axes:
        start = sum(c * fixed[dim] for dim, c in axis.terms if dim in fixed)
        at: tuple[Any, ...] = (slice(None),) * len(dims)
        free = [(dim, c) for dim, c in axis.terms if dim not in fixed]
        if not free:
            array = array[(*at, start)]
            continue
        ((dim, coefficient),) = free
        first, last, count = values[dim][0], values[dim][-1], len(values[dim])
        if count == last - first + 1:  # a view is enough
            array = array[(*at, slice(start + coefficient * first, start + coefficient * last + 1, coefficient))]
        else:
            array = array[(*at, start + coefficient * values[dim])]
        dims.append(dim)
    return tuple(dims), array


def placed(workload: Workload, buffer: Buffer, found: Double, region: Region) -> Double:
    """Sums per iteration added up per element of the output, all its elements; zero where there are none.

    Args:
        workload: the statement.
        buffer: of the output.
        found: what `sums` returned for the whole region.
        region: the whole region.
    """
    axes = workload.output.axes
    seen = [dim for axis in axes for dim in axis.dims]
    main = {_longest(axis, workload.extents, seen) for axis in axes} - {None}
    looped = [dim for dim in region if dim not in main]
    made = np.zeros(buffer.shape)
    order = [dim for axis in axes for dim in axis.dims if dim in main]
    kept = [dim for dim in region if dim in main]
    for numbers in product(*(range(workload.extents[dim]) for dim in looped)):
        fixed = dict(zip(looped, numbers, strict=True))
        part = found[tuple(fixed.get(dim, slice(None)) for dim in region)].transpose([kept.index(d) for d in order])
        index, inside = [], []
        for axis, origin, size in zip(axes, buffer.origin, buffer.shape, strict=True):
            at = np.atleast_1d(element_places(axis, origin, region, fixed))
            real = (at >= 0) & (at < size)
            index.append(at[real])
            if any(dim in main for dim in axis.dims):
                inside.append(real)
            elif not real.all():
                index[-1] = at[:0]
        part = part[np.ix_(*inside)] if inside else part
        if all(len(each) for each in index):
            made[np.ix_(*index)] += part.reshape([len(each) for each in index])
    return made


def element_places(axis: Subscript, origin: int, region: Region, fixed: Mapping[str, int]) -> Places:
    """Elements along a subscript for all values of its free dim."""
    at = np.asarray(axis.offset - origin)
    for dim, coefficient in axis.terms:
        at = at + coefficient * (fixed[dim] if dim in fixed else region[dim])
    return at


def _longest(axis: Subscript, extents: Mapping[str, int], seen: list[str]) -> str | None:
    """The longest dim of a subscript that stands in no other."""
    own = [dim for dim in axis.dims if seen.count(dim) == 1]
    return max(own, key=lambda dim: extents[dim], default=None)


def terms(workload: Workload) -> int:
    """Most products that are added up in one element of the output."""
    mains = 1
    seen = [dim for axis in workload.output.axes for dim in axis.dims]
    for axis in workload.output.axes:
        dim = _longest(axis, workload.extents, seen)
        mains *= workload.extents[dim] if dim else 1
    return prod(workload.extents.values()) // mains
