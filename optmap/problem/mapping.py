"""Mappings: integer tiles, loop orders and spatial splits, one entry per bounded level."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from optmap.errors import InputError
from optmap.problem.machine import Machine
from optmap.problem.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelMapping:
    """What one bounded level holds and in which order its tiles are visited."""

    level: str
    tile: dict[str, int]
    """Extent per dim of the tile that this level holds."""
    permutation: tuple[str, ...]
    """Loops over the tiles of this level inside the tile of the next outer level (or the whole
    problem), outermost first, innermost last."""
    spatial: dict[str, int]
    """Ways in which the tile of this level is split among the children it feeds, per dim;
    dims that are not split may be left out."""
    spatial_y: dict[str, int] = field(default_factory=dict)
    """Of these ways, those along the second axis of the level's mesh; the others are along the first."""
    keeps: tuple[str, ...] | None = None
    """Names of the accesses whose tile the level holds; the others bypass it. None for all that the machine keeps."""

    @property
    def spatial_x(self) -> dict[str, int]:
        """The ways along the first axis of the level's mesh, per dim."""
        return {dim: ways // self.spatial_y.get(dim, 1) for dim, ways in self.spatial.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping:
    """A complete mapping of a workload onto a machine, inner level first."""

    levels: tuple[LevelMapping, ...]

    def check(self, workload: Workload, machine: Machine) -> None:
        """Refuse a mapping that does not belong to the workload and the machine.

        Capacities are not looked at: whether a tile fits is a question for `evaluate`.

        Raises:
            InputError: naming level and dim of the first thing that is wrong.
        """
        names = tuple(level.name for level in machine.levels)
        mine = tuple(level.level for level in self.levels)
        if mine != names:
            raise InputError(f"mapping has levels {list(mine)}, machine {machine.name} has {list(names)}")
        dims = set(workload.dims)
        outer = workload.extents
        for level in reversed(self.levels):
            if set(level.tile) != dims:
                raise InputError(
                    f"level {level.level}: tile has dims {sorted(level.tile)}, workload has {sorted(dims)}"
                )
            if sorted(level.permutation) != sorted(dims):
                raise InputError(
                    f"level {level.level}: permutation {list(level.permutation)} must name each of {sorted(dims)} once"
                )
            for dim, size in level.tile.items():
                if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= outer[dim]:
                    raise InputError(
                        f"level {level.level}: tile of {dim} is {size!r}; "
                        f"it must be a whole number from 1 to {outer[dim]}"
                    )
            ways = prod(n for n in level.spatial.values() if isinstance(n, int))
            children = machine.levels[names.index(level.level)].fanout
            inside = dict(level.tile)
            for dim, parts in level.spatial.items():
                if dim not in dims or isinstance(parts, bool) or not isinstance(parts, int) or parts < 1:
                    raise InputError(
                        f"level {level.level}: spatial {dim}={parts!r} must be a dim with a whole number >= 1"
                    )
                inside[dim] = -(-inside[dim] // parts)
            if ways > children:
                raise InputError(f"level {level.level}: the tile is split {ways} ways, but feeds {children} children")
            outer = inside
