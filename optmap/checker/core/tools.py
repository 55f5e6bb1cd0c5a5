"""Exact arithmetic and the words in which a document is refused."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import Any

Row = tuple[int, ...]
SPAN = 2**26
"""Widest index range that is enumerated."""


LARGEST = 2**4096
"""What whole numbers are below."""
LONGEST = 1000
"""Characters of a reason that are printed."""


class RefusedError(Exception):
    """The document does not prove what it claims; the text says why, in one printable line."""

    def __init__(self, reason: str) -> None:
        super().__init__(plain(reason if len(reason) <= LONGEST else f"{reason[:LONGEST]} ... (cut)"))


def plain(text: str) -> str:
    """The text in one line, whatever a file put into it.

    Line ends, control characters, lone surrogates and letters that turn the direction of writing are
    written as their code points.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() and unicodedata.bidirectional(c) not in TURNING else _code(c) for c in text)


TURNING = ("R", "AL", "AN")
"""Classes of characters that are written from right to left; the marks that do the same are not printable."""


def spelled(text: str) -> str:
    """The text in ASCII: names in what is verified can neither look alike nor be invisible."""
    return "".join(c if c.isascii() else _code(c) for c in plain(text))


def _code(character: str) -> str:
    point = ord(character)
    return f"\\x{point:02x}" if point < 256 else f"\\u{point:04x}" if point < 65536 else f"\\U{point:08x}"


def need(holds: bool, reason: str) -> None:
    """Refuse the document with a reason unless a condition holds."""
    if not holds:
        raise RefusedError(reason)


def whole(value: Any, where: str, least: int = 0) -> int:
    """An integer that is not a boolean and at least `least`."""
    if type(value) is not int or not least <= value < LARGEST:
        raise RefusedError(f"{where} is {value!r}; a whole number >= {least} is needed")
    return value


def ratio(text: Any, where: str) -> Fraction:
    """A non-negative fraction written p/q in lowest terms."""
    if not isinstance(text, str) or re.fullmatch(r"[0-9]+/[0-9]+", text) is None:
        raise RefusedError(f"{where}: {text!r} is no p/q")
    p, q = (int(part) for part in text.split("/"))
    need(q > 0 and text == f"{p}/{q}" and gcd(p, q) == 1, f"{where}: {text} is not in lowest terms")
    return Fraction(p, q)


def equal(claimed: float, exact: Fraction) -> bool:
    """Whether a number of the document is a value: a whole number exactly, another one as the nearest float."""
    return claimed == exact if type(claimed) is int else claimed == float(exact)


def digest(document: dict[str, Any]) -> str:
    """Hash of a document without its `digest`."""
    body = {key: value for key, value in document.items() if key != "digest"}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()


def echelon(rows: Iterable[Sequence[int]]) -> tuple[Row, ...]:
    """Canonical basis: reduced row echelon form, rows coprime, leading entries positive."""
    left = [list(row) for row in rows if any(row)]
    done: list[list[int]] = []
    for column in range(len(left[0]) if left else 0):
        pivot = next((row for row in left if row[column]), None)
        if pivot is not None:
            left.remove(pivot)
            for row in left + done:
                if row[column]:
                    a, b = pivot[column], row[column]
                    row[:] = primitive([a * y - b * x for x, y in zip(pivot, row, strict=True)])
            done.append(pivot)
    return tuple(tuple(primitive(row)) for row in done)


def primitive(row: list[int]) -> list[int]:
    """A vector with coprime entries and a positive leading one; zero stays zero."""
    divisor = gcd(*row)
    if divisor and next(x for x in row if x) < 0:
        divisor = -divisor
    return [x // divisor for x in row] if divisor else row


def kernel(rows: Iterable[Sequence[int]], width: int) -> tuple[Row, ...]:
    """Canonical basis of the vectors that every row maps to zero."""
    basis = echelon(rows)
    leads = [next(i for i, x in enumerate(row) if x) for row in basis]
    scale = lcm(*(row[i] for row, i in zip(basis, leads, strict=True)))
    vectors = []
    for free in (j for j in range(width) if j not in leads):
        vector = [scale if j == free else 0 for j in range(width)]
        for row, i in zip(basis, leads, strict=True):
            vector[i] = -row[free] * scale // row[i]
        vectors.append(vector)
    return echelon(vectors)


def image_rank(matrix: Sequence[Row], basis: Sequence[Row]) -> int:
    """Dimension of the image of a subspace."""
    return len(echelon([[sum(x * y for x, y in zip(row, v, strict=True)) for row in matrix] for v in basis]))


def count(row: dict[str, int], extents: dict[str, int]) -> int:
    """Distinct values of sum(c*x) over 0 <= x < extent, exactly."""
    live = sorted((c, extents[d]) for d, c in row.items() if extents[d] > 1)
    divisor = gcd(*(c for c, _ in live)) or 1
    live = [(c // divisor, e) for c, e in live]
    span = 1 + sum(c * (e - 1) for c, e in live)
    if len(live) < 2:
        return span
    if len(live) == 2:
        (m, a), (n, b) = live
        return span - (m - 1) * (n - 1) if a > n and b > m else a * b
    if all(c <= 1 + sum(k * (e - 1) for k, e in live[:i]) for i, (c, _) in enumerate(live)):
        return span
    need(span <= SPAN, "a subscript is too wide to enumerate")
    return value_bits(live).bit_count()


def value_bits(terms: Sequence[tuple[int, int]]) -> int:
    """The values of sum(c*x) over 0 <= x < n, as set bits.

    Args:
        terms: c and n of each.
    """
    bits = 1
    for c, n in terms:
        reached = 1
        while reached < n:
            step = min(reached, n - reached)
            bits, reached = bits | bits << (c * step), reached + step
    return bits
