"""Dinh, chapter 3: projective nests with small loop bounds, in exact fractions; beta is log_M of a loop bound."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, combinations, product
from math import log

import numpy as np

from optmap.api import bound
from optmap.papers.counting import PRODUCT
from optmap.papers.dinh.chapter2 import PROJECTIONS
from optmap.papers.exponents import least_sum, unit_rows
from optmap.papers.items import Collected, Rows
from optmap.papers.rows import claimed, refuted
from optmap.programs.loglp_face import projective_face
from optmap.solvers.exact import linear_program, solve_exact
from optmap.workloads.parser import parse_workload

CHAPTER3 = Collected()
Supports = Sequence[Sequence[int]]
MATMUL: Supports = tuple(PROJECTIONS.values())
NESTS: dict[str, tuple[int, Supports]] = {
    "matrix product": (3, MATMUL),
    "tensor contraction": (4, ((0, 1, 3), (0, 2), (2, 1, 3))),
    "n-body": (2, ((0,), (1,))),
    "MTTKRP": (4, ((0, 3), (0, 1, 2), (1, 3), (2, 3))),
}
BETAS = tuple(Fraction(n, 10) for n in (0, 2, 3, 5, 8, 10, 15))


def tile(dims: int, supports: Supports, betas: Sequence[Fraction]) -> Fraction:
    """Log of the operations of the best tile, (3.2.1): each tensor's part within M, no dim beyond its bound."""
    rows = [[int(dim in support) for dim in range(dims)] for support in supports]
    found = solve_exact(linear_program([-1] * dims, rows, row_upper=[1] * len(rows), upper=list(betas)))
    return -(found.objective or Fraction(0))


def subset_bound(dims: int, supports: Supports, betas: Sequence[Fraction], small: Sequence[int]) -> Fraction:
    """Theorem 13 for one set of small dims: the least over all exponents of the rows that are left."""
    tensors, width = len(supports), len(supports) + len(small)
    cost = [Fraction(1)] * tensors + [betas[dim] for dim in small]
    rows = [
        [int(dim in support) for support in supports] + [int(other == dim) for other in small] for dim in range(dims)
    ]
    found = solve_exact(linear_program(cost, rows, row_lower=[1] * dims, lower=[0] * width))
    return found.objective or Fraction(0)


@CHAPTER3.item("Theorem 11", "Rank conditions of projective nests: the unit vectors are enough", where="chapter 3")
def unit_vectors() -> Rows:
    """The optimum over the whole lattice beside that of (3.0.3), on random nests."""
    rng, wrong, seen = np.random.default_rng(3), 0, 0
    while seen < 60:
        dims = int(rng.integers(2, 5))
        supports = [tuple(np.flatnonzero(rng.integers(0, 2, dims)).tolist()) for _ in range(int(rng.integers(2, 5)))]
        if any(not own for own in supports) or set(chain(*supports)) != set(range(dims)):
            continue
        seen += 1
        rows = [[int(dim in own) for own in supports] for dim in range(dims)]
        simple = solve_exact(linear_program([1] * len(supports), rows, row_lower=[1] * dims)).objective
        wrong += least_sum([unit_rows(own, dims) for own in supports], dims)[0] != simple
    yield claimed(f"random nests of {seen} with another optimum", 0, wrong, holds=not wrong)


@CHAPTER3.item("Theorem 13", "Upper bounds on a tile, one per set of small dims", where="section 3.1.2")
def subsets() -> Rows:
    """The 2^d bounds of a product with beta = 3/10, 1/2 and 2; no tile is larger than any of them."""
    betas = (Fraction(3, 10), Fraction(1, 2), Fraction(2))
    best = tile(3, MATMUL, betas)
    for small in chain.from_iterable(combinations(range(3), size) for size in range(4)):
        found = subset_bound(3, MATMUL, betas, small)
        name = ", ".join(f"L{dim + 1}" for dim in small) or "none"
        yield claimed(f"small: {name}; log_M of the bound", f">= {best}", str(found), holds=found >= best)


@CHAPTER3.item("Theorem 14", "The best tile attains one of the bounds", where="section 3.2")
def attained() -> Rows:
    """Over a grid of loop bounds, in exact fractions."""
    for name, (dims, supports) in NESTS.items():
        every = [tuple(c) for size in range(dims + 1) for c in combinations(range(dims), size)]
        grid = list(product(BETAS, repeat=dims))[:: 1 if dims < 4 else 23]
        wrong = sum(
            tile(dims, supports, betas) != min(subset_bound(dims, supports, betas, small) for small in every)
            for betas in grid
        )
        yield claimed(f"{name}: of {len(grid)} loop bounds, those where it does not", 0, wrong, holds=not wrong)


@CHAPTER3.item("Section 3.2.3", "Which rows of (3.0.4) are left out", where="section 3.2")
def rows_left() -> Rows:
    """With the rows of Q kept, and the others left out, the exponents prove a tile smaller than one that fits."""
    betas = (Fraction(1, 5), Fraction(2), Fraction(2))
    kept = solve_exact(linear_program([1] * 3, [[1, 0, 1]], row_lower=[1])).objective or Fraction(0)
    best = tile(3, MATMUL, betas)
    yield refuted(
        "log_M of the tile's bound, Q = {1}, with the rows in Q",
        f">= {best}",
        str(kept),
        counterexample=f"a tile of M^({best}) operations fits",
        false=kept < best,
    )


