"""Exact arithmetic with logarithms: rational combinations of logs of whole numbers.

Whole numbers above 1 that are pairwise coprime have linearly independent logarithms over the
rationals, so over such a basis a combination is zero only if every coefficient is; any other sign
is decided by evaluating with enough digits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from math import gcd, log

Vector = tuple[Fraction, ...]
"""Coefficients of a logarithm over the basis of a `LogField`."""

FLOAT_MARGIN = 1e-10
"""Relative size below which a floating-point value does not decide a sign."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogField:
    """Logarithms of all products of rational powers of some numbers."""

    basis: tuple[int, ...]
    """Pairwise coprime whole numbers above 1."""

    @classmethod
    def of(cls, numbers: Iterable[Fraction | int]) -> LogField:
        """The field in which the logarithm of every given positive number lies."""
        whole = [part for n in numbers for part in (Fraction(n).numerator, Fraction(n).denominator)]
        return cls(basis=tuple(sorted(_coprime_basis(whole))))

    @property
    def zero(self) -> Vector:
        """The logarithm of 1."""
        return (Fraction(0),) * len(self.basis)

    def log(self, number: Fraction | int) -> Vector:
        """The logarithm of a positive number of the field."""
        value = Fraction(number)
        return tuple(Fraction(_power(value.numerator, b) - _power(value.denominator, b)) for b in self.basis)

    def value(self, vector: Vector) -> float:
        """The natural logarithm as a float."""
        return sum(float(q) * log(b) for q, b in zip(vector, self.basis, strict=True))

    def sign(self, vector: Vector) -> int:
        """-1, 0 or 1, exactly."""
        if not any(vector):
            return 0
        parts = [float(q) * log(b) for q, b in zip(vector, self.basis, strict=True)]
        total = sum(parts)
        if abs(total) > FLOAT_MARGIN * sum(abs(p) for p in parts):
            return 1 if total > 0 else -1
        digits = 50
        while True:
            with localcontext() as context:
                context.prec = digits
                terms = [
                    Decimal(q.numerator) / Decimal(q.denominator) * Decimal(b).ln()
                    for q, b in zip(vector, self.basis, strict=True)
                ]
                exact = sum(terms, Decimal(0))
                if abs(exact) > sum((abs(t) for t in terms), Decimal(0)).scaleb(8 - digits):
                    return 1 if exact > 0 else -1
            digits *= 2


def add(a: Vector, b: Vector, factor: Fraction) -> Vector:
    """`a + factor*b`."""
    return tuple(x + factor * y for x, y in zip(a, b, strict=True))


def scale(a: Vector, factor: Fraction) -> Vector:
    """`factor*a`."""
    return tuple(factor * x for x in a)


def _coprime_basis(numbers: Iterable[int]) -> list[int]:
    """Pairwise coprime numbers above 1 of which every given number is a product of powers."""
    basis: list[int] = []
    pending = list(numbers)
    while pending:
        number = pending.pop()
        if number == 1 or number in basis:
            continue
        clash = next((b for b in basis if gcd(b, number) > 1), None)
        if clash is None:
            basis.append(number)
            continue
        common = gcd(clash, number)
        basis.remove(clash)
        pending += [number // common, common, clash // common]
    return basis


def _power(number: int, base: int) -> int:
    """The largest k such that base^k divides the number."""
    k = 0
    while number % base == 0:
        number //= base
        k += 1
    return k
