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
from functools import cached_property, lru_cache
from itertools import combinations, permutations
from math import ceil

import numpy as np

from optmap.base.arrays import Floats
from optmap.base.texts import ratio_text
from optmap.bounds.chains.groups import StatementGroup, group_of
from optmap.bounds.chains.places import ProductPlaces, join_places
from optmap.bounds.chains.touching import Place, Sides, about_touched, least_touched
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
    kinds = _kinds(coarse)
    tried = _best_of(kinds, [kind.tried(room) for kind in kinds], coarse, room)
    near = [next(kind for kind in kinds if kind.holds(line)) for line, _ in tried]
    around = [_around(line, _largest(line.cut, line.light, places)[0], room) for line, _ in tried]
    chosen = _best_of(near, [(most, kind.least(most)) for kind, most in zip(near, around, strict=True)], coarse, room)
    used = {name: sum((w * line.coefficients(room)[name] for line, w in chosen), Fraction()) for name in DIMS}
    over = max(Fraction(1), *used.values())
    chosen = [(line, w / over) for line, w in chosen]
    rest = sum(((1 - used[name] / over) * once[name] for name in DIMS), Fraction())
    return chosen, rest + sum((w * line.least(places) for line, w in chosen), Fraction())


@dataclass(frozen=True, eq=False, kw_only=True)
class _LinesOfKind:
    """Lines with the same cut, light tensor and g, in floats, for every memory."""

    cut: str
    light: str
    g: Fraction
    alike: tuple[Place, ...]

    def holds(self, line: Line) -> bool:
        """Whether a line is one of them."""
        return (line.cut, line.light, line.g) == (self.cut, self.light, self.g)

    def least(self, most: Floats) -> Floats:
        """The right sides, about.

        Args:
            most: W of each line.
        """
        return about_touched(self.alike, most - 1, float(self.g))

    def tried(self, room: int) -> tuple[Floats, Floats]:
        """W with which whole numbers of segments leave a last one of few operations, the least and the largest W.

        Args:
            room: elements that fit.

        Returns:
            These, and the right sides with them.
        """
        few, known = self._few
        fit = few >= room
        more = self._ends(_numbers(max(1, int(self._every) // (room - 1))))
        added = np.unique(
            np.concatenate([more[more >= room], [float(room), float(room + 1), max(float(room), self._every + 1)]])
        )
        most, place = np.unique(np.concatenate([few[fit], added]), return_index=True)
        return most, np.concatenate([known[fit], self.least(added)])[place]

    @cached_property
    def _few(self) -> tuple[Floats, Floats]:
        """W with few full segments, which are the same for every memory, and the right sides with them."""
        most = np.unique(self._ends(np.arange(1.0, FEW + 1)))
        most = most[most > 1]
        return most, self.least(most)

    def _ends(self, numbers: Floats) -> Floats:
        """W with some numbers of full segments, and a last one of some sizes."""
        rests = self._bend * np.arange(SHARES + 1) / SHARES
        return np.asarray(np.floor((self._every - rests[:, None]) / numbers[None, :]).ravel() + 1)

    @cached_property
    def _every(self) -> float:
        """Operations of the place with the most of them."""
        return float(max(operations for _, operations, _ in self.alike))

    @cached_property
    def _bend(self) -> float:
        """Operations of a last segment there from which on sides bound what it touches, or all of them."""
        _, _, (a, b) = max(self.alike, key=lambda each: each[1])
        return min(float(a) * a / float(self.g), float(self.g) * b * b, self._every)


@lru_cache(maxsize=8)
def _kinds(places: ProductPlaces) -> tuple[_LinesOfKind, ...]:
    return tuple(
        _LinesOfKind(cut=cut, light=light, g=g, alike=places.at(cut, _full(cut, light)))
        for cut, light in permutations(DIMS, 2)
        for g in WEIGHTS
    )


def _best_of(
    kinds: Sequence[_LinesOfKind], tried: Sequence[tuple[Floats, Floats]], places: ProductPlaces, room: int
) -> Weighted:
    """The lines among some with weights that prove the most, in floats.

    Args:
        kinds: of lines.
        tried: W of each kind, and the right sides with them.
        places: which elements meet.
        room: elements that fit.
    """
    if not kinds:
        return []
    columns, gains = [], []
    once = np.array([float(places.elements[name]) for name in DIMS])
    for kind, (most, least) in zip(kinds, tried, strict=True):
        counted = {kind.cut: room / most, kind.light: np.full(most.size, float(kind.g))}
        rows = np.array([counted.get(name, np.ones(most.size)) for name in DIMS])
        columns.append(rows)
        gains.append(least - once @ rows)
    ends = np.cumsum([most.size for most, _ in tried])
    every = np.concatenate([most for most, _ in tried])
    found = []
    for i, weight in _most(np.hstack(columns), np.concatenate(gains)).items():
        kind = kinds[int(np.searchsorted(ends, i, side="right"))]
        if weight > 1 / FINE:
            line = Line(cut=kind.cut, light=kind.light, most=int(every[i]), g=kind.g)
            found.append((line, Fraction(weight).limit_denominator(FINE)))
    return found


@lru_cache(maxsize=8)
def _numbers(top: int) -> Floats:
    """Numbers of full segments that are tried beyond the first few, up to the largest one."""
    found = np.unique(np.append(np.floor(np.geomspace(1, float(top), MANY)), float(top)))
    found = found[found > FEW]
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
    weights = {"g": ratio_text(line.g), "weight": ratio_text(weight)}
    return {"cut": line.cut, "light": line.light, "most": line.most, **weights}