@CHAPTER3.item("Section 3.3.1", "Matrix product with a small loop bound", where="section 3.3.1")
def matrix_product() -> Rows:
    """Optima, the family of optimal tiles, and the closed form of the communication."""
    for beta, printed in ((Fraction(2), "3/2"), (Fraction(1, 2), "3/2"), (Fraction(3, 10), "13/10")):
        found = tile(3, MATMUL, (Fraction(3), Fraction(3), beta))
        yield claimed(f"optimum of (3.3.3), beta_3 = {beta}", printed, str(found), holds=str(found) == printed)
    beta = Fraction(3, 10)
    inside = all(_fits(_family(Fraction(n, 10), beta), beta) for n in range(11))
    yield claimed("tiles of the family for 0 <= alpha <= 1 that fit", "all", "all" if inside else "some", holds=inside)
    outside = _family(Fraction(-1), beta)
    yield refuted(
        "tiles of the family for any alpha <= 1",
        "optimal",
        "does not fit" if not _fits(outside, beta) else "fits",
        counterexample=f"alpha = -1, beta_3 = 3/10: lambda = {', '.join(map(str, outside))}",
        false=not _fits(outside, beta),
    )
    memory = 4096
    for extents in ((512, 512, 512), (512, 512, 16), (2048, 64, 8)):
        words = bound(
            PRODUCT, extents=dict(zip("ijk", extents, strict=True)), memory=f"{memory}w", methods="projective"
        )
        i, j, k = extents
        closed = max(i * j * k / memory**0.5, i * j, j * k, i * k)
        ratio = words.outermost.best.loads_words / closed
        yield claimed(
            f"bound over the closed form, {i} x {j} x {k}, M = {memory}",
            "constant",
            round(ratio, 3),
            holds=1 <= ratio <= 3,
        )


def _family(alpha: Fraction, beta: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """Exponents of a tile of the family of section 3.3.1."""
    return (alpha / 2 + (1 - alpha) * (1 - beta), alpha / 2 + (1 - alpha) * beta, beta)


def _fits(tile_of: Sequence[Fraction], beta: Fraction) -> bool:
    """Whether exponents meet (3.3.3) and reach its optimum."""
    first, second, third = tile_of
    pairs = (first + third, first + second, second + third)
    return min(tile_of) >= 0 and max(pairs) <= 1 and third <= beta and sum(tile_of) == 1 + beta


@CHAPTER3.item("Section 3.3.2", "Tensor contraction: the optimum is 3/2 or 1 + the least group", where="section 3.3.2")
def contraction() -> Rows:
    """Right where the other two groups reach 1 together, and false where all three are small."""
    wrong, seen = 0, 0
    for betas in product(BETAS, repeat=3):
        printed = min(Fraction(3, 2), 1 + min(betas))
        small = sum(sorted(betas)[1:]) < 1
        seen += not small
        wrong += not small and tile(3, MATMUL, betas) != printed
    yield claimed(f"of {seen} groups, two of which reach 1 together: other optima", 0, wrong, holds=not wrong)
    betas = (Fraction(3, 10),) * 3
    found = tile(3, MATMUL, betas)
    yield refuted(
        "optimum with beta = 3/10 of each group",
        1.3,
        float(found),
        counterexample=f"the program is {found}",
        false=found != Fraction(13, 10),
    )


@CHAPTER3.item("Section 3.3.3", "n-body: tile and communication", where="section 3.3.3")
def pairs() -> Rows:
    """The tile is right; the communication is the largest of the four terms, where the least is printed."""
    wrong = sum(
        tile(2, ((0,), (1,)), (a, b)) != min(Fraction(2), a + 1, b + 1, a + b) for a, b in product(BETAS, repeat=2)
    )
    yield claimed("loop bounds where the tile is another", 0, wrong, holds=not wrong)
    extent, memory = 1000, 10
    terms = (extent * extent // memory, extent, extent, memory)
    workload = parse_workload("F[i] += P[i]*Q[j]", {"i": extent, "j": extent})
    least = bound(workload, memory=f"{memory}w", methods="best").outermost.best.loads_words
    yield refuted(
        f"words moved, L1 = L2 = {extent}, M = {memory}",
        f"at most {min(terms)}",
        least,
        counterexample=f"every schedule loads {least:,} words or more; the terms are {', '.join(map(str, terms))}",
        false=least > min(terms),
    )


@CHAPTER3.item("Lemma 12", "One small index", where="section 3.1.1")
def one_small() -> Rows:
    """The exponent kappa of a product beside the largest tile, for every beta of the grid."""
    wrong = 0
    for beta in BETAS:
        kappa = min(subset_bound(3, MATMUL, (beta, Fraction(9), Fraction(9)), small) for small in ((), (0,)))
        wrong += tile(3, MATMUL, (beta, Fraction(9), Fraction(9))) > kappa
    yield claimed("loop bounds with a larger tile", 0, wrong, holds=not wrong)
    workload = parse_workload(PRODUCT, {"i": 512, "j": 512, "k": 8})
    found = log(projective_face(workload, 1024, limit=1).volume) / log(1024)
    yield claimed(
        "log_M of the tile of 512 x 512 x 8, M = 1,024", "1.3", round(found, 6), holds=abs(found - 1.3) < 1e-9
    )
