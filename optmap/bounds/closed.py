"""Closed-form loads bounds from a bound on the operations of a segment, in integers.

U(K) bounds the operations of any set that touches at most K words. If it is a power
U(K) = coefficient·K^sigma, loads follow without a search:

The fast memory starts empty and every touched word was loaded. Cut the run after the first M + T
loads and then after every T, T >= 1 whole: a run of L = M + n·T + t loads (0 <= t < T) does
G <= n·U(M+T) + U(M+t) operations. With y = (M+t)/(M+T) <= 1 and sigma >= 1,
T·G/U(M+T) <= n·T + T·y^sigma <= n·T + (M+T)·y = L. A run of fewer than M loads does
G <= U(L), and T·(L/(M+T))^sigma <= L. Hence L >= T·G/U(M+T) for every T, without the
subtraction of one segment that a warm memory needs; T near M/(sigma-1) is best. In any case G <= U(L).
Source: the segment argument of Dinh's dissertation, Lemmas 18 and 20, with the cold start used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from optmap.bounds.compulsory import compulsory_loads, output_words
from optmap.bounds.result import LowerBound
from optmap.problem.workload import Semantics, Workload

COLD_START = "the fast memory starts empty, every operation finds its words in it, and results end in slow memory"
OUTPUTS_LOADED = "outputs accumulate: their first touch is a load"
OUTPUTS_CREATED = "outputs may be created in fast memory: their words are subtracted from the accumulating bound"


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeBound:
    """U(K) = prod (S_t·K/(sigma·p_t))^S_t · prod size^z: operations that K words allow, at most.

    The product is the maximum of prod x_t^S_t subject to sum p_t·x_t <= K, x_t being the elements of
    tensor t, for exponents (S, z) in the Brascamp-Lieb polytope of the workload.
    """

    tensors: tuple[tuple[str, int, Fraction], ...]
    """(tensor, words per element p, exponent S)."""
    sizes: tuple[tuple[str, int, Fraction], ...] = ()
    """(what is counted, its size, exponent z) of the maps that cost no memory."""

    @property
    def sigma(self) -> Fraction:
        """Sum of the tensors' exponents."""
        return sum((s for _, _, s in self.tensors), Fraction(0))

    def power(self) -> tuple[Fraction, int, int]:
        """(c, e, q) with U(K)^q = c·K^e exactly."""
        q = lcm(*(x.denominator for _, _, x in (*self.tensors, *self.sizes)))
        coefficient = Fraction(1)
        for _, words, s in self.tensors:
            if s:
                coefficient *= (s / (self.sigma * words)) ** int(s * q)
        for _, size, z in self.sizes:
            coefficient *= Fraction(size) ** int(z * q)
        return coefficient, int(self.sigma * q), q

    def exponents(self) -> dict[str, Fraction]:
        """Exponent per tensor and per size, as a bound reports them."""
        return {name: x for name, _, x in self.tensors} | {name: x for name, _, x in self.sizes}

    def __str__(self) -> str:
        held = [(name, words, s) for name, words, s in self.tensors if s]
        parts = [f"({s / (self.sigma * words)}*K)^({s})" for _, words, s in held]
        parts += [f"{name}^({z})" for name, _, z in self.sizes if z]
        return " * ".join(parts) or "1"


def cold_loads(volume: VolumeBound, operations: int, memory_words: int) -> int:
    """Words that any run from an empty memory loads, at least, if every touched word was loaded.

    Args:
        volume: bound on the operations of K words.
        operations: G, operations of the run.
        memory_words: M.

    Returns:
        The largest whole number that the closed forms of the module prove (0 if sigma is 0).
    """
    c, e, q = volume.power()
    if e == 0:
        return 0
    # The least L with U(L)^q >= G^q.
    best = ceil_root(Fraction(operations) ** q / c, e)
    if volume.sigma > 1:
        ideal = memory_words / (volume.sigma - 1)
        for t in {max(1, int(ideal)), int(ideal) + 1}:
            best = max(best, ceil_root((Fraction(t) * operations) ** q / (c * Fraction(memory_words + t) ** e), q))
    return best


def ceil_root(value: Fraction, degree: int) -> int:
    """The least whole number x >= 0 with x^degree >= value, by Newton's method on integers.

    Args:
        value: nonnegative.
        degree: at least 1.
    """
    target = -(-value.numerator // value.denominator)
    if target <= 1:
        return max(0, target)
    x = 1 << -(-target.bit_length() // degree)  # at or above the root
    while True:
        nearer = ((degree - 1) * x + target // x ** (degree - 1)) // degree
        if nearer >= x:
            break
        x = nearer
    return x if x**degree >= target else x + 1


def loads_of_semantics(workload: Workload, accumulate_loads: int) -> int:
    """Loads of the workload from loads proved for accumulating outputs, at least compulsory ones.

    A run that creates outputs in fast memory becomes an accumulating one by one load per output
    word, hence the subtraction under `assign`.
    """
    created = output_words(workload) if workload.semantics is Semantics.ASSIGN else 0
    return max(accumulate_loads - created, compulsory_loads(workload))


def strongest(
    method: str, workload: Workload, memory_words: int, volumes: Sequence[VolumeBound], assumptions: Sequence[str]
) -> LowerBound:
    """The best closed-form bound over several volume bounds and compulsory traffic.

    Args:
        method: name to report.
        workload: the computation.
        memory_words: fast memory, in words.
        volumes: valid for the workload.
        assumptions: what they take for granted, besides the memory model.
    """
    ranked = [(cold_loads(v, workload.operations, memory_words), v) for v in volumes]
    accumulate, volume = max(ranked, key=lambda pair: pair[0], default=(0, VolumeBound(tensors=())))
    loads = loads_of_semantics(workload, accumulate)
    assign = workload.semantics is Semantics.ASSIGN
    won = loads > compulsory_loads(workload)
    less = f" - |{workload.output.name}|" if assign else ""
    return LowerBound(
        method=method,
        loads_words=loads,
        stores_words=output_words(workload),
        exponents=volume.exponents() if won else {},
        expression=f"max_T T*G/U(M+T){less}, U(K) = {volume}" if won else "compulsory",
        assumptions=(COLD_START, OUTPUTS_CREATED if assign else OUTPUTS_LOADED, *assumptions),
    )
