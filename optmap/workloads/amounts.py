"""Amounts of memory, and of what crosses a link in a cycle: in bytes, or in words of the workload's size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from optmap.base.errors import InputError
from optmap.base.values import quoted, whole_number
from optmap.workloads.workload import bytes_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """An amount of memory in bytes or in words of whatever the workload's word is."""

    amount: int
    unit: str = "bytes"
    """`bytes` or `words`."""

    def __post_init__(self) -> None:
        whole_number(self.amount, "capacity", least=0)  # zero is refused where it belongs to a name
        if self.unit not in ("bytes", "words"):
            raise InputError(f"capacity is in {self.unit!r}; use bytes or words")

    def __str__(self) -> str:
        return f"{self.amount:,} {self.unit}"

    def words(self, word_bits: int) -> int:
        """Whole words that fit.

        Args:
            word_bits: size of one word (`Workload.word_bits`).
        """
        return self.amount if self.unit == "words" else 8 * self.amount // word_bits

    def bytes(self, word_bits: int) -> int | float:
        """The amount in bytes: whole, or a multiple of 1/8.

        Args:
            word_bits: size of one word (`Workload.word_bits`).
        """
        return self.amount if self.unit == "bytes" else bytes_of(self.amount * word_bits)


SLOWEST = Fraction(1, 2**64)
"""Least bandwidth; its inverse is the largest. Times stay within what a float can hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bandwidth:
    """What crosses a link in one cycle, in bytes or in words of whatever the workload's word is.

    Raises:
        InputError: for an amount that is not positive and finite, or an unknown unit.
    """

    amount: Fraction | float
    """Units per cycle, kept as an exact fraction: 0.1 is one tenth."""
    unit: str = "bytes"
    """`bytes` or `words`."""

    def __post_init__(self) -> None:
        if self.unit not in ("bytes", "words"):
            raise InputError(f"bandwidth is in {self.unit!r} per cycle; use bytes or words")
        number = isinstance(self.amount, int | float | Fraction) and not isinstance(self.amount, bool)
        if not (number and 0 < self.amount < math.inf):
            raise InputError(f"bandwidth is {quoted(self.amount)}; it must be a positive finite number")
        if not SLOWEST <= self.exact <= 1 / SLOWEST:
            raise InputError("bandwidth is out of range; it must be between 2^-64 and 2^64 per cycle")
        object.__setattr__(self, "amount", self.exact)

    @property
    def exact(self) -> Fraction:
        """Units per cycle; a float is taken as the decimal number that was written."""
        return self.amount if isinstance(self.amount, Fraction) else Fraction(str(self.amount))

    def words(self, word_bits: int) -> Fraction:
        """Words per cycle.

        Args:
            word_bits: size of one word (`Workload.word_bits`).
        """
        return self.exact if self.unit == "words" else 8 * self.exact / word_bits

    def __str__(self) -> str:
        return f"{float(self.exact):g} {'B' if self.unit == 'bytes' else 'w'}/cycle"


ONE_WORD = Bandwidth(amount=1, unit="words")
"""One word per cycle: time is traffic."""
