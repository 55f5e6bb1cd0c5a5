"""Sums of products as workloads: MatMul, Gemm, Einsum.

Every index of such a sum is cut into digits, so that each operand either has a digit or is the same for all its
values: because its axis is broadcast, or because its elements are copies (`repeats`), as keys of grouped queries are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from optmap.base.errors import InputError
from optmap.onnx_import.graph import Digits, IndexDigit, OperatorNode, integer, sizes
from optmap.onnx_import.operators import Made, ProductTerm, StatementOperand, bias_of, check, operands_of, statement
from optmap.onnx_import.repeats import digits_of, extent_of, refined, single

Reads = tuple[bool, ...]
"""Whether each operand has a digit, then whether the output has it."""
MERGED: dict[Reads, str] = {
    (False, False, True): "o",
    (True, True, True): "b",
    (True, False, True): "i",
    (False, True, True): "j",
    (True, False, False): "p",
    (False, True, False): "q",
    (True, True, False): "k",
}
"""Dims of a product of two matrices: all digits that the same operands have are one dim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPart:
    """Some digits of one index."""

    index: str
    extent: int
    reads: Reads
    strides: tuple[int, ...]
    """Per operand, see `IndexDigit`."""


def product(node: OperatorNode) -> Made:
    """A MatMul with NumPy's rules: batch axes in front are broadcast, vectors get an axis of 1.

    Batch axes that the same operands have are one dim, and those of one operand alone belong to
    its rows (or columns), because the words are the same ones; so do batches of which an operand has copies.

    Raises:
        InputError: if shapes do not fit together; names the node.
    """
    a, b = operands_of(node)
    left, right = sizes(node, a, "input A"), sizes(node, b, "input B")
    check(node, bool(left) and bool(right), "an operand is a single number")
    inner = right[-2] if len(right) > 1 else right[0]
    check(node, left[-1] == inner, f"the inner extents of {left} and {right} differ")
    rank = max(len(left), len(right)) - 2
    batch = tuple(f"batch {axis}" for axis in range(rank))
    terms = (
        ProductTerm(value=a, indices=(*batch[rank - len(left[:-2]) :], *("i",)[: len(left) - 1], "k")),
        ProductTerm(value=b, indices=(*batch[rank - len(right[:-2]) :], "k", *("j",)[: len(right) - 1])),
    )
    return _of_matrices(node, terms, (*batch, "i", "j"), ("ik", "kj"))


def general_product(node: OperatorNode) -> Made:
    """A Gemm: a matrix product with either operand transposed, plus an optional third operand.

    Outputs begin empty all the same: the third operand is a vector as good as always, and as many words as the
    outputs have would be far too many for it. It is listed beside the workload.

    Raises:
        InputError: if shapes do not fit together; names the node.
    """
    a, b = operands_of(node)
    left, right = sizes(node, a, "input A"), sizes(node, b, "input B")
    check(node, len(left) == 2 and len(right) == 2, f"operands of shapes {left} and {right} are not matrices")
    orders = "ki" if integer(node, "transA", 0) else "ik", "jk" if integer(node, "transB", 0) else "kj"
    inner = left[orders[0].index("k")], right[orders[1].index("k")]
    check(node, inner[0] == inner[1], f"the inner extents of {left} and {right} differ")
    terms = (ProductTerm(value=a, indices=tuple(orders[0])), ProductTerm(value=b, indices=tuple(orders[1])))
    return replace(_of_matrices(node, terms, ("i", "j"), orders), extras=bias_of(node, 2))


def sum_of_products(
    node: OperatorNode, terms: Sequence[ProductTerm], result: Sequence[str], names: Sequence[str]
) -> Made:
    """A workload whose dims are the indices; one of whose values an operand has copies is cut into several.

    Args:
        node: for its name and messages.
        terms: the operands; their axes may have extent 1 where others have more.
        result: indices of the output.
        names: of the operands' tensors.

    Raises:
        InputError: if extents of an index differ, or the statement is none; names the node.
    """
    parts = parts_of(node, terms, result)
    dims = {index: _dims_of(index, [part for part in parts if part.index == index]) for index in _indices(terms)}
    inputs = [
        StatementOperand(name=name, subscripts=_read(dims, term.indices, place), bits=term.value.bits)
        for place, (name, term) in enumerate(zip(names, terms, strict=True))
    ]
    out = StatementOperand(name="Out", subscripts=_read(dims, result, -1), bits=node.outputs[0].bits)
    extents = {name: part.extent for own in dims.values() for name, part in own}
    workload = statement(node, out, inputs, extents)
    return Made(workload=workload, terms=tuple(terms), result=tuple(result))


