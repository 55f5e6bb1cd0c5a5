"""The cost model of MOpt's published code as posynomials (see `artifact` for how it differs)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log

import numpy as np

from optmap.mappings.reuse import Reuse
from optmap.programs.posynomial import Posynomial
from optmap.solvers.largest import largest_program
from optmap.solvers.nlp import Nlp
from optmap.workloads.workload import TensorAccess, Workload

Key = tuple[int, str]
"""(level, dim) of a tile size."""
Term = tuple[float, dict[Key, float]]
"""Coefficient and powers of a monomial."""
EDGE = 1e-9
"""Relative excess at which a row without variables counts as violated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvolutionDims:
    """The dims of a dense two-dimensional convolution."""

    n: tuple[str, ...]
    """Batch dims, possibly none."""
    k: str
    c: str
    h: str
    """Output rows; the window's other dim is `r`."""
    w: str
    """Output columns; the window's other dim is `s`."""
    r: str
    s: str

    @property
    def permutations(self) -> tuple[tuple[str, ...], ...]:
        """The three loop orders that the published code keeps, outermost first."""
        return (
            (self.k, self.c, self.r, self.s, *self.n, self.h, self.w),
            (*self.n, self.k, self.h, self.w, self.c, self.r, self.s),
            (*self.n, self.c, self.h, self.r, self.s, self.w, self.k),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelProgram:
    """One program of the decomposition."""

    nlp: Nlp
    keys: tuple[Key, ...]
    """What the variables are the logarithms of."""
    constants: dict[Key, float]
    """Sizes without a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactModel:
    """Costs and footprints of a convolution as the published code writes them."""

    workload: Workload
    roles: ConvolutionDims
    capacities: tuple[float, ...]
    """Words per level."""
    bandwidths: tuple[float, ...]
    """Words per cycle per level."""
    imposed: Mapping[int, Mapping[str, int]]
    """Tiles of levels that the machine fixes."""

    def start(self) -> dict[Key, float]:
        """Sizes that are fixed from the beginning: imposed tiles, and the whole filter elsewhere."""
        sizes: dict[Key, float] = {}
        for level in range(len(self.capacities)):
            if level in self.imposed:
                sizes.update({(level, d): float(n) for d, n in self.imposed[level].items()})
            else:
                sizes.update({(level, d): float(self.workload.extents[d]) for d in (self.roles.r, self.roles.s)})
        return sizes

    def priced(self, level: int, flow: tuple[Reuse, ...]) -> tuple[Key, ...]:
        """The sizes on which the cost of a level depends: its own, and some of the next outer one."""
        own = [(level, d) for d in self.workload.dims]
        if level + 1 == len(self.capacities):
            return tuple(own)
        used = {
            key
            for tensor, reuse in zip(self.workload.tensors, flow, strict=True)
            for _, powers in self._cost_terms(tensor, reuse, level)
            for key, power in powers.items()
            if power and key[0] == level + 1
        }
        return (*own, *sorted(used))

    def program(
        self, level: int, flows: tuple[tuple[Reuse, ...], ...], sizes: Mapping[Key, float], unfixed: set[int]
    ) -> LevelProgram | None:
        """Minimise one level's cost as the largest of the levels left; None if that is impossible.

        Args:
            level: whose cost is minimised.
            flows: reuse per level.
            sizes: sizes fixed so far.
            unfixed: levels left, `level` included.
        """
        lower, upper = self._ranges(sizes)
        constants = {key: low for key, low in lower.items() if low >= upper[key]}
        keys = tuple(key for key in lower if key not in constants)
        goal = self._posynomial(self._cost(level, flows[level]), keys, constants)
        smaller = [self._posynomial(self._cost(k, flows[k]), keys, constants) for k in sorted(unfixed - {level})]
        limits = [self._posynomial(self._occupancy(k), keys, constants) for k in range(len(self.capacities))]
        if any(p.evaluate(np.ones(len(keys))) > 1 + EDGE for p in limits if not p.exponents.any()):
            return None
        place = {key: i for i, key in enumerate(keys)}
        chain = [(i, place[key[0] + 1, key[1]]) for key, i in place.items() if (key[0] + 1, key[1]) in place]
        nlp = largest_program(
            goal,
            smaller=smaller,
            limits=[p for p in limits if p.exponents.any()],
            chain=chain,
            lower=np.array([log(lower[key]) for key in keys]),
            upper=np.array([log(upper[key]) for key in keys]),
        )
        return LevelProgram(nlp=nlp, keys=keys, constants=constants)

    def _ranges(self, sizes: Mapping[Key, float]) -> tuple[dict[Key, float], dict[Key, float]]:
        lower: dict[Key, float] = {}
        upper: dict[Key, float] = {}
        depth = len(self.capacities)
        for dim, extent in self.workload.sizes:
            low, high = 1.0, float(extent)
            for level in range(depth):
                low = max(low, sizes.get((level, dim), low))
                lower[level, dim] = low
            for level in range(depth - 1, -1, -1):
                high = min(high, sizes.get((level, dim), high))
                upper[level, dim] = max(high, lower[level, dim])
        return lower, upper

    def _cost(self, level: int, flow: tuple[Reuse, ...]) -> list[Term]:
        """Traffic over bandwidth, in cycles; the output counts twice."""
        terms = []
        for i, (tensor, reuse) in enumerate(zip(self.workload.tensors, flow, strict=True)):
            factor = self.workload.weight(tensor) * (2 if i == 0 else 1) / self.bandwidths[level]
            terms += [(factor * c, powers) for c, powers in self._cost_terms(tensor, reuse, level)]
        return terms

    def _cost_terms(self, tensor: TensorAccess, reuse: Reuse, level: int) -> list[Term]:
        """Words of one tensor: loops outside the reuse position, times the tile grown along it."""
        grown = reuse.at if any(reuse.at in a.dims and len(a.dims) > 1 for a in tensor.axes) else None
        coefficient, powers = 1.0, dict[Key, float]()
        for dim, extent in self.workload.sizes:
            coefficient *= extent
            spilled = dim not in reuse.free and dim != grown
            if spilled or level + 1 < len(self.capacities):
                powers[(level if spilled else level + 1, dim)] = -1.0
            else:
                coefficient /= extent
        return self._footprint(tensor, level, [(coefficient, powers)], grown)

    def _occupancy(self, level: int) -> list[Term]:
        """Footprints over capacity."""
        terms = []
        for tensor in self.workload.tensors:
            factor = self.workload.weight(tensor) / self.capacities[level]
            terms += self._footprint(tensor, level, [(factor, {})], None)
        return terms

    def _footprint(self, tensor: TensorAccess, level: int, terms: list[Term], grown: str | None) -> list[Term]:
        """`terms` times the sum of the sizes of every subscript; `grown` has the next tile's size."""
        for axis in tensor.axes:
            terms = [self._times(t, level + (dim == grown), dim) for t in terms for dim in axis.dims]
        return terms

    def _times(self, term: Term, level: int, dim: str) -> Term:
        coefficient, powers = term
        if level == len(self.capacities):
            return coefficient * self.workload.extents[dim], powers
        return coefficient, {**powers, (level, dim): powers.get((level, dim), 0.0) + 1.0}

    def _posynomial(self, terms: list[Term], keys: tuple[Key, ...], constants: Mapping[Key, float]) -> Posynomial:
        place = {key: i for i, key in enumerate(keys)}
        coefficients = np.array([coefficient for coefficient, _ in terms])
        exponents = np.zeros((len(terms), len(keys)))
        for i, (_, powers) in enumerate(terms):
            for key, power in powers.items():
                if key in place:
                    exponents[i, place[key]] = power
                else:
                    coefficients[i] *= constants[key] ** power
        names = tuple(f"T_{dim}_{level}" for level, dim in keys)
        return Posynomial(names=names, coefficients=coefficients, exponents=exponents)
