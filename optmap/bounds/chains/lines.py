"""Cuts by any of the three tensors of a product: lines below their loads, all of which a schedule satisfies at once.

The product is G[h,m,l] += X[h,m,j] * Y[h,l,j] of `joined.py`, every element taken to be one unit, M of which fit;
loads count creations, as in the lemma of `groups.py`. Let K (for *cut*) be one of the tensors, F (*full*) and P
(*light*) the others. One dim of m, l and j is not a subscript of K: its values, for each of h, are *places*. At a
place a elements of F meet b elements of P in a*b operations, each with an element of K of its own; under conditions in
fewer operations, and a and b may differ from place to place (`places.py`).

Symbols, theorem and proof: `docs/chain-floors.md`, Lines: cuts by any tensor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, permutations
from math import ceil

import numpy as np

from optmap.bounds.chains.groups import StatementGroup, group_of
from optmap.bounds.chains.places import ProductPlaces, join_places
from optmap.bounds.chains.touching import Floats, Sides, about_touched, least_touched
from optmap.workloads.workload import Workload

DIMS: Mapping[str, frozenset[str]] = {"G": frozenset("ml"), "X": frozenset("mj"), "Y": frozenset("lj")}
"""Subscripts of the tensors beside h."""
WEIGHTS = tuple(Fraction(*g) for g in ((1, 1), (3, 4), (1, 2), (3, 8), (1, 4), (3, 16), (1, 8), (1, 16), (1, 32)))
"""g that are tried."""
SHARES = 16
"""Sizes of the last segment that are tried."""
FEW, MANY = 64, 40
"""Numbers of full segments that are tried: all up to the first, so many of all the others."""
NEAR = 512
"""W that are tried near each of the best lines."""
FINE = 10**9
"""Largest denominators of weights."""
Kind = tuple[str, str, Fraction]
"""Cut, light tensor and g."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One of the inequalities."""

    cut: str
    light: str
    most: int
    """W, in elements."""
    g: Fraction

    @property
    def full(self) -> str:
        """The tensor whose loads count once."""
        return _full(self.cut, self.light)

    def coefficients(self, room: int) -> dict[str, Fraction]:
        """What a load of each tensor counts."""
        return {self.cut: Fraction(room, self.most), self.light: self.g, self.full: Fraction(1)}

    def least(self, places: ProductPlaces) -> Fraction:
        """The right side, or a little less."""
        return least_touched(places.at(self.cut, self.full), self.most - 1, self.g)


Weighted = list[tuple[Line, Fraction]]
"""Lines with weights."""


def lines(workload: Workload, memory_words: int) -> list[StatementGroup]:
    """Every two products that are one, with lines below their loads."""
    found = []
    for first, second in combinations(workload.statements, 2):
        found_pair = join_places(workload, first, second)
        if found_pair is None:
            continue
        pair, places = found_pair
        weight = min(pair.product.weight(access) for access in pair.product.tensors) * pair.unit
        room = memory_words // weight
        if room < 3:
            continue
        chosen, proved = strongest(places, room)
        if not chosen:
            continue
        group = group_of(
            workload,
            "lines",
            [first, second],
            loads_words=weight * (ceil(proved) - pair.free_elements),
            proof={"lines": [_document(*each) for each in chosen]},
            expression=f"{first.name} and {second.name} as one product: {len(chosen)} lines below the loads of its "
            "tensors, proof: optmap/bounds/chains/lines.py",
            less=pair.less,
        )
        found.append(group)
    return found


def strongest(places: ProductPlaces, room: int) -> tuple[Weighted, Fraction]:
    """Lines with weights that prove the most loads, creations counted, and that number.

    Args:
        places: which elements meet.
        room: elements that fit.
    """
    once, coarse = places.elements, places.coarse
    kinds = [(cut, light, g) for cut, light in permutations(DIMS, 2) for g in WEIGHTS]
    tried = _best_of(kinds, [_lengths(*_largest(c, p, coarse), g, room) for c, p, g in kinds], coarse, room)
    near = [(line.cut, line.light, line.g) for line, _ in tried]
    chosen = _best_of(
        near, [_around(line, _largest(line.cut, line.light, places)[0], room) for line, _ in tried], coarse, room
    )
    used = {name: sum((w * line.coefficients(room)[name] for line, w in chosen), Fraction()) for name in DIMS}
    over = max(Fraction(1), *used.values())
    chosen = [(line, w / over) for line, w in chosen]
    rest = sum(((1 - used[name] / over) * once[name] for name in DIMS), Fraction())
    return chosen, rest + sum((w * line.least(places) for line, w in chosen), Fraction())


