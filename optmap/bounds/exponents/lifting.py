"""Recursive lifting: subscripts split into digits that the subscript's value determines.

`2*h+r` with r = 2*r' + r'' is 2*(h+r') + r'': two rows, `h+r'` and `r''`, that together have the
same image points as the subscript, but more rank, hence stronger constraints. A digit may be cut
again (`2*b+c` and `4*b+c` cut c by 2 and its high digit by 2 once more).

Source: Dinh, section 4.2 (lifted strided convolution), generalised to any affine row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from math import gcd

from optmap.workloads.workload import Subscript, Workload


class Place(StrEnum):
    """Which of the two digits of a cut."""

    HIGH = "'"
    """The quotient by the modulus."""
    LOW = "''"
    """The remainder."""


@dataclass(frozen=True, slots=True)
class DimDigit:
    """A dim of the workload, or what cuts have left of it: unique, since nothing is cut twice."""

    dim: str
    """The dim it is a part of."""
    cuts: tuple[tuple[int, Place], ...] = ()
    """(modulus, place) of every cut on the way from the dim to this digit; () is the dim itself."""

    def cut(self, modulus: int) -> tuple[DimDigit, DimDigit]:
        """The high and the low digit of this one at a modulus."""
        high, low = (DimDigit(self.dim, (*self.cuts, (modulus, place))) for place in Place)
        return high, low

    def renamed(self, dims: Mapping[str, str]) -> DimDigit:
        """The same digit of the dim that goes by another name."""
        return DimDigit(dims[self.dim], self.cuts)

    def __str__(self) -> str:
        """`r`, its digits `r'` and `r''`, theirs `r'.'` … `r''.''`: injective, as dims are identifiers."""
        return self.dim + ".".join(place.value for _, place in self.cuts)


Terms = dict[DimDigit, int]
"""An affine row without offset: coefficient per digit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lift:
    """digit = modulus*high + low."""

    digit: DimDigit
    """The digit that disappears."""
    modulus: int
    """Extent of the low digit."""

    @property
    def high(self) -> DimDigit:
        """The high digit, of extent ceil(extent/modulus)."""
        return self.digit.cut(self.modulus)[0]

    @property
    def low(self) -> DimDigit:
        """The low digit, of extent `modulus`."""
        return self.digit.cut(self.modulus)[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftedRow:
    """A row, what it is divided by, and the parts its value determines."""

    row: tuple[tuple[DimDigit, int], ...]
    """(digit, coefficient) pairs before division."""
    divisor: int
    """Greatest common divisor of the coefficients (1 for an empty row)."""
    rule: str | None = None
    """"carry" or "residue"; None for a leaf."""
    parts: tuple[LiftedRow, ...] = ()
    """The two rows that the value of this one determines."""

    @property
    def reduced(self) -> Terms:
        """The row divided by its divisor."""
        return {d: c // self.divisor for d, c in self.row}

    def renamed(self, dims: Mapping[str, str]) -> LiftedRow:
        """The same derivation over dims that go by other names."""
        row = tuple((digit.renamed(dims), c) for digit, c in self.row)
        return replace(self, row=row, parts=tuple(part.renamed(dims) for part in self.parts))

    def leaves(self) -> Iterator[Terms]:
        """Rows without a further split, first parts first."""
        if self.rule is not None:
            for part in self.parts:
                yield from part.leaves()
        elif self.row:
            yield self.reduced


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftedSpace:
    """The iteration space after all lifts, and every subscript as a tree of rows over it."""

    lifts: tuple[Lift, ...]
    """In the order they were made."""
    extents: dict[DimDigit, int]
    """Extent per final digit (all at least 2), in the order of matrix columns."""
    known: dict[DimDigit, int]
    """Extent of every original dim longer than 1 and of every digit ever made."""
    derivations: tuple[tuple[LiftedRow, ...], ...]
    """Per tensor access, per axis."""

    def digits(self, digit: DimDigit) -> tuple[DimDigit, ...]:
        """The final digits that make up a dim or a digit, high ones first."""
        for lift in self.lifts:
            if lift.digit == digit:
                return (*self.digits(lift.high), *self.digits(lift.low))
        return (digit,)


def lift_workload(workload: Workload) -> LiftedSpace:
    """Lift every dim that a subscript determines a digit of, until none is left.

    A lift is made only if the extent exceeds the modulus; extents shrink with every lift, so this
    ends.
    """
    extents = {DimDigit(d): n for d, n in workload.sizes if n > 1}
    known = dict(extents)
    lifts: list[Lift] = []
    while True:
        derivations = tuple(
            tuple(_derive(_substitute(axis, lifts, extents), extents) for axis in access.axes)
            for access in workload.tensors
        )
        found = next((w for nodes in derivations for node in nodes if (w := _liftable(node, extents))), None)
        if found is None:
            return LiftedSpace(lifts=tuple(lifts), extents=extents, known=known, derivations=derivations)
        lifts.append(found)
        parts = {found.high: -(-extents[found.digit] // found.modulus), found.low: found.modulus}
        known |= parts
        extents = {
            digit: n for d, e in extents.items() for digit, n in (parts.items() if d == found.digit else ((d, e),))
        }


def _substitute(axis: Subscript, lifts: list[Lift], extents: Mapping[DimDigit, int]) -> Terms:
    row = {DimDigit(d): c for d, c in axis.terms}
    for lift in lifts:
        if lift.digit in row:
            c = row.pop(lift.digit)
            row[lift.high] = c * lift.modulus
            row[lift.low] = c
    return {d: row[d] for d in extents if d in row}


def _derive(row: Terms, extents: Mapping[DimDigit, int]) -> LiftedRow:
    divisor = gcd(*row.values()) if row else 1
    reduced = {d: c // divisor for d, c in row.items()}
    pairs = tuple(row.items())
    split = _carry(reduced, extents) or _residue(reduced, extents)
    if split is None:
        return LiftedRow(row=pairs, divisor=divisor)
    rule, low, high = split
    return LiftedRow(row=pairs, divisor=divisor, rule=rule, parts=(_derive(low, extents), _derive(high, extents)))


def _carry(row: Terms, extents: Mapping[DimDigit, int]) -> tuple[str, Terms, Terms] | None:
    """Low terms whose largest sum stays below the common divisor of the high ones."""
    ordered = sorted(row.items(), key=lambda item: item[1])
    low: Terms = {}
    reach = 0
    for position, (dim, c) in enumerate(ordered[:-1]):
        low[dim] = c
        reach += c * (extents[dim] - 1)
        high = dict(ordered[position + 1 :])
        if reach < gcd(*high.values()):
            return "carry", _in_order(low, extents), _in_order(high, extents)
    return None


def _residue(row: Terms, extents: Mapping[DimDigit, int]) -> tuple[str, Terms, Terms] | None:
    """One short term that the residue of the value modulo the other coefficients determines."""
    for dim, c in row.items():
        others = {d: v for d, v in row.items() if d != dim}
        modulus = gcd(*others.values())
        if others and gcd(c, modulus) == 1 and extents[dim] <= modulus:
            return "residue", {dim: c}, others
    return None


def _liftable(node: LiftedRow, extents: Mapping[DimDigit, int]) -> Lift | None:
    """A cut that some leaf below a node asks for."""
    for leaf in node.leaves():
        for digit, c in leaf.items():
            modulus = gcd(*(v for d, v in leaf.items() if d != digit))
            if modulus > 1 and gcd(c, modulus) == 1 and extents[digit] > modulus:
                return Lift(digit=digit, modulus=modulus)
    return None


def _in_order(row: Terms, extents: Mapping[DimDigit, int]) -> Terms:
    return {d: row[d] for d in extents if d in row}
