"""How many children meshes can still use of what is left of the dims: what a tile that grows takes from them."""

from __future__ import annotations

from math import prod

from optmap.machines.fabric import Direction, Fabric
from optmap.search.sunstone.unrolling import along

LOOKED_AT = 200
"""Ways along axes that are tried for one remainder: the largest first, so that most end at once."""


class WaysLeft:
    """The most children that the meshes outside a memory use of a remainder; remembers what it found."""

    def __init__(self, fabric: Fabric) -> None:
        self._axes = [
            [axis for own in fabric.memories[number:] for axis in (own.x, own.y) if axis.size > 1]
            for number in range(len(fabric.memories))
        ]
        self._known: dict[tuple[int, tuple[int, ...]], int] = {}

    def most(self, memory: int, rest: tuple[int, ...]) -> int:
        """The largest product of ways over all axes of the meshes of a memory and of those outside it.

        It is found among divisors, the largest first; after `LOOKED_AT` tries the best of them stands, so what is
        returned is reached, and may be less than the most where extents have many divisors.

        Args:
            memory: number of the innermost whose mesh counts.
            rest: what is left of each dim.
        """
        key = memory, rest
        if key not in self._known:
            self._known[key] = _Most(LOOKED_AT).found(self._axes[memory], rest)
        return self._known[key]


class _Most:
    """One depth-first search, the largest ways along an axis first."""

    def __init__(self, looks: int) -> None:
        self.looks, self.best = looks, 1

    def found(self, axes: list[Direction], rest: tuple[int, ...]) -> int:
        self._grow(axes, rest, 1)
        return self.best

    def _grow(self, axes: list[Direction], rest: tuple[int, ...], sofar: int) -> None:
        self.best = max(self.best, sofar)
        if not axes:
            return
        beyond = prod(axis.size for axis in axes)
        for ways in sorted(along(axes[0], rest), key=prod, reverse=True):
            self.looks -= 1
            further = min(beyond // axes[0].size * prod(ways), prod(rest))
            if self.looks < 0 or sofar * further <= self.best:
                return
            self._grow(axes[1:], tuple(n // own for n, own in zip(rest, ways, strict=True)), sofar * prod(ways))
