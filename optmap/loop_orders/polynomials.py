"""Polynomials with integer coefficients as plain dictionaries: fast, exact, without SymPy."""

from __future__ import annotations

from collections.abc import Iterable

Monomial = tuple[tuple[str, int], ...]
"""Sorted (variable, exponent) pairs; the empty tuple is the constant 1."""

Polynomial = dict[Monomial, int]
"""Coefficient per monomial; zero coefficients are not stored."""


def constant(value: int) -> Polynomial:
    """The polynomial without variables."""
    return {(): value} if value else {}


def variable(name: str) -> Polynomial:
    """The polynomial that is one variable."""
    return {((name, 1),): 1}


def add(*terms: Polynomial) -> Polynomial:
    """The sum."""
    total: Polynomial = {}
    for term in terms:
        for monomial, coefficient in term.items():
            total[monomial] = total.get(monomial, 0) + coefficient
    return {m: c for m, c in total.items() if c}


def scale(factor: int, term: Polynomial) -> Polynomial:
    """An integer multiple."""
    return {m: factor * c for m, c in term.items()} if factor else {}


def multiply(factors: Iterable[Polynomial]) -> Polynomial:
    """The product (1 for no factors)."""
    result = constant(1)
    for factor in factors:
        product: Polynomial = {}
        for left, a in result.items():
            for right, b in factor.items():
                exponents = dict(left)
                for name, power in right:
                    exponents[name] = exponents.get(name, 0) + power
                monomial = tuple(sorted(exponents.items()))
                product[monomial] = product.get(monomial, 0) + a * b
        result = {m: c for m, c in product.items() if c}
    return result


def nonnegative(term: Polynomial) -> bool:
    """Whether every coefficient is >= 0: then the value is >= 0 wherever the variables are."""
    return all(c >= 0 for c in term.values())


def monomial_text(monomial: Monomial, coefficient: int) -> str:
    """One term, such as `2*u_w*v_s`."""
    factors = [name if power == 1 else f"{name}^{power}" for name, power in monomial]
    if coefficient != 1 or not factors:
        factors.insert(0, str(coefficient))
    return "*".join(factors)
