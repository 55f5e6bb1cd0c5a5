"""The tiling LPs written out again from their sources, and random parameters whose logarithms are whole numbers.

Shares nothing with the closed form: rows are made from the statement's subscripts (LP 3.2.1) or written down by hand
(LP 4.2.1), the optimum comes from `solve_exact`, whose answers carry a proof by duality.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from optmap.errors import CheckError
from optmap.gap.regimes import Regimes
from optmap.solvers import linear_program, solve_exact

Point = tuple[int, ...]
"""Logarithm of every parameter."""
Rows = tuple[tuple[str, ...], ...]
"""Names of the dims and digits whose product must fit, per row."""

PROJECTIVE = {
    "matmul": "C[i,j] += A[i,k] * B[k,j]",
    "batched matmul": "C[b,i,j] += A[b,i,k] * B[b,k,j]",
    "1x1 convolution": "O[n,k,h,w] += I[n,c,h,w] * F[k,c]",
    "ttm": "O[i,j,r] += X[i,j,k] * U[k,r]",
    "mttkrp": "O[i,r] += X[i,j,k] * B[j,r] * C[k,r]",
    "mttkrp of 4 modes": "O[i,r] += X[i,j,k,l] * B[j,r] * C[k,r] * D[l,r]",
    "7 dims": "O[a,b,c] += X[a,d,e] * Y[b,e,f] * Z[c,f,g]",
    "matrix chain": "O[a,d] += A[a,b] * B[b,c] * C[c,d]",
    "gram": "C[i,j] += A[i,k] * A[j,k]",
}
"""Statements with one dim per subscript."""
LIFTED = {
    "1d convolution": (
        "O[n,k,w] += I[n,c,w+r] * F[k,c,r]",
        ("n k w", "k c r", "n c w", "n c r"),
    ),
    "depthwise": (
        "O[n,c,h,w] += I[n,c,h+r,w+s] * F[c,r,s]",
        ("n c h w", "c r s", "n c h w", "n c h s", "n c r w", "n c r s"),
    ),
    "strided 1d": (
        "O[n,k,w] += I[n,c,2*w+r] * F[k,c,r]",
        ("n k w", "k c r_high r_low", "n c w r_low", "n c r_high r_low"),
    ),
    "2d convolution": (
        "O[n,k,h,w] += I[n,c,h+r,w+s] * F[k,c,r,s]",
        ("n k h w", "k c r s", "n c h w", "n c h s", "n c r w", "n c r s"),
    ),
    "strided 2d": (
        "O[n,k,h,w] += I[n,c,2*h+r,2*w+s] * F[k,c,r,s]",
        (
            "n k h w",
            "k c r_high r_low s_high s_low",
            "n c h w r_low s_low",
            "n c h s_high r_low s_low",
            "n c r_high w r_low s_low",
            "n c r_high s_high r_low s_low",
        ),
    ),
}
"""Statements with windows, and the products that must fit (LP 4.2.1)."""


def supports(name: str) -> tuple[str, Rows]:
    """A statement and its products that must fit, as names of dims and digits."""
    if name in LIFTED:
        text, rows = LIFTED[name]
        return text, tuple(tuple(row.split()) for row in rows)
    text = PROJECTIVE[name]
    groups = [part.split("]")[0] for part in text.split("[")[1:]]
    return text, tuple(tuple(group.split(",")) for group in groups)


def dims_of(text: str) -> list[str]:
    """Dims of a statement: its small letters."""
    return sorted({c for c in text if c.islower()})


def random_point(rng: random.Random, count: int) -> Point:
    """Logarithms of a memory and of extents, often small, equal or zero, so that borders are met."""
    if rng.random() < 0.5:
        return tuple(rng.randint(1, 10**6) for _ in range(count + 1))
    top = rng.choice([3, 12, 60])
    return (rng.randint(0, 2 * top), *(rng.choice([0, rng.randint(0, top), rng.randint(0, top)]) for _ in range(count)))


def largest_tile(rows: Rows, names: tuple[str, ...], rooms: Sequence[int], limits: Sequence[int]) -> Fraction:
    """The logarithm of the operations of the largest tile: the LP itself, proved optimal."""
    program = linear_program(
        [-1] * len(names),
        [[int(name in row) for name in names] for row in rows],
        row_upper=list(rooms),
        upper=list(limits),
    )
    found = solve_exact(program)
    if found.objective is None:
        raise CheckError("a tiling LP always has an optimum")
    return -found.objective


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What a closed form says at a point."""

    cones: int
    """That hold the point."""
    inside: int
    """Of them, with the point on no facet: no border with another cone, nor of the domain."""


def agree(answer: Regimes, rows: Rows, point: Point, heavy: Sequence[int] | None = None) -> Agreement:
    """Hold a closed form against the LP at a point, exactly.

    Args:
        answer: the closed form.
        rows: products that must fit.
        point: of all parameters.
        heavy: logarithm of the words per element per row; all 0 if left out.

    Raises:
        AssertionError: where they differ.
    """
    names = tuple(digit.name for digit in answer.tiling.digits)
    limits = point[1 : 1 + len(names)]
    rooms = [point[0] - words for words in heavy or [0] * len(rows)]
    best = largest_tile(rows, names, rooms, limits)
    values = [_at(regime.volume, point) for regime in answer.regimes]
    assert min(values) == best
    cones = inside = 0
    for regime, value in zip(answer.regimes, values, strict=True):
        held = all(_at(facet, point) >= 0 for facet in regime.cone.facets)
        assert held == (value == best)
        tiles = [tile for tile in regime.tiles if all(_at(facet, point) >= 0 for facet in tile.cone.facets)]
        assert bool(tiles) == held
        for tile in tiles:
            sizes = {name: _at(powers, point) for name, powers in zip(names, tile.vertex, strict=True)}
            assert sum(sizes.values()) == best
            assert all(0 <= size <= limit for size, limit in zip(sizes.values(), limits, strict=True))
            assert all(sum(sizes[name] for name in row) <= room for row, room in zip(rows, rooms, strict=True))
            inside += all(_at(facet, point) > 0 for facet in tile.cone.facets)
        cones += len(tiles)
    assert cones >= 1
    assert not inside or cones == 1
    return Agreement(cones=cones, inside=inside)


def _at(powers: tuple[Fraction | int, ...], point: Point) -> Fraction:
    return Fraction(sum(p * x for p, x in zip(powers, point, strict=True) if p))
