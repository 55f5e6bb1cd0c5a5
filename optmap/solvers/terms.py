"""Functions made of exponential terms, with exact first and second derivatives, all at once.

A function is  c + L x + sum_m k_m e_m(x) + sum_j w_j log(sum_m k_m e_m(x)) with terms
e_m(x) = exp(A_m x + P_m log x). Posynomials in raw variables (A = 0), posynomials in logarithmic
variables (P = 0) and their logarithms are all of this kind. The gradient of a term is
e g with g = A + P/x, its Hessian e (g g' - diag(P/x^2)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from optmap.base.arrays import Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Terms:
    """A sum of M exponential terms in n variables."""

    coefficients: Floats
    """(M,): any sign; positive inside a logarithm."""
    rates: Floats
    """(M, n): A."""
    powers: Floats
    """(M, n): P; columns of variables that may be 0 or negative are zero."""

    @property
    def is_affine(self) -> bool:
        """Whether every term is a constant or a multiple of one variable."""
        units = ((self.powers == 1.0).sum(axis=1) <= 1) & ((self.powers == 0.0) | (self.powers == 1.0)).all(axis=1)
        return not self.rates.any() and bool(units.all())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TermFunction:
    """One function of the kind above."""

    constant: float
    linear: Floats
    """(n,): L."""
    plain: Terms
    """Terms added as they are."""
    logs: tuple[tuple[float, Terms], ...] = ()
    """(w, terms) pairs: logarithms of sums of positive terms."""

    @property
    def is_linear(self) -> bool:
        """Whether there are no terms at all."""
        return self.plain.coefficients.size == 0 and not self.logs

    @property
    def is_convex(self) -> bool:
        """Whether the structure proves convexity.

        Positive terms without powers are convex, their logarithms as well; the logarithm of an
        affine function is concave, so that its negative is convex, too.
        """
        plain = bool((self.plain.coefficients > 0).all()) and not self.plain.powers.any()
        return plain and all(not terms.powers.any() if w > 0 else terms.is_affine for w, terms in self.logs)


@dataclass(frozen=True, slots=True, eq=False)
class TermStack:
    """F functions evaluated together: a handful of array operations for any number of them."""

    functions: tuple[TermFunction, ...]
    variables: int
    """n."""
    _constant: Floats = field(init=False)
    _linear: Floats = field(init=False)
    _signed: Floats = field(init=False)
    _log_size: Floats = field(init=False)
    _rates: Floats = field(init=False)
    _powers: Floats = field(init=False)
    _starts: NDArray[np.intp] = field(init=False)
    _owner: NDArray[np.intp] = field(init=False)
    _weight: Floats = field(init=False)
    _is_log: NDArray[np.bool_] = field(init=False)
    _has_powers: bool = field(init=False)

    def __post_init__(self) -> None:
        n = self.variables
        groups: list[tuple[int, float, bool, Terms]] = []
        for i, f in enumerate(self.functions):
            if f.plain.coefficients.size:
                groups.append((i, 1.0, False, f.plain))
            groups += [(i, w, True, terms) for w, terms in f.logs]
        sizes = [terms.coefficients.size for *_, terms in groups]
        weight = np.zeros((len(self.functions), len(groups)))
        for g, (i, w, _, _) in enumerate(groups):
            weight[i, g] = w
        coefficients = _stack([t.coefficients for *_, t in groups], (0,))
        values: dict[str, object] = {
            "_constant": np.array([f.constant for f in self.functions]),
            "_linear": _stack([f.linear[None, :] for f in self.functions], (0, n)),
            "_signed": np.sign(coefficients),
            "_log_size": np.log(np.abs(coefficients)),
            "_rates": _stack([t.rates for *_, t in groups], (0, n)),
            "_powers": _stack([t.powers for *_, t in groups], (0, n)),
            "_starts": np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.intp) if sizes else np.zeros(0, np.intp),
            "_owner": np.repeat(np.arange(len(groups)), sizes),
            "_weight": weight,
            "_is_log": np.array([is_log for _, _, is_log, _ in groups], dtype=bool),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_has_powers", bool(self._powers.any()))

    def value(self, x: Floats) -> Floats:
        """(F,) values at x (n,)."""
        base = self._constant + self._linear @ x
        if self._owner.size == 0:
            return np.asarray(base)
        _, group = self._groups(x)
        return np.asarray(base + self._weight @ group)

    def jacobian(self, x: Floats) -> Floats:
        """(F, n) gradients at x (n,)."""
        if self._owner.size == 0:
            return self._linear.copy()
        share, _ = self._groups(x)
        mean = np.add.reduceat(share[:, None] * self._slopes(x), self._starts, axis=0)
        return np.asarray(self._linear + self._weight @ mean)

    def hessian(self, x: Floats, multipliers: Floats) -> Floats:
        """(n, n) Hessian at x (n,) of the sum of the functions times `multipliers` (F,)."""
        n = self.variables
        if self._owner.size == 0:
            return np.zeros((n, n))
        share, _ = self._groups(x)
        slopes = self._slopes(x)
        scale = multipliers @ self._weight
        per_term = scale[self._owner] * share
        hessian = slopes.T @ (per_term[:, None] * slopes)
        if self._has_powers:
            hessian[np.arange(n), np.arange(n)] -= (per_term @ self._powers) / x**2
        if self._is_log.any():
            mean = np.add.reduceat(share[:, None] * slopes, self._starts, axis=0)[self._is_log]
            hessian -= mean.T @ (scale[self._is_log, None] * mean)
        return np.asarray(hessian)

    def _groups(self, x: Floats) -> tuple[Floats, Floats]:
        """Per term its value (plain) or share (logarithm); per group its value."""
        exponent = self._rates @ x + self._log_size
        if self._has_powers:
            exponent = exponent + self._powers @ np.log(np.where(self._powers.any(axis=0), x, 1.0))
        top = np.where(self._is_log, np.maximum.reduceat(exponent, self._starts), 0.0)
        with np.errstate(over="ignore"):
            size = self._signed * np.exp(exponent - top[self._owner])
        total = np.add.reduceat(size, self._starts)
        share = np.where(self._is_log[self._owner], size / np.where(self._is_log, total, 1.0)[self._owner], size)
        logs = top + np.log(np.where(self._is_log, total, 1.0))
        return share, np.where(self._is_log, logs, total)

    def _slopes(self, x: Floats) -> Floats:
        if not self._has_powers:
            return self._rates
        return np.asarray(self._rates + self._powers / np.where(self._powers.any(axis=0), x, 1.0))


def _stack(parts: Sequence[Floats], empty: tuple[int, ...]) -> Floats:
    return np.concatenate(parts) if parts else np.zeros(empty)
