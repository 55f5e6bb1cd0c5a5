"""The whole optimal face of a log-space tiling LP, exactly, with the duals that prove it.

The matrix of the LP is 0/1 and its right-hand sides are logarithms of whole numbers, so a simplex
tableau in fractions with right-hand sides in a `LogField` is exact: vertices are products of
rational powers of the memory and the extents, duals are fractions.
Source: Dinh's dissertation, LP 3.2.1 and Theorem 14, section 3.3.1 (a family of optimal tiles).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, prod

from optmap.base.errors import InputError
from optmap.programs.lifted import lifted_lp
from optmap.programs.loglp_numbers import LogField, Vector, add, scale
from optmap.workloads.workload import Workload, access_names

LARGEST_FACE = 3000
"""Bases of a face that are visited at most; beyond it the face is marked incomplete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Monomial:
    """A product of rational powers of named numbers."""

    powers: tuple[tuple[str, Fraction], ...]
    """(name, exponent) without zero exponents; names are `M`, `(M/words per element)` and `L[dim]`."""
    value: float
    """What the product amounts to."""

    def __str__(self) -> str:
        return " * ".join(n if q == 1 else f"{n}^({q})" for n, q in self.powers) or "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDual:
    """A vertex of the dual optimal face: exponents of a bound on the operations of a tile."""

    rows: dict[str, Fraction]
    """Exponent per row of the LP (per tensor), zeros included."""
    limits: dict[str, Fraction]
    """Exponent per dim or digit whose extent is a limit, zeros included."""
    bound: Monomial
    """Operations of any tile, at most; the same value for every dual of the face."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFace:
    """All optimal tiles of a log-space LP: the convex hull, in logarithms, of the vertices."""

    volume: float
    """Operations of an optimal tile."""
    vertices: tuple[dict[str, Monomial], ...]
    """Tile extent per dim or digit, as products of powers."""
    duals: tuple[LogDual, ...]
    """Each proves that no tile is larger and names a bound that it matches."""
    complete: bool
    """Whether every vertex and dual was visited."""

    def tile(self, weights: Sequence[float]) -> dict[str, float]:
        """The optimal tile with the given barycentric weights of the vertices (they add up to 1)."""
        return {
            name: prod(v[name].value ** w for v, w in zip(self.vertices, weights, strict=True))
            for name in self.vertices[0]
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLp:
    """max sum of log T subject to products of T within rooms, 1 <= T <= limits."""

    memory: int
    """Words M, the number that the rooms are named after."""
    names: tuple[str, ...]
    """Dims or digits."""
    limits: tuple[Fraction, ...]
    """Largest extent per name, at least 1."""
    rows: tuple[tuple[str, tuple[str, ...], Fraction], ...]
    """(label, names whose product must fit, elements that fit)."""


@dataclass(frozen=True, slots=True)
class _FaceTableau:
    """Rows over all columns (names, then one slack per row and per limit), in a given basis."""

    basis: tuple[int, ...]
    rows: tuple[Vector, ...]
    rhs: tuple[Vector, ...]
    reduced: Vector
    """Reduced cost per column; nonnegative at an optimum."""

    def pivot(self, i: int, j: int) -> _FaceTableau:
        p = self.rows[i][j]
        row, rhs = scale(self.rows[i], 1 / p), scale(self.rhs[i], 1 / p)
        others = range(len(self.rows))
        return _FaceTableau(
            basis=tuple(j if k == i else b for k, b in enumerate(self.basis)),
            rows=tuple(row if k == i else add(self.rows[k], row, -self.rows[k][j]) for k in others),
            rhs=tuple(rhs if k == i else add(self.rhs[k], rhs, -self.rows[k][j]) for k in others),
            reduced=add(self.reduced, row, -self.reduced[j]),
        )


def projective_face(workload: Workload, memory_words: int, *, limit: int = LARGEST_FACE) -> LogFace:
    """The optimal face of the tiling LP of a projective workload (LP 3.2.1).

    Args:
        workload: every subscript has at most one dim.
        memory_words: words M; each tensor alone must fit, as in the source.
        limit: bases visited at most per side; 1 gives one vertex and one dual.

    Raises:
        InputError: for a subscript of several dims, or a memory below one element of a tensor.
    """
    rows = []
    for label, tensor in zip(access_names(workload), workload.tensors, strict=True):
        for axis in tensor.axes:
            if len(axis.terms) > 1:
                raise InputError(f"{workload.title}: subscript {axis} of {tensor.name} has several dims")
        room = Fraction(memory_words, workload.weight(tensor))
        rows.append((label, tuple(d for d in workload.dims if d in tensor.dims), room))
    limits = tuple(Fraction(n) for _, n in workload.sizes)
    return face(LogLp(memory=memory_words, names=workload.dims, limits=limits, rows=tuple(rows)), limit=limit)


def lifted_face(workload: Workload, memory_words: int, *, limit: int = LARGEST_FACE) -> LogFace:
    """The optimal face of the lifted tiling LP of a convolution (LP 4.2.1).

    Of tiles: where a stride does not divide its filter, the duals bound no schedule (see `lifted`).

    Args:
        workload: a convolution by structure.
        memory_words: words M; each tensor alone must fit, as in the source.
        limit: bases visited at most per side; 1 gives one vertex and one dual.

    Raises:
        InputError: if it is no convolution or an element of some tensor exceeds the memory.
    """
    lp = lifted_lp(workload, capacity=memory_words)
    names, limits = tuple(d.name for d in lp.digits), tuple(d.limit for d in lp.digits)
    return face(LogLp(memory=memory_words, names=names, limits=limits, rows=lp.rows), limit=limit)


def lp_tiles(workload: Workload, memory_words: int, *, limit: int = LARGEST_FACE) -> tuple[dict[str, float], ...]:
    """The real tiles at the optimal vertices of the tiling LP of a workload.

    Args:
        workload: one dim per subscript, or a convolution, whose windows are lifted.
        memory_words: words M; each tensor alone must fit, as in the source.
        limit: bases visited at most; 1 gives one tile.

    Returns:
        Extent per dim; of a convolution the product of a dim's digits, at most its extent.

    Raises:
        InputError: if the workload is neither, or the memory is below one element of a tensor.
    """
    if all(len(axis.terms) <= 1 for tensor in workload.tensors for axis in tensor.axes):
        return tuple(real_tile(vertex) for vertex in projective_face(workload, memory_words, limit=limit).vertices)
    digits = lifted_lp(workload, capacity=memory_words).digits
    tiles = []
    for vertex in lifted_face(workload, memory_words, limit=limit).vertices:
        sizes = real_tile(vertex)
        tile = dict.fromkeys(workload.dims, 1.0)
        for digit in digits:
            tile[digit.dim] *= sizes[digit.name]
        tiles.append({d: min(t, float(workload.extents[d])) for d, t in tile.items()})
    return tuple(tiles)


def face(lp: LogLp, *, limit: int = LARGEST_FACE) -> LogFace:
    """Solve a log-space LP exactly and walk along its optimal primal and dual faces.

    Args:
        lp: the program.
        limit: bases visited at most per side.

    Raises:
        InputError: for a room below one element, or a limit below 1.
    """
    small = [label for label, held, room in lp.rows if held and room < 1]
    if small or any(limit < 1 for limit in lp.limits):
        where = f"row {small[0]}" if small else "a limit"
        raise InputError(f"tiling LP: {where} allows less than one element; use a larger memory")
    field = LogField.of([room for _, _, room in lp.rows] + list(lp.limits))
    numbers = [("M" if room == lp.memory else f"(M/{lp.memory / room})", room) for _, _, room in lp.rows]
    numbers += [(f"L[{name}]", limit) for name, limit in zip(lp.names, lp.limits, strict=True)]
    optimum = _optimal(field, _start(field, lp))
    primal, all_primal = _walk(optimum, lambda t: _primal_neighbours(field, t), limit)
    dual, all_dual = _walk(optimum, lambda t: _dual_neighbours(field, t), limit)
    d = len(lp.names)
    vertices = {tuple(map(str, v.values())): v for v in (_vertex(t, lp.names, numbers) for t in primal)}
    duals = {}
    for tableau in dual:
        prices = tableau.reduced[d:]
        labels = [label for label, _, _ in lp.rows]
        duals[prices] = LogDual(
            rows=dict(zip(labels, prices, strict=False)),
            limits=dict(zip(lp.names, prices[len(labels) :], strict=True)),
            bound=_monomial(prices, numbers),
        )
    total = add(field.zero, field.zero, Fraction(1))
    for price, (_, number) in zip(optimum.reduced[d:], numbers, strict=True):
        total = add(total, field.log(number), price)
    return LogFace(
        volume=exp(field.value(total)),
        vertices=tuple(vertices.values()),
        duals=tuple(duals.values()),
        complete=all_primal and all_dual,
    )


def _start(field: LogField, lp: LogLp) -> _FaceTableau:
    """The all-slack tableau: every tile extent 1, which is feasible."""
    index = {name: i for i, name in enumerate(lp.names)}
    members = [{index[n] for n in held} for _, held, _ in lp.rows] + [{i} for i in range(len(lp.names))]
    numbers = [room for _, _, room in lp.rows] + list(lp.limits)
    count, d = len(members), len(lp.names)
    rows = tuple(
        tuple(Fraction(j in held) for j in range(d)) + tuple(Fraction(k == i) for k in range(count))
        for i, held in enumerate(members)
    )
    return _FaceTableau(
        basis=tuple(range(d, d + count)),
        rows=rows,
        # A row without names is 0 <= log(room): any nonnegative number keeps it slack.
        rhs=tuple(field.log(n) if held else field.zero for held, n in zip(members, numbers, strict=True)),
        reduced=tuple(Fraction(-1) if j < d else Fraction(0) for j in range(d + count)),
    )


def _optimal(field: LogField, tableau: _FaceTableau) -> _FaceTableau:
    """Primal simplex with Bland's rule, which cannot cycle; the box keeps it bounded."""
    while True:
        entering = next((j for j, r in enumerate(tableau.reduced) if r < 0), None)
        if entering is None:
            return tableau
        leaving = min(_leaving(field, tableau, entering), key=lambda i: tableau.basis[i])
        tableau = tableau.pivot(leaving, entering)


