"""What words cost in the segment argument, and which workloads and memories it may say something about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from optmap.bounds.compulsory import created_words, tensor_words
from optmap.bounds.segments import LARGEST_BITS
from optmap.workloads.padding import real_operations
from optmap.workloads.workload import Semantics, Workload

MUS = (Fraction(1), Fraction(1, 2), Fraction(0))
"""Weights of a created output word tried under `assign`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """The segment argument's accounting: a loaded word costs b units, a created one a units."""

    mu: Fraction
    """a/b."""
    memory: int
    """Fast memory, in units."""
    weights: dict[str, int]
    """Units per element of every tensor; 0 only for the output with mu = 0."""
    operations: int
    """Points of the iteration space that are done."""
    ceiling: int
    """Units of all touched words together: longer segments cannot exist."""


def accounting(workload: Workload, memory_words: int, mu: Fraction = Fraction(1)) -> Units:
    """Units for a memory size and a price of created output words.

    Operations on implicit padding need no load and may be left out. Those that remain touch real
    elements only, each of which was loaded; and the product inequality holds for any finite set of
    points, so that U bounds a segment's share of them as it bounds its share of the whole box.
    """
    a, b = mu.numerator, mu.denominator
    weights = {t.name: b * workload.weight(t) for t in workload.tensors}
    weights[workload.output.name] = a * workload.weight(workload.output)
    elements = tensor_words(workload)
    return Units(
        mu=mu,
        memory=b * memory_words,
        weights=weights,
        operations=real_operations(workload),
        ceiling=sum(words * (a if name == workload.output.name else b) for name, words in elements.items()),
    )


def accountings(workload: Workload, memory_words: int, least: int) -> Iterator[tuple[Units, int]]:
    """Every accounting that may prove something, and the units that stand for `least` loads.

    Args:
        workload: the computation.
        memory_words: fast memory, in words.
        least: loads, in words, that a proof must exceed.
    """
    created = created_words(workload)
    for mu in MUS if workload.semantics is Semantics.ASSIGN else MUS[:1]:
        units = accounting(workload, memory_words, mu)
        if units.memory < units.ceiling and 0 < units.operations.bit_length() <= LARGEST_BITS:
            yield units, mu.denominator * least + mu.numerator * created


def loads_of_units(workload: Workload, units: Units, cost: int) -> int:
    """Loads, in words, of a run that costs at least so many units."""
    if workload.semantics is not Semantics.ASSIGN:
        return cost
    created = units.mu.numerator * created_words(workload)
    return -((created - cost) // units.mu.denominator)
