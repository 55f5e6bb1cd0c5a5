"""The tiling LPs written out again from their sources, and random parameters whose logarithms are whole numbers.

Shares nothing with the closed form: rows are made from the statement's subscripts (LP 3.2.1) or written down by hand
(LP 4.2.1), the optimum comes from all vertices of the dual, enumerated in fractions.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from optmap.answers.closed_forms.regimes import Regimes
from optmap.solvers import cone

Row = tuple[int, ...]
"""A linear form, or a point."""

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


def random_points(rng: random.Random, parameters: int, count: int) -> NDArray[np.int64]:
    """Logarithms of a memory and of extents, one point a row: half of them any, half small, equal or 0, on borders."""
    points = []
    for _ in range(count):
        if rng.random() < 0.5:
            points.append([rng.randint(1, 10**6) for _ in range(parameters)])
            continue
        top = rng.choice([3, 12, 60])
        extents = [rng.choice([0, rng.randint(0, top), rng.randint(0, top)]) for _ in range(parameters - 1)]
        points.append([rng.randint(0, 2 * top), *extents])
    return np.array(points, dtype=np.int64).reshape(count, parameters)


def dual_vertices(rows: Rows, names: Sequence[str]) -> set[tuple[Fraction, ...]]:
    """What bounds the largest tile: (y per row, z per name) at every vertex that can be optimal, by enumeration.

    The dual minimises sum y·room + sum z·limit with z = max(0, 1 - sum of y over the rows that hold the name): a
    function of y >= 0 alone, linear between the planes y = 0 and sum y = 1. Its minimum is where as many of them meet
    as there are rows, and everywhere else it is a bound as well.
    """
    height = len(rows)
    planes = [([Fraction(i == k) for k in range(height)], Fraction(0)) for i in range(height)]
    planes += [([Fraction(name in row) for row in rows], Fraction(1)) for name in names]
    found = set()
    for chosen in itertools.combinations(planes, height):
        y = _meeting([[*left, right] for left, right in chosen])
        if y is not None and min(y) >= 0:
            held = [sum((x for x, row in zip(y, rows, strict=True) if name in row), Fraction(0)) for name in names]
            found.add((*y, *(max(Fraction(0), 1 - x) for x in held)))
    return found


def _meeting(planes: list[list[Fraction]]) -> list[Fraction] | None:
    """The only common point of as many planes as coordinates; None if it is not the only one, or there is none."""
    for column in range(len(planes)):
        pivot = next((i for i in range(column, len(planes)) if planes[i][column]), None)
        if pivot is None:
            return None
        planes[column], planes[pivot] = planes[pivot], planes[column]
        lead = [x / planes[column][column] for x in planes[column]]
        planes[column] = lead
        for i, row in enumerate(planes):
            if i != column and row[column]:
                planes[i] = [x - row[column] * p for x, p in zip(row, lead, strict=True)]
    return [row[-1] for row in planes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Points at which a closed form was held against the LP."""

    points: int
    """All."""
    inside: int
    """On no border of a cone."""
    shared: int
    """In several cones."""


def agree(answer: Regimes, rows: Rows, points: NDArray[np.int64], heavy: Sequence[int] | None = None) -> Agreement:
    """Hold a closed form against the LP at points, exactly: everything is multiplied by one common denominator.

    Args:
        answer: the closed form.
        rows: products that must fit.
        points: a row per point, a column per parameter.
        heavy: logarithm of the words per element per row; all 0 if left out.

    Raises:
        AssertionError: where they differ.
    """
    names = [digit.name for digit in answer.tiling.digits]
    limits = points[:, 1 : 1 + len(names)].T
    rooms = points[:, 0] - np.array(heavy or [0] * len(rows), dtype=np.int64)[:, None]
    duals = dual_vertices(rows, names)
    whole = lcm(*(x.denominator for y in duals for x in y))
    vertices = [powers for regime in answer.regimes for tile in regime.tiles for powers in tile.vertex]
    whole = lcm(whole, *(x.denominator for powers in vertices for x in powers))
    best = (_integers(duals, whole) @ np.concatenate([rooms, limits])).min(axis=0)
    values = _integers([regime.volume for regime in answer.regimes], whole) @ points.T
    assert (values.min(axis=0) == best).all()
    cones, inside = np.zeros(len(points), dtype=int), np.zeros(len(points), dtype=int)
    for regime, value in zip(answer.regimes, values, strict=True):
        here = (_integers(regime.cone.facets) @ points.T >= 0).all(axis=0)
        assert (here == (value == best)).all()
        covered = np.zeros(len(points), dtype=bool)
        for tile in regime.tiles:
            levels = _integers(tile.cone.facets) @ points.T
            held = (levels >= 0).all(axis=0)
            sizes = (_integers(tile.vertex, whole) @ points.T)[:, held]
            assert (sizes.sum(axis=0) == best[held]).all()
            assert (sizes >= 0).all()
            assert (sizes <= whole * limits[:, held]).all()
            within = np.array([[name in row for name in names] for row in rows], dtype=np.int64)
            assert (within @ sizes <= whole * rooms[:, held]).all()
            cones += held
            inside += (levels > 0).all(axis=0)
            covered |= held
        assert (covered == here).all()
    assert (cones >= 1).all()
    assert (cones[inside > 0] == 1).all()
    return Agreement(points=len(points), inside=int((inside > 0).sum()), shared=int((cones > 1).sum()))


def proved_cover(answer: Regimes) -> int:
    """Prove that the cones of all tiles share borders only, cover the domain, and lie in their regimes.

    Two cones without common interior points have an intersection without interior. Whoever leaves a cone across a facet
    inside the domain enters another one that has the same facet, whole: so what is covered has no border inside the
    domain, which is convex, and is all of it.

    Returns:
        How many cones there are.

    Raises:
        AssertionError: if it is not so.
    """
    cones = [tile.cone for regime in answer.regimes for tile in regime.tiles]
    for one, other in itertools.combinations(cones, 2):
        assert cone(len(answer.names), [*one.facets, *other.facets]) is None
    sides: set[tuple[Row, frozenset[Row]]] = set()
    for each in cones:
        for facet in each.facets:
            side = facet, frozenset(ray for ray in each.rays if not _level(facet, ray))
            assert side not in sides
            sides.add(side)
    for facet, rays in sides:
        assert facet in answer.domain.facets or (tuple(-x for x in facet), rays) in sides
    for regime in answer.regimes:
        for tile in regime.tiles:
            assert all(_level(facet, ray) >= 0 for facet in regime.cone.facets for ray in tile.cone.rays)
    return len(cones)


def _level(row: Row, point: Row) -> int:
    return sum(a * b for a, b in zip(row, point, strict=True))


def _integers(rows: Iterable[Sequence[Fraction | int]], factor: int = 1) -> NDArray[np.int64]:
    """A matrix times a common denominator; exact, as entries are small."""
    return np.array([[int(x * factor) for x in row] for row in rows], dtype=np.int64)
