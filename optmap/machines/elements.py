"""What elements of different sizes take of the memories of an accelerator.

In most machine files an entry holds one element of any size: a word is an element, and nothing depends on its bits but
a capacity in bytes. A machine prices and limits by size in three ways, each on its own:

- `energy_pj_per_bit`: every bit of the elements that are read, filled or updated costs as much, beside the accesses.
- Ports in bytes: elements pass as the bytes that they have.
- `pack`: with B bits an element and W an entry, floor(W / B) elements share an entry, and an element of more bits than
  an entry takes ceil(B / W) of them; none straddles two without need. The elements of a tensor lie next to one another,
  so whole entries are counted once: a tile takes ceil(elements * share) entries of a capacity, and all that one
  instance reads (fills, updates) of a tensor is ceil(elements * share / block) accesses, as blocks are counted. Words
  of capacities, blocks and ports are entries there; ports pass shares of entries, not rounded up.

Whole entries grow with the elements, and never more slowly than their share: what is bounded by elements is bounded in
entries, and shares without rounding are the least that they cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, overload

from optmap.base.shown import Concise
from optmap.machines.accelerator import Prices, Store

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

ONE = Fraction(1)


class Energies(NamedTuple):
    """Energy in pJ per kind of access."""

    read: Fraction
    fill: Fraction
    update: Fraction

    def times(self, factor: Fraction) -> Energies:
        """So many times as much."""
        return Energies(*(energy * factor for energy in self))


def energies(prices: Prices) -> Energies:
    """Prices by kind."""
    return Energies(Fraction(prices.read), Fraction(prices.fill), Fraction(prices.update))


@dataclass(frozen=True, slots=True, kw_only=True)
class Element(Concise):
    """What one element of an operand takes of a memory."""

    entries: Fraction
    """Of an access, and of a capacity in entries that packs; 1 where an entry holds one element of any size."""
    passing: Fraction
    """Words of the memory's ports that pass with it (`Memory.read_rate`)."""
    bits_pj: Energies
    """Of its bits, beside the accesses."""
    least_pj: Energies
    """Of one in a full block, its bits included."""


def entries_of(store: Store, bits: int) -> Fraction:
    """Entries of a memory that one element takes: 1, or by its size where the memory packs.

    Args:
        store: the memory.
        bits: of the element.
    """
    if not store.pack or store.word_bits is None:
        return ONE
    return Fraction(1, store.word_bits // bits) if bits <= store.word_bits else Fraction(-(-bits // store.word_bits))


def element_of(store: Store, bits: int, words: int) -> Element:
    """What an element takes of a memory.

    Args:
        store: the memory.
        bits: of the element.
        words: of the workload, that it has.
    """
    entries = entries_of(store, bits)
    own = energies(store.energy_pj_per_bit).times(Fraction(bits))
    access = energies(store.energy_pj).times(entries / store.block)
    return Element(
        entries=entries,
        passing=Fraction(words) if store.ports.unit == "bytes" else entries,
        bits_pj=own,
        least_pj=Energies(*(a + b for a, b in zip(access, own, strict=True))),
    )


@overload
def whole(elements: int, share: Fraction) -> int: ...
@overload
def whole(elements: NDArray[Any], share: Fraction) -> NDArray[Any]: ...
def whole(elements: int | NDArray[Any], share: Fraction) -> int | NDArray[Any]:
    """Entries (words of a capacity) that whole numbers of elements take, rounded up.

    Args:
        elements: a number, or an array of whole numbers below 2^52.
        share: of an entry, per element.
    """
    found = elements * share.numerator
    return found if share.denominator == 1 else -(-found // share.denominator)
