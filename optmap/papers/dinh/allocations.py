"""Dinh, section 6.1: the program (6.1.1) to (6.1.5) as printed, its sums beside words that are counted loop by loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from random import Random

from optmap.papers.items import Collected, Rows
from optmap.papers.rows import claimed, refuted

ALLOCATIONS = Collected()
TENSORS: Mapping[str, frozenset[str]] = {"A": frozenset("ik"), "B": frozenset("kj"), "C": frozenset("ij")}
"""Dims j with A[j, v] = 1, of a product."""
DRAWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedAllocation:
    """A tensor X of section 6.1.1 with one buffer and the global buffer: subloops as (dim, prime factor)."""

    inside: tuple[tuple[str, int], ...]
    """In the buffer."""
    spatial: tuple[tuple[str, int], ...]
    """At the global buffer, across its children."""
    ranks: tuple[tuple[str, int], ...]
    """There in time, O_0, the innermost, first."""


def footprint(allocation: PrintedAllocation, dims: frozenset[str]) -> int:
    """(6.1.1): the product of the subloops inside whose dims index a tensor."""
    return prod(prime for dim, prime in allocation.inside if dim in dims)


def traffic(allocation: PrintedAllocation, dims: frozenset[str]) -> int:
    """The exponential of D + L + T: (6.1.1), the ways of a mesh, and (6.1.5) with the least Y of (6.1.4)."""
    ways = prod(prime for dim, prime in allocation.spatial if dim in dims)
    trips, y = 1, False
    for dim, prime in allocation.ranks:
        y = y or dim in dims
        trips *= prime if y else 1
    return footprint(allocation, dims) * ways * trips


def walked(allocation: PrintedAllocation, dims: frozenset[str]) -> int:
    """Words that the children get, loop by loop: a tile moves to a child that held another one before."""
    words, held = 0, dict[tuple[int, ...], tuple[int, ...]]()
    outer = tuple(reversed(allocation.ranks))
    for step in product(*(range(prime) for _, prime in outer)):
        tile = tuple(at for at, (dim, _) in zip(step, outer, strict=True) if dim in dims)
        for child in product(*(range(prime) for dim, prime in allocation.spatial if dim in dims)):
            if held.get(child) != tile:
                held[child] = tile
                words += footprint(allocation, dims)
    return words


def drawn(count: int) -> Sequence[PrintedAllocation]:
    """Allocations at random."""
    rng, found = Random(6), list[PrintedAllocation]()
    for _ in range(count):
        places: tuple[list[tuple[str, int]], ...] = ([], [], [])
        for _ in range(7):
            places[rng.choice((0, 1, 2, 2))].append((rng.choice("ijk"), rng.choice((2, 2, 3, 5))))
        found.append(PrintedAllocation(inside=tuple(places[0]), spatial=tuple(places[1]), ranks=tuple(places[2])))
    return found


@ALLOCATIONS.item(
    "Formulas (6.1.1) to (6.1.5)", "Footprint, parallelism and traffic of an allocation", where="section 6.1"
)
def formulas() -> Rows:
    """Of products as they are printed; of a convolution the halo is missing."""
    every = drawn(DRAWN)
    wrong = sum(traffic(each, dims) != walked(each, dims) for each in every for dims in TENSORS.values())
    yield claimed(
        f"volumes D + L + T of {DRAWN} allocations of a product that are not what is counted", 0, wrong, holds=not wrong
    )
    figure = PrintedAllocation(inside=(), spatial=(("k", 2), ("k", 2)), ranks=(("n", 3), ("r", 3)))
    yield claimed(
        "children that Figure 6.1.1 uses by the left side of (6.1.3)",
        "4",
        prod(prime for _, prime in figure.spatial),
        holds=prod(prime for _, prime in figure.spatial) == 4,
    )
    positions, taps = (("w", 2), ("w", 2)), (("r", 3),)
    tile = PrintedAllocation(inside=(*positions, *taps), spatial=(), ranks=())
    whole, alone = footprint(tile, frozenset("wr")), footprint(tile, frozenset("w"))
    read = len({w + r for w in range(4) for r in range(3)})
    yield refuted(
        "words of the image for 4 positions and 3 taps by (6.1.1)",
        f"{alone} or {whole}, with A of the taps 0 or 1",
        read,
        counterexample="positions w and taps r read w + r: the footprint is no product of loop bounds",
        false=read not in (alone, whole),
    )
