"""Method `best`: the strongest of compulsory traffic, a convex program over maps, windows, visits and passes.

The only place where a bound gets its certificate.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from optmap.base.clock import NO_LIMIT, Clock
from optmap.base.errors import InputError
from optmap.bounds.certificate import AnyProof, bound_certificate
from optmap.bounds.compulsory import compulsory_loads, created_words
from optmap.bounds.exponents.maps import map_system
from optmap.bounds.exponents.proof import ExponentProof, operations_bound, ranked_proofs
from optmap.bounds.passing.passes import PassesProof, passes_proofs
from optmap.bounds.passing.visits import VisitsProof, visits_proofs
from optmap.bounds.proved import first_proved
from optmap.bounds.result import LowerBound
from optmap.bounds.windows.halo_proof import HaloProof, halo_proofs, why_no_halo
from optmap.bounds.windows.tap_class_proof import ClassesProof, class_proofs
from optmap.bounds.windows.tap_classes import why_no_classes
from optmap.workloads.workload import Padding, Semantics, Workload

CLOSE = Fraction(1, 10**6)
"""Share by which estimates may be less than what is proved, at most, where they say what need not be proved."""


def best(workload: Workload, memory_words: int, clock: Clock = NO_LIMIT) -> LowerBound:
    """The strongest bound whose certificate the independent checker accepts.

    Args:
        workload: the computation.
        memory_words: fast memory, in words.
        clock: when to give up.

    Raises:
        LimitError: if the time is over before the strongest is known.
        CheckError: if the checker refuses every candidate, compulsory traffic included.

    Source: Dinh, chapters 3 and 4 (Brascamp-Lieb inequalities for loop nests), with size maps,
    tensor weights and the segment argument in integers; for windows the inequality of `halo`, for strided ones that of
    `tap_classes`; where one tensor does not fit by little, `visits`; where it fits a few times too little, `passes`.
    """
    return certified("best", workload, memory_words, _strongest(workload, memory_words, clock))


def best_above(workload: Workload, memory_words: int, above: int) -> LowerBound | None:
    """`best`, where it is of more than so many loads; None where it is not, which is soon seen of most.

    Args:
        workload: the computation.
        memory_words: fast memory, in words.
        above: loads in words.

    Raises:
        CheckError: as `best`.
    """
    if above < compulsory_loads(workload):
        found = best(workload, memory_words)
        return found if found.loads_words > above else None
    proofs = _strongest(workload, memory_words, NO_LIMIT, int(above * (1 - CLOSE)) - 1)
    if not any(proof.loads_words > above for proof in proofs):
        return None
    return certified("best", workload, memory_words, proofs)


def _strongest(workload: Workload, memory_words: int, clock: Clock, above: int | None = None) -> list[AnyProof]:
    """The proofs that are found, the strongest first, of more loads than so many if that is given."""
    # Of most others it is soon seen whether they prove nothing stronger than one window; classes of taps take longest.
    classes = why_no_classes(workload) is None
    found: list[AnyProof] = [] if classes else [*_windows(workload, memory_words, clock, beat=above)]
    for proofs in (passes_proofs, visits_proofs):  # of proofs as strong they are preferred
        found = [*proofs(workload, memory_words, beat=_less(found, above)), *found]
    if classes:
        found += _windows(workload, memory_words, clock, beat=_less(found, above))
    found = [*ranked_proofs(workload, memory_words, beat=_less(found, above), clock=clock), *found]
    return sorted(found, key=lambda proof: -proof.loads_words)


def met(workload: Workload, memory_words: int) -> LowerBound:
    """`best` of a workload and a memory for which something moves compulsory traffic only: no bound is above that.

    Args:
        workload: the computation.
        memory_words: fast memory, in words.

    Raises:
        CheckError: as `best`.
    """
    return certified("best", workload, memory_words, ())


def _windows(
    workload: Workload, memory_words: int, clock: Clock, beat: int | None = None
) -> list[HaloProof] | list[ClassesProof]:
    """Proofs of windows: by classes of taps if they have several shapes, else the one shape's."""
    if why_no_classes(workload) is None:
        return class_proofs(workload, memory_words, beat=beat, clock=clock)
    return halo_proofs(workload, memory_words, beat=beat, clock=clock)


def _less(found: Sequence[AnyProof], above: int | None) -> int | None:
    """One load less than the strongest proof so far proves, or what proofs have to exceed where that is more."""
    known = [*(proof.loads_words - 1 for proof in found), *([] if above is None else [above])]
    return max(known, default=None)


def halo(workload: Workload, memory_words: int) -> LowerBound:
    """The bound of a convolution that sees the halo of its windows, with a certificate.

    Args:
        workload: a convolution whose windows `why_no_windows` finds covered.
        memory_words: fast memory, in words.

    Raises:
        InputError: if the windows are not covered.
        CheckError: as `best`.

    Source: the proofs in `optmap/bounds/windows/halo.py` and `optmap/bounds/windows/tap_classes.py`.
    """
    reason = why_no_windows(workload)
    if reason is not None:
        raise InputError(reason)
    return certified("halo", workload, memory_words, _windows(workload, memory_words, NO_LIMIT))


