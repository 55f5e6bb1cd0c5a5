"""Products of rational powers as text, LaTeX and Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import prod

Powers = Mapping[str, Fraction | int]
"""Power per name."""


def powers_of(names: Sequence[str], exponents: Sequence[Fraction | int]) -> dict[str, Fraction]:
    """Powers that are not zero, per name."""
    return {name: Fraction(x) for name, x in zip(names, exponents, strict=True) if x}


def product_text(powers: Powers) -> str:
    """`2*i*j / M^(1/2)`."""
    return _quotient(powers, _power_text, "*")


def product_python(powers: Powers, names: Mapping[str, str]) -> str:
    """`2 * i * j / M ** (1 / 2)`, under the names of a program."""
    renamed = {names.get(name, name): power for name, power in powers.items()}
    return _quotient(renamed, _power_python, " * ")


def product_latex(powers: Powers, names: Mapping[str, str]) -> str:
    r"""`\frac{2\,N_{i}\,N_{j}}{M^{1/2}}`, under the names of a formula."""
    renamed = {names.get(name, name): power for name, power in powers.items()}
    above = r"\,".join(_power_latex(n, Fraction(q)) for n, q in renamed.items() if q > 0) or "1"
    below = r"\,".join(_power_latex(n, -Fraction(q)) for n, q in renamed.items() if q < 0)
    return rf"\frac{{{above}}}{{{below}}}" if below else above


def number_powers(parts: Sequence[tuple[int, Fraction]]) -> dict[str, Fraction]:
    """Powers of whole numbers, those with whole powers multiplied out: 9 and 4^-1 for 3^2 * 2^-2."""
    whole = prod((Fraction(base) ** int(q) for base, q in parts if q.denominator == 1), start=Fraction(1))
    found = {str(whole.numerator): Fraction(1)} if whole.numerator != 1 else {}
    if whole.denominator != 1:
        found[str(whole.denominator)] = Fraction(-1)
    return found | {str(base): q for base, q in parts if q.denominator != 1}


def sides(powers: Powers) -> tuple[dict[str, Fraction], dict[str, Fraction]]:
    """What is to be at most, and at least, for a product of powers to be at least 1."""
    less = {name: -Fraction(q) for name, q in powers.items() if q < 0}
    return less, {name: Fraction(q) for name, q in powers.items() if q > 0}


def _quotient(powers: Powers, write: Callable[[str, Fraction], str], times: str) -> str:
    above = [write(name, Fraction(q)) for name, q in powers.items() if q > 0]
    below = [write(name, -Fraction(q)) for name, q in powers.items() if q < 0]
    text = times.join(above) or "1"
    if not below:
        return text
    return f"{text} / ({times.join(below)})" if len(below) > 1 else f"{text} / {below[0]}"


def _power_text(name: str, power: Fraction) -> str:
    if power == 1:
        return name
    return f"{name}^{power}" if power.denominator == 1 else f"{name}^({power})"


def _power_python(name: str, power: Fraction) -> str:
    if power == 1:
        return name
    if power.denominator == 1:
        return f"{name} ** {power}"
    return f"{name} ** ({power.numerator} / {power.denominator})"


def _power_latex(name: str, power: Fraction) -> str:
    return name if power == 1 else f"{name}^{{{power}}}"
