"""An Einsum node as a workload."""

from __future__ import annotations

from collections import Counter

from optmap.base.errors import InputError
from optmap.onnx_import.graph import GraphTensor, OperatorNode, present, sizes
from optmap.onnx_import.operators import Made, ProductTerm
from optmap.onnx_import.products import sum_of_products

ELLIPSIS = "..."


def einsum(node: OperatorNode) -> Made:
    """An Einsum: letters, spaces, an ellipsis, and an output that may be left to the rule.

    Axes of extent 1 that are broadcast are left out of their operand. A letter that an operand has
    twice takes its diagonal: one subscript stands for both axes, since as many words are read. An
    Einsum of three or more operands is one nest.

    Raises:
        InputError: if the equation does not fit its operands; names the node.
    """
    terms, output = _equation(node)
    operands = present(node.inputs)
    if len(terms) != len(operands):
        raise InputError(f"{node.label}: the equation has {len(terms)} operands, the node {len(operands)}")
    shapes = [sizes(node, value, f"input {number}") for number, value in enumerate(operands)]
    hidden = max((len(shape) - len(_letters(term)) for term, shape in zip(terms, shapes, strict=True)), default=0)
    names = [_expand(node, term, len(shape), hidden) for term, shape in zip(terms, shapes, strict=True)]
    result = _result(node, output, names, hidden)
    made = [ProductTerm(value=value, indices=indices) for value, indices in zip(operands, names, strict=True)]
    return sum_of_products(node, made, result, [_tensor(number, operands) for number in range(len(operands))])


def _equation(node: OperatorNode) -> tuple[list[str], str | None]:
    text = node.attributes.get("equation")
    if not isinstance(text, str):
        raise InputError(f"{node.label}: it has no equation; the model is incomplete, export it again")
    left, arrow, right = text.replace(" ", "").partition("->")
    terms = left.split(",")
    for term in (*terms, right):
        letters = _letters(term)
        if not (letters == "" or (letters.isascii() and letters.isalpha())) or term.count(ELLIPSIS) > 1:
            raise InputError(f"{node.label}: equation {text!r} has a term {term!r}; letters and one ... are understood")
    return terms, right if arrow else None


def _letters(term: str) -> str:
    return term.replace(ELLIPSIS, "")


def _expand(node: OperatorNode, term: str, rank: int, hidden: int) -> tuple[str, ...]:
    """One dim per axis: letters, and `e0`, `e1` … for the axes of the ellipsis, aligned at the right."""
    missing = rank - len(_letters(term))
    if missing < 0 or (missing > 0 and ELLIPSIS not in term):
        raise InputError(f"{node.label}: the term {term!r} does not fit an operand with {rank} axes")
    before, _, after = term.partition(ELLIPSIS)
    return (*before, *(f"e{axis}" for axis in range(hidden - missing, hidden)), *after)


def _result(node: OperatorNode, output: str | None, names: list[tuple[str, ...]], hidden: int) -> tuple[str, ...]:
    """Dims of the output; without an arrow the ellipsis, then every letter that occurs once, sorted."""
    axes = tuple(f"e{axis}" for axis in range(hidden))
    written = Counter(dim for operand in names for dim in operand)
    if output is None:
        return (*axes, *sorted(dim for dim, times in written.items() if times == 1 and dim not in axes))
    before, mark, after = output.partition(ELLIPSIS)
    result = (*before, *(axes if mark else ()), *after)
    unknown = [dim for dim in result if dim not in written]
    if unknown or len(set(result)) < len(result):
        raise InputError(f"{node.label}: output {output!r} names a dim twice or one that no input has")
    return result


def _tensor(number: int, operands: list[GraphTensor]) -> str:
    """A, B, C … in order; a tensor that is read twice has one name, because it is one memory."""
    first = next(place for place, value in enumerate(operands) if value.name == operands[number].name)
    return chr(ord("A") + first) if first < 14 else f"T{first}"