def _best_of(kinds: Sequence[Kind], lengths: Sequence[Floats], places: ProductPlaces, room: int) -> Weighted:
    """The lines among some, by cut, light tensor, g and lengths, with weights that prove the most; in floats."""
    if not kinds:
        return []
    columns, gains = [], []
    once = np.array([float(places.elements[name]) for name in DIMS])
    for (cut, light, g), most in zip(kinds, lengths, strict=True):
        least = about_touched(places.at(cut, _full(cut, light)), most - 1, float(g))
        counted = {cut: room / most, light: np.full(most.size, float(g))}
        rows = np.array([counted.get(name, np.ones(most.size)) for name in DIMS])
        columns.append(rows)
        gains.append(least - once @ rows)
    ends = np.cumsum([most.size for most in lengths])
    every = np.concatenate(lengths)
    found = []
    for i, weight in _most(np.hstack(columns), np.concatenate(gains)).items():
        cut, light, g = kinds[int(np.searchsorted(ends, i, side="right"))]
        if weight > 1 / FINE:
            line = Line(cut=cut, light=light, most=int(every[i]), g=g)
            found.append((line, Fraction(weight).limit_denominator(FINE)))
    return found


def _lengths(done: int, sides: Sides, g: Fraction, room: int) -> Floats:
    """W with which whole numbers of segments leave a last one of few operations; and the least and the largest W."""
    numbers = _numbers(max(1, done // (room - 1)))
    a, b, every = float(sides[0]), float(sides[1]), float(done)
    bend = min(a * a / float(g), float(g) * b * b, every)
    rests = bend * np.arange(SHARES + 1) / SHARES
    most = np.floor((every - rests[:, None]) / numbers[None, :]).ravel() + 1
    return np.unique(np.concatenate([most[most >= room], [float(room), float(room + 1), max(float(room), every + 1)]]))


@lru_cache(maxsize=8)
def _numbers(top: int) -> Floats:
    """Numbers of full segments that are tried, up to the largest one."""
    found = np.unique(
        [*map(float, range(1, min(FEW, top) + 1)), *np.floor(np.geomspace(1, float(top), MANY)), float(top)]
    )
    found.setflags(write=False)
    return found


def _around(line: Line, done: int, room: int) -> Floats:
    """W near that of a line, with the same number of full segments and with one more or less."""
    full = max(1, done // (line.most - 1))
    ends = [done // n + 1 for n in (full - 1, full, full + 1, full + 2) if n]
    low, high = max(room, min(ends)), max(room, *ends)
    return np.unique(
        np.array(
            [room, line.most, *np.floor(np.linspace(float(low), float(high), NEAR)), *(max(room, n) for n in ends)],
            float,
        )
    )


def _most(columns: Floats, gains: Floats) -> dict[int, float]:
    """Weights >= 0, three of them at most, of the most gain with no row of the columns above 1: simplex method."""
    count = gains.size
    table, worth = np.hstack([columns, np.eye(3)]), np.concatenate([gains, np.zeros(3)])
    basis = list(range(count, count + 3))
    for _ in range(200):
        inverse = np.linalg.inv(table[:, basis])
        values = inverse @ np.ones(3)
        reduced = worth - worth[basis] @ inverse @ table
        enter = int(np.argmax(reduced))
        if reduced[enter] <= 1e-9 * max(1.0, float(np.abs(gains).max())):
            break
        step = inverse @ table[:, enter]
        ratios = np.where(step > 1e-12, values / np.where(step > 1e-12, step, 1.0), np.inf)
        basis[int(np.argmin(ratios))] = enter
    values = np.linalg.inv(table[:, basis]) @ np.ones(3)
    return {i: float(v) for i, v in zip(basis, values, strict=True) if i < count}


def _full(cut: str, light: str) -> str:
    (name,) = set(DIMS) - {cut, light}
    return name


def _largest(cut: str, light: str, places: ProductPlaces) -> tuple[int, Sides]:
    """Operations and sides of the place with the most operations."""
    return max(places.at(cut, _full(cut, light)), key=lambda each: each[1])[1:]


def _document(line: Line, weight: Fraction) -> dict[str, object]:
    ratios: Sequence[Fraction] = (line.g, weight)
    g, part = (f"{value.numerator}/{value.denominator}" for value in ratios)
    return {"cut": line.cut, "light": line.light, "most": line.most, "g": g, "weight": part}
