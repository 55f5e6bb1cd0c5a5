"""Tensor accesses: affine projections of an iteration space onto one tensor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from optmap.base.shown import Concise
from optmap.workloads.halo import distinct_values, span

Range = tuple[int, int]
"""First and last real value of a subscript, both included."""
Image = tuple[tuple[Range | None, ...], ...]
"""Per access (output first) and axis the range of real values; None where every value is real."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscript:
    """One subscript of a tensor: the affine index `sum(coefficient * dim) + offset`."""

    terms: tuple[tuple[str, int], ...]
    """(dim, positive coefficient) pairs in the order written; every dim at most once."""
    offset: int = 0
    """Constant added to the index; it moves the accessed words but never their number."""
    real: Range | None = None
    """Index values that are elements of the tensor, if the others are implicit padding."""

    @property
    def dims(self) -> tuple[str, ...]:
        """The dims of this subscript, in the order written."""
        return tuple([dim for dim, _ in self.terms])

    def count(self, tile: Mapping[str, int]) -> int:
        """Number of distinct index values over a tile, padding included.

        Args:
            tile: extent per dim, in iterations.
        """
        coefficients = tuple(c for _, c in self.terms)
        return distinct_values(coefficients, tuple(tile[d] for d in self.dims))

    def span(self, tile: Mapping[str, int]) -> int:
        """Index values from the first to the last over a tile, gaps included; `tile` as for `count`."""
        return span(tuple(c for _, c in self.terms), tuple(tile[d] for d in self.dims))

    def elements(self, extents: Mapping[str, int]) -> int:
        """Elements of the tensor along this subscript: the real ones, or all from the first index value to the last.

        Args:
            extents: iterations per dim.
        """
        return self.span(extents) if self.real is None else self.real[1] - self.real[0] + 1

    def reach(self, extents: Mapping[str, int]) -> Range:
        """First and last real index value over all iterations.

        Args:
            extents: iterations per dim.
        """
        first, last = self.offset, self.offset + self.span(extents) - 1
        return (first, last) if self.real is None else (max(first, self.real[0]), min(last, self.real[1]))

    def is_padded(self, real: Range | None, extents: Mapping[str, int]) -> bool:
        """Whether some index value over all iterations may be outside a range of real ones."""
        top = self.offset + self.span(extents) - 1
        return real is not None and (real[0] > self.offset or real[1] < top)

    def __str__(self) -> str:
        parts = [dim if c == 1 else f"{c}*{dim}" for dim, c in self.terms]
        if self.offset or not parts:
            parts.append(str(self.offset))
        text = "+".join(parts)
        return text if self.real is None else f"{text} in {self.real[0]}..{self.real[1]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorAccess(Concise):
    """An affine projection of the iteration space onto one tensor."""

    name: str
    axes: tuple[Subscript, ...]
    bits: int = 32
    """Size of one element, in bits."""

    @property
    def bytes(self) -> int | float:
        """Size of one element, in bytes: a whole number or a multiple of 1/8."""
        return bytes_of(self.bits)

    @property
    def dims(self) -> frozenset[str]:
        """Every dim that occurs in a subscript."""
        return frozenset([dim for axis in self.axes for dim, _ in axis.terms])

    def footprint(self, tile: Mapping[str, int]) -> int:
        """Elements of the tensor that a tile touches, padding included (a product over the axes)."""
        return prod(axis.count(tile) for axis in self.axes)

    def __str__(self) -> str:
        return f"{self.name}[{','.join(str(axis) for axis in self.axes)}]"


def bytes_of(bits: int) -> int | float:
    """A number of bits in bytes: a whole number where it is one, else a multiple of 1/8."""
    return bits // 8 if bits % 8 == 0 else bits / 8
