"""The polytope of exponents: which (s, z) make the product inequality true.

|V| <= prod |f(V)|^exponent(f) holds for every finite V as soon as, for each independent family,
either dim H <= sum exponent(f) * rank f(H) for every H of a lattice closed under sum and
intersection that holds the kernels of all maps with a non-zero exponent and the whole space
(Dinh, Theorem 9, repaired), or every step of one complete flag gains at least 1 (submodularity).
Leaving out maps is sound, leaving out subspaces is not: a lattice that does not close is replaced
by flags, or by closed lattices of fewer maps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, permutations, product

from optmap.base.clock import NO_LIMIT, Clock
from optmap.bounds.exponents.lattice import Row, Subspace, canonical, closure, complete_flag, image_rank, kernel
from optmap.bounds.exponents.maps import MapSystem

Constraint = tuple[tuple[int, ...], int]
"""(integer coefficient per map, right-hand side): sum coefficient * exponent >= right-hand side."""

FLAGS = 10
"""Flags tried per family whose lattice does not close."""
OPTIONS = 16
"""Combinations of flags and smaller lattices that are ranked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyRows:
    """How one family is constrained: by a closed lattice or by a flag."""

    columns: tuple[int, ...]
    """Columns of the family in the lifted space."""
    allowed: frozenset[int]
    """Maps (by index) that may have a non-zero exponent."""
    lattice: tuple[Subspace, ...] | None = None
    """Closed lattice over the family's columns; None with a flag."""
    flag: tuple[Row, ...] | None = None
    """Vectors of a complete flag; None with a lattice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Polytope:
    """Rows over the maps of a system; maps that are not allowed have exponent 0."""

    families: tuple[FamilyRows, ...]
    """One entry per independent family."""
    allowed: tuple[int, ...]
    """Indices of the maps that may be used, increasing."""
    rows: tuple[Constraint, ...]
    """Constraints over `allowed`, without repetitions and implied rows."""


def restrict(matrix: Sequence[Row], columns: Sequence[int]) -> tuple[Row, ...]:
    """The rows of a matrix over some columns, zero rows left out."""
    rows = (tuple(row[c] for c in columns) for row in matrix)
    return tuple(row for row in rows if any(row))


def polytopes(system: MapSystem, clock: Clock = NO_LIMIT) -> tuple[Polytope, ...]:
    """All descriptions worth trying: one if every family's lattice closes, else several.

    Raises:
        LimitError: if the time is over.
    """
    matrices = tuple(m.matrix for m in system.maps)
    return _polytopes(matrices, len(system.tensors), system.families, clock)


@lru_cache(maxsize=256)
def _polytopes(
    matrices: tuple[tuple[Row, ...], ...], tensors: int, families: tuple[tuple[int, ...], ...], clock: Clock
) -> tuple[Polytope, ...]:
    everything = frozenset(range(len(matrices)))
    choices = []
    for columns in families:
        local = [restrict(m, columns) for m in matrices]
        closed = _lattice(local, everything, len(columns))
        if closed is not None:
            choices.append([FamilyRows(columns=columns, allowed=everything, lattice=closed)])
        else:
            choices.append(list(_fallbacks(local, tensors, columns, clock)))
    found: dict[tuple[object, ...], Polytope] = {}
    for families_rows in islice(product(*choices), OPTIONS):
        clock.check()
        polytope = _assemble(matrices, families_rows)
        found.setdefault((polytope.allowed, polytope.rows), polytope)
    return tuple(found.values())


def _lattice(local: list[tuple[Row, ...]], allowed: frozenset[int], width: int) -> tuple[Subspace, ...] | None:
    return closure(frozenset(kernel(local[i], width) for i in allowed), width)


def _fallbacks(
    local: list[tuple[Row, ...]], tensors: int, columns: tuple[int, ...], clock: Clock
) -> Iterator[FamilyRows]:
    """Alternate closed lattices of fewer maps and flags of all maps, so that a cut list has both."""
    width = len(columns)
    everything = frozenset(range(len(local)))
    lattices = [
        FamilyRows(columns=columns, allowed=allowed, lattice=closed)
        for allowed, closed in _closed_subsets(local, tensors, width, clock)
    ]
    flags = [
        FamilyRows(columns=columns, allowed=everything, flag=flag)
        for flag in islice(dict.fromkeys(_flags(local, tensors, width)), FLAGS)
    ]
    for i in range(max(len(lattices), len(flags))):
        yield from lattices[i : i + 1]
        yield from flags[i : i + 1]


def _closed_subsets(
    local: list[tuple[Row, ...]], tensors: int, width: int, clock: Clock
) -> Iterator[tuple[frozenset[int], tuple[Subspace, ...]]]:
    """Grow sets of maps whose lattice closes, greedily, from several orders."""
    idle = frozenset(i for i, matrix in enumerate(local) if not matrix)
    busy = [i for i, matrix in enumerate(local) if matrix]
    readers = [i for i in busy if i < tensors]
    sizes = [i for i in busy if i >= tensors]
    orders = [readers + sizes, readers + sizes[::-1], sizes + readers]
    orders += [readers[k:] + sizes + readers[:k] for k in range(1, len(readers))]
    orders += [readers + sizes[k:] + sizes[:k] for k in range(1, min(len(sizes), 4))]
    seen: set[frozenset[int]] = set()
    for order in orders:
        chosen: frozenset[int] = idle
        best = _lattice(local, chosen, width)
        for i in order:
            clock.check()
            grown = _lattice(local, chosen | {i}, width)
            if grown is not None:
                chosen, best = chosen | {i}, grown
        if chosen not in seen and best is not None:
            seen.add(chosen)
            yield chosen, best


def _flags(local: list[tuple[Row, ...]], tensors: int, width: int) -> Iterator[tuple[Row, ...]]:
    """Flags through kernels of maps first, then through coordinate subspaces in several orders."""
    kernels = sorted({kernel(m, width) for m in local[:tensors] if m} - {()}, key=lambda s: (len(s), s))
    for chain in islice(permutations(kernels), FLAGS // 2):
        yield complete_flag(chain, width)
    for order in islice(permutations(range(width)), FLAGS):
        yield tuple(tuple(int(i == j) for j in range(width)) for i in order)


def _assemble(matrices: tuple[tuple[Row, ...], ...], families: tuple[FamilyRows, ...]) -> Polytope:
    allowed = tuple(sorted(frozenset.intersection(*(f.allowed for f in families)))) if families else ()
    rows: set[Constraint] = set()
    for family in families:
        local = [restrict(matrices[i], family.columns) for i in allowed]
        rows |= set(family_constraints(local, family))
    return Polytope(families=families, allowed=allowed, rows=_without_implied(rows))


def family_constraints(local: Sequence[tuple[Row, ...]], family: FamilyRows) -> Iterator[Constraint]:
    """The rows that one family contributes, over the given restricted matrices."""
    if family.lattice is not None:
        for space in family.lattice:
            if space:
                yield tuple(image_rank(m, space) for m in local), len(space)
    elif family.flag is not None:
        before = tuple(0 for _ in local)
        for i in range(1, len(family.flag) + 1):
            ranks = tuple(image_rank(m, canonical(family.flag[:i])) for m in local)
            yield tuple(r - b for r, b in zip(ranks, before, strict=True)), 1
            before = ranks


def _without_implied(rows: set[Constraint]) -> tuple[Constraint, ...]:
    """Drop a row if another one asks for at least as much with coefficients no larger."""
    kept = [
        (row, right)
        for row, right in rows
        if not any(
            (other, more) != (row, right) and more >= right and all(o <= r for o, r in zip(other, row, strict=True))
            for other, more in rows
        )
    ]
    return tuple(sorted(kept))
