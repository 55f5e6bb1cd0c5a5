"""Dinh, algorithms loop by loop, with what they do once; Problem 7, Figure 2.2.2, and the dual of (3.0.3)."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import ceil, sqrt
from random import Random

from optmap.papers.dinh.chapter3 import NESTS
from optmap.papers.items import Collected, Rows
from optmap.papers.rows import claimed, held, refuted, unreachable
from optmap.solvers.exact import linear_program, solve_exact

LOOPS, PROBLEMS, DUALS, LIFTED = Collected(), Collected(), Collected(), Collected()
Seen = Counter[tuple[int, ...]]


@LOOPS.item("Algorithms 2, 3 and 5", "Tiled loops with their tails", where="sections 2.2 and 2.2.1.1")
def tiled() -> Rows:
    """Every iteration that they do, by their loops."""
    extents, tile = (4, 5, 7), (2, 2, 3)
    once = _once(_algorithm_2(extents, tile), extents)
    whole = extents[0] * extents[1] * extents[2]
    yield claimed(f"Algorithm 2: iterations of {whole} that are done once", "all", once, holds=once == whole)
    extents, tile = (2, 2, 12), (1, 1, 6)
    once = _once(_algorithm_3(extents, tile), extents)
    whole = extents[0] * extents[1] * extents[2]
    yield refuted(
        f"Algorithm 3, T_n = 6, N = 12: iterations of {whole} that are done once",
        whole,
        once,
        counterexample="the tail has n from 4*floor(T_n/4) to T_n, without T_n*n_out before it",
        false=once < whole,
    )
    outside = sum(x >= 5 for x in _algorithm_5(5, 2))
    yield refuted(
        "Algorithm 5, L = 5, T = 2: iterations outside the loop bound",
        0,
        outside,
        counterexample="it breaks where x_i > L_i, and x_i = L_i is outside [0, L_i) already",
        false=outside > 0,
    )


def _once(seen: Seen, extents: tuple[int, ...]) -> int:
    return sum(seen[point] == 1 for point in product(*map(range, extents)))


def _algorithm_2(extents: tuple[int, int, int], tile: tuple[int, int, int]) -> Seen:
    """As printed; m has no tail."""
    (m_all, k_all, n_all), (m_tile, k_tile, n_tile) = extents, tile
    seen = Seen()
    for m_out in range(m_all // m_tile):
        rows = range(m_tile * m_out, m_tile * (m_out + 1))
        for k_out in range(k_all // k_tile):
            inner = range(k_tile * k_out, k_tile * (k_out + 1))
            for n_out in range(n_all // n_tile):
                seen.update(product(rows, inner, range(n_tile * n_out, n_tile * (n_out + 1))))
            seen.update(product(rows, inner, range(n_all // n_tile * n_tile, n_all)))
        tail = range(k_all // k_tile * k_tile, k_all)
        for n_out in range(n_all // n_tile):
            seen.update(product(rows, tail, range(n_tile * n_out, n_tile * (n_out + 1))))
        seen.update(product(rows, tail, range(n_all // n_tile * n_tile, n_all)))
    return seen


def _algorithm_3(extents: tuple[int, int, int], tile: tuple[int, int, int]) -> Seen:
    """As printed, with vectors of four."""
    (m_all, k_all, n_all), (m_tile, k_tile, n_tile) = extents, tile
    seen = Seen()
    for m_out, k_out, n_out in product(range(m_all // m_tile), range(k_all // k_tile), range(n_all // n_tile)):
        for m_in, k_in in product(range(m_tile), range(k_tile)):
            m, k = m_tile * m_out + m_in, k_tile * k_out + k_in
            for n_in in range(n_tile // 4):
                first = n_tile * n_out + 4 * n_in
                seen.update((m, k, n) for n in range(first, first + 4))
            seen.update((m, k, n) for n in range(4 * (n_tile // 4), n_tile))
    return seen


def _algorithm_5(extent: int, tile: int) -> list[int]:
    """Iterations along one axis, as printed."""
    found = list[int]()
    for outer in range(ceil(Fraction(extent, tile))):
        for inner in range(tile):
            x = tile * outer + inner
            if x > extent:
                break
            found.append(x)
    return found


@LOOPS.item("Figure 2.2.2", "Mappings of products and convolutions", where="section 2.2.2")
def representation() -> Rows:
    """The subscript of Inputs in the six nested loops, p from 0."""
    stride = 2
    least = min((p - 1) * stride + r for p in range(4) for r in range(3))
    yield refuted(
        "least subscript of Inputs, (p - 1)*stride + r with p in [0, P), stride 2",
        0,
        least,
        counterexample="p = r = 0; p*stride + r is in the image",
        false=least < 0,
    )


@PROBLEMS.item("Problem 7", "Deciding which ranks subgroups have", where="section 2.3.3")
def problem_7() -> Rows:
    """As hard as Hilbert's tenth problem over the rationals; what is asked of the polytope is decided without it."""
    yield unreachable(
        "a decision for all ranks",
        "decides Hilbert's tenth problem over the rationals",
        why="a theorem about decidability of a cited paper; nothing to compute",
    )


