"""A quick estimate of what crosses every boundary, to find the nests that are worth an exact count.

As `count.timing`, with tiles that divide and padding stored: floats and closed forms, no moves of ragged tiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from optmap.count.timing.kernel import KernelCycles
from optmap.count.timing.predict import TimeModel
from optmap.kernels.code_options import StoreKind
from optmap.search.timed.space import BlockedNest
from optmap.workloads.halo import distinct_values
from optmap.workloads.workload import Semantics, TensorAccess

Tile = dict[str, int]
_Axes = tuple[tuple[tuple[str, ...], tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tensor:
    """What the estimate needs of one tensor."""

    axes: _Axes
    """Dims and coefficients of every subscript."""
    dims: frozenset[str]
    bytes: float
    """Of one element."""
    output: bool

    @classmethod
    def of(cls, tensor: TensorAccess, *, output: bool) -> Tensor:
        """From an access."""
        axes = tuple((axis.dims, tuple(c for _, c in axis.terms)) for axis in tensor.axes)
        return cls(axes=axes, dims=tensor.dims, bytes=tensor.bits / 8, output=output)

    def size(self, tile: Tile) -> float:
        """Bytes of a tile."""
        return self.bytes * prod(distinct_values(c, tuple(tile[d] for d in dims)) for dims, c in self.axes)

    def slides(self, dim: str) -> bool:
        """Whether neighbours along a dim overlap."""
        mine = [dims for dims, _ in self.axes if dim in dims]
        return bool(mine) and all(len(dims) > 1 for dims in mine)


class Rough:
    """Estimates for nests of one workload.

    Args:
        model: what is estimated.
        first: number of the innermost cache.
    """

    def __init__(self, model: TimeModel, first: int) -> None:
        workload = model.workload
        self._tensors = [Tensor.of(t, output=n == 0) for n, t in enumerate(workload.tensors)]
        self._levels = [
            (level.capacity.bytes(workload.word_bits) / level.buffering, float(model.rate(number)))
            for number, level in enumerate(model.machine.levels[first:], first)
        ]
        self._sizes: dict[tuple[Tensor, tuple[int, ...]], float] = {}
        streams = model.options.stores is StoreKind.STREAMING
        self._allocates = workload.semantics is Semantics.ASSIGN and not streams
        self._waits = 0 if streams else 1
        self._prefetch = model.options.prefetch

    def cycles(self, nest: BlockedNest, kernel: KernelCycles, taps: tuple[str, ...]) -> tuple[float, float]:
        """Cycles of a nest, and of its parts one after another.

        Args:
            nest: what is estimated.
            kernel: cycles of its arithmetic.
            taps: reduction dims in the order in which the kernel runs through them, outermost first.
        """
        loops = [*nest.loops(), *((dim, 1) for dim in taps if nest.block[dim] > 1)]
        bodies = [dict(nest.whole)]
        for dim, size in loops:
            bodies.append({**bodies[-1], dim: size})
        parts = []
        for room, rate in reversed(self._levels):
            place = 0
            while place < len(loops) and self._needs(bodies[place], loops[:place]) > room:
                place += 1
            moved = self._bytes(bodies[place], loops[:place], bodies[:place]) if place else []
            parts.append([count / rate for count in moved])
        waited = sum(sum(moved if not self._prefetch else moved[: self._waits]) for moved in parts[:-1])
        lines = sum(map(sum, parts))
        return kernel.beside(lines - waited) + waited, kernel.cycles + lines

    def _size(self, tensor: Tensor, tile: Tile) -> float:
        """Bytes of a tile of a tensor, each counted once."""
        key = (tensor, tuple(tile.values()))
        if key not in self._sizes:
            self._sizes[key] = tensor.size(tile)
        return self._sizes[key]

    def _needs(self, tile: Tile, outside: list[tuple[str, int]]) -> float:
        """Bytes that must fit: two tiles of whatever changes with the innermost loop outside."""
        total = 0.0
        for tensor in self._tensors:
            size = self._size(tensor, tile)
            changes = bool(outside) and outside[-1][0] in tensor.dims and not tensor.slides(outside[-1][0])
            total += size * (2 if changes else 1)
        return total

    def _bytes(self, tile: Tile, outside: list[tuple[str, int]], before: list[Tile]) -> list[float]:
        """Bytes per tensor that cross, loads and stores, output first."""
        found = []
        for tensor in self._tensors:
            visits, size, innermost = 1.0, self._size(tensor, tile), True
            for (dim, _), larger, smaller in zip(
                reversed(outside), reversed(before), reversed([*before[1:], tile]), strict=True
            ):
                trips = -(-larger[dim] // smaller[dim])
                if innermost and dim not in tensor.dims:
                    continue
                if innermost and tensor.slides(dim):
                    size = self._size(tensor, {**tile, dim: larger[dim]})
                else:
                    visits *= trips
                innermost = False
            moved = size * visits
            if tensor.output:
                everything = self._size(tensor, before[0])
                moved = 2 * moved if self._allocates else 2 * moved - everything
            found.append(moved)
        return found
