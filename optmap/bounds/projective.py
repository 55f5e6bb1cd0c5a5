"""Bounds and optimal tiles of projective loop nests, small loop bounds included.

Every dual of the log-space tiling LP is a pair (s, z) with sum of s over the tensors that hold a
dim, plus its z, at least 1. Then any set V of operations has at most
prod |phi_t(V)|^s_t · prod L_d^z_d points, which is Theorem 13 for the dims with z > 0 as the small
ones; an optimal dual makes the best of its 2^d cases (Theorem 14).
Source: Dinh's dissertation, chapter 3.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from optmap.bounds.fixed_exponents import VolumeBound, strongest
from optmap.bounds.result import LowerBound
from optmap.programs.loglp_face import LogDual, projective_face
from optmap.workloads.canonical import CanonicalForm, canonical_form
from optmap.workloads.workload import Workload

METHOD = "projective"
BASES = 64
"""Optimal bases of the tiling LP whose duals are tried."""


def why_not_projective(workload: Workload) -> str | None:
    """None if every subscript has at most one dim, else the first that has several."""
    for tensor in workload.tensors:
        for axis in tensor.axes:
            if len(axis.terms) > 1:
                return f"subscript {axis} of {tensor.name} has several dims"
    return None


def projective(workload: Workload, memory_words: int) -> LowerBound:
    """Loads of a projective nest by the duals of its tiling LP (Theorems 13 and 14).

    Args:
        workload: every subscript has at most one dim.
        memory_words: fast memory, in words.

    Returns:
        The best of all dual vertices, with the segment argument for a total of K words instead of
        K words per tensor, and of compulsory traffic.

    Raises:
        InputError: if the workload is not projective.
    """
    volumes = [dual_volume(workload, dual) for dual in optimal_duals(workload, memory_words)]
    return strongest(METHOD, workload, memory_words, volumes, ("exponents are dual solutions of the tiling LP",))


def optimal_duals(workload: Workload, memory_words: int) -> list[LogDual]:
    """Vertices of the dual optimal face of the tiling LP: each bounds the operations of a tile, all alike.

    Args:
        workload: every subscript has at most one dim.
        memory_words: fast memory, in words; too small a one counts as one element of the heaviest tensor.
    """
    heaviest = max(workload.weight(t) for t in workload.tensors)
    # Duals only choose exponents: any memory gives valid ones, so too small a memory is no obstacle. Which of
    # many are visited depends on the order of rows, hence the canonical form.
    form = canonical_form(workload)
    optimal = projective_face(form.workload, max(memory_words, heaviest), limit=BASES)
    return [_given(workload, form, dual) for dual in optimal.duals]


def _given(workload: Workload, form: CanonicalForm, dual: LogDual) -> LogDual:
    """A dual of the canonical form under the names and in the order of the workload."""
    prices = dict(sorted(zip(form.accesses, dual.rows.values(), strict=True)))
    names = {f"L[{canonical}]": f"L[{dim}]" for canonical, dim in form.dims.items()}
    return replace(
        dual,
        rows={f"{workload.tensors[i].name}#{i}": price for i, price in prices.items()},
        limits={form.dims[d]: price for d, price in dual.limits.items()},
        bound=replace(dual.bound, powers=tuple((names.get(name, name), q) for name, q in dual.bound.powers)),
    )


def dual_volume(workload: Workload, dual: LogDual) -> VolumeBound:
    """The bound on operations that a dual proves; accesses of one tensor share its memory.

    Args:
        workload: the projective nest of the LP.
        dual: exponents per tensor access and per dim.
    """
    summed: dict[str, tuple[int, Fraction]] = {}
    for tensor, exponent in zip(workload.tensors, dual.rows.values(), strict=True):
        so_far = summed.get(tensor.name, (0, Fraction(0)))[1]
        summed[tensor.name] = (workload.weight(tensor), so_far + exponent)
    return VolumeBound(
        tensors=tuple((name, words, s) for name, (words, s) in summed.items()),
        sizes=tuple((f"L[{d}]", workload.extents[d], z) for d, z in dual.limits.items() if z),
    )


def tile_bound(dual: LogDual) -> str:
    """The bound on the operations of a tile that the optimal tile attains, in the terms of Theorem 13."""
    small = [d for d, z in dual.limits.items() if z]
    held = [f"{label}^({s})" for label, s in dual.rows.items() if s]
    case = f"small loop bounds {', '.join(small)}" if small else "no small loop bound"
    return f"operations per tile <= {dual.bound} ({case}; exponents {', '.join(held) or 'of no tensor'})"