@DUALS.item("Formulas (3.0.3) and (3.0.5)", "Tiles and exponents are dual", where="chapter 3")
def duality() -> Rows:
    """Both programs of four nests, in exact fractions."""
    for name, (dims, supports) in NESTS.items():
        rows = [[int(dim in support) for dim in range(dims)] for support in supports]
        tile = -(solve_exact(linear_program([-1] * dims, rows, row_upper=[1] * len(rows))).objective or Fraction(0))
        columns = [list(column) for column in zip(*rows, strict=True)]
        exponents = solve_exact(linear_program([1] * len(rows), columns, row_lower=[1] * dims)).objective
        yield claimed(
            f"{name}: log_M of the largest tile, least sum of exponents",
            "equal",
            f"{tile}, {exponents}",
            holds=tile == exponents,
        )


@LIFTED.item(
    "Formulas (4.1.7) to (4.1.10)", "Operations of a segment that the proof of Lemma 20 allows", where="section 4.1.3"
)
def multipliers() -> Rows:
    """The printed maximum beside points that use all M + T words, with precisions 1, 2, 3 and four slices."""
    words, slices, p = 3000.0, 4, (1, 2, 3)
    printed = (words / 3) ** 1.5 * sqrt(slices) / sqrt(p[0] * p[1] * p[2])
    rng, most = Random(8), 0.0
    for _ in range(5000):
        u, v, *w = (rng.expovariate(1) for _ in range(2 + slices))
        scale = words / (p[0] * u + p[2] * v + p[1] * sum(w))
        most = max(most, scale**1.5 * sqrt(u * v) * sum(map(sqrt, w)))
    yield claimed(
        "points of 5,000 above it: operations over the printed maximum",
        "<= 1",
        round(most / printed, 4),
        holds=most <= printed,
    )
    share = words / 3
    reached = sqrt(share / p[0] * share / p[2]) * slices * sqrt(share / p[1] / slices)
    yield held("operations at u, v and w as printed over that maximum", 1, reached / printed, within=1e-9)
    memory = 100
    for power, best in ((1.5, 2 * memory), (2, memory)):
        found = max(range(1, 1000), key=lambda t: t / (memory + t) ** power)
        yield held(f"T that maximizes T/(M + T)^{power:g}, M = {memory}", best, found)


@LIFTED.item("Algorithm 7", "Tiles of the lifted convolution", where="section 4.2")
def algorithm_7() -> Rows:
    """Iterations along one axis, x_w and x_r, by its loops: a step of each block, the last start as printed."""
    for taps, title in ((6, "6 taps"), (7, "7 taps")):
        seen = _lifted(8, taps, 2)
        whole = {(w, r) for w in range(8) for r in range(taps)}
        once = sum(seen[point] == 1 for point in whole)
        if taps % 2 == 0:
            yield claimed(
                f"stride 2, {title}: iterations of {len(whole)} that are done once",
                "all",
                once,
                holds=once == len(whole),
            )
        else:
            yield refuted(
                f"stride 2, {title}: iterations of {len(whole)} that are done once",
                len(whole),
                once,
                counterexample="r' ends at L_r/sigma_w - b_r' = 2.5 with blocks of 1, so that tap 6 is left out",
                false=once < len(whole),
            )


def _lifted(extent: int, taps: int, stride: int) -> Seen:
    """As printed, with blocks b_w = 2, b_r' = 1, b_r'' = 1."""
    blocks = {"w": 2, "r'": 1, "r''": 1}
    ends = {"w": Fraction(extent), "r'": Fraction(taps, stride), "r''": Fraction(stride)}
    starts = {
        dim: [y for y in range(0, ceil(ends[dim]), block) if y <= ends[dim] - block] for dim, block in blocks.items()
    }
    seen = Seen()
    for y in product(*starts.values()):
        for z in product(*map(range, blocks.values())):
            w, major, minor = (a + b for a, b in zip(y, z, strict=True))
            seen[w, stride * major + minor] += 1
    return seen
