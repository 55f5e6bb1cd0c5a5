"""Method `best`: the strongest of compulsory traffic and the certified convex program."""

from __future__ import annotations

from fractions import Fraction

from optmap.bounds.certificate import bound_certificate
from optmap.bounds.compulsory import compulsory_loads, output_words
from optmap.bounds.maps import map_system
from optmap.bounds.proof import Proof, operations_bound, strongest_proof
from optmap.bounds.result import LowerBound
from optmap.problem.workload import Semantics, Workload


def best(workload: Workload, memory_words: int) -> LowerBound:
    """The strongest certified bound.

    Args:
        workload: the computation.
        memory_words: fast memory, in words.

    Source: Dinh, chapters 3 and 4 (Brascamp-Lieb inequalities for loop nests), with size maps,
    tensor weights and the segment argument in integers.
    """
    proof = strongest_proof(workload, memory_words)
    forced = compulsory_loads(workload)
    if proof is not None and proof.loads_words <= forced:
        proof = None
    system = map_system(workload)
    exponents = {} if proof is None else {system.maps[i].name: x for i, x in proof.exponents.items()}
    return LowerBound(
        method="best",
        loads_words=forced if proof is None else proof.loads_words,
        stores_words=output_words(workload),
        exponents=exponents,
        expression=_expression(workload, proof),
        assumptions=_assumptions(workload, proof),
        certificate=bound_certificate(workload, memory_words, system, proof),
    )


def operations_text(workload: Workload, proof: Proof) -> str:
    """U(K) as a product of powers."""
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


def _expression(workload: Workload, proof: Proof | None) -> str:
    if proof is None:
        return "compulsory traffic"
    rule = f"M + n*T + t + 1, n={proof.segments.n}, T={proof.segments.T}, t={proof.segments.t}"
    if workload.semantics is Semantics.ASSIGN:
        mu = proof.units.mu
        rule = f"({rule}, in 1/{mu.denominator} words) - {mu}*|{workload.output.name}|"
    return f"{rule}, since n*U(M+T) + U(M+t) < G with U(K) = {operations_text(workload, proof)}"


def _assumptions(workload: Workload, proof: Proof | None) -> tuple[str, ...]:
    lines = ["the fast memory starts empty and results end in slow memory", "every point is computed once"]
    if proof is not None and workload.semantics is Semantics.ASSIGN:
        lines.append("an output word is created in fast memory at most once; later uses load it")
    return tuple(lines)
