"""Counting several statements that are done in turn on a machine with meshes and prices.

A mapping tree is read as nests in turn (`mappings.parts`). Each is counted as a nest alone, on a machine with what is
kept outside as rules: words and energy are those of one iteration times their number, and nothing runs at the same
time, so that cycles add up as well. A tensor that a Keep outside nests brings from further out passes word by word: a
read there and a fill here for what comes, an update there for what goes; the first content of a result comes from
nowhere. A function of rows has its rows pass word by word as well, twice, where they are. Energy-delay is the product
of both sums.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from optmap.count.meshes.count import NEST_EXACT
from optmap.count.meshes.passing import Passing, brought, passage
from optmap.count.meshes.policy import NestPolicy
from optmap.count.meshes.results import Accesses, SpatialCost
from optmap.count.meshes.turn_results import InTurnCount, TurnAccesses, TurnCost, TurnLevel
from optmap.count.results import BoundaryTraffic
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.given import taken
from optmap.machines.machine import Level
from optmap.mappings.nest import nest_of
from optmap.mappings.parts import parts_of
from optmap.mappings.tree import MappingTree
from optmap.mappings.turn_parts import RowsPart, Stay, TurnPart, TurnTree
from optmap.questions.options import Merit
from optmap.workloads.workload import Workload


def count_in_turn(tree: MappingTree, counting: NestPolicy = NEST_EXACT) -> InTurnCount:
    """Energy, cycles, words and room of statements in turn.

    Args:
        tree: on a machine with meshes and prices. One that breaks rules of the machine is counted all the same where
            its statements have room for what stays; `broken` says which, `uncounted` what has none.
        counting: the policy by which each nest is counted.

    Raises:
        TreeError: for a tree that means nothing.
        InputError: for what is not counted: the first thing by name.
    """
    read = parts_of(tree)
    tally = _Tally(read, counting)
    for part in read.parts:
        if isinstance(part, TurnPart):
            tally.add_part(part)
        else:
            tally.add_rows(part)
    for stay in read.moving:
        tally.add_moving(stay)
    return tally.result()


def rows_passed(part: RowsPart, fabric: Fabric) -> tuple[Passing, Passing]:
    """What one iteration of a function of rows costs: words that its statistic is formed of, then all that pass.

    Args:
        part: with the levels where its words are.
        fabric: of its workload, on the machine as it is.
    """
    names = [memory.name for memory in fabric.memories]
    at = [names.index(level) for level in part.levels]
    second = [(at[0], 0, (0, 0, part.points)), *((at[n], n, (part.points, 0, 0)) for n in range(1, len(at)))]
    return passage(fabric, [(at[n], n, (part.points, 0, 0)) for n in part.first]), passage(fabric, second)


@dataclass(frozen=True, slots=True)
class _Times:
    """A count, and how often it occurs."""

    count: SpatialCost
    times: int


class _Tally:
    """Adds up what nests and tensors that are moved cost."""

    def __init__(self, read: TurnTree, counting: NestPolicy) -> None:
        self.tree, self.counting = read.tree, counting
        self.workload, self.machine = read.tree.workload, read.tree.machine
        self.levels = {level.name: level for level in self.machine.levels}
        self.names = [*self.levels, self.machine.memory]
        self.statements: list[TurnCost] = []
        self.moving: list[TurnCost] = []
        self.words: dict[tuple[str, str], Counter[str]] = {}
        self.energies: dict[tuple[str, str], Fraction] = {}
        self.wires: Counter[str] = Counter()
        self.wired: dict[str, Fraction] = dict.fromkeys(self.names, Fraction(0))
        self.crossing: dict[tuple[str, str, str], list[int]] = {}
        self.most: dict[str, tuple[int, str]] = {}
        self.broken: list[str] = []
        self.uncounted: list[str] = []
        self.fabrics: dict[str, Fabric] = {}

    def add_part(self, part: TurnPart) -> None:
        """A nest in all its iterations."""
        fabric = self.fabrics.setdefault(part.statement, fabric_of(part.workload, self.machine))
        if part.machine is None or part.mapping is None:
            self._add_full(part)
            return
        derived = fabric_of(part.workload, part.machine)
        nest = nest_of(part.mapping, derived)
        first = self.counting.count(nest, derived)
        counts = [_Times(first, part.begun)]
        if part.times > part.begun:
            counts.append(_Times(self.counting.count(nest, derived, bias=True), part.times - part.begun))
        self.broken += [f"{part.statement}: {reason}" for reason in first.broken]
        self.statements.append(
            TurnCost(
                name=part.statement,
                times=part.times,
                operations=part.times * first.operations,
                energy_pj=sum((each.times * each.count.energy_pj for each in counts), Fraction(0)),
                cycles=sum(each.times * each.count.cycles for each in counts),
                port_cycles=sum(each.times * int(each.count.merit(Merit.PORT_CYCLES)) for each in counts),
                arithmetic_pj=part.times * first.arithmetic_pj,
            )
        )
        for each in counts:
            self._add_count(each)
        self._hold(part, first, fabric)

    def _add_full(self, part: TurnPart | RowsPart) -> None:
        names = sorted({stay.level for stay in part.stays if stay.level != self.machine.memory})
        self.broken.append(f"{part.statement}: {' and '.join(names)} cannot hold what stays there meanwhile")
        self.uncounted.append(part.statement)

    def add_rows(self, part: RowsPart) -> None:
        """A function of rows in all its iterations: two passes of words through the levels that have them."""
        fabric = self.fabrics.setdefault(part.statement, fabric_of(part.workload, self.machine))
        if not part.fits:
            self._add_full(part)
            return
        passes = rows_passed(part, fabric)
        for number, row in (each for passed in passes for each in passed.accesses):
            self._add(self.names[number], self.workload.stored_as[row.operand.partition("#")[0]], row, part.times)
        cycles = part.times * sum(passed.cycles for passed in passes)
        self.statements.append(
            TurnCost(
                name=part.statement,
                times=part.times,
                operations=0,
                energy_pj=part.times * sum((passed.energy_pj for passed in passes), Fraction(0)),
                cycles=cycles,
                port_cycles=cycles,
                arithmetic_pj=Fraction(0),
            )
        )
        for level in self.levels:
            self._hold_words(level, self._staying(part, level), part.statement)

    def _add_count(self, each: _Times) -> None:
        stored = self.workload.stored_as
        for memory in each.count.memories:
            for row in memory.accesses:
                self._add(memory.name, stored[row.operand.partition("#")[0]], row, each.times)
            self.wired[memory.name] += each.times * sum(memory.wires_pj.values(), Fraction(0))
        for words in each.count.boundaries:
            tensor = stored[words.tensor.partition("#")[0]]
            self._cross(words.between, tensor, each.times * words.loads_words, each.times * words.stores_words)

    def _add(self, memory: str, tensor: str, row: Accesses, times: int) -> None:
        words = self.words.setdefault((memory, tensor), Counter())
        words.update(reads=times * row.reads, fills=times * row.fills, updates=times * row.updates)
        self.energies[memory, tensor] = self.energies.get((memory, tensor), Fraction(0)) + times * row.energy_pj

    def _cross(self, between: tuple[str, str], tensor: str, loads: int, stores: int) -> None:
        row = self.crossing.setdefault((*between, tensor), [0, 0])
        row[0] += loads
        row[1] += stores

    def _hold(self, part: TurnPart, count: SpatialCost, fabric: Fabric) -> None:
        """What every memory holds while a nest runs: its own tiles, and what stays."""
        given = {stay.tensor: stay.level for stay in part.stays}
        for memory, cost in zip(fabric.memories[:-1], count.memories[:-1], strict=True):
            weights = {
                fabric.operands[place].name: weight
                for room in memory.rooms
                for place, weight in zip(room.operands, room.weights, strict=True)
            }
            tiles = [
                row.tile_words * weights.get(row.operand, Fraction(1))
                for row in cost.accesses
                if given.get(self.workload.stored_as[row.operand.partition("#")[0]]) != memory.name
            ]
            used = sum(map(ceil, tiles)) * self._scale(memory.name, part.workload) + self._staying(part, memory.name)
            self._hold_words(memory.name, used, part.statement)

    def _hold_words(self, memory: str, used: int, statement: str) -> None:
        if used > self.most.get(memory, (0, ""))[0]:
            self.most[memory] = used, statement

    def _staying(self, part: TurnPart | RowsPart, name: str) -> int:
        """Words that stay in a memory while a statement is done."""
        level = self.levels[name]
        amount = sum(taken(level, stay.block) for stay in part.stays if stay.level == name) // level.buffering
        if level.capacity.unit == "words":
            return amount
        return -(-8 * amount // (_entry_bits(level) or self.workload.word_bits))

    def _scale(self, name: str, alone: Workload) -> int:
        """Words of the chain in one of a statement, where the capacity of a memory is in them."""
        level = self.levels[name]
        if level.capacity.unit == "words" or _entry_bits(level):
            return 1
        return alone.word_bits // self.workload.word_bits

    def add_moving(self, stay: Stay) -> None:
        """A tensor that is brought to stay, and taken away again if it is made here."""
        fabric = next(
            fabric
            for name, fabric in self.fabrics.items()
            if stay.tensor in {self.workload.stored_as[a.name] for a in self.workload.statement(name).accesses}
        )
        stored = [self.workload.stored_as[operand.name.partition("#")[0]] for operand in fabric.operands]
        place, elements, times = stored.index(stay.tensor), stay.block.elements, stay.brought
        comes = times - (stay.different if stay.made else 0)
        goes = times if stay.made else 0
        ends = self.names.index(stay.source), self.names.index(stay.level)
        energy, cycles = Fraction(0), 0
        for many, passed in zip((comes, goes), brought(fabric, place, ends, elements), strict=True):
            for number, row in passed.accesses:
                self._add(self.names[number], stay.tensor, row, many)
            energy += many * passed.energy_pj
            cycles += many * passed.cycles
        self._cross((stay.level, stay.source), stay.tensor, comes * elements, goes * elements)
        self.moving.append(
            TurnCost(
                name=stay.tensor,
                times=times,
                operations=0,
                energy_pj=energy,
                cycles=cycles,
                port_cycles=cycles,
                arithmetic_pj=Fraction(0),
            )
        )

    def _capacity(self, level: Level) -> int:
        """Words of one working set."""
        return level.capacity.words(_entry_bits(level) or self.workload.word_bits) // level.buffering

    def result(self) -> InTurnCount:
        """All that was added up."""
        tensors = list(dict.fromkeys(self.workload.stored_as.values()))
        accesses = tuple(
            TurnAccesses(
                memory=memory, tensor=tensor, energy_pj=self.energies[memory, tensor], **self.words[memory, tensor]
            )
            for memory in self.names
            for tensor in tensors
            if (memory, tensor) in self.words
        )
        rooms = {level.name: self._capacity(level) for level in self.machine.levels}
        levels = tuple(
            TurnLevel(
                level=name,
                occupancy_words=self.most.get(name, (0, ""))[0],
                capacity_words=rooms.get(name),
                statement=self.most.get(name, (0, ""))[1],
                energy_pj=self.wired[name]
                + sum((e for (memory, _), e in self.energies.items() if memory == name), Fraction(0)),
            )
            for name in self.names
        )
        place = {name: number for number, name in enumerate(self.names)}
        boundaries = tuple(
            BoundaryTraffic(between=(inner, outer), tensor=tensor, loads_words=loads, stores_words=stores)
            for (inner, outer, tensor), (loads, stores) in sorted(
                self.crossing.items(), key=lambda row: (tensors.index(row[0][2]), place[row[0][0]], place[row[0][1]])
            )
        )
        return InTurnCount(
            statements=tuple(self.statements),
            moving=tuple(self.moving),
            accesses=accesses,
            levels=levels,
            boundaries=boundaries,
            broken=tuple(self.broken),
            uncounted=tuple(self.uncounted),
        )


def _entry_bits(level: Level) -> int | None:
    return None if level.store is None else level.store.word_bits