def _leaving(field: LogField, tableau: _FaceTableau, j: int) -> list[int]:
    """Rows that limit the growth of column j first; all of them in a tie."""
    best: list[int] = []
    least: Vector = ()
    for i, row in enumerate(tableau.rows):
        if row[j] > 0:
            ratio = scale(tableau.rhs[i], 1 / row[j])
            order = field.sign(add(ratio, least, Fraction(-1))) if best else -1
            if order < 0:
                best, least = [i], ratio
            elif order == 0:
                best.append(i)
    return best


def _primal_neighbours(field: LogField, tableau: _FaceTableau) -> list[_FaceTableau]:
    """Bases one pivot away with the same objective: columns of reduced cost zero enter."""
    basic = set(tableau.basis)
    free = [j for j, r in enumerate(tableau.reduced) if r == 0 and j not in basic]
    return [tableau.pivot(i, j) for j in free for i in _leaving(field, tableau, j)]


def _dual_neighbours(field: LogField, tableau: _FaceTableau) -> list[_FaceTableau]:
    """Bases one dual pivot away at the same vertex: basic variables of value zero leave."""
    found = []
    for i, value in enumerate(tableau.rhs):
        if field.sign(value):
            continue
        ratios = {j: tableau.reduced[j] / -a for j, a in enumerate(tableau.rows[i]) if a < 0}
        least = min(ratios.values(), default=None)
        found += [tableau.pivot(i, j) for j, ratio in ratios.items() if ratio == least]
    return found


