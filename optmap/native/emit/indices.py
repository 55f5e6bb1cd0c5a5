"""C expressions of where an element lies in its buffer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from optmap.native.code import Buffer
from optmap.workloads.access import Subscript, TensorAccess


def sum_text(terms: Iterable[tuple[str, int]], constant: int = 0) -> str:
    """`3*h + r - 1` from pairs of a factor and its coefficient and a constant; terms of coefficient 0 are left out."""
    text = ""
    for factor, coefficient in (*terms, ("", constant)):
        if coefficient == 0:
            continue
        size = abs(coefficient)
        part = factor if size == 1 and factor else f"{size}*{factor}" if factor else str(size)
        sign = "-" if coefficient < 0 else "+"
        text = f"{text} {sign} {part}" if text else f"{'-' if coefficient < 0 else ''}{part}"
    return text or "0"


def index_text(axis: Subscript, names: Mapping[str, str], origin: int = 0) -> str:
    """Value of a subscript, less the origin.

    Args:
        axis: the subscript.
        names: C expression per dim; dims that are left out are 0.
        origin: index value of element 0.
    """
    return sum_text(((names[d], c) for d, c in axis.terms if d in names), axis.offset - origin)


def element_text(access: TensorAccess, buffer: Buffer, names: Mapping[str, str]) -> str:
    """Place of the element of an access in its buffer.

    Args:
        access: gives the subscripts.
        buffer: gives origin, shape and layout.
        names: C expression per dim, a name or in parentheses; dims that are left out are 0.
    """
    linear: Counter[str] = Counter()
    constant = 0
    broken: list[tuple[str, int]] = []
    for piece in buffer.layout.pieces(buffer.shape):
        axis, origin = access.axes[piece.axis], buffer.origin[piece.axis]
        if piece.alone:
            constant += piece.stride * (axis.offset - origin)
            for dim, coefficient in axis.terms:
                if dim in names:
                    linear[names[dim]] += piece.stride * coefficient
            continue
        index = index_text(axis, names, origin)
        index = f"({index})" if " " in index or "*" in index else index
        digit = index if piece.block == 1 else f"{index}/{piece.block}"
        broken.append((f"({digit})" if piece.first else f"({digit}%{piece.extent})", piece.stride))
    return sum_text((*linear.items(), *broken), constant)
