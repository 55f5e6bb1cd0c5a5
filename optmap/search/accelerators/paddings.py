"""Paddings that are worth a search: extents with large prime factors split badly among memories and meshes.

A dim of 509 iterations has no tiles but 1 and 509; padded to 512 it has ten, for half a per cent more work. The work
on padding is done and counted, so a padded mapping is one of the larger problem that covers the one asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from optmap.mappings.constraints import NO_CONSTRAINTS, Constraints

PRIMES = (2, 3, 5, 7)
"""A number without other prime factors is smooth, and split well enough as it is."""
MOST = 2
"""Times an extent that one may become for a user's demands."""
CHOICES = 2
"""Smooth numbers above an extent that are looked at."""


def smooth(number: int) -> bool:
    """Whether a number has no prime factor beyond 7."""
    for prime in PRIMES:
        while number % prime == 0:
            number //= prime
    return number == 1


def larger(extent: int) -> tuple[int, ...]:
    """The next smooth numbers above an extent that is not smooth; none for others."""
    if smooth(extent):
        return ()
    found: list[int] = []
    number = extent
    while len(found) < CHOICES:
        number += 1
        if smooth(number):
            found.append(number)
    return tuple(found)


def paddings(extents: Mapping[str, int], constraints: Constraints = NO_CONSTRAINTS) -> Iterator[dict[str, int]]:
    """Sets of larger extents to look at.

    All ragged dims together, at their next smooth numbers; then, if there are several, each of them alone; then the
    same with the numbers after. Where a user demands tiles or ways that do not divide a dim it is at a multiple of them
    in all sets, the first of which has nothing else.

    Args:
        extents: per dim.
        constraints: a user's.
    """
    for needed in _needed(extents, constraints):
        if needed:
            yield needed
        others = {dim: extent for dim, extent in extents.items() if dim not in needed}
        yield from ({**needed, **sizes} for sizes in _ragged(others))


def _needed(extents: Mapping[str, int], constraints: Constraints) -> list[dict[str, int]]:
    """Extents that are multiples of what is demanded: with all ways inside the tiles, and outside; mostly none."""
    found: list[dict[str, int]] = []
    for apart in (False, True):
        steps = {dim: constraints.step(dim, apart=apart) for dim in extents}
        sizes = {dim: -(-extent // steps[dim]) * steps[dim] for dim, extent in extents.items()}
        needed = {dim: size for dim, size in sizes.items() if extents[dim] < size <= MOST * extents[dim]}
        if needed not in found:
            found.append(needed)
    return found


def _ragged(extents: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Without demands."""
    ragged = {dim: larger(extent) for dim, extent in extents.items()}
    ragged = {dim: sizes for dim, sizes in ragged.items() if sizes}
    for choice in range(CHOICES if ragged else 0):
        yield {dim: sizes[choice] for dim, sizes in ragged.items()}
        if len(ragged) > 1:
            for dim, sizes in ragged.items():
                yield {dim: sizes[choice]}
