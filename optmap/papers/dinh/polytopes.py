"""Dinh, section 4.2: Algorithm 8 as printed, whose random points and cuts decide how many polytopes it ends with."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence

from optmap.answers.closed_forms.regimes import Regime, Regimes, regimes_of
from optmap.base.errors import CheckError
from optmap.papers.items import Collected, Rows
from optmap.papers.rows import claimed
from optmap.solvers.cones import Cone, Row, cone, dot
from optmap.workloads.parser import parse_workload

POLYTOPES = Collected()
SEEDS = 6
"""Runs of Algorithm 8."""
POINTS = 300
GRAIN = 10**6
"""Weights of random points are whole numbers up to it."""


@POLYTOPES.item("Algorithm 8", "Blocks as a piecewise function of the loop bounds", where="section 4.2")
def algorithm_8() -> Rows:
    """With loop bounds and strides as parameters, at most as many steps of the filter as there are outputs."""
    text = "Out[n,k,h,w] += In[n,c,2*h+r,2*w+s]*Ker[k,c,r,s]"  # any stride: its logarithm is a parameter
    found = regimes_of(parse_workload(text, dict.fromkeys("nkchwrs", 4)))
    valid = within_image(found)
    cells = [tile.cone for regime in found.regimes for tile in regime.tiles]
    counts = sorted(len(disjoint_polytopes(cells, found.domain, valid, seed)) for seed in range(SEEDS))
    yield claimed(
        f"disjoint polytopes, cut along facets, in {SEEDS} runs, r/sigma <= w, s/sigma <= h",
        "two hundred",
        f"{counts[0]} to {counts[-1]}",
        holds=counts[0] <= 200 <= counts[-1],
    )
    pieces, points = disjoint_polytopes(cells, found.domain, valid, 0), list(_points(_cut(found.domain, valid), POINTS))
    once = sum(_holders(pieces, point) == 1 for point in points)
    yield claimed(
        f"points of {POINTS} of that space that are in one polytope of a run and in no other",
        "a partition",
        once,
        holds=once == POINTS,
    )
    inside = [regime for regime in found.regimes if cone(len(found.names), [*regime.cone.facets, *valid])]
    yield claimed(
        f"values of the communication there, of {sum(not one.fits for one in found.regimes)} without these limits",
        5,
        sum(not regime.fits for regime in inside),
        holds=sum(not regime.fits for regime in inside) == 5,
    )
    kinds = _kinds(inside)
    yield claimed(
        "of them operations over M, over sqrt(M) with slices of the filter, and words of a tensor",
        "1, 1 and 3",
        "{}, {} and {}".format(*kinds),
        holds=kinds == (1, 1, 3),
    )


def within_image(found: Regimes) -> tuple[Row, ...]:
    """Forms that are nonnegative where a filter has no more steps of the stride than there are outputs."""
    places = {name: place for place, name in enumerate(found.names)}
    return tuple(
        tuple(int(k == places[outputs]) - int(k == places[steps]) for k in range(len(places)))
        for outputs, steps in (("h", "r_high"), ("w", "s_high"))
    )


def disjoint_polytopes(cells: Sequence[Cone], domain: Cone, valid: Iterable[Row], seed: int) -> tuple[Cone, ...]:
    """The regions that Algorithm 8 ends with, one after another.

    What is left of a space is cut off along each facet of the region that a random point is in, as the lines with S_i
    have it; facets that bound the space itself cut nothing. A region counts once for every piece of it.

    Args:
        cells: where each vertex is optimal; they cover the domain.
        domain: of all parameters.
        valid: forms that are nonnegative in the space that is cut.
        seed: of the random points.

    Returns:
        Cones that cover the space, without a common point inside of two of them.

    Raises:
        CheckError: if the cells do not cover the domain (a bug).
    """
    source = random.Random(seed)
    pending, found = [_cut(domain, valid)], []
    while pending:
        space = pending.pop()
        point = _inside(space, source)
        cell = next((each for each in cells if all(dot(facet, point) >= 0 for facet in each.facets)), None)
        if cell is None:
            raise CheckError("a point of the domain is in no critical region")
        piece = _cut(space, cell.facets)
        found.append(piece)
        kept = list(space.facets)
        for facet in piece.facets:
            if facet in space.facets:
                continue
            beyond = cone(len(facet), [*kept, tuple(-x for x in facet)])
            if beyond is not None:
                pending.append(beyond)
            kept.append(facet)
    return tuple(found)


def _cut(space: Cone, rows: Iterable[Row]) -> Cone:
    """A part of a space that has an interior."""
    found = cone(len(space.facets[0]), [*space.facets, *rows])
    if found is None:
        raise CheckError("a part of a space with a point inside has no interior")
    return found


def _inside(space: Cone, source: random.Random) -> Row:
    """A random point of its interior."""
    weights = [source.randrange(1, GRAIN) for _ in space.rays]
    return tuple(
        sum(weight * x for weight, x in zip(weights, column, strict=True)) for column in zip(*space.rays, strict=True)
    )


def _points(space: Cone, count: int) -> Iterator[Row]:
    source = random.Random(0)
    return (_inside(space, source) for _ in range(count))


def _holders(pieces: Iterable[Cone], point: Row) -> int:
    """In how many pieces a point is."""
    return sum(all(dot(facet, point) >= 0 for facet in piece.facets) for piece in pieces)


def _kinds(regimes: Iterable[Regime]) -> tuple[int, int, int]:
    """Communication of the order of operations over M, over its root, and of the words of one tensor."""
    shares = [regime.volume[0] for regime in regimes if not regime.fits]
    return (
        sum(share == 2 for share in shares),
        sum(share == 1.5 for share in shares),
        sum(share == 1 for share in shares),
    )
