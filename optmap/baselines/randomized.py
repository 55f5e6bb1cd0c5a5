"""The product of a random matrix that can be generated again: cost bound and tilings that attain it.

`R[d,n] += S[d,m] * A[m,n]` with S from a pseudorandom generator: an element of S comes into fast
memory for a cost h instead of a load. Costs are counted in loads; stores are kept apart.
Source: Dinh's dissertation, chapter 5 (Theorem 22, Algorithm 10).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import ClassVar

from optmap.base.errors import InfeasibleError, InputError
from optmap.base.shown import Concise, Shown
from optmap.base.values import positive_fraction
from optmap.bounds.roots import floor_sqrt
from optmap.files.inputs import capacity_of
from optmap.workloads.workload import Semantics, Workload

NEARBY = 4
"""Tiles along a side, more or fewer than with the ideal shape, that are tried."""
EXPRESSION = "R[d,n] = S[d,m] * A[m,n]"
"""The statement; S is the matrix that can be generated again."""


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
class RandomizedBound(Concise):
    """Load cost of every schedule, at least."""

    cost: Fraction
    """The largest of the terms, in loads."""
    stores_words: int
    """Every element of the result is stored."""
    terms: tuple[tuple[str, Fraction], ...]
    """(name, value in loads): the terms of Theorem 22, with what every element of S costs, and what is touched once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedTiling(Concise):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedComparison(Shown):
    """A randomized product: what every schedule costs, and a tiling beside it."""

    shown_as: ClassVar[str] = "randomized"
    workload: Workload
    """The product as a statement."""
    problem: RandomizedProduct
    bound: RandomizedBound
    tiling: RandomizedTiling

    @property
    def gap(self) -> float:
        """Cost of the tiling over the bound, minus 1."""
        return float(self.tiling.cost / self.bound.cost - 1)


def compare_randomized(workload: Workload, memory: object, cost: object) -> RandomizedComparison:
    """Bound and tiling of a product whose matrix S can be generated again.

    Args:
        workload: the statement `EXPRESSION` with its extents, in either semantics.
        memory: capacity of the fast memory.
        cost: cost of generating an element of S, in loads: `1/10`, `0.1` or a number.

    Raises:
        InputError: for a capacity or a cost that cannot be read.
        InfeasibleError: for a memory below three words.
    """
    problem = RandomizedProduct(
        **workload.extents,
        memory_words=capacity_of(memory).words(workload.word_bits),
        cost=positive_fraction(cost, "cost"),
        semantics=workload.semantics,
    )
    return RandomizedComparison(
        workload=workload,
        problem=problem,
        bound=randomized_bound(problem),
        tiling=randomized_tiling(problem),
    )


def randomized_bound(problem: RandomizedProduct) -> RandomizedBound:
    """Theorem 22 with its constants, for an empty fast memory.

    Lemma 21: with h' = min(h, 1), a segment of cost T sees R + A + h'·S <= M + T + 1 elements (the
    last event may begin in the segment before), hence at most sqrt((M+1+T)^3/(27·h')) operations; the
    closed form for an empty memory with M + 1 in place of M gives 2·G·sqrt(h'/(M+1)) - 1 (the
    one event less is the -1). For h > 1 the d·m elements of S, each generated once at least, cost h - 1
    more. Ignoring S, segments see R + A <= M + T, at most (M+T)^2/4 operations: G/M loads of A and
    results, beside h for each element of S. Results that may be created in fast memory take one load
    per result off both.
    """
    d, m, n, h = problem.d, problem.m, problem.n, problem.cost
    assign = problem.semantics is Semantics.ASSIGN
    created, less = (d * n, " - d*n") if assign else (0, "")
    g = problem.operations
    root = floor_sqrt(4 * min(h, Fraction(1)) * g * g / (problem.memory_words + 1))
    dear = " + (h-1)*d*m" if h > 1 else ""
    terms = (
        (f"2*d*m*n*sqrt(min(h,1)/(M+1)) - 1{dear}{less}", root - 1 + max(h - 1, Fraction(0)) * d * m - created),
        (f"d*m*n/M + h*d*m{less}", Fraction(g, problem.memory_words) + h * d * m - created),
        ("every element once", m * n + h * d * m + d * n - created),
    )
    return RandomizedBound(cost=max(value for _, value in terms), stores_words=d * n, terms=terms)


def randomized_tiling(problem: RandomizedProduct) -> RandomizedTiling:
    """The tiling that attains Theorem 22 up to its constant: about sqrt(M/h) x sqrt(M·h), or M x 1 if h < 1/M.

    The source lets the current element of S live outside the memory; here it takes one word. Ragged tiles cost as
    much as whole ones, hence the cheapest of the shapes that cut a side into about as many tiles. For h > 1 an
    element of S is generated once, stored, and loaded again when it is needed again.

    Raises:
        InfeasibleError: for a memory below three words.
    """
    memory = problem.memory_words
    if memory < 3:
        raise InfeasibleError(
            f"randomized product: one element of each matrix needs 3 words, the memory holds {memory}; use 3 or more"
        )
    return min((_tiling(problem, columns) for columns in _widths(problem)), key=lambda t: t.cost)


def _widths(problem: RandomizedProduct) -> list[int]:
    """Columns of tiles worth counting: the ideal ones, and those that cut a side into a few tiles more or fewer."""
    most = min(problem.n, (problem.memory_words - 1) // 2)
    ideal = 1 if problem.cheap else isqrt(int(problem.memory_words * min(problem.cost, Fraction(1))))
    ideal = min(most, max(1, ideal))
    across, down = -(-problem.n // ideal), -(-problem.d // _rows(problem, ideal))
    widths = {ideal, *(-(-problem.n // tiles) for tiles in range(max(1, across - NEARBY), across + NEARBY + 1))}
    for tiles in (1, *range(max(1, down - NEARBY), down + NEARBY + 1)):
        widths.add((problem.memory_words - 1) // (-(-problem.d // tiles) + 1))
    return sorted({min(most, max(1, width)) for width in widths})


def _rows(problem: RandomizedProduct, columns: int) -> int:
    """Rows of a tile of so many columns that fits beside a row of A's tile and an element of S."""
    return min(problem.d, (problem.memory_words - 1 - columns) // columns)


def _tiling(problem: RandomizedProduct, columns: int) -> RandomizedTiling:
    d, m, n = problem.d, problem.m, problem.n
    rows = _rows(problem, columns)
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
