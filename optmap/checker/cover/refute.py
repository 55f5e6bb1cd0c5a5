"""That no mapping of a node keeps all of its rows: by one row alone, or by a weighted sum of their logarithms.

A sum p of terms u_i > 0 satisfies, for every point x0 (weighted arithmetic-geometric-mean inequality with
the weights d_i = u_i(x0)/p(x0), which is also that log p is convex in the logarithms of its variables)

    log p(x)  >=  log p(x0) + sum_i d_i (log u_i(x) - log u_i(x0)).

If all rows p_r <= R_r held at x, every sum with weights w_r >= 0 of log(p_r/R_r) would be at most 0. From
below it is linear in y = log T and u = log n, with slopes >= 0 in u, where u >= max(log N - y, log a). Its
least value over the ranges, tiles of inner levels being no larger than those of outer ones, is taken dim by
dim. If it is above 0, there is no such mapping. Any point and weights prove; good ones prove more.

Logarithms are those of `decimal`, correctly rounded to 50 digits; sums of some thousand numbers below 10^5
are wrong by less than 10^-40, and a weighted sum counts as above 0 from 10^-20 of its weights on.
"""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from .rows import Key, MappingSet, Model, Range, RefutedRow, Term

DIGITS = 50
MARGIN = Decimal("1e-20")
FURTHEST = Decimal("1e30")
"""Points are between its inverse and this."""
Points = dict[tuple[int, str], Decimal]
"""A tile size per level and dim."""


def broken_alone(model: Model, node: MappingSet, row: RefutedRow) -> bool:
    """Whether a row exceeds its limit at the corner of the ranges where all its terms are least."""
    total = Fraction(0)
    for coefficient, keys in row.terms:
        term = coefficient
        for kind, level, dim in keys:
            low, high = model.range(node, level, dim)
            known = {"size": Fraction(low), "inverse": Fraction(1, high)}
            term *= known[kind] if kind in known else model.fewest(node, level, dim)
        total += term
    return total > row.limit


def broken_together(model: Model, node: MappingSet, rows: list[RefutedRow], weights: list[int], point: Points) -> bool:
    """Whether the weighted sum of the logarithms of rows over limits is above 0 for every mapping of a node.

    Args:
        model: what the rows are about.
        node: the mappings.
        rows: of which all would have to hold; limits above 0.
        weights: whole numbers >= 0, one per row.
        point: where the terms are compared; dims that are not there take their largest size.
    """
    with localcontext(Context(prec=DIGITS)):
        total, slopes = Decimal(0), dict[Key, Decimal]()
        known: dict[Key, Decimal] = {}
        for weight, row in zip(weights, rows, strict=True):
            if not weight:
                continue
            terms = [(_at(model, node, point, known, term), term[1]) for term in row.terms]
            whole = sum((value for value, _ in terms), Decimal(0))
            total += weight * (whole.ln() - _decimal(row.limit).ln())
            for value, keys in terms:
                for key in keys:
                    slopes[key] = slopes.get(key, Decimal(0)) + weight * value / whole
        total += sum((_least(model, node, point, slopes, dim) for dim in model.dims), Decimal(0))
        return total > MARGIN * sum(weights)


def _at(model: Model, node: MappingSet, point: Points, known: dict[Key, Decimal], term: Term) -> Decimal:
    value = _decimal(term[0])
    for key in term[1]:
        if key not in known:
            kind, level, dim = key
            size, number = _compared(model, node, point, level, dim)
            known[key] = {"size": size, "inverse": 1 / size, "number": number}[kind]
        value *= known[key]
    return value


def _compared(model: Model, node: MappingSet, point: Points, level: int, dim: str) -> tuple[Decimal, Decimal]:
    """Size and number of tiles where the terms are compared."""
    size = point.get((level, dim), Decimal(model.range(node, level, dim)[1]))
    return size, max(model.extents[dim] / size, Decimal(model.fewest(node, level, dim)))


def _least(model: Model, node: MappingSet, point: Points, slopes: dict[Key, Decimal], dim: str) -> Decimal:
    """Least value of one dim's part of the linear function, over tiles that nest.

    Along the levels it is a sum of convex functions, linear between few sizes; so the least one is found
    with every size at an end of some range, or where n leaves N/T for a.
    """
    costs, ends = [], set[Decimal]()
    for level in range(model.depth):
        low, high = model.range(node, level, dim)
        up = slopes.get(("size", level, dim), Decimal(0)) - slopes.get(("inverse", level, dim), Decimal(0))
        by_number = slopes.get(("number", level, dim), Decimal(0))
        if not up and not by_number:
            continue
        fewest = model.fewest(node, level, dim)
        size, number = _compared(model, node, point, level, dim)
        costs.append((up, size.ln(), by_number, number.ln(), _log(fewest), (low, high)))
        ends |= {_log(low), _log(high), _log(model.extents[dim]) - _log(fewest)}
    return _chain(costs, sorted(ends), _log(model.extents[dim])) if costs else Decimal(0)


def _chain(
    costs: list[tuple[Decimal, Decimal, Decimal, Decimal, Decimal, Range]], ends: list[Decimal], extent: Decimal
) -> Decimal:
    """The least sum over sizes that do not fall from inner to outer levels; sizes are logarithms."""
    best: list[Decimal | None] = [Decimal(0)] * len(ends)
    for up, size, by_number, number, fewest, (low, high) in costs:
        running: Decimal | None = None
        for k, end in enumerate(ends):
            before = best[k]
            if before is not None and (running is None or before < running):
                running = before
            inside = _log(low) <= end <= _log(high)
            own = up * (end - size) + by_number * (max(extent - end, fewest) - number)
            best[k] = running + own if inside and running is not None else None
    return min(value for value in best if value is not None)


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


@lru_cache(maxsize=65536)
def _log(number: int) -> Decimal:
    with localcontext(Context(prec=DIGITS)):
        return Decimal(number).ln()
