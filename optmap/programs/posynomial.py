"""Posynomials: sums of monomials with positive coefficients, convex in logarithmic variables.

With t = log x, a posynomial p(x) = sum_i c_i prod_j x_j^E_ij has the logarithm
f(t) = log sum_i exp(E_i t + log c_i), which is convex, with gradient E' w and Hessian
E' (diag(w) - w w') E for the softmax weights w of the terms.
Source: Boyd, Kim, Vandenberghe, Hassibi, "A tutorial on geometric programming", section 2 and 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import e, inf

import numpy as np
from numpy.typing import ArrayLike

from optmap.base.arrays import Floats
from optmap.base.errors import InputError

ROOM = 1e-6
"""Relative excess at which a limit still counts as kept."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Posynomial:
    """A sum of m monomials in n named variables.

    Raises:
        InputError: for shapes that do not fit, or a coefficient that is not positive and finite.
    """

    names: tuple[str, ...]
    """The n variables, in the order of the columns of `exponents`."""
    coefficients: Floats
    """(m,): positive."""
    exponents: Floats
    """(m, n): real powers."""

    def __post_init__(self) -> None:
        coefficients = np.asarray(self.coefficients, dtype=float)
        exponents = np.asarray(self.exponents, dtype=float)
        if coefficients.ndim != 1 or exponents.shape != (coefficients.size, len(self.names)):
            raise InputError(
                f"posynomial in {len(self.names)} variables: coefficients {coefficients.shape} and exponents "
                f"{exponents.shape} do not fit; use (m,) and (m, {len(self.names)})"
            )
        if coefficients.size == 0 or not (np.isfinite(coefficients).all() and (coefficients > 0).all()):
            raise InputError("a posynomial needs at least one term, and positive finite coefficients only")
        if not np.isfinite(exponents).all():
            raise InputError("a posynomial needs finite exponents")
        object.__setattr__(self, "coefficients", coefficients)
        object.__setattr__(self, "exponents", exponents)

    @property
    def terms(self) -> int:
        """Number of monomials."""
        return int(self.coefficients.size)

    def evaluate(self, x: ArrayLike) -> Floats:
        """Values at points with positive coordinates.

        Args:
            x: (n,) or (points, n), in the variables themselves.

        Returns:
            A scalar array or (points,).
        """
        return np.exp(self.log_value(np.log(np.asarray(x, dtype=float))))

    def log_value(self, t: ArrayLike) -> Floats:
        """Logarithm of the value at logarithms of points.

        Args:
            t: (n,) or (points, n), natural logarithms of the variables.

        Returns:
            A scalar array or (points,).
        """
        exponent = np.asarray(t, dtype=float) @ self.exponents.T + np.log(self.coefficients)
        top = exponent.max(axis=-1)
        return np.asarray(top + np.log(np.exp(exponent - top[..., None]).sum(axis=-1)))

    def __add__(self, other: Posynomial) -> Posynomial:
        """The sum; like terms are collected."""
        self._same_variables(other)
        return Posynomial(
            names=self.names,
            coefficients=np.concatenate((self.coefficients, other.coefficients)),
            exponents=np.concatenate((self.exponents, other.exponents)),
        ).collected()

    def __mul__(self, other: Posynomial) -> Posynomial:
        """The product; like terms are collected."""
        self._same_variables(other)
        exponents = self.exponents[:, None, :] + other.exponents[None, :, :]
        return Posynomial(
            names=self.names,
            coefficients=np.outer(self.coefficients, other.coefficients).ravel(),
            exponents=exponents.reshape(-1, len(self.names)),
        ).collected()

    def scale(self, factor: float) -> Posynomial:
        """The posynomial times a positive number."""
        return Posynomial(names=self.names, coefficients=self.coefficients * factor, exponents=self.exponents)

    def collected(self) -> Posynomial:
        """The same function with equal monomials added up, terms in order of first appearance."""
        _, first, owner = np.unique(self.exponents, axis=0, return_index=True, return_inverse=True)
        sums = np.zeros(first.size)
        np.add.at(sums, owner.ravel(), self.coefficients)
        order = np.argsort(first)
        return Posynomial(names=self.names, coefficients=sums[order], exponents=self.exponents[first[order]])

    def over(self, names: Sequence[str]) -> Posynomial:
        """The same function with its variables reordered, extended, or without unused ones.

        Args:
            names: the new variables; every present variable with a nonzero power must be there.

        Raises:
            InputError: if a variable that is used is missing.
        """
        position = {name: i for i, name in enumerate(names)}
        exponents = np.zeros((self.terms, len(names)))
        for column, name in enumerate(self.names):
            if name in position:
                exponents[:, position[name]] = self.exponents[:, column]
            elif self.exponents[:, column].any():
                raise InputError(f"variable {name} is used by the posynomial but missing in {list(names)}")
        return Posynomial(names=tuple(names), coefficients=self.coefficients, exponents=exponents)

    def _same_variables(self, other: Posynomial) -> None:
        if self.names != other.names:
            raise InputError(
                f"posynomials in different variables: {list(self.names)} and {list(other.names)}; use over() first"
            )


