"""Which integer tiles a setting allows: the user's constraints and imposed tiles, as arrays.

Per level and dim these are the multiples of a step within a range. Ranges are tightened from inner to
outer levels and back, since tiles nest: what the inner tile needs the outer one has to have, and no inner
tile is larger than the outer one. After that the least sizes of all levels nest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from optmap.base.arrays import Ints
from optmap.machines.machine import Machine
from optmap.mappings.constraints import Constraints, Sizes
from optmap.symbolic.numbers import divisors_of
from optmap.workloads.workload import Workload


@dataclass(frozen=True, kw_only=True)
class Allowed:
    """The tile sizes of every level, inner first, and dim."""

    sizes: tuple[tuple[Sizes, ...], ...]
    """Per level and dim (in canonical order), tightened; some may be empty."""
    free: bool
    """Whether nothing but extents and imposed tiles limits them."""

    @property
    def empty(self) -> tuple[int, int] | None:
        """(level, dim) of the first for which no size is left; None if all have some."""
        for level, row in enumerate(self.sizes):
            for dim, sizes in enumerate(row):
                if sizes.empty:
                    return level, dim
        return None

    @cached_property
    def low(self) -> Ints:
        """(L, D): the least sizes; they nest."""
        return np.array([[s.low for s in row] for row in self.sizes], dtype=np.int64)

    @cached_property
    def high(self) -> Ints:
        """(L, D): the largest sizes."""
        return np.array([[s.high for s in row] for row in self.sizes], dtype=np.int64)

    @cached_property
    def step(self) -> Ints:
        """(L, D): all sizes are multiples of these."""
        return np.array([[s.step for s in row] for row in self.sizes], dtype=np.int64)

    def hold(self, chains: Ints) -> NDArray[np.bool_]:
        """(B,): which chains (B, L, D) have allowed sizes only."""
        return np.asarray(self.holds(chains).all(axis=(1, 2)))

    def holds(self, chains: Ints) -> NDArray[np.bool_]:
        """(B, L, D): which sizes of chains are allowed."""
        inside = (chains >= self.low) & (chains <= self.high)
        return np.asarray(inside & (chains % self.step == 0))

    def down(self, tiles: Ints, level: int) -> Ints:
        """(…, D): the largest allowed sizes at or below the given ones; the least where there is none."""
        cut = np.minimum(tiles, self.high[level]) // self.step[level] * self.step[level]
        return np.asarray(np.maximum(cut, self.low[level]))

    def up(self, tiles: Ints, level: int) -> Ints:
        """(…, D): the least allowed sizes at or above the given ones; the largest where there is none."""
        step = self.step[level]
        grown = -(-np.maximum(tiles, self.low[level]) // step) * step
        return np.asarray(np.minimum(grown, self.high[level]))

    def among(self, values: Iterable[int], level: int, dim: int) -> list[int]:
        """The allowed ones of some sizes, increasing."""
        sizes = self.sizes[level][dim]
        return sorted({v for v in values if sizes.admits(v)})

    def near(self, values: Iterable[int], level: int, dim: int) -> list[int]:
        """The allowed sizes next to some sizes on either side, increasing; only these if nothing is constrained."""
        sizes = self.sizes[level][dim]
        if self.free:
            return self.among(values, level, dim)
        found = {sizes.low, sizes.high}
        for value in values:
            cut = value // sizes.step * sizes.step
            found |= {cut, cut if cut == value else cut + sizes.step}
        return self.among(found, level, dim)

    def least_each(self, cuts: Iterable[int], level: int, dim: int) -> list[int]:
        """For each size the least allowed one at or above it, increasing; where there is one."""
        sizes = self.sizes[level][dim]
        raised = (-(-max(cut, sizes.low) // sizes.step) * sizes.step for cut in cuts)
        return self.among(raised, level, dim)

    def chains(
        self, dim: int, extent: int, ways: Sequence[int], *, divisors: bool, imposed: Sequence[int] = ()
    ) -> list[tuple[int, ...]]:
        """Chains of one dim, inner level first, of which no other one is smaller at every level.

        Args:
            dim: its number.
            extent: of the whole problem.
            ways: per level, into how many parts its tile is split.
            divisors: whether tiles must divide the next outer part.
            imposed: levels whose tiles are imposed and need not divide.

        Returns:
            One at most without `divisors`; none if no chain is allowed.
        """
        if not divisors:
            chain, inner = list[int](), 1
            for sizes, split in zip([row[dim] for row in self.sizes], ways, strict=True):
                least = max(sizes.low, (inner - 1) * split + 1, split)
                inner = -(-least // sizes.step) * sizes.step
                if inner > sizes.high:
                    return []
                chain.append(inner)
            return [tuple(chain)]
        found: list[tuple[tuple[int, ...], int]] = [((), extent)]
        for level in range(len(self.sizes) - 1, -1, -1):
            found = [
                ((size, *inside), size // ways[level])
                for inside, room in found
                for size in ((self.sizes[level][dim].low,) if level in imposed else divisors_of(room))
                if self.sizes[level][dim].admits(size) and size <= room and size % ways[level] == 0
            ]
        everything = sorted({chain for chain, _ in found})
        return [chain for chain in everything if not any(_below(other, chain) for other in everything)]


def allowed_sizes(
    workload: Workload, machine: Machine, constraints: Constraints, imposed: dict[int, dict[str, int]]
) -> Allowed:
    """The tile sizes that constraints and imposed tiles leave.

    Args:
        workload: its extents.
        machine: its levels.
        constraints: the user's.
        imposed: per level with an imposed tile, that tile.
    """
    rows = []
    for number, level in enumerate(machine.levels):
        row = []
        for dim, extent in workload.sizes:
            sizes = constraints.sizes(level.name, dim, extent)
            row.append(sizes.within(imposed[number][dim], imposed[number][dim]) if number in imposed else sizes)
        rows.append(row)
    for d in range(len(workload.dims)):
        for outer in range(1, len(rows)):
            rows[outer][d] = rows[outer][d].within(rows[outer - 1][d].low, rows[outer][d].high)
        for inner in range(len(rows) - 2, -1, -1):
            rows[inner][d] = rows[inner][d].within(rows[inner][d].low, rows[inner + 1][d].high)
    return Allowed(sizes=tuple(tuple(row) for row in rows), free=not constraints)


def _below(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether a chain is another one and nowhere larger."""
    return one != other and all(x <= y for x, y in zip(one, other, strict=True))
