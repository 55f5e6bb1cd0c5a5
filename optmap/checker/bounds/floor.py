"""What no schedule on an accelerator goes below: re-derived from re-proved bounds on the words that cross.

Inputs that are read outside a boundary for the inside and results updated there are together at least
the loads and stores of one memory that holds all that the inside holds, with one word under way per unit and
tensor that need not be kept inside. One tensor alone crosses at least with the words it has; into the arithmetic,
with the operations over the children that one access may serve. A tensor's way is cut at its keepers; a word costs a
read (a result: an update, in the outermost memory a read too but for its first) outside and, of inputs, a fill inside.

With weights y >= 0 on boundaries, on every stretch of a way at most its price p in sum: movement >= sum of p n over
the stretches (n the words of the tensor alone) + sum of y (crossing - n of the stretches across). Any such y proves
it; here the outermost boundaries take what they can first. The least over all choices of keepers is the floor.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import ceil, floor, prod
from typing import Any

from ..core.fabric import StatedFabric
from ..core.footprints import together
from ..core.statement import StatedWork
from ..core.tools import count, need
from .bound import check_bound

MOST = 2**11
"""Choices of keepers of all tensors that are looked at together."""
Way = list[tuple[int, int, Fraction, Fraction]]
"""(innermost and outermost boundary, price, words) of every stretch of a tensor, inner first; -1 is the arithmetic."""


def touched(fabric: StatedFabric, i: int) -> int:
    """Words of a tensor, at least: subscripts without common dims move freely."""
    total = 1
    for part in together(fabric.operands[i][1]):
        used = set[str]()
        for axis in sorted(part, key=lambda axis: -count(axis, fabric.extents)):
            if used.isdisjoint(axis):
                total *= count(axis, fabric.extents)
                used |= set(axis)
    return total


def held_inside(fabric: StatedFabric, number: int) -> int:
    """Words that all instances of the memories up to one hold at a time, with those under way past them."""
    total = 0
    for place, memory in enumerate(fabric.memories[: number + 1]):
        for _, weights, units in memory.rooms:
            each = (memory.widths.entries(i, weight) for i, weight in weights.items() if memory.keeps[i] != "refused")
            least = min(each, default=None)
            total += fabric.instances(place) * (floor(units / least) if least else 0)
    inside = fabric.memories[: number + 1]
    passing = sum(all(m.keeps[i] != "kept" for m in inside) for i in range(len(fabric.operands)))
    return total + passing * fabric.units


def check_crossings(fabric: StatedFabric, entries: Any) -> dict[int, int]:
    """Words across the boundaries that have a certificate, by number of the memory inside."""
    names = [memory.name for memory in fabric.memories]
    found: dict[int, int] = {}
    for entry in entries:
        inner, outer = entry["between"]
        need(
            inner in names[:-1] and outer == names[names.index(inner) + 1], "a floor between memories that do not meet"
        )
        number = names.index(inner)
        need(number not in found, f"two floors outside {inner}")
        proof = entry["certificate"]
        claims = check_bound(proof)
        work = StatedWork(proof["workload"])
        same = work.accesses == fabric.work.accesses and work.extents == fabric.work.extents
        need(same and work.assign and set(work.weights.values()) == {1}, "a floor of another workload")
        need(
            proof["memory_words"] >= held_inside(fabric, number), f"more than {proof['memory_words']} words are inside"
        )
        need(entry["memory_words"] == proof["memory_words"], "memory_words is not that of the certificate")
        need(entry["words"] == claims["total_words"], f"the certificate outside {inner} proves {claims['total_words']}")
        found[number] = entry["words"]
    return found


def movement(fabric: StatedFabric, crossings: dict[int, int]) -> Fraction:
    """Energy of accesses, at least, whoever keeps what."""
    choices = [[way(fabric, i, keepers) for keepers in keeper_sets(fabric, i)] for i in range(len(fabric.operands))]
    if prod(map(len, choices)) > MOST:
        return sum((min(least([found], {}) for found in each) for each in choices), Fraction(0))
    return min(least(list(ways), crossings) for ways in product(*choices))


def keeper_sets(fabric: StatedFabric, i: int) -> list[list[int]]:
    """The memories that may keep a tensor together, every way that the machine allows."""
    options = [{"kept": (True,), "refused": (False,), "free": (False, True)}[m.keeps[i]] for m in fabric.memories]
    picked = ([n for n, kept in enumerate(choice) if kept] for choice in product(*options))
    return [keepers for keepers in picked if keepers]


def way(fabric: StatedFabric, i: int, keepers: list[int]) -> tuple[Way, Fraction]:
    """The stretches of a tensor, and energy that is spared beside them."""
    words, stretches, spared = Fraction(touched(fabric, i)), [], Fraction(0)
    for inner, keeper in zip([-1, *keepers], keepers, strict=False):
        n = max(words, Fraction(prod(fabric.extents.values()), served(fabric, i, keeper))) if inner < 0 else words
        price = share(fabric, keeper, i, "read" if i else "update")
        if i and inner >= 0:
            price += share(fabric, inner, i, "fill")
        if not i and keeper == len(fabric.memories) - 1:
            again = share(fabric, keeper, i, "read")
            price, spared = price + again, spared + again * at_most(fabric)
        stretches.append((inner, keeper - 1, price, n))
    return stretches, spared


def at_most(fabric: StatedFabric) -> int:
    """Results, at most."""
    return prod(count(axis, fabric.extents) for axis in fabric.operands[0][1])


def share(fabric: StatedFabric, number: int, i: int, kind: str) -> Fraction:
    """Energy of a word of a tensor at least: its bits, and its share of a full block, for a full cluster."""
    memory, there = fabric.memories[number], fabric.instances(number)
    each = memory.prices[kind] / memory.block * memory.widths.entries(i, 1) + memory.widths.energy(i, kind, Fraction(1))
    return each * max(1, there // memory.cluster) / there


def served(fabric: StatedFabric, i: int, keeper: int) -> int:
    """Units that one access may serve."""
    inside = fabric.memories[: keeper + 1]
    return prod(memory.fanout for memory in inside if (memory.multicast if i else memory.reduction))


def least(ways: list[tuple[Way, Fraction]], crossings: dict[int, int]) -> Fraction:
    """Energy for one choice of keepers."""
    stretches = [stretch for found, _ in ways for stretch in found]
    left = [price for _, _, price, _ in stretches]
    total = sum((price * n for _, _, price, n in stretches), Fraction(0)) - sum(spared for _, spared in ways)
    for boundary in sorted(crossings, reverse=True):
        across = [k for k, (first, last, _, _) in enumerate(stretches) if first <= boundary <= last]
        more = crossings[boundary] - sum(stretches[k][3] for k in across)
        if len(across) == len(ways) and more > 0:
            y = min(left[k] for k in across)
            total += y * more
            for k in across:
                left[k] -= y
    return total


def port_cycles(fabric: StatedFabric, crossings: dict[int, int]) -> int:
    """Cycles of the slowest port for the tensors that its memory must keep."""
    return max(ceil(memory_time(fabric, number, crossings)) for number in range(len(fabric.memories)))


def memory_time(fabric: StatedFabric, number: int, crossings: dict[int, int]) -> Fraction:
    """Time of the ports of one instance of a memory, all of them sharing the work."""
    memory, widths = fabric.memories[number], fabric.memories[number].widths
    reads, writes, crossing = Fraction(0), Fraction(0), Fraction(0)
    for i in range(len(fabric.operands)):
        if memory.keeps[i] != "kept":
            continue
        words = Fraction(touched(fabric, i))
        innermost = all(other.keeps[i] == "refused" for other in fabric.memories[:number])
        n = max(words, Fraction(prod(fabric.extents.values()), served(fabric, i, number))) if innermost else words
        filled = bool(i) and any(other.keeps[i] == "kept" for other in fabric.memories[number + 1 :])
        crossing += n
        reads += widths.passing(i, n * bool(i))
        writes += widths.passing(i, n * (not i) + words * filled)
    both = reads + writes
    if number == len(fabric.memories) - 1 and all(keep == "kept" for keep in memory.keeps):
        # More words cross than are known by tensor: each is one of the tensor whose elements take the least.
        more = max(crossings.get(number - 1, 0) - crossing, Fraction(0))
        both += min(widths.passing(i, more) for i in range(len(fabric.operands)))
    read, write, shared = (memory.rates.get(port) for port in ("read", "write", "shared"))
    times = [passed / rate for passed, rate in ((reads, read), (writes, write), (both, shared)) if rate is not None]
    if read is not None and write is not None:
        times.append(both / (read + write))
    return max(times, default=Fraction(0)) / fabric.instances(number)
