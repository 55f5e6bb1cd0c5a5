"""Candidate sizes of one dim: even cuts, and factors of a number of cores."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from optmap.symbolic.numbers import divisors_of

FEW_CUTS = 4_000_000
"""Extent beyond which not every number of tiles is a candidate."""


@lru_cache(maxsize=4096)
def even_cuts(extent: int) -> tuple[int, ...]:
    """The smallest tile for every possible number of tiles: ceil(extent / m) for all m, increasing.

    Beyond `FEW_CUTS` (some 2*sqrt(extent) values) a geometric selection of them.
    """
    values = []
    if extent > FEW_CUTS:
        counts = {max(1, round(extent ** (i / 64))) for i in range(65)} | {extent}
        return tuple(sorted({-(-extent // count) for count in counts}))
    number = 1
    while True:
        size = -(-extent // number)
        values.append(size)
        if size == 1:
            return tuple(reversed(values))
        number = -(-extent // (size - 1))


def maximal(fits: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Those points of a grid of sizes, an axis per dim, that fit and of which no next larger neighbour does."""
    grows = np.zeros_like(fits)
    for d, length in enumerate(fits.shape):
        if length > 1:
            here, ahead = np.moveaxis(grows, d, 0), np.moveaxis(fits, d, 0)
            here[:-1] |= ahead[1:]
    return np.asarray(fits & ~grows)


def factorizations(number: int, limits: Sequence[int]) -> list[tuple[int, ...]]:
    """All ways to write `number` as an ordered product with each factor within its limit."""
    if not limits:
        return [()] if number == 1 else []
    return [
        (f, *rest) for f in divisors_of(number) if f <= limits[0] for rest in factorizations(number // f, limits[1:])
    ]
