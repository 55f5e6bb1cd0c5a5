"""Loads from fixed exponents: what the closed-form methods have in common.

U(K) bounds the operations of any set that touches at most K words. The fast memory starts empty and
every touched word was loaded, so a run is cut after the first M + T loads and then after every T.
In closed form: a run of L = M + n·T + t loads (0 <= t < T) does G <= n·U(M+T) + U(M+t) operations;
with U(K) = c·K^sigma, sigma >= 1, and y = (M+t)/(M+T) <= 1,
T·G/U(M+T) <= n·T + T·y^sigma <= n·T + (M+T)·y = L (a run of fewer than M loads does G <= U(L), and
T·(L/(M+T))^sigma <= L). Hence L >= T·G/U(M+T) for every T, best at T = M/(sigma-1), without the
subtraction of a segment that a warm memory needs. This is the printed expression; the number comes
from the same cut with whole n, T and t (`segments`), which is at least as large up to rounding.
Source: the segment argument of Dinh's dissertation, Lemmas 18 and 20, with the cold start used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from optmap.bounds.compulsory import compulsory_loads, created_words, output_words
from optmap.bounds.result import LowerBound
from optmap.bounds.segments import SegmentBound, best_segments
from optmap.workloads.padding import real_operations
from optmap.workloads.workload import Semantics, Workload

COLD_START = (
    "the fast memory starts empty, every operation is done once on words that it holds, and results end in slow memory"
)
OUTPUTS_LOADED = "outputs accumulate: their first touch is a load"
OUTPUTS_CREATED = (
    "an output word is created in fast memory at most once and loaded on later uses: "
    "the output is subtracted from the accumulating bound"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeBound:
    """U(K) = prod (S_t·K/(sigma·p_t))^S_t · prod size^z: operations that K words allow, at most.

    The product is the maximum of prod x_t^S_t subject to sum p_t·x_t <= K, x_t being the elements of
    tensor t, for exponents (S, z) in the Brascamp-Lieb polytope of the workload.
    """

    tensors: tuple[tuple[str, int, Fraction], ...]
    """(tensor, words per element p, exponent S)."""
    sizes: tuple[tuple[str, int | Fraction, Fraction], ...] = ()
    """(what is counted, its size, exponent z) of the factors that cost no memory."""

    @property
    def sigma(self) -> Fraction:
        """Sum of the tensors' exponents."""
        return sum((s for _, _, s in self.tensors), Fraction(0))

    def segment(self) -> SegmentBound:
        """U as an exact function of whole K; sigma must not be 0."""
        return SegmentBound(
            sums=tuple((s, p) for _, p, s in self.tensors if s),
            sizes=tuple((z, n) for _, n, z in self.sizes if z),
        )

    def exponents(self) -> dict[str, Fraction]:
        """Exponent per tensor and per size, as a bound reports them."""
        return {name: x for name, _, x in self.tensors} | {name: x for name, _, x in self.sizes}

    def closed_form(self) -> str:
        """The loads bound T*G/U(M+T) at its best T, as text."""
        if self.sigma > 1:
            ideal = 1 / (self.sigma - 1)
            return f"{ideal}*M*G/U({ideal + 1}*M), U(K) = {self}"
        return f"least L with U(L) >= G, U(K) = {self}"

    def __str__(self) -> str:
        held = [(name, words, s) for name, words, s in self.tensors if s]
        parts = [f"({s / (self.sigma * words)}*K)^({s})" for _, words, s in held]
        parts += [f"{name}{f'^({z})' if z != 1 else ''}" for name, _, z in self.sizes if z]
        return " * ".join(parts) or "1"


def cold_loads(volume: VolumeBound, operations: int, memory_words: int) -> int:
    """Words that any run from an empty memory loads, at least, if every touched word was loaded.

    Args:
        volume: bound on the operations of K words.
        operations: G, operations of the run.
        memory_words: M.

    Returns:
        The best of the segment argument, 0 where it says nothing.
    """
    if not volume.sigma:
        return 0
    found = best_segments(volume.segment(), memory_words, operations)
    return 0 if found is None else found.cost_units


def loads_of_semantics(workload: Workload, accumulate_loads: int) -> int:
    """Loads of the workload from loads proved for accumulating outputs, at least compulsory ones.

    Words that are created, not loaded, are subtracted.
    """
    return max(accumulate_loads - created_words(workload), compulsory_loads(workload))


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
    ranked = [(cold_loads(v, real_operations(workload), memory_words), v) for v in volumes]
    accumulate, volume = max(ranked, key=lambda pair: pair[0], default=(0, VolumeBound(tensors=())))
    loads = loads_of_semantics(workload, accumulate)
    assign = workload.semantics is Semantics.ASSIGN
    won = loads > compulsory_loads(workload)
    less = f", less |{workload.output.name}|" if assign else ""
    return LowerBound(
        method=method,
        loads_words=loads,
        stores_words=output_words(workload),
        exponents=volume.exponents() if won else {},
        expression=f"max(every touched word once, {volume.closed_form()}{less})",
        assumptions=(COLD_START, OUTPUTS_CREATED if assign else OUTPUTS_LOADED, *assumptions),
    )
