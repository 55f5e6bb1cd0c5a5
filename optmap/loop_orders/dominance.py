"""Proofs that one dataflow class never moves more than another.

For one tensor A with subscripts f_1, f_2, … (footprint F = ∏ f_j), dims K and n_k = N_k/T_k, the
traffic of a class whose reuse position has the dims I inside it is (see `symbolic.traffic`)

    ∏_{k not in I} n_k · F                                    tiles do not overlap
    ∏_{k not in I, k != d} n_k · (F + (n_d - 1)(F - O_d))     neighbours along d share O_d elements

With T_k = 1 + v_k and n_k = 1 + u_k (u, v >= 0) the difference of two classes is a product of
factors that are plainly >= 0 and one polynomial, whose coefficients are checked one by one. The
footprint of a subscript with unit coefficients is 1 + Σ v. Any other subscript (strides, dilations)
is counted as *shared* with the neighbouring tile plus *fresh*: two abstract numbers >= 0, so that
the proof covers every regime of the closed form at once (for real tiles too: with f = A*B -
max(A-n, 0) * max(B-m, 0), both 2 f(A) - f(2A) and f(2A) - f(A) are >= 0).

Tensors are compared one by one: no class is left out because it wins less on one tensor than it
loses on another. So the proofs hold for every weighting (loads, stores, element sizes).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from optmap.base.errors import CheckError
from optmap.loop_orders.polynomials import (
    Monomial,
    Polynomial,
    add,
    constant,
    monomial_text,
    multiply,
    nonnegative,
    scale,
    variable,
)
from optmap.loop_orders.structure import Access, Structure
from optmap.mappings.reuse import Reuse


class _Member(Protocol):
    @property
    def representative(self) -> tuple[str, ...]: ...
    @property
    def signature(self) -> tuple[Reuse, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How much more of one tensor the dominated class moves: ratios · footprints · polynomial."""

    tensor: int
    """Position of the tensor in `Workload.tensors`."""
    name: str
    """Name of the tensor."""
    ratios: tuple[str, ...]
    """Dims k whose factor N_k/T_k both classes share."""
    axes: tuple[int, ...]
    """Subscripts of the tensor (without constant ones) whose footprint both classes share."""
    polynomial: tuple[tuple[Monomial, int], ...]
    """Terms in u_k = N_k/T_k - 1, v_k = T_k - 1 and, for subscript j that is not of unit
    coefficients, shared_j (elements also in the neighbouring tile) and fresh_j (the others)."""

    @property
    def text(self) -> str:
        """The difference as one line."""
        factors = [f"N_{d}/T_{d}" for d in self.ratios] + [f"F_{self.name}[{j}]" for j in self.axes]
        terms = " + ".join(monomial_text(m, c) for m, c in self.polynomial)
        return " * ".join([*factors, f"({terms})"])


@dataclass(frozen=True, slots=True, kw_only=True)
class DominanceProof:
    """That one class moves at most as much of every tensor as another, for all sizes."""

    dominating: tuple[str, ...]
    """Representative of the class that is kept (outermost first)."""
    dominated: tuple[str, ...]
    """Representative of the class that is left out."""
    differences: tuple[Difference, ...]
    """Traffic of the dominated minus the dominating class, for each tensor where they differ."""

    @property
    def text(self) -> str:
        """The proof in words and polynomials, one tensor per line."""
        lines = [f"{d.name}: {d.text} >= 0" for d in self.differences]
        return "; ".join(lines)


def prove(structure: Structure, winner: _Member, loser: _Member) -> DominanceProof:
    """Expand the differences and check every coefficient.

    Raises:
        CheckError: if a coefficient is negative (then `winner` does not dominate `loser`).
    """
    differences = []
    for index, access in enumerate(structure.accesses):
        better, worse = winner.signature[index], loser.signature[index]
        if better == worse:
            continue
        difference = _difference(structure.dims, index, access, better, worse)
        if not nonnegative(dict(difference.polynomial)):
            raise CheckError(
                f"dominance of {','.join(loser.representative)} by {','.join(winner.representative)} "
                f"fails for {access.name}: {difference.text}; report this workload"
            )
        differences.append(difference)
    return DominanceProof(
        dominating=winner.representative, dominated=loser.representative, differences=tuple(differences)
    )


@lru_cache(maxsize=65536)
def _difference(dims: tuple[str, ...], index: int, access: Access, better: Reuse, worse: Reuse) -> Difference:
    """The difference for one tensor: few of them make up the proofs of very many classes."""
    moved = frozenset(d for d in (better.at, worse.at) if d is not None)
    extra = better.free - worse.free
    shared = tuple(d for d in dims if d not in better.free and d not in moved)
    moving = sorted({j for d in moved for j in access.moving(d)})
    outer = [_ratio(d) for d in dims if d in extra]
    # Dims that only one of the two moves along are an ordinary ratio for the other one.
    cost_better = multiply([_core(access, moving, better.at), *(_ratio(d) for d in sorted(moved - {better.at}))])
    cost_worse = multiply([_core(access, moving, worse.at), *(_ratio(d) for d in sorted(moved - {worse.at})), *outer])
    polynomial = add(cost_worse, scale(-1, cost_better))
    return Difference(
        tensor=index,
        name=access.name,
        ratios=shared,
        axes=tuple(j for j in range(len(access.axes)) if j not in moving),
        polynomial=tuple(sorted(polynomial.items(), key=lambda item: (sum(p for _, p in item[0]), item[0]))),
    )


def _ratio(dim: str) -> Polynomial:
    """N/T = 1 + u."""
    return add(constant(1), variable(f"u_{dim}"))


def _core(access: Access, moving: list[int], at: str | None) -> Polynomial:
    """Traffic of the moving subscripts over one run of the loop at the reuse position."""
    whole = multiply(_values(access, j) for j in moving)
    if at is None:
        return whole
    overlap = multiply(_overlap(access, j, at) for j in moving)
    fresh = add(whole, scale(-1, overlap))
    return add(whole, multiply([variable(f"u_{at}"), fresh]))


def unit(axis: tuple[tuple[str, int], ...]) -> bool:
    """Whether a subscript (without common factor) takes a contiguous range of values."""
    return all(c == 1 for _, c in axis)


def _values(access: Access, j: int) -> Polynomial:
    """Values of subscript j over a tile."""
    axis = access.axes[j]
    if unit(axis):
        return add(constant(1), *(variable(f"v_{d}") for d, _ in axis))
    return add(variable(f"shared_{j}"), variable(f"fresh_{j}"))


def _overlap(access: Access, j: int, dim: str) -> Polynomial:
    """Values of subscript j that the next tile along `dim` takes as well."""
    axis = access.axes[j]
    if not any(dim == d for d, _ in axis):
        return _values(access, j)
    if unit(axis):
        return add(*(variable(f"v_{d}") for d, _ in axis if d != dim))
    return variable(f"shared_{j}")
