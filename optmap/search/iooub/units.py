"""What IOUB's tile search moves: dims, or bundles of dims that every tensor sees as one.

Dims that occur in the same tensors, each alone in its subscript, act together: a tile of them
matters through the product of its extents (occupancy) and through the number of tiles it cuts the
bundle into (traffic). A bundle's candidates are therefore the boxes that are best in one of the two.
A 1x1 convolution and every tensor contraction become a matrix product of three bundles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from optmap.base.arrays import Floats, Ints
from optmap.mappings.held import moves_alone
from optmap.search.space.sizes import even_cuts
from optmap.symbolic.numbers import divisors_of
from optmap.workloads.workload import Workload

MOST_EXTENT = 2**20
"""Extent up to which every number of tiles is a candidate; larger dims get a geometric choice."""
MOST_LISTED = 2**16
"""Extent up to which the candidate of every size is listed: looked up in a list it takes a fraction of the time."""
SPARSE_CUTS = 512
"""Candidates of a dim above `MOST_EXTENT`, at most."""
SMALL_WINDOW = 64
"""Extent up to which every size of a dim that shares a subscript is a candidate."""


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """A dim, or a bundle of dims that every tensor sees as one."""

    dims: tuple[str, ...]
    """Its dims, in canonical order."""
    extent: int
    """Product of their extents."""
    plain: bool
    """Whether its dims stand alone in their subscripts."""
    boxes: tuple[tuple[int, ...], ...]
    """Candidate tiles: extent per dim; their products increase."""
    numbers: tuple[int, ...]
    """Number of tiles that each candidate cuts the extent into."""
    complete: bool
    """Whether some candidate is as good as any tile (under the reading of the module)."""

    @cached_property
    def sizes(self) -> Floats:
        """Product of every candidate."""
        return np.array([_product(box) for box in self.boxes], dtype=np.float64)

    @cached_property
    def longest(self) -> Floats:
        """The largest extent of a dim of every candidate."""
        return np.array([max(box) for box in self.boxes], dtype=np.float64)

    @cached_property
    def counts(self) -> Floats:
        """`numbers` as an array."""
        return np.array(self.numbers, dtype=np.float64)

    @cached_property
    def times(self) -> Floats:
        """`counts`, and for no candidate, at the place -1, infinity."""
        return np.append(self.counts, np.inf)

    @cached_property
    def _fitting(self) -> Ints:
        """Per whole number from 0 to the extent, the place of the largest candidate that is not larger, or -1."""
        return np.searchsorted(self.sizes, np.arange(self.extent + 1), side="right") - 1

    def largest(self, sizes: Floats) -> Ints:
        """The places of the largest candidates that are not larger than some sizes; -1 where every one is.

        Args:
            sizes: of any shape.
        """
        if self.extent > MOST_LISTED:
            return np.searchsorted(self.sizes, sizes, side="right") - 1
        whole = np.maximum(np.fmin(sizes, self.extent), 0.0).astype(np.int64)
        return self._fitting[whole]


@lru_cache(maxsize=64)
def units_of(workload: Workload, *, bundled: bool = True, divisors: bool = False) -> tuple[Bundle, ...]:
    """The units of a workload; dims of extent 1 belong to none.

    Args:
        workload: any workload.
        bundled: whether dims that all tensors see alike become one unit.
        divisors: whether candidates must divide the extents.

    Returns:
        Bundles and single dims, in the order of their first dim.
    """
    bundles: dict[tuple[bool, object], list[str]] = {}
    for dim, extent in workload.sizes:
        if extent == 1:
            continue
        inside = tuple(i for i, t in enumerate(workload.tensors) if dim in t.dims)
        plain = moves_alone(workload, dim)
        bundles.setdefault((plain, inside) if plain and bundled else (plain, dim), []).append(dim)
    return tuple(_unit(workload, tuple(dims), plain=plain, divisors=divisors) for (plain, _), dims in bundles.items())


def _unit(workload: Workload, dims: tuple[str, ...], *, plain: bool, divisors: bool) -> Bundle:
    extents = workload.extents
    front: list[tuple[int, int, tuple[int, ...]]] = [(1, 1, ())]
    for dim in dims:
        sizes = divisors_of(extents[dim]) if divisors else _candidates(workload, dim, plain=plain)
        longer = [
            (p * s, n * -(-extents[dim] // s), (*box, s)) for p, n, box in front for s in sizes if s <= extents[dim]
        ]
        front = _best(longer) if plain else longer
    complete = all(extents[d] <= MOST_EXTENT for d in dims) and (
        plain or extents[dims[0]] <= SMALL_WINDOW or _linear(workload, dims[0])
    )
    return Bundle(
        dims=dims,
        extent=_product(tuple(extents[d] for d in dims)),
        plain=plain,
        boxes=tuple(box for _, _, box in front),
        numbers=tuple(n for _, n, _ in front),
        complete=complete,
    )


def _candidates(workload: Workload, dim: str, *, plain: bool) -> tuple[int, ...]:
    """Sizes of one dim worth trying, increasing."""
    extent = workload.extents[dim]
    cuts = even_cuts(extent) if extent <= MOST_EXTENT else _sparse_cuts(extent)
    if plain:
        return cuts
    if extent <= SMALL_WINDOW and not _linear(workload, dim):
        return tuple(range(1, extent + 1))
    return cuts


def _sparse_cuts(extent: int) -> tuple[int, ...]:
    """Sizes spread evenly over the logarithm of a huge extent."""
    steps = max(1, SPARSE_CUTS // extent.bit_length())
    values = {extent}
    for power in range(extent.bit_length()):
        for step in range(steps):
            number = (1 << power) + ((1 << power) * step) // steps
            values.add(-(-extent // number))
    return tuple(sorted(values))


def _linear(workload: Workload, dim: str) -> bool:
    """Whether footprints are linear in the size of a dim, so that only the number of tiles matters.

    An index m*x + y has (a-1)*min(m, b) + b values: linear in a, not in b unless m is 1.
    """
    axes = [axis for t in workload.tensors for axis in t.axes if dim in axis.dims]
    for axis in axes:
        mine = dict(axis.terms)[dim]
        others = [c for d, c in axis.terms if d != dim]
        if len(others) == 1 and mine % others[0]:
            return False
        if len(others) > 1 and {mine, *others} != {1}:
            return False
    return True


def _best(entries: Sequence[tuple[int, int, tuple[int, ...]]]) -> list[tuple[int, int, tuple[int, ...]]]:
    """Entries (product, tiles, box) of which none is as small in both."""
    kept: list[tuple[int, int, tuple[int, ...]]] = []
    for entry in sorted(entries):
        if not kept or entry[1] < kept[-1][1]:
            kept.append(entry)
    return kept


def _product(values: tuple[int, ...]) -> int:
    result = 1
    for value in values:
        result *= value
    return result