def why_no_windows(workload: Workload) -> str | None:
    """None if `halo` covers a workload, else the reason why not."""
    return why_no_halo(workload) if why_no_classes(workload) is not None else None


def certified(method: str, workload: Workload, memory_words: int, proofs: Sequence[AnyProof]) -> LowerBound:
    """The first proof whose certificate the checker accepts; compulsory traffic after all of them.

    Raises:
        CheckError: if the checker refuses them all.
    """
    system = map_system(workload)
    tried: Sequence[AnyProof | None] = (*proofs, None)
    proof, document = first_proved(
        workload, ((each, bound_certificate(workload, memory_words, system, each, method)) for each in tried)
    )
    return LowerBound(
        method=method,
        loads_words=document["claims"]["loads_words"],
        stores_words=document["claims"]["stores_words"],
        exponents=_exponents(workload, proof),
        expression=_expression(workload, proof),
        assumptions=_assumptions(workload, proof),
        certificate=document,
    )


def _exponents(workload: Workload, proof: AnyProof | None) -> dict[str, Fraction]:
    """Exponent per map; those of a window under the names of its tensors' maps."""
    if proof is None or isinstance(proof, VisitsProof | PassesProof):
        return {}
    maps = map_system(workload).maps
    if isinstance(proof, ExponentProof):
        return {maps[i].name: x for i, x in proof.exponents.items()}
    names = {m.tensor: m.name for m in maps if m.tensor is not None}
    if isinstance(proof, ClassesProof):
        return {f"{names[t]} of {c.title}": x for c in proof.classes for t, _, x in c.volume.tensors}
    return {names[tensor]: x for tensor, _, x in proof.volume.tensors if x}


def operations_text(workload: Workload, proof: ExponentProof | HaloProof | ClassesProof) -> str:
    """U(K) as a product of powers, or the largest of several."""
    if isinstance(proof, HaloProof):
        return str(proof.volume)
    if isinstance(proof, ClassesProof):
        return proof.text
    system = map_system(workload)
    bound = operations_bound(system, proof.units, proof.exponents)
    factors = []
    for s, weight in bound.sums:
        share = s / (bound.sigma * weight)
        base = "K" if share == 1 else f"({share}*K)"
        factors.append(f"{base}{power_text(s)}")
    sizes = [(system.maps[i].size, x) for i, x in proof.exponents.items() if system.maps[i].tensor is None]
    factors += [f"{size}{power_text(x)}" for size, x in sizes]
    return " * ".join(factors)


def power_text(exponent: Fraction) -> str:
    """`^p` or `^(p/q)`; nothing for 1."""
    if exponent == 1:
        return ""
    return f"^{exponent}" if exponent.denominator == 1 else f"^({exponent})"


def _expression(workload: Workload, proof: AnyProof | None) -> str:
    if proof is None:
        return "compulsory traffic"
    created = f" - |{workload.output.name}|" if workload.semantics is Semantics.ASSIGN else ""
    if isinstance(proof, VisitsProof):
        others = " + ".join(f"|{t.name}|" for t in workload.tensors if t.name != proof.kept)
        return (
            f"{others} + {proof.again_words} that come again + min(|{proof.kept}| - M, 2*{proof.slack}){created}, "
            f"since {proof.kept} does not fit (proof: optmap/bounds/passing/visits.py)"
        )
    if isinstance(proof, PassesProof):
        others = " and ".join(t.name for t in workload.tensors if t.name != proof.kept)
        again = proof.loads_words - proof.touched_words + created_words(workload)
        return (
            f"{proof.touched_words} of {others}, as often as segments touch them, + {again}{created}, since "
            f"{proof.kept} fits piece by piece only (proof: optmap/bounds/passing/passes.py)"
        )
    rule = f"M + n*T + t + 1, n={proof.segments.n}, T={proof.segments.T}, t={proof.segments.t}"
    if workload.semantics is Semantics.ASSIGN:
        mu = proof.units.mu
        rule = f"({rule}, in 1/{mu.denominator} words) - {mu}*|{workload.output.name}|"
    every = "G"
    if isinstance(proof, ClassesProof):
        every = f"{proof.units.operations}, all operations by weight (proof: optmap/bounds/windows/tap_classes.py),"
    return f"{rule}, since n*U(M+T) + U(M+t) < {every} with U(K) = {operations_text(workload, proof)}"


def _assumptions(workload: Workload, proof: AnyProof | None) -> tuple[str, ...]:
    lines = ["the fast memory starts empty and results end in slow memory", "every point is computed once"]
    if workload.padding is Padding.IMPLICIT:
        lines[-1] += ", except those on padding, which need no word"
    if proof is not None and workload.semantics is Semantics.ASSIGN:
        lines.append("an output word is created in fast memory at most once; later uses load it")
    return tuple(lines)
