"""The product of a random matrix that can be generated again: cost bound and tilings that attain it.

`R[d,n] += S[d,m] * A[m,n]` with S from a pseudorandom generator: an element of S comes into fast
memory for a cost h instead of a load. Costs are counted in loads; stores are kept apart.
Source: Dinh's dissertation, chapter 5 (Theorem 22, Algorithm 10).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from optmap.errors import InfeasibleError, InputError
from optmap.problem.workload import Semantics

PRECISION = 10**6
"""Square roots are rounded down to multiples of 1/PRECISION."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedProduct:
    """The problem: sizes, memory and the cost of generating one element again."""

    d: int
    """Rows of S and of the result."""
    m: int
    """Columns of S, rows of A: reduced."""
    n: int
    """Columns of A and of the result."""
    memory_words: int
    """Fast memory M, in words (elements)."""
    cost: Fraction
    """Cost h of generating one element of S, in loads; above 0."""
    semantics: Semantics = Semantics.ASSIGN
    """`assign`: results start as zeros in fast memory, as in the source; `accumulate`: they are loaded."""

    def __post_init__(self) -> None:
        for name in ("d", "m", "n", "memory_words"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"randomized product: {name} is {value!r}; use a whole number of 1 or more")
        if not isinstance(self.cost, Fraction) or self.cost <= 0:
            raise InputError(f"randomized product: cost is {self.cost!r}; use a Fraction above 0")

    @property
    def operations(self) -> int:
        """Multiply-accumulates."""
        return self.d * self.m * self.n

    @property
    def cheap(self) -> bool:
        """Whether h < 1/M: generating is so cheap that only A and the result matter."""
        return self.cost * self.memory_words < 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedBound:
    """Load cost of every schedule, at least."""

    cost: Fraction
    """The largest of the terms, in loads."""
    stores_words: int
    """Every element of the result is stored."""
    terms: tuple[tuple[str, Fraction], ...]
    """(name, value in loads) of each term: the two of Theorem 22 and what is touched once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedTiling:
    """A schedule: a tile of the result stays while its rank-1 updates run over m (Algorithm 10)."""

    rows: int
    """Rows of a tile of the result."""
    columns: int
    """Columns of a tile of the result."""
    loads_words: int
    """Words of A, of the result under `accumulate`, and of stored elements of S."""
    generated: int
    """Elements of S that are generated, repetitions counted."""
    stores_words: int
    """Words of the result and of S where it is kept in slow memory (h > 1)."""
    cost: Fraction
    """Loads plus h times the generated elements."""
    occupancy_words: int
    """Tile of the result, one row of A's tile and one element of S."""


def randomized_bound(problem: RandomizedProduct) -> RandomizedBound:
    """Theorem 22 with its constants, for an empty fast memory.

    Lemma 21: with h' = min(h, 1), a segment of cost T sees R + A + h'·S <= M + T + 1 elements (the
    last event may begin in the segment before), hence at most sqrt((M+1+T)^3/(27·h')) operations; the
    closed form for an empty memory with M + 1 in place of M gives 2·G·sqrt(h'/(M+1)) - 1 (the
    one event less is the -1). Ignoring S, segments see R + A <= M + T, at most (M+T)^2/4
    operations: G/M loads. If results may be created in fast memory, both lose one load per result.
    """
    created = problem.d * problem.n if problem.semantics is Semantics.ASSIGN else 0
    g, h = problem.operations, min(problem.cost, Fraction(1))
    root = _floor_sqrt(4 * h * g * g / (problem.memory_words + 1))
    touched = problem.m * problem.n + problem.cost * problem.d * problem.m + problem.d * problem.n - created
    terms = (
        ("2*d*m*n*sqrt(min(h,1)/(M+1)) - 1", root - 1 - created),
        ("d*m*n/M", Fraction(g, problem.memory_words) - created),
        ("every element once", Fraction(touched)),
    )
    return RandomizedBound(cost=max(value for _, value in terms), stores_words=problem.d * problem.n, terms=terms)


def randomized_tiling(problem: RandomizedProduct) -> RandomizedTiling:
    """The tiling that attains Theorem 22 up to its constant: sqrt(M/h) x sqrt(M·h), or M x 1 if h < 1/M.

    The source lets the current element of S live outside the memory; here it takes one word. For
    h > 1 an element of S is generated once, stored, and loaded again when it is needed again.

    Raises:
        InfeasibleError: for a memory below three words.
    """
    memory = problem.memory_words
    if memory < 3:
        raise InfeasibleError(
            f"randomized product: one element of each matrix needs 3 words, the memory holds {memory}; use 3 or more"
        )
    h = min(problem.cost, Fraction(1))
    ideal = 1 if problem.cheap else isqrt(int(memory * h))
    candidates = {min(problem.n, max(1, c)) for c in (ideal, ideal + 1)}
    # A tile that takes all rows can be wider than the ideal, one that takes all columns taller.
    candidates.add(min(problem.n, max(1, (memory - 1) // (problem.d + 1))))
    tilings = [_tiling(problem, c) for c in sorted(candidates) if 2 * c + 1 <= memory]
    return min(tilings, key=lambda t: t.cost)


def _tiling(problem: RandomizedProduct, columns: int) -> RandomizedTiling:
    d, m, n = problem.d, problem.m, problem.n
    rows = min(d, (problem.memory_words - 1 - columns) // columns)
    down, across = -(-d // rows), -(-n // columns)
    keep = problem.cost > 1 and across > 1
    generated = d * m if keep else d * m * across
    loads = m * n * down + (d * m * (across - 1) if keep else 0)
    loads += d * n if problem.semantics is Semantics.ACCUMULATE else 0
    return RandomizedTiling(
        rows=rows,
        columns=columns,
        loads_words=loads,
        generated=generated,
        stores_words=d * n + (d * m if keep else 0),
        cost=loads + problem.cost * generated,
        occupancy_words=rows * columns + columns + 1,
    )


def _floor_sqrt(value: Fraction) -> Fraction:
    """A fraction at most the square root, within 1/PRECISION of it."""
    scaled = value * PRECISION * PRECISION
    return Fraction(isqrt(scaled.numerator // scaled.denominator), PRECISION)
