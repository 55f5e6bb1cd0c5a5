"""What statements in turn read, write, hold and cost: nests one by one, and tensors that are brought to stay.

A nest is done as often as the loops around it have iterations. Where all those over sums of its result are at their
first, it begins with nothing; in the others it goes on with what is there. A tensor that is brought is read outside and
filled inside word by word; a result is updated outside whenever its content is another, and read again but for the
first time. Nothing happens at once: cycles add up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import ceil, prod
from typing import Any

from ..chains.chain import StatedChain
from ..core.fabric import StatedFabric
from ..nests.accesses import Counts, objective_value
from .single import is_in_place, places_of
from .stated_parts import StatedNest, StatedRowPass, Staying
from .stated_turns import StatedTurns

Passed = dict[tuple[int, str], int]
"""Words per number of a memory and kind of access."""


@dataclass
class TurnSum:
    """What a statement costs, or a tensor that is brought."""

    name: str
    times: int
    operations: int = 0
    energy: Fraction = Fraction(0)
    cycles: int = 0
    port_cycles: int = 0


@dataclass
class TurnTotals:
    """Everything that is counted of a tree."""

    statements: list[TurnSum] = field(default_factory=list)
    moving: list[TurnSum] = field(default_factory=list)
    arithmetic: Fraction = Fraction(0)
    accesses: dict[tuple[int, str], list[int]] = field(default_factory=dict)
    """Reads, fills and updates per number of a memory and tensor."""
    energies: dict[int, Fraction] = field(default_factory=dict)
    """Per number of a memory, in pJ."""
    crossing: dict[tuple[int, int, str], list[int]] = field(default_factory=dict)
    """Words read outside and updated there, per numbers of inner and outer memory and tensor."""
    held: dict[int, int] = field(default_factory=dict)
    """The most that an instance of a memory holds."""

    @property
    def rows(self) -> list[TurnSum]:
        """All that costs something."""
        return [*self.statements, *self.moving]

    @property
    def energy(self) -> Fraction:
        """Of everything."""
        return sum((row.energy for row in self.rows), Fraction(0))

    @property
    def cycles(self) -> int:
        """Of everything, one after the other."""
        return sum(row.cycles for row in self.rows)

    @property
    def port_cycles(self) -> int:
        """Of the slowest port in each turn."""
        return sum(row.port_cycles for row in self.rows)

    def merit(self, objective: str) -> Fraction:
        """The value of an objective."""
        return objective_value(objective, self.energy, self.cycles, self.port_cycles)


def turn_totals(turns: StatedTurns, *, timeloop: bool) -> TurnTotals:
    """Count a tree.

    Args:
        turns: the tree, whose nests keep to the rules of the machine.
        timeloop: whether nests are counted as Timeloop does.
    """
    totals = TurnTotals()
    for part in turns.parts:
        if isinstance(part, StatedNest):
            _add_nest(totals, turns, part, timeloop=timeloop)
        else:
            _add_rows(totals, turns, part)
    for stay in turns.moving:
        _add_moving(totals, turns, stay)
    return totals


def _add_nest(totals: TurnTotals, turns: StatedTurns, nest: StatedNest, *, timeloop: bool) -> None:
    ways = runs_of(nest, timeloop=timeloop)
    row = TurnSum(turns.chain.names[nest.statement], sum(many for many, _ in ways))
    for many, counts in ways:
        row.operations += many * counts.operations
        row.energy += many * counts.energy
        row.cycles += many * counts.cycles
        row.port_cycles += many * max(counts.port_cycles)
        totals.arithmetic += many * counts.arithmetic
        for number, own in enumerate(counts.rows):
            _pay(totals, number, many * counts.energies[number])
            for i, (reads, fills, updates, _, _) in own.items():
                _add(totals, number, _stored(turns, nest.fabric, i), many, (reads, fills, updates))
        for i in range(len(nest.fabric.operands)):
            keepers = [number for number, own in enumerate(counts.rows) if i in own]
            for inner, outer in pairwise(keepers):
                reads, _, updates, _, _ = counts.rows[outer][i]
                _cross(totals, (inner, outer, _stored(turns, nest.fabric, i)), many * reads, many * updates)
    totals.statements.append(row)
    _hold(totals, turns, nest, ways[0][1])


def runs_of(nest: StatedNest, *, timeloop: bool) -> list[tuple[int, Counts]]:
    """How often a nest is done, and what such a run costs: first those that begin empty, then those that go on."""
    around, result = nest.state.loops, {d for axis in nest.fabric.operands[0][1] for d in axis}
    times = prod(loop.trips for loop in around)
    begun = prod(loop.trips for loop in around if loop.dim in result)
    runs = [(begun, Counts(nest.loops, timeloop=timeloop))]
    if times > begun:
        runs.append((times - begun, Counts(nest.loops, timeloop=timeloop, going_on=True)))
    return runs


def _stored(turns: StatedTurns, fabric: StatedFabric, i: int) -> str:
    return turns.chain.held[fabric.work.tensors[i][0]]


def _add(totals: TurnTotals, number: int, tensor: str, times: int, words: tuple[int, int, int]) -> None:
    row = totals.accesses.setdefault((number, tensor), [0, 0, 0])
    for place, count in enumerate(words):
        row[place] += times * count


def _pay(totals: TurnTotals, number: int, energy: Fraction) -> None:
    totals.energies[number] = totals.energies.get(number, Fraction(0)) + energy


def _cross(totals: TurnTotals, key: tuple[int, int, str], loads: int, stores: int) -> None:
    row = totals.crossing.setdefault(key, [0, 0])
    row[0] += loads
    row[1] += stores


def _hold(totals: TurnTotals, turns: StatedTurns, nest: StatedNest, counts: Counts) -> None:
    """Tiles of what is not given, and what stays, in words of the chain where a capacity is in bytes."""
    for number, memory in enumerate(nest.fabric.memories[:-1]):
        level = turns.machine["levels"][number]
        in_words = level["capacity"]["unit"] == "words" or level["word_bits"] is not None
        scale = 1 if in_words else nest.fabric.work.word_bits // turns.chain.word_bits
        weights = {i: weight for _, each, _ in memory.rooms for i, weight in each.items()}
        used = sum(
            scale * memory.taken(i, weights[i], entry[3]) for i, entry in counts.rows[number].items() if i in weights
        )
        stays = [stay for stay in nest.state.stays if stay.level == number]
        used += turns.room(number, stays, turns.chain.word_bits) if stays else 0
        totals.held[number] = max(used, totals.held.get(number, 0))


def _add_moving(totals: TurnTotals, turns: StatedTurns, stay: Staying) -> None:
    chain, source = turns.chain, stay.source or 0
    number = next(
        n
        for n in turns.order
        if not is_in_place(chain, n) and places_of(chain, n, stay.tensor) and _is_below(turns, stay, n)
    )
    fabric, i = turns.plain(number, chain.extents), places_of(chain, number, stay.tensor)[0]
    row = TurnSum(stay.tensor, stay.contents)
    again = stay.contents - (stay.different if stay.made else 0)
    back = stay.contents if stay.made else 0
    for times, passed in zip((again, back), ways_between(source, stay.level, stay.elements), strict=True):
        energies, cycles = passing(fabric, i, passed)
        for (place, kind), energy in energies.items():
            _pay(totals, place, times * energy)
            row.energy += times * energy
            count = passed[place, kind]
            words = {"read": (count, 0, 0), "fill": (0, count, 0), "update": (0, 0, count)}[kind]
            _add(totals, place, stay.tensor, times, words)
        row.cycles += times * cycles
    row.port_cycles = row.cycles
    _add(totals, stay.level, stay.tensor, 0, (0, 0, 0))
    _cross(totals, (stay.level, source, stay.tensor), again * stay.elements, back * stay.elements)
    totals.moving.append(row)


def ways_between(source: int, level: int, elements: int) -> tuple[Passed, Passed]:
    """What passes when a content comes from one memory to another, and when it goes back."""
    return {(source, "read"): elements, (level, "fill"): elements}, {(source, "update"): elements}


def passing(fabric: StatedFabric, i: int, passed: Passed) -> tuple[dict[tuple[int, str], Fraction], int]:
    """Energy of words of a tensor that pass memories by themselves, and cycles of the slowest port.

    Args:
        fabric: a statement that has the tensor.
        i: number of its access.
        passed: words per number of a memory and kind of access.
    """
    return {key: paid(fabric, i, key, count) for key, count in passed.items()}, slowest(fabric, {i: passed})


def paid(fabric: StatedFabric, i: int, key: tuple[int, str], count: int) -> Fraction:
    """Energy of accesses of one kind to a tensor in a memory."""
    place, kind = key
    memory = fabric.memories[place]
    whole = ceil(memory.widths.entries(i, count) / memory.block) * memory.prices[kind]
    return whole + memory.widths.energy(i, kind, Fraction(count))


def slowest(fabric: StatedFabric, passed: dict[int, Passed]) -> int:
    """Cycles of the slowest port for words that pass in one go, by number of an access."""
    busy: dict[tuple[int, str], Fraction] = {}
    for i, own in passed.items():
        for (place, kind), count in own.items():
            for port in ("read" if kind == "read" else "write", "shared"):
                words = fabric.memories[place].widths.passing(i, Fraction(count))
                busy[place, port] = busy.get((place, port), Fraction(0)) + words
    rates = ((fabric.memories[place].rates.get(port), words) for (place, port), words in busy.items())
    return max([0, *(ceil(words / rate) for rate, words in rates if rate is not None)])


def row_passes(chain: StatedChain, number: int, levels: tuple[int, ...], points: int) -> list[dict[int, Passed]]:
    """What passes of one iteration of a function of rows: what its statistic is formed of, then everything.

    Args:
        chain: that the statement is of.
        number: of the statement.
        levels: per access, the output first, the memory where it is.
        points: of the iteration, a word of each access passing at each.
    """
    first, beyond = chain.said[number].of
    return [
        {1 + i: {(levels[1 + i], "read"): points} for i in range(first, beyond)},
        {i: {(level, "read" if i else "update"): points} for i, level in enumerate(levels)},
    ]


def _add_rows(totals: TurnTotals, turns: StatedTurns, rows: StatedRowPass) -> None:
    """A function of rows in all its iterations."""
    chain, fabric = turns.chain, rows.fabric
    times, points = prod(loop.trips for loop in rows.state.loops), prod(fabric.extents.values())
    row = TurnSum(chain.names[rows.statement], times)
    for passed in row_passes(chain, rows.statement, rows.levels, points):
        for i, own in passed.items():
            for key, count in own.items():
                energy = times * paid(fabric, i, key, count)
                _pay(totals, key[0], energy)
                row.energy += energy
                words = (count, 0, 0) if key[1] == "read" else (0, 0, count)
                _add(totals, key[0], _stored(turns, fabric, i), times, words)
        row.cycles += times * slowest(fabric, passed)
    row.port_cycles = row.cycles
    totals.statements.append(row)
    for number in range(len(fabric.memories) - 1):
        stays = [stay for stay in rows.state.stays if stay.level == number]
        used = turns.room(number, stays, chain.word_bits) if stays else 0
        totals.held[number] = max(used, totals.held.get(number, 0))


def _is_below(turns: StatedTurns, stay: Staying, number: int) -> bool:
    return stay in turns.paths[number][1].stays


def said_rows(rows: list[TurnSum]) -> list[dict[str, Any]]:
    """Numbers of statements, or of tensors that are brought, as documents have them beside their energy."""
    return [
        {
            "name": row.name,
            "times": row.times,
            "operations": row.operations,
            "cycles": row.cycles,
            "port_cycles": row.port_cycles,
        }
        for row in rows
    ]