def monomial(names: Sequence[str], coefficient: float, powers: Mapping[str, float] | None = None) -> Posynomial:
    """One term: `coefficient * prod(name ** power)`.

    Args:
        names: all variables, in order.
        coefficient: a positive number.
        powers: power per variable; variables left out have power 0.

    Raises:
        InputError: for a power of an unknown variable or a coefficient that is not positive.
    """
    powers = powers or {}
    unknown = sorted(set(powers) - set(names))
    if unknown:
        raise InputError(f"power of unknown variable {', '.join(unknown)}; variables are {list(names)}")
    row = np.array([[float(powers.get(name, 0.0)) for name in names]]).reshape(1, len(names))
    return Posynomial(names=tuple(names), coefficients=np.array([coefficient], dtype=float), exponents=row)


def tidy(value: float) -> float:
    """A number that came through a logarithm, without the last digits that it lost there."""
    short = float(f"{value:.12g}")
    return float(round(short)) if abs(short - round(short)) <= 1e-11 * abs(short) else short


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EpigraphRow:
    """One row `posynomial(x) <= alpha * z + constant` of a min-max program."""

    posynomial: Posynomial
    """Left-hand side, in words for a traffic row."""
    alpha: float
    """Factor of z, at least 0 (words per cycle for a traffic row); 0 makes the row an upper limit."""
    constant: float = 0.0
    """Constant on the right, at least 0 (words)."""
    name: str = ""
    """Of the row in a model, such as `bottleneck[L1]`; numbered if left out."""
    parts: tuple[tuple[str, int], ...] = ()
    """Names of consecutive terms with their number, such as (`traffic[L1,Out]`, 3); all of them or none."""

    def needed(self, t: ArrayLike) -> Floats:
        """The z that the row needs at logarithms of points; without z, 0 where the row holds.

        Args:
            t: (n,) or (points, n).
        """
        level = np.exp(self.posynomial.log_value(t))
        if self.alpha > 0:
            return np.asarray((level - self.constant) / self.alpha)
        return np.where(level <= self.constant * (1 + ROOM), 0.0, np.inf)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GeometricProgram:
    """Minimise z > 0 over logarithms t: epigraph rows, capacities, chains and a box.

    In (t, z): log p_l(t) <= log(alpha_l z + constant_l) for every row, log q_j(t) <= 0 for every
    capacity, t_i <= t_j for every chain pair, lower <= t <= upper. Jointly convex, because the
    logarithm of an affine function is concave.

    Raises:
        InputError: for shapes that do not fit, an unbounded box, or rows that cannot bound z.
    """

    names: tuple[str, ...]
    """The n variables x = exp(t), in order."""
    lower: Floats
    """(n,): lower ends of the box of t."""
    upper: Floats
    """(n,): upper ends of the box of t."""
    levels: tuple[EpigraphRow, ...]
    """Rows that z must cover, and upper limits with a name."""
    capacities: tuple[Posynomial, ...] = ()
    """Posynomials that must not exceed 1."""
    chain: tuple[tuple[int, int], ...] = ()
    """Pairs (i, j) of variable indices with t_i <= t_j."""

    def __post_init__(self) -> None:
        n = len(self.names)
        if self.lower.shape != (n,) or self.upper.shape != (n,):
            raise InputError(f"geometric program in {n} variables: the box must have shape ({n},)")
        if not (np.isfinite(self.lower).all() and np.isfinite(self.upper).all()):
            raise InputError("geometric program: every variable needs finite bounds; an unbounded one is refused")
        if (self.lower > self.upper).any():
            raise InputError("geometric program: a lower bound exceeds its upper bound")
        if not any(row.alpha > 0 for row in self.levels):
            raise InputError("geometric program: no row bounds z from below; add an epigraph row with alpha > 0")
        if any(row.alpha < 0 or row.constant < 0 or row.alpha + row.constant == 0 for row in self.levels):
            raise InputError("geometric program: alpha and constant must be >= 0, and not both 0")
        posynomials = [row.posynomial for row in self.levels] + list(self.capacities)
        if any(p.names != self.names for p in posynomials):
            raise InputError("geometric program: every posynomial must use the program's variables in order")
        if any(not (0 <= i < n and 0 <= j < n) for i, j in self.chain):
            raise InputError(f"geometric program: chain indices must lie in 0..{n - 1}")

    @property
    def in_log_z(self) -> bool:
        """Whether the program is convex in (t, log z): no row has both z and a constant."""
        return all(row.alpha == 0 or row.constant == 0 for row in self.levels)

    def value(self, t: ArrayLike) -> float:
        """The least z that a point (n,) of the box allows; infinite where a limit is exceeded."""
        held = all(float(q.log_value(t)) <= ROOM for q in self.capacities)
        return max(float(row.needed(t)) for row in self.levels) if held else inf

    def z_range(self) -> tuple[float, float]:
        """Bounds of z from interval arithmetic over the box, with room on both sides."""
        low, high = -inf, -inf
        for row in self.levels:
            if row.alpha == 0:
                continue
            p = row.posynomial
            rising = np.where(p.exponents > 0, self.upper, self.lower)
            falling = np.where(p.exponents > 0, self.lower, self.upper)
            top = np.exp((p.exponents * rising).sum(axis=1)) @ p.coefficients
            bottom = np.exp((p.exponents * falling).sum(axis=1)) @ p.coefficients
            low = max(low, (bottom - row.constant) / row.alpha)
            high = max(high, (top - row.constant) / row.alpha)
        high = max(high, 1e-6)
        low = max(low, min(1e-9, high) * 1e-3)
        return float(f"{low / e:.3g}"), float(f"{high * e:.3g}")
