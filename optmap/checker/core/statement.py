"""The statement of a workload, read by the grammar in which optmap writes it.

    statement = access (" += " | " = ") access {" * " access}
    access    = name "[" [subscript {"," subscript}] "]"
    subscript = (term {"+" term} ["+" number] | number) [" in " number ".." number]
    term      = [number "*"] name          coefficients from 2 on, no dim twice in one subscript
    number    = decimal digits without a leading zero, at most 2^63-1; as an offset beside terms, not 0
    name      = an identifier

A range says which values of a subscript of at least one dim are elements, the first and the last; the
others are implicit padding.

It accepts exactly the texts that the parser of the library accepts *and* writes back unchanged.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd
from typing import Any

from .tools import need
from .units import element_bits

Axis = tuple[tuple[tuple[str, int], ...], int]
"""((dim, coefficient), ...) and offset of a subscript."""
LARGEST = 2**63 - 1
"""Largest coefficient, offset and extent."""


Range = tuple[int, int] | None
"""First and last real value of a subscript with implicit padding."""


@lru_cache(maxsize=64)
def read_statement(text: str) -> tuple[list[tuple[str, list[Axis]]], list[list[Range]], bool]:
    """The accesses of a statement, output first, their ranges, and whether it assigns.

    Raises:
        RefusedError: for a text that the grammar does not have.
    """
    left, accumulates, right = text.partition(" += ")
    if not accumulates:
        left, assigns, right = text.partition(" = ")
        need(bool(assigns), f"{text!r} is no statement")
    found = [read_access(part) for part in (left, *right.split(" * "))]
    accesses = [(name, [axis for axis, _ in axes]) for name, axes in found]
    ranges = [[real for _, real in axes] for _, axes in found]
    ranks: dict[str, int] = {}
    for name, axes in accesses:
        need(ranks.setdefault(name, len(axes)) == len(axes), f"{name} has two numbers of subscripts")
    need(all(name != accesses[0][0] for name, _ in accesses[1:]), f"the output {accesses[0][0]} is read")
    return accesses, ranges, not accumulates


def read_access(text: str) -> tuple[str, list[tuple[Axis, Range]]]:
    """Name and subscripts of an access, each with its range of real values."""
    name, _, inside = text.partition("[")
    need(name.isidentifier() and inside.endswith("]"), f"{text!r} is no tensor access")
    inside = inside[:-1]
    return name, [_ranged(part) for part in inside.split(",")] if inside else []


def _ranged(text: str) -> tuple[Axis, Range]:
    subscript, limited, ends = text.partition(" in ")
    axis = read_subscript(subscript)
    if not limited:
        return axis, None
    first, _, last = ends.partition("..")
    real = _number(first, 0, text), _number(last, 0, text)
    need(real[0] <= real[1] and bool(axis[0]), f"{ends!r} is no range of a subscript")
    return axis, real


def read_subscript(text: str) -> Axis:
    """Terms and offset of a subscript."""
    *parts, last = text.split("+")
    offset = 0
    if last[:1] in tuple("0123456789") and "*" not in last:
        offset = _number(last, 1 if parts else 0, text)
    else:
        parts.append(last)
    terms = []
    for part in parts:
        coefficient, star, dim = part.rpartition("*")
        need(dim.isidentifier(), f"{text!r} is no subscript")
        terms.append((dim, _number(coefficient, 2, text) if star else 1))
    need(len({dim for dim, _ in terms}) == len(terms), f"a dim is twice in {text!r}")
    return tuple(terms), offset


def _number(text: str, least: int, where: str) -> int:
    fine = 0 < len(text) < 20 and all(c in "0123456789" for c in text) and (text == "0" or text[0] != "0")
    value = int(text) if fine else -1
    need(least <= value <= LARGEST, f"{text!r} in {where!r} is no number that the grammar has there")
    return value


class StatedWork:
    """A workload: its accesses, extents and element sizes."""

    def __init__(self, doc: Any) -> None:
        self.tensors, self.ranges, self.assign = read_statement(doc["expression"])
        need(doc["semantics"] == ("assign" if self.assign else "accumulate"), "semantics and statement differ")
        names = {name for name, _ in self.tensors}
        sizes = doc["bytes"] if isinstance(doc["bytes"], dict) else dict.fromkeys(names, doc["bytes"])
        need(set(sizes) == names, "bytes do not cover the tensors")
        self.bytes: dict[str, float] = {name: sizes[name] for name, _ in self.tensors}
        self.bits = element_bits(self.bytes)
        self.word_bits = gcd(*self.bits.values())
        self.weights = {t: n // self.word_bits for t, n in self.bits.items()}
        used = dict.fromkeys(d for _, axes in self.tensors for terms, _ in axes for d, _ in terms)
        need(set(used) == set(doc["extents"]), "extents do not cover the dims")
        self.extents: dict[str, int] = {d: doc["extents"][d] for d in used}  # in an order that is not the file's
        need(bool(used), "no dim is in any subscript")
        for dim, extent in self.extents.items():
            need(extent <= LARGEST, f"the extent of {dim} is beyond 2^63-1")
        self.output = {d for terms, _ in self.tensors[0][1] for d, _ in terms}

    @property
    def names(self) -> list[str]:
        """A name per access: the tensor's, or `name#2`, `name#3` where a tensor is read again."""
        plain = [name for name, _ in self.tensors]
        seen = [plain[:i].count(name) for i, name in enumerate(plain)]
        return [f"{name}#{n + 1}" if n else name for name, n in zip(plain, seen, strict=True)]

    @property
    def accesses(self) -> list[dict[str, Any]]:
        """The accesses as a certificate writes them."""
        found: list[dict[str, Any]] = []
        for (name, axes), ranges in zip(self.tensors, self.ranges, strict=True):
            entries = [{"terms": [[d, c] for d, c in terms], "offset": k} for terms, k in axes]
            limits: list[dict[str, Any]] = [{} if real is None else {"real": list(real)} for real in ranges]
            found.append({"tensor": name, "axes": [a | b for a, b in zip(entries, limits, strict=True)]})
        return found

    @property
    def padded(self) -> bool:
        """Whether some subscript has implicit padding."""
        return any(real is not None for ranges in self.ranges for real in ranges)
