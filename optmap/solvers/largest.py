"""Minimise one posynomial subject to being the largest: MOpt's decomposition as arrays.

    minimise log p_0(t)   subject to   log p_k(t) <= log p_0(t),  log q_j(t) <= 0,
                                       t_i <= t_j for every chain pair,  lower <= t <= upper

The rows with p_0 on the right are reverse-convex: a solver finds local optima only.
Source: MOpt, section 5 (one program per level) and Algorithm 1, line 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log

import numpy as np

from optmap.base.arrays import Floats
from optmap.programs.posynomial import Posynomial
from optmap.solvers.nlp import Nlp
from optmap.solvers.terms import TermFunction, Terms, TermStack


def largest_program(
    goal: Posynomial,
    *,
    smaller: Sequence[Posynomial],
    limits: Sequence[Posynomial],
    chain: Sequence[tuple[int, int]],
    lower: Floats,
    upper: Floats,
) -> Nlp:
    """The program above in log variables, started at the lower ends of the box.

    Args:
        goal: p_0; its variables, in order, are those of the program.
        smaller: p_k, which must not exceed the goal.
        limits: q_j, which must not exceed 1.
        chain: pairs (i, j) of variable indices with t_i <= t_j.
        lower: (n,) lower ends.
        upper: (n,) upper ends.
    """
    n = len(goal.names)
    functions = [_function(n, (1.0, goal))]
    rows = []
    for i, p in enumerate(smaller):
        functions.append(_function(n, (1.0, p), (-1.0, goal)))
        rows.append(f"largest[{i}]")
    for i, q in enumerate(limits):
        functions.append(_function(n, (1.0, q)))
        rows.append(f"capacity[{i}]")
    for i, j in chain:
        linear = np.zeros(n)
        linear[i], linear[j] = 1.0, -1.0
        functions.append(TermFunction(constant=0.0, linear=linear, plain=_none(n)))
        rows.append(f"chain[{i},{j}]")
    return Nlp(
        names=goal.names,
        lower=lower,
        upper=upper,
        start=lower.copy(),
        stack=TermStack(tuple(functions), n),
        generic=(),
        place=tuple((False, i) for i in range(len(functions))),
        rows=tuple(rows),
        row_lower=np.full(len(rows), -inf),
        row_upper=np.zeros(len(rows)),
    )


def _function(n: int, *weighted: tuple[float, Posynomial]) -> TermFunction:
    """Sum of weighted logarithms of posynomials; single monomials are linear."""
    constant, linear = 0.0, np.zeros(n)
    logs = []
    for weight, p in weighted:
        if p.terms == 1:
            constant += weight * log(float(p.coefficients[0]))
            linear = linear + weight * p.exponents[0]
        else:
            terms = Terms(coefficients=p.coefficients, rates=p.exponents, powers=np.zeros_like(p.exponents))
            logs.append((weight, terms))
    return TermFunction(constant=constant, linear=linear, plain=_none(n), logs=tuple(logs))


def _none(n: int) -> Terms:
    return Terms(coefficients=np.zeros(0), rates=np.zeros((0, n)), powers=np.zeros((0, n)))
