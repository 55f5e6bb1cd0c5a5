"""The constraint table behind the exponents, as Dinh 4.1.2 and IOOpt Figure 3 print it, and the papers' own bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from optmap.bounds.best import certified
from optmap.bounds.exponents.lattice import Subspace, canonical, image_rank
from optmap.bounds.exponents.maps import LinearMap, MapSystem, map_system
from optmap.bounds.exponents.polytope import FamilyRows, polytopes, restrict
from optmap.bounds.exponents.proof import ranked_proofs
from optmap.bounds.printed import Printed, printed
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintRow:
    """One subspace and the constraint it puts on the exponents."""

    family: tuple[str, ...]
    """Dims of the independent family."""
    generators: tuple[str, ...]
    """Vectors that span the subspace, as text such as `h - r`."""
    rank: int
    """Dim of the subspace, or 1 for a step of a flag."""
    image_ranks: dict[str, int]
    """Rank of the image (or what the step adds to it) per map, zero ranks left out."""
    text: str
    """The constraint, such as `2 <= s_O + 2*s_I`."""
    tight: bool
    """True if the exponents of the strongest bound meet it with equality."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How a bound comes about."""

    maps: dict[str, tuple[str, ...]]
    """Rows of every map, as text over the lifted dims."""
    sizes: dict[str, int]
    """Image points of every size map."""
    lifts: tuple[str, ...]
    """Lifted dims, such as `r = 2*r' + r''`."""
    families: tuple[tuple[str, ...], ...]
    """Independent families of dims."""
    rows: tuple[ConstraintRow, ...]
    """The table."""
    exponents: dict[str, Fraction]
    """Of the strongest bound that the convex program over these maps gives."""
    printed: tuple[Printed, ...]
    """What the papers print for workloads of this form."""


def explain(workload: Workload, memory_words: int) -> Explanation:
    """The constraint table, the exponents chosen at a memory size, and the printed bounds of the papers.

    Args:
        workload: the computation.
        memory_words: fast memory, in words.
    """
    system = map_system(workload)
    exponents = certified("best", workload, memory_words, ranked_proofs(workload, memory_words)).exponents
    dims = [str(digit) for digit in system.dims]
    families = polytopes(system)[0].families if system.dims else ()
    rows = [row for family in families for row in _family_rows(system, family, exponents)]
    return Explanation(
        maps={m.name: tuple(_vector(row, dims) for row in m.matrix) for m in _in_order(system)},
        sizes={m.name: m.size for m in system.sizes},
        lifts=tuple(f"{lift.digit} = {lift.modulus}*{lift.high} + {lift.low}" for lift in system.space.lifts),
        families=tuple(tuple(dims[c] for c in columns) for columns in system.families),
        rows=tuple(rows),
        exponents=dict(exponents),
        printed=printed(workload, memory_words),
    )


def _family_rows(system: MapSystem, family: FamilyRows, exponents: dict[str, Fraction]) -> list[ConstraintRow]:
    dims = tuple(str(system.dims[c]) for c in family.columns)
    maps = [m for m in _in_order(system) if system.maps.index(m) in family.allowed]
    steps: list[tuple[Subspace, Subspace]]
    if family.flag is not None:
        spans = [canonical(family.flag[:i]) for i in range(len(dims) + 1)]
        steps = list(pairwise(spans))
    else:
        steps = [((), space) for space in family.lattice or () if space]
    rows = []
    for below, space in steps:
        ranks = {}
        for m in maps:
            local = restrict(m.matrix, family.columns)
            gained = image_rank(local, space) - image_rank(local, below)
            if gained:
                ranks[m.name] = gained
        rank = len(space) - len(below)
        held = sum((r * exponents.get(name, Fraction(0)) for name, r in ranks.items()), Fraction(0))
        rows.append(
            ConstraintRow(
                family=dims,
                generators=tuple(_vector(v, dims) for v in space),
                rank=rank,
                image_ranks=ranks,
                text=f"{rank} <= " + (" + ".join(_term(name, r) for name, r in ranks.items()) or "0"),
                tight=held == rank,
            )
        )
    return rows


def _in_order(system: MapSystem) -> list[LinearMap]:
    """Tensor maps in the order of the statement, then size maps."""
    return sorted(system.maps, key=lambda m: (m.tensor is None, m.access))


def _term(name: str, rank: int) -> str:
    kind, _, label = name.partition(":")
    symbol = f"{kind}[{label}]"
    return symbol if rank == 1 else f"{rank}*{symbol}"


def _vector(row: tuple[int, ...], dims: Sequence[str]) -> str:
    text = ""
    for value, dim in zip(row, dims, strict=True):
        if value:
            sign = " - " if value < 0 else " + "
            size = abs(value)
            text += (sign if text else sign.strip(" +")) + (dim if size == 1 else f"{size}*{dim}")
    return text or "0"
