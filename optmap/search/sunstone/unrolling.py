"""Ways to spread loops over one mesh (section III-B)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

from optmap.machines.fabric import Direction, Memory
from optmap.machines.operands import Operand
from optmap.symbolic.numbers import divisors_of

Ways = tuple[int, ...]
"""Per dim, children side by side."""


def rejected_dims(operands: Sequence[Operand], stationary: frozenset[int], dims: int) -> frozenset[int]:
    """Dims that are not unrolled: all that they would reuse in space is reused in time (Spatial Unrolling Principle).

    With R the operands that the order reuses, d is rejected if {T : d not in dims(T)} is not empty and part of R.

    Args:
        operands: of the workload.
        stationary: R.
        dims: how many there are.
    """
    served = [frozenset(n for n, own in enumerate(operands) if dim not in own.dims) for dim in range(dims)]
    return frozenset(dim for dim, reused in enumerate(served) if reused and reused <= stationary)


def along(direction: Direction, rest: Sequence[int]) -> tuple[Ways, ...]:
    """All ways along one axis: divisors of what is left, of dims that are allowed, within its size and rules."""

    def grow(dim: int, room: int) -> Iterator[Ways]:
        if dim == len(rest):
            yield ()
            return
        for ways in divisors_of(rest[dim]) if direction.allowed[dim] else (1,):
            if ways > room:
                break
            for further in grow(dim + 1, room // ways):
                yield (ways, *further)

    return tuple(ways for ways in grow(0, direction.size) if all(rule.admits(ways) for rule in direction.rules))


def well_used(found: Sequence[Ways], utilisation: float) -> tuple[Ways, ...]:
    """High throughput: product of ways >= utilisation * the largest product that is reached."""
    most = max(map(prod, found), default=1)
    return tuple(ways for ways in found if prod(ways) >= utilisation * most)


def unrollings(
    memory: Memory,
    rest: Sequence[int],
    rejected: frozenset[int],
    utilisation: float,
    count: Callable[[str, int, int], None],
) -> tuple[tuple[Ways, Ways], ...]:
    """The unrollings of a mesh worth trying, as (along x, along y).

    Where the principle leaves none that uses the mesh as well as any would, it gives way: those that keep to it are
    tried as well as they go, and beside them all that use the mesh well.

    Args:
        memory: whose mesh it is.
        rest: what is left of each dim.
        rejected: dims that are not unrolled.
        utilisation: least part of what is reached on an axis.
        count: takes a rule, what it saw and what it cut.
    """
    every = _pairs(memory, rest, utilisation, count)
    kept = tuple(pair for pair in every if not _uses(pair, rejected))
    count("unrollings: unrolling principle", len(every), len(every) - len(kept))
    if kept or not rejected:
        return kept
    left = [1 if dim in rejected else size for dim, size in enumerate(rest)]
    return tuple(dict.fromkeys((*_pairs(memory, left, utilisation, count), *every)))


def _uses(pair: tuple[Ways, Ways], dims: frozenset[int]) -> bool:
    return any(own[dim] > 1 for own in pair for dim in dims)


def _pairs(
    memory: Memory, rest: Sequence[int], utilisation: float, count: Callable[[str, int, int], None]
) -> tuple[tuple[Ways, Ways], ...]:
    if memory.ways:
        return _demanded(memory, rest, utilisation, count)
    found: dict[object, tuple[Ways, Ways]] = {}
    alike = memory.x.allowed == memory.y.allowed and not memory.x.rules and not memory.y.rules
    for first in _used(memory.x, rest, utilisation, count):
        left = [size // ways for size, ways in zip(rest, first, strict=True)]
        for second in _used(memory.y, left, utilisation, count):
            key = tuple(map(prod, zip(first, second, strict=True))) if alike else (first, second)
            found.setdefault(key, (first, second))
    return tuple(found.values())


def _demanded(
    memory: Memory, rest: Sequence[int], utilisation: float, count: Callable[[str, int, int], None]
) -> tuple[tuple[Ways, Ways], ...]:
    """Of a mesh of which a user demands ways: those that use it well among all that meet the demand."""
    found = {}
    for first in along(memory.x, rest):
        for second in along(memory.y, [size // ways for size, ways in zip(rest, first, strict=True)]):
            both = tuple(a * b for a, b in zip(first, second, strict=True))
            if all(rule.admits(both) for rule in memory.ways):
                found[first, second] = both
    kept = set(well_used(tuple(found.values()), utilisation))
    count("unrollings: utilisation", len(found), sum(both not in kept for both in found.values()))
    return tuple(pair for pair, both in found.items() if both in kept)


def _used(
    direction: Direction, rest: Sequence[int], utilisation: float, count: Callable[[str, int, int], None]
) -> tuple[Ways, ...]:
    if direction.size == 1 and not direction.rules:
        return ((1,) * len(rest),)
    found = along(direction, rest)
    kept = well_used(found, utilisation)
    count("unrollings: utilisation", len(found), len(found) - len(kept))
    return kept
