r"""What no schedule of a statement on an accelerator costs less than, from words that cross its boundaries at least.

B(c) are the words that cross boundary c together at least, as far as they are known (`optmap.answers.proofs.floor`
proves them, and what crosses of each tensor alone).

**Energy.** Who keeps a tensor decides which accesses a crossing costs: between neighbouring keepers a read outside
and a fill inside per input word (fills are reads times the children served), an update outside per result. In the
outermost memory, of which there is one, all updates of a result but the first are reads too. Blocks, entries that
elements share, and clusters are at best full: a word costs its share of them, and its own bits. For each choice of
keepers that the machine allows let w be the price per word of a stretch between neighbouring keepers of a tensor and n
what crosses there at least. For every choice of y(c) >= 0 with the sum of y(c) over a stretch at most w, on every
stretch (linear programming duality),

    energy >= arithmetic + sum over stretches w n + sum over c y(c) (B(c) - sum of the n of the stretches across c).

Each y(c), outermost first, is taken as large as is left. The floor is the least over all choices of keepers.

**Cycles.** All units at work, and every port with the words that must pass it: those of tensors that the memory
must keep, divided by the instances there are. A word takes of a port what an element of its tensor does; of words of
whichever tensor it is the least of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import ceil, prod

from optmap.machines.accelerator import KeepRule
from optmap.machines.elements import Energies
from optmap.machines.fabric import Fabric
from optmap.workloads.axes import touched_at_least

MOST_CHOICES = 2**11
"""Choices of keepers that are priced together; beyond that tensors are priced one by one."""


@dataclass(frozen=True, slots=True)
class TensorWay:
    """The way of one tensor between neighbouring keepers, or from the innermost one into the arithmetic."""

    first: int
    """Innermost boundary that it crosses; -1 for that of the arithmetic."""
    last: int
    """Outermost one: that inside the outer keeper."""
    price: Fraction
    """Energy per word, at least."""
    words: Fraction
    """That cross, at least."""


Chain = tuple[tuple[TensorWay, ...], Fraction]
"""The way of a tensor from its outermost keeper, and energy that is paid beside the words that cross."""


@dataclass(frozen=True, slots=True)
class LeastMerits:
    """What no schedule of a statement goes below."""

    energy_pj: Fraction
    cycles: int
    port_cycles: int


def least_of(fabric: Fabric, words: dict[int, int]) -> LeastMerits:
    """Energy and cycles, at least.

    Args:
        fabric: workload and machine.
        words: that cross each boundary together, at least, by number of the memory inside; for machines that differ in
            who keeps what outside a level they are the same, as long as no tensor begins or ends inside the boundary.
    """
    port_cycles = max(_port_cycles(fabric, number, words) for number in range(len(fabric.memories)))
    return LeastMerits(
        energy_pj=fabric.operations * fabric.arithmetic_pj + _movement(fabric, words),
        cycles=max(-(-fabric.operations // fabric.units), port_cycles),
        port_cycles=port_cycles,
    )


def touched(fabric: Fabric, operand: int) -> int:
    """Different words of a tensor access, at least."""
    return touched_at_least(fabric.workload.tensors[operand], fabric.workload.extents)


def _keepers(fabric: Fabric, operand: int) -> Iterator[tuple[int, ...]]:
    """Every set of memories that may keep a tensor, inner first."""
    keeps = [memory.keeps[operand] for memory in fabric.memories]
    must = [number for number, keep in enumerate(keeps) if keep is KeepRule.KEPT]
    free = [number for number, keep in enumerate(keeps) if keep is KeepRule.FREE]
    for size in range(len(free) + 1):
        for chosen in combinations(free, size):
            found = tuple(sorted([*must, *chosen]))
            if found:
                yield found


def _least(fabric: Fabric, number: int, operand: int) -> Energies:
    """Energy of a word in a full block of a full cluster, all instances in use."""
    least = fabric.memories[number].elements[operand].least_pj
    return least.times(Fraction(fabric.clusters(number), fabric.instances(number)))


def _served(fabric: Fabric, operand: int, keeper: int) -> int:
    """Arithmetic units that one access to a memory serves, at most."""
    output = fabric.operands[operand].output
    inside = fabric.memories[: keeper + 1]
    return prod(memory.fanout for memory in inside if (memory.reduction if output else memory.multicast))


def chain(fabric: Fabric, operand: int, keepers: Sequence[int]) -> Chain:
    """The stretches of a tensor for a choice of keepers, inner first."""
    own = fabric.operands[operand]
    words = Fraction(touched(fabric, operand))
    outermost = len(fabric.memories) - 1
    stretches, extra = [], Fraction(0)
    for place, keeper in enumerate(keepers):
        least_pj = _least(fabric, keeper, operand)
        inner = keepers[place - 1] if place else -1
        least = max(words, Fraction(fabric.operations, _served(fabric, operand, keeper))) if inner < 0 else words
        price = least_pj.update if own.output else least_pj.read
        if own.output and keeper == outermost:  # updates but the first are read
            again = least_pj.read
            most = fabric.workload.tensors[operand].footprint(fabric.workload.extents)
            price, extra = price + again, extra - again * most
        if not own.output and inner >= 0:
            price += _least(fabric, inner, operand).fill
        stretches.append(TensorWay(first=inner, last=keeper - 1, price=price, words=least))
    return tuple(stretches), extra


def priced(chains: Sequence[Chain], words: dict[int, int]) -> Fraction:
    """Energy of data movement for a choice of keepers of every tensor, at least.

    Args:
        chains: one per tensor.
        words: that cross each boundary together, at least, by number.
    """
    stretches = [stretch for found, _ in chains for stretch in found]
    total = sum((extra for _, extra in chains), Fraction(0))
    total += sum((stretch.price * stretch.words for stretch in stretches), Fraction(0))
    left = {id(stretch): stretch.price for stretch in stretches}
    for boundary in sorted(words, reverse=True):
        across = [stretch for stretch in stretches if stretch.first <= boundary <= stretch.last]
        more = words[boundary] - sum((stretch.words for stretch in across), Fraction(0))
        if more > 0 and len(across) == len(chains):  # all tensors come from outside
            weight = min(left[id(stretch)] for stretch in across)
            total += weight * more
            for stretch in across:
                left[id(stretch)] -= weight
    return total


def _movement(fabric: Fabric, words: dict[int, int]) -> Fraction:
    """Energy of data movement, at least, whoever keeps what."""
    options = [
        [chain(fabric, operand, keepers) for keepers in _keepers(fabric, operand)]
        for operand in range(len(fabric.operands))
    ]
    if words and prod(len(each) for each in options) <= MOST_CHOICES:
        return min((priced(chains, words) for chains in product(*options)), default=Fraction(0))
    return sum((min(priced([each], {}) for each in found) for found in options), Fraction(0))


def _port_cycles(fabric: Fabric, number: int, words: dict[int, int]) -> int:
    """Cycles that the ports of a memory need for what must pass them."""
    memory, outermost = fabric.memories[number], len(fabric.memories) - 1
    read, write, known = Fraction(0), Fraction(0), Fraction(0)
    for place, operand in enumerate(fabric.operands):
        if memory.keeps[place] is not KeepRule.KEPT:
            continue
        least, passing = Fraction(touched(fabric, place)), memory.elements[place].passing
        if all(inner.keeps[place] is KeepRule.REFUSED for inner in fabric.memories[:number]):
            least = max(least, Fraction(fabric.operations, _served(fabric, place, number)))
        known += least
        if operand.output:
            write += least * passing
        else:
            read += least * passing
            if any(outer.keeps[place] is KeepRule.KEPT for outer in fabric.memories[number + 1 :]):
                write += touched(fabric, place) * passing
    both = read + write
    if number == outermost and all(keep is KeepRule.KEPT for keep in memory.keeps):  # nothing is filled there
        more = max(Fraction(0), words.get(number - 1, 0) - known)
        both += more * min(element.passing for element in memory.elements)
    found = [Fraction(0)]
    if memory.read_rate is not None:
        found.append(read / memory.read_rate)
    if memory.write_rate is not None:
        found.append(write / memory.write_rate)
    if memory.shared_rate is not None:
        found.append(both / memory.shared_rate)
    if memory.read_rate is not None and memory.write_rate is not None:
        found.append(both / (memory.read_rate + memory.write_rate))
    return ceil(max(found) / fabric.instances(number))