def _walk(
    start: _FaceTableau, neighbours: Callable[[_FaceTableau], list[_FaceTableau]], limit: int
) -> tuple[list[_FaceTableau], bool]:
    """Every basis that neighbour steps reach, up to the limit, and whether that was all."""
    seen = {frozenset(start.basis): start}
    pending = [start]
    while pending:
        for tableau in neighbours(pending.pop()):
            key = frozenset(tableau.basis)
            if key in seen:
                continue
            if len(seen) >= limit:
                return list(seen.values()), False
            seen[key] = tableau
            pending.append(tableau)
    return list(seen.values()), True


def _vertex(
    tableau: _FaceTableau, names: tuple[str, ...], numbers: Sequence[tuple[str, Fraction]]
) -> dict[str, Monomial]:
    place = {b: i for i, b in enumerate(tableau.basis)}
    one = Monomial(powers=(), value=1.0)
    return {
        name: _monomial(tableau.rows[place[j]][len(names) :], numbers) if j in place else one
        for j, name in enumerate(names)
    }


def _monomial(exponents: Vector, numbers: Sequence[tuple[str, Fraction]]) -> Monomial:
    powers: dict[str, Fraction] = {}
    value = 1.0
    for q, (name, number) in zip(exponents, numbers, strict=True):
        if q and number != 1:
            powers[name] = powers.get(name, Fraction(0)) + q
            value *= float(number) ** float(q)
    return Monomial(powers=tuple((n, q) for n, q in powers.items() if q), value=value)


def real_tile(vertex: Mapping[str, Monomial]) -> dict[str, float]:
    """The extents of a vertex as numbers."""
    return {name: monomial.value for name, monomial in vertex.items()}
