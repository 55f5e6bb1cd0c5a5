r"""What no schedule on an accelerator goes below: a floor of energy and cycles from data-movement bounds.

**Words that cross.** Let level c be the last one on the inside, and M(c) all elements that the instances of all
memories up to c hold together (of a double buffer the half that is worked on, as in every count here), plus one
per arithmetic unit and tensor that may pass all of them by. Consider the cycles one after another, S the set of
words that any instance inside holds. One memory of M(c) words that holds S at every cycle and does the operations of
a cycle one by one is a run that the bounds of `optmap.bounds`
speak of. It loads an input word only when an instance inside, which had it not, receives it, so at most as often as
memories outside read that word (a word that is multicast is read once for all). A result stays in it while any
instance holds a partial sum of it, and leaves it only when the last one hands its own out, which is an update outside:
the run stores it V times, loads it V - 1 times, and there are V updates or more. Hence with X the words
of inputs read outside for the inside and U the updates of results from there,

    loads of the run <= X + U - |results|,   so   X + U >= (loads of the bound, `assign`) + |results| = B(c).

Further, each tensor alone crosses at least once per word that is touched, and into the arithmetic
operations / (product of the meshes on the way) times: a mesh serves no more than all of its children by one access.
Only real words count: with padded dims there are more.

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
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from math import ceil, prod

from optmap.answers.proofs.beside import bound_in_time
from optmap.base.clock import NO_LIMIT, Clock
from optmap.base.errors import ContradictionError, OptmapError
from optmap.machines.accelerator import KeepRule
from optmap.machines.elements import Energies
from optmap.machines.fabric import Fabric, Memory, SharedRoom
from optmap.questions.options import Merit
from optmap.search.floors import BoundaryCertificate, MeshFloor
from optmap.search.result import NestAnswer
from optmap.workloads.axes import touched_at_least
from optmap.workloads.workload import Semantics, Workload

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


def with_floor(result: NestAnswer, clock: Clock = NO_LIMIT) -> NestAnswer:
    """The result with the floor of every schedule on its machine.

    Raises:
        ContradictionError: if the exactly counted mapping is below it: one of the two is wrong.
    """
    floor, notes = floor_of(result.fabric, clock)
    for merit in Merit:
        value, least = result.exact_count.merit(merit), floor.merit(merit)
        if value < least:
            raise ContradictionError(
                f"{result.workload.title} on {result.machine.name}: the mapping has {float(value):.12g} {merit}, below "
                f"the floor of {float(least):.12g}: one of the two is wrong; please report workload and machine"
            )
    return replace(result.noting(*notes), floor=floor)


def floor_of(fabric: Fabric, clock: Clock = NO_LIMIT) -> tuple[MeshFloor, tuple[str, ...]]:
    """The floor, and notes about boundaries that have no bound.

    Args:
        fabric: workload (its outputs start empty) and machine.
        clock: when boundaries further in get compulsory traffic alone, with a note.
    """
    crossings, notes = crossings_of(fabric, clock)
    least = least_of(fabric, {number: crossing.words for number, crossing in crossings.items()})
    floor = MeshFloor(
        energy_pj=least.energy_pj,
        cycles=least.cycles,
        port_cycles=least.port_cycles,
        certificates=tuple(crossings[number] for number in sorted(crossings)),
    )
    return floor, notes


@dataclass(frozen=True, slots=True)
class LeastMerits:
    """What no schedule of a statement goes below."""

    energy_pj: Fraction
    cycles: int
    port_cycles: int


def crossings_of(fabric: Fabric, clock: Clock = NO_LIMIT) -> tuple[dict[int, BoundaryCertificate], tuple[str, ...]]:
    """Proved bounds on the words that cross, by number of the memory inside, and notes about boundaries without one.

    Args:
        fabric: workload and machine.
        clock: when boundaries further in get compulsory traffic alone, with a note.
    """
    crossings: dict[int, BoundaryCertificate] = {}
    notes: list[str] = []
    for number in reversed(range(len(fabric.memories) - 1)):
        try:
            crossings[number] = _crossing(fabric, number, clock, notes)
        except ContradictionError:
            raise
        except OptmapError as error:
            notes.append(f"no floor inside {fabric.memories[number + 1].name}: {error}")
    return crossings, tuple(notes)


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


def even(workload: Workload) -> Workload:
    """The workload with elements of one size: words that cross are elements on an accelerator, whatever their bits."""
    plain = workload.with_accesses([replace(tensor, bits=8) for tensor in workload.tensors])
    return replace(plain, name="", count=1, semantics=Semantics.ASSIGN)


def inside_words(fabric: Fabric, number: int) -> int:
    """Words that the inside of a boundary holds or lets pass at a time, see the module.

    Args:
        fabric: the machine.
        number: of the outermost memory inside.
    """
    held = sum(
        fabric.instances(place) * sum(_room(memory, room) for room in memory.rooms)
        for place, memory in enumerate(fabric.memories[: number + 1])
    )
    passing = sum(
        all(memory.keeps[operand] is not KeepRule.KEPT for memory in fabric.memories[: number + 1])
        for operand in range(len(fabric.operands))
    )
    return held + passing * fabric.units


def _room(memory: Memory, room: SharedRoom) -> int:
    """Words that a part of a memory can hold; none if it refuses all tensors of the part."""
    own = zip(room.operands, room.weights, strict=True)
    weights = [weight for operand, weight in own if memory.keeps[operand] is not KeepRule.REFUSED]
    return int(room.capacity // min(weights)) if weights else 0


def _crossing(fabric: Fabric, number: int, clock: Clock, notes: list[str]) -> BoundaryCertificate:
    memory_words = inside_words(fabric, number)
    between = (fabric.memories[number].name, fabric.memories[number + 1].name)
    bound = bound_in_time(even(fabric.workload), memory_words, clock, between, notes)
    return BoundaryCertificate(
        between=between,
        memory_words=memory_words,
        words=bound.total_words,
        certificate=bound.certificate or {},
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
    if prod(len(each) for each in options) <= MOST_CHOICES:
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
