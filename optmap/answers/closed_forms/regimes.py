"""Loads bound and optimal tile of a nest as a piecewise function of the logarithms of capacity and extents.

The regimes are the pieces of the largest number of operations per tile, a concave function of the logarithms; each
is cut into cones where one tile is optimal. What is asymptotic: the tile, whose tensors each fit alone and whose
sizes are real numbers, and so which bound is the largest where. What is proved, at all sizes: every bound, with its
factor (`bounds.regime_proof`).
Source: Dinh's dissertation, chapter 4.2 and Algorithm 8; Theorem 14.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from optmap.base.errors import CheckError, InputError
from optmap.base.shown import Concise, Shown
from optmap.bounds.regime_proof import LoadsProof, loads_proof
from optmap.programs.parametric_tiling import ParametricTiling, parametric_tiling
from optmap.solvers.cones import Cone, cone
from optmap.solvers.parametric import ParametricLp, VertexRegion, critical_regions
from optmap.workloads.workload import Padding, Workload

if TYPE_CHECKING:
    from optmap.answers.closed_forms.regime_lookup import RegimeAt, Varied

Powers = tuple[Fraction, ...]
"""Exponent per parameter of a product."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime(Concise):
    """Where one monomial is the number of operations of the largest tile."""

    cone: Cone
    """In the logarithms of the parameters."""
    volume: Powers
    """Operations per tile."""
    proof: LoadsProof | None
    """What it proves about loads; None if nothing, as where each tensor fits."""
    moved: str | None
    """The tensor whose words are the bound: each is loaded once."""
    tiles: tuple[VertexRegion, ...]
    """Cones that cover it, each with its optimal tile."""

    @property
    def fits(self) -> bool:
        """Whether one tile is everything."""
        return not self.volume[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Regimes(Shown):
    """All regimes of a nest; they cover every capacity and all extents, and share only borders."""

    shown_as: ClassVar[str] = "regimes"
    workload: Workload
    tiling: ParametricTiling
    regimes: tuple[Regime, ...]
    """Largest power of the memory first."""
    at: RegimeAt | None = None
    """Where a capacity and the extents of the workload are; None without a capacity."""
    varied: Varied | None = None
    """What changes along one parameter; None if none is asked for."""
    over: tuple[str, str] | None = None
    """The two parameters that a picture has as axes; None for the memory and the first dim."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parameters."""
        return tuple(p.name for p in self.tiling.parameters)

    @property
    def domain(self) -> Cone:
        """All capacities of at least an element of every tensor, all extents of at least 1."""
        found = cone(len(self.tiling.parameters), self.tiling.right)
        if found is None:
            raise CheckError("a domain of capacities and extents has no interior")
        return found

    def loads(self, regime: Regime) -> dict[str, Fraction] | None:
        """Power of every dim, digit and the memory in what a regime proves, its factor left out; None if nothing."""
        if regime.proof is None:
            return None
        powers = dict.fromkeys(self.workload.dims, Fraction(1))
        for name, z in regime.proof.sizes:
            powers[name] = powers.get(name, Fraction(0)) - z
        powers[self.names[0]] = 1 - regime.proof.sigma
        return {name: power for name, power in powers.items() if power}


def regimes_of(workload: Workload) -> Regimes:
    """The closed form of a projective nest or a convolution.

    Args:
        workload: its access pattern and words per element count, its extents do not.

    Raises:
        InputError: for another workload, or one whose padding is implicit.
        LimitError: if there are thousands of cones.
    """
    if workload.padding is Padding.IMPLICIT:
        raise InputError(
            f"{workload.title}: the closed form counts operations as the product of the extents, which is too many "
            "where padding is implicit; use --padding stored"
        )
    tiling = parametric_tiling(workload)
    found = _pieces(tiling)
    ordered = sorted(found, key=lambda volume: (-volume[0], [-x for x in volume]))
    return Regimes(
        workload=workload,
        tiling=tiling,
        regimes=tuple(_regime(workload, tiling, volume, ordered, found[volume]) for volume in ordered),
    )


@lru_cache(maxsize=32)
def _regions(lp: ParametricLp) -> tuple[VertexRegion, ...]:
    """They do not depend on extents, so layers share them."""
    return critical_regions(lp)


def _pieces(tiling: ParametricTiling) -> dict[Powers, list[VertexRegion]]:
    """Regions by the operations of their tiles."""
    found: dict[Powers, list[VertexRegion]] = {}
    lp = ParametricLp(cost=(1,) * len(tiling.digits), matrix=tiling.matrix, right=tiling.right)
    for region in _regions(lp):
        columns = zip(*region.vertex, strict=True)
        found.setdefault(tuple(sum(column, Fraction(0)) for column in columns), []).append(region)
    return found


def _regime(
    workload: Workload, tiling: ParametricTiling, volume: Powers, volumes: Sequence[Powers], tiles: list[VertexRegion]
) -> Regime:
    others = [tuple(b - a for a, b in zip(volume, other, strict=True)) for other in volumes if other != volume]
    place = cone(len(volume), [*tiling.right, *others])
    if place is None:
        raise CheckError("a regime of regions with an interior has none")
    proof = loads_proof(workload, tiling, volume)
    return Regime(
        cone=place,
        volume=volume,
        proof=proof,
        moved=None if proof is None else _moved(workload, tiling, proof),
        tiles=tuple(sorted(tiles, key=lambda tile: tile.vertex, reverse=True)),
    )


def _moved(workload: Workload, tiling: ParametricTiling, proof: LoadsProof) -> str | None:
    """The tensor whose number of words the bound is: it alone has an exponent, 1, and every other dim is whole."""
    if len(proof.tensors) != 1 or proof.sigma != 1:
        return None
    name = proof.tensors[0][0]
    whole = dict(proof.sizes)
    held = {d.name for d in tiling.digits} - set(whole)
    # The image of a convolution has as many rows as choices of dims; one of them is what it is counted by.
    rows = [r for r in tiling.rows if workload.tensors[r.access].name == name]
    return name if all(z == 1 for z in whole.values()) and any(held == set(r.members) for r in rows) else None
