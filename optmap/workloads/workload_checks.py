"""What a workload has to be: names, extents, subscripts, element sizes, and statements that agree."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from optmap.base.errors import InputError, StatementError
from optmap.base.values import LARGEST, one_line
from optmap.workloads.access import Range, Subscript, TensorAccess
from optmap.workloads.chain import check_statements

if TYPE_CHECKING:
    from optmap.workloads.workload import Workload

LARGEST_EXTENT = LARGEST
"""Largest extent, coefficient, offset and element size."""
ELEMENT_SIZE = "it must be a whole number of bits from 1 to 2^63-1"
"""What messages ask of an element size."""


def extents_in_order(dims: Iterable[str], extents: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """(dim, extent) pairs in the order of `dims`.

    Raises:
        InputError: if a dim has no extent or an extent belongs to no dim.
    """
    ordered = tuple(dict.fromkeys(dims))
    missing = [d for d in ordered if d not in extents]
    if missing:
        raise InputError(f"no extent for dim {', '.join(missing)}; add {missing[0]}=<size>")
    extra = [d for d in extents if d not in ordered]
    if extra:
        raise InputError(f"extent for {', '.join(extra)}, which no tensor uses; the dims are {', '.join(ordered)}")
    return tuple((d, extents[d]) for d in ordered)


def _validate_range(axis: Subscript, real: Range, extents: Mapping[str, int], where: str) -> None:
    first, last = real
    top = axis.offset + axis.span(extents) - 1
    if any(isinstance(n, bool) or not isinstance(n, int) for n in real) or not 0 <= first <= last:
        raise InputError(
            f"{where}: {first!r}..{last!r} is no range; write the first and the last real value, as in 1..7"
        )
    if not axis.terms or first > top or last < axis.offset:
        raise InputError(f"{where}: no value of the subscript {axis} is real; it goes from {axis.offset} to {top}")


def check_workload(workload: Workload) -> None:
    """Refuse a workload that means nothing, see `Workload`.

    Raises:
        InputError: for the first thing that is wrong.
    """
    one_line(workload.name, "a workload", empty=True)
    if not workload.statements:
        raise InputError(f"{workload.name or 'a workload'}: at least one statement is needed")
    where = workload.title
    names = [d for d, _ in workload.sizes]
    for kind, texts in (("dim", names), ("tensor", [t.name for t in workload.accesses])):
        odd = [text for text in texts if not text.isidentifier()]
        if odd:
            raise InputError(f"{where}: {kind} {json.dumps(odd[0])} is no name; use letters, digits and _")
    if len(set(names)) != len(names):
        raise InputError(f"{where}: a dim is listed twice in {names}")
    for each in workload.statements:
        if any(t.name == each.name for t in each.inputs):
            raise InputError(f"{where}: output {each.name} is read on the right; name the input differently")
        if not each.inputs:
            raise InputError(f"{where}: at least one input tensor is needed")
    used = set().union(*(t.dims for t in workload.accesses))
    extents_in_order([d for d in names if d in used] or sorted(used), workload.extents)
    extents_in_order(sorted(used), workload.extents)
    for dim, extent in workload.sizes:
        if isinstance(extent, bool) or not isinstance(extent, int) or not 1 <= extent <= LARGEST_EXTENT:
            raise InputError(f"{where}: extent of {dim} is {extent!r}; it must be a whole number from 1 to 2^63-1")
    for each in workload.statements:
        if each.image and [len(row) for row in each.image] != [len(t.axes) for t in each.accesses]:
            raise InputError(f"{where}: image needs one entry per tensor and subscript")
        for tensor in each.accesses:
            _validate_access(tensor, workload.extents, where)
    try:
        check_statements(workload.statements, workload.outputs, workload.extents)
    except StatementError as error:
        raise StatementError(error.message, error.part, where) from error


def _validate_access(tensor: TensorAccess, extents: Mapping[str, int], where: str) -> None:
    if isinstance(tensor.bits, bool) or not isinstance(tensor.bits, int) or not 1 <= tensor.bits <= LARGEST_EXTENT:
        raise InputError(f"{where}: element size of {tensor.name} is {tensor.bits!r} bits; {ELEMENT_SIZE}")
    for axis in tensor.axes:
        if any(c < 1 for _, c in axis.terms) or axis.offset < 0:
            raise InputError(f"{where}: {tensor} needs positive coefficients and an offset >= 0")
        if axis.real is not None:
            _validate_range(axis, axis.real, extents, f"{where}: {tensor}")
        if len(set(axis.dims)) != len(axis.dims):
            raise InputError(f"{where}: {tensor} repeats a dim inside one subscript; add its coefficients up")


def why_not_one(workload: Workload) -> str:
    """Why a workload is not one statement that adds up a product of tensors, and what to do."""
    count = len(workload.statements)
    if count == 1:
        where = f"{workload.name}: " if workload.name else ""
        return (
            f"{where}{workload.expression} is no plain sum of products; this takes one statement such as "
            "C[i,j] += A[i,k]*B[k,j]"
        )
    names = ", ".join(each.name for each in workload.statements)
    one = next((each.name for each in workload.statements if each.is_product), workload.statements[0].name)
    alone = workload.alone(one)
    extents = ",".join(f"{d}={n}" for d, n in alone.sizes)
    return (
        f"{workload.title} has {count} statements ({names}); this takes one: give one by itself, as "
        f"'{alone.expression}' with the extents {extents}, or in Python workload.alone({one!r})"
    )
