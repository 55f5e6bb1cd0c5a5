"""How a memory's mesh can be filled: ways per dim that fit its two directions exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optmap.base.arrays import Ints
from optmap.machines.fabric import Direction
from optmap.mappings.nest_batch import rules_met
from optmap.search.exact.frame import ExactFrame, Tiles


@dataclass(frozen=True, slots=True)
class Splits:
    """Every product of ways that some packing along x and y reaches, each with one packing."""

    tiles: Tiles
    """Ways per dim, as divisor numbers."""
    ways: Ints
    """The same as numbers."""
    x: Ints
    y: Ints


def splits_of(frame: ExactFrame, level: int) -> Splits:
    """All fillings of one mesh: what is counted depends on the product of both directions only."""
    memory = frame.memory(level)
    x, y = _along(frame, memory.x), _along(frame, memory.y)
    pairs = (x[:, None, :] * y[None, :, :]).reshape(-1, frame.dims)
    fits = np.all(frame.extents % pairs == 0, axis=1) & rules_met(memory.ways, pairs)
    first, second = np.repeat(np.arange(len(x)), len(y))[fits], np.tile(np.arange(len(y)), len(x))[fits]
    ways, chosen = np.unique(pairs[fits], axis=0, return_index=True)
    numbers = np.stack(
        [np.searchsorted(frame.divisors[dim], ways[:, dim]).astype(np.int16) for dim in range(frame.dims)], axis=1
    )
    return Splits(tiles=numbers, ways=ways, x=x[first[chosen]], y=y[second[chosen]])


def _along(frame: ExactFrame, direction: Direction) -> Ints:
    """Ways along one direction: divisors of allowed dims whose product fits, and that meet its rules."""
    found = np.ones((1, frame.dims), np.int64)
    for dim in range(frame.dims):
        if not direction.allowed[dim]:
            continue
        used = found.prod(axis=1)
        parts = []
        for number in frame.divisors[dim]:
            fitting = found[used * number <= direction.size].copy()
            fitting[:, dim] = number
            parts.append(fitting)
        found = np.concatenate(parts)
    return found[rules_met(direction.rules, found)]