def _of_matrices(
    node: OperatorNode, terms: tuple[ProductTerm, ProductTerm], result: Sequence[str], orders: tuple[str, str]
) -> Made:
    """A workload with a dim for all digits that the same operands have: `C[b,i,j] = A[b,i,k] * B[b,k,j]`."""
    extents = dict.fromkeys(MERGED.values(), 1)
    for part in parts_of(node, terms, result):
        extents[MERGED[part.reads]] *= part.extent
    alone = [dim for dim in "pq" if extents[dim] > 1]
    kept = {dim for dim, extent in extents.items() if extent > 1 or dim in "ij" or (dim == "k" and not alone)}
    a, b = (term.value for term in terms)
    names = ("A", "A") if a.name == b.name else ("A", "B")
    outside = [dim for dim in "ob" if dim in kept]
    inputs = [
        StatementOperand(name=name, subscripts=tuple(d for d in ("b", own, *order) if d in kept), bits=value.bits)
        for name, value, own, order in zip(names, (a, b), "pq", orders, strict=True)
    ]
    out = StatementOperand(name="C", subscripts=(*outside, "i", "j"), bits=node.outputs[0].bits)
    workload = statement(node, out, inputs, {dim: extents[dim] for dim in "obijpqk" if dim in kept})
    return Made(workload=workload, terms=terms, result=tuple(result))


def parts_of(node: OperatorNode, terms: Sequence[ProductTerm], result: Sequence[str]) -> list[IndexPart]:
    """The digits of all indices, in order; copies are not seen where the digits do not fit together.

    Nor in a tensor that is read twice: the same digits would be other dims each time.
    """
    once = len({term.value.name for term in terms}) == len(terms)
    found = _cut(node, terms, result) if once else None
    if found is None or any(not any(part.reads) for part in found):
        plain = [replace(term, value=replace(term.value, axes=None)) for term in terms]
        found = _cut(node, plain, result)
    return found or []


def _cut(node: OperatorNode, terms: Sequence[ProductTerm], result: Sequence[str]) -> list[IndexPart] | None:
    found: list[IndexPart] = []
    for index in _indices(terms):
        axes = [[digits for own, digits in _axes_of(term) if own == index] for term in terms]
        extent = max(extent_of(digits) for own in axes for digits in own)
        for digits in (digits for own in axes for digits in own):
            if extent_of(digits) not in (1, extent):
                raise InputError(f"{node.label}: {index} has extents {extent_of(digits)} and {extent}")
        if extent == 1:
            reads = (*(bool(own) for own in axes), index in result)
            found.append(IndexPart(index=index, extent=1, reads=reads, strides=(0,) * len(axes)))
            continue
        full = [[digits or single(extent, repeated=True) for digits in own] for own in axes]
        same = refined([digits for own in full for digits in own])
        if same is None:
            return None
        found += _merged_parts(index, same, [len(own) for own in full], written=index in result)
    return found


def _merged_parts(index: str, same: Sequence[Digits], counts: Sequence[int], *, written: bool) -> list[IndexPart]:
    """The common digits of an index; neighbours that the same operands have are one."""
    found: list[IndexPart] = []
    for digits in zip(*same, strict=True):
        own = _per_operand(digits, counts)
        part = IndexPart(
            index=index,
            extent=digits[0].extent,
            reads=(*(any(not digit.repeated for digit in each) for each in own), written),
            strides=tuple(sum(digit.stride for digit in each) for each in own),
        )
        if found and found[-1].reads == part.reads and _goes_on(found[-1], part):
            part = replace(part, extent=found.pop().extent * part.extent)
        found.append(part)
    return found


def _goes_on(slow: IndexPart, fast: IndexPart) -> bool:
    return all(one == other * fast.extent for one, other in zip(slow.strides, fast.strides, strict=True))


def _per_operand(digits: Sequence[IndexDigit], counts: Sequence[int]) -> list[Sequence[IndexDigit]]:
    """The digits of the axes of every operand, of which it may have several or none."""
    return [digits[low:high] for low, high in pairwise(accumulate(counts, initial=0))]


def _axes_of(term: ProductTerm) -> Iterable[tuple[str, Digits]]:
    return zip(term.indices, digits_of(term.value) or (), strict=True)


def _indices(terms: Sequence[ProductTerm]) -> list[str]:
    return list(dict.fromkeys(index for term in terms for index in term.indices))


def _dims_of(index: str, parts: Sequence[IndexPart]) -> list[tuple[str, IndexPart]]:
    if len(parts) == 1:
        return [(index, parts[0])]
    return [(f"{index}_{number}", part) for number, part in enumerate(parts)]


def _read(dims: dict[str, list[tuple[str, IndexPart]]], indices: Sequence[str], place: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for index in indices for name, part in dims[index] if part.reads[place]))
