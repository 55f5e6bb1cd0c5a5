"""Counting several statements that are done in turn on a machine with meshes and prices.

A mapping tree is read as nests in turn (`mappings.parts`). Each is counted as a nest alone, on a machine with what is
kept outside as rules: words and energy are those of one iteration times their number, and nothing runs at the same
time, so that cycles add up as well. A tensor that a Keep outside nests brings from further out passes word by word: a
read there and a fill here for what comes, an update there for what goes; the first content of a result comes from
nowhere. Energy-delay is the product of both sums.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import ClassVar

from optmap.base.shown import Concise
from optmap.count.meshes.count import NEST_EXACT
from optmap.count.meshes.policy import NestPolicy
from optmap.count.meshes.prices import access_energy, port_loads
from optmap.count.meshes.results import ARITHMETIC, Accesses, SpatialCost
from optmap.count.results import BoundaryTraffic
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.given import taken
from optmap.machines.machine import Level, Machine
from optmap.mappings.nest import nest_of
from optmap.mappings.parts import Stay, TurnPart, TurnTree, parts_of
from optmap.mappings.tree import MappingTree
from optmap.questions.objective import Objective
from optmap.questions.options import Merit
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnAccesses(Concise):
    """Accesses of one tensor to one memory, in words, over the whole run and all instances."""

    memory: str
    tensor: str
    reads: int
    fills: int
    updates: int
    energy_pj: Fraction
    """Of all of them; wires left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCost(Concise):
    """What one statement costs, or one tensor that is brought and taken away, over the whole run."""

    name: str
    """Of the statement, or of the tensor."""
    times: int
    """Iterations of the loops around it; contents that are brought."""
    operations: int
    energy_pj: Fraction
    cycles: int
    port_cycles: int
    """Of the slowest port in each iteration, added up."""
    arithmetic_pj: Fraction
    """Of this energy, that of the multiply-accumulates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLevel(Concise):
    """What one memory holds, serves and costs."""

    level: str
    occupancy_words: int
    """The most that one instance holds at a time, what stays from one statement to the next included; 0 of the
    outermost memory, which is not limited."""
    capacity_words: int | None
    """Of one working set; None for the outermost memory."""
    statement: str
    """While which is done it holds that much, the first time; empty where nothing is held."""
    energy_pj: Fraction
    """Wires included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InTurnCount(Concise):
    """Exact counts, energy and time of statements in turn."""

    kind: ClassVar[str] = "in-turn"
    fractions: ClassVar[bool] = True

    statements: tuple[TurnCost, ...]
    """In the order of their run."""
    moving: tuple[TurnCost, ...]
    """Tensors that are brought to stay, and taken away."""
    accesses: tuple[TurnAccesses, ...]
    """Per memory, inner first, and tensor."""
    levels: tuple[TurnLevel, ...]
    """Inner first, the outermost memory last."""
    boundaries: tuple[BoundaryTraffic, ...]
    """Per tensor and pair of neighbouring memories that keep it what the outer one reads and takes back."""
    broken: tuple[str, ...]
    """What makes the mapping invalid on the machine, in words."""

    @property
    def rows(self) -> tuple[TurnCost, ...]:
        """Statements, then tensors that are moved by themselves."""
        return (*self.statements, *self.moving)

    @property
    def operations(self) -> int:
        """Multiply-accumulates."""
        return sum(row.operations for row in self.rows)

    @property
    def energy_pj(self) -> Fraction:
        """Together."""
        return sum((row.energy_pj for row in self.rows), Fraction(0))

    @property
    def arithmetic_pj(self) -> Fraction:
        """Energy of all multiply-accumulates."""
        return sum((row.arithmetic_pj for row in self.rows), Fraction(0))

    @property
    def cycles(self) -> int:
        """One after the other."""
        return sum(row.cycles for row in self.rows)

    @property
    def port_cycles(self) -> int:
        """Of the slowest port in each turn."""
        return sum(row.port_cycles for row in self.rows)

    @property
    def edp(self) -> Fraction:
        """Energy times cycles, each of the whole chain, in pJ*cycles."""
        return self.energy_pj * self.cycles

    @property
    def bottleneck(self) -> str:
        """What takes the most cycles: a statement, or a tensor that is moved."""
        return max(self.rows, key=lambda row: row.cycles).name if self.rows else ARITHMETIC

    def merit(self, merit: Merit) -> Fraction:
        """What is minimised."""
        return merit.of(self.energy_pj, self.cycles, self.port_cycles)

    def value_of(self, objective: Objective, workload: Workload, machine: Machine) -> Fraction:
        """What is minimised.

        Raises:
            TypeError: for an objective of machines without meshes and prices.
        """
        return self.merit(objective.mesh_merit)


def count_in_turn(tree: MappingTree, counting: NestPolicy = NEST_EXACT) -> InTurnCount:
    """Energy, cycles, words and room of statements in turn.

    Args:
        tree: on a machine with meshes and prices. One that breaks rules of the machine is counted all the same where
            its statements have room for what stays; `broken` says which.
        counting: the policy by which each nest is counted.

    Raises:
        TreeError: for a tree that means nothing.
        InputError: for what is not counted: the first thing by name.
    """
    read = parts_of(tree)
    tally = _Tally(read, counting)
    for part in read.parts:
        tally.add_part(part)
    for stay in read.moving:
        tally.add_moving(stay)
    return tally.result()


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
        self.fabrics: dict[str, Fabric] = {}

    def add_part(self, part: TurnPart) -> None:
        """A nest in all its iterations."""
        fabric = self.fabrics.setdefault(part.statement, fabric_of(part.workload, self.machine))
        if part.machine is None or part.mapping is None:
            names = sorted({stay.level for stay in part.stays if stay.level != self.machine.memory})
            self.broken.append(f"{part.statement}: {' and '.join(names)} cannot hold what stays there meanwhile")
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
            if used > self.most.get(memory.name, (0, ""))[0]:
                self.most[memory.name] = used, part.statement

    def _staying(self, part: TurnPart, name: str) -> int:
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
        place, elements, brought = stored.index(stay.tensor), stay.block.elements, stay.brought
        comes = brought - (stay.different if stay.made else 0)
        goes = brought if stay.made else 0
        energy, port_cycles = Fraction(0), 0
        for times, words in ((comes, ((elements, 0, 0), (0, elements, 0))), (goes, ((0, 0, elements), (0, 0, 0)))):
            cycles = 0
            for name, (reads, fills, updates) in zip((stay.source, stay.level), words, strict=True):
                number = self.names.index(name)
                memory, element = fabric.memories[number], fabric.memories[number].elements[place]
                paid = access_energy(
                    memory, element, (reads, fills, updates), used=1, clusters=min(1, fabric.clusters(number))
                )
                row = Accesses(
                    operand=stay.tensor,
                    reads=reads,
                    fills=fills,
                    updates=updates,
                    tile_words=0,
                    multicast=Fraction(1),
                    energy_pj=paid,
                )
                self._add(name, stay.tensor, row, times)
                energy += times * paid
                cycles = max(cycles, *(ceil(load.cycles) for load in port_loads(memory, [element], [row], 1)), 0)
            port_cycles += times * cycles
        self._cross((stay.level, stay.source), stay.tensor, comes * elements, goes * elements)
        self.moving.append(
            TurnCost(
                name=stay.tensor,
                times=brought,
                operations=0,
                energy_pj=energy,
                cycles=port_cycles,
                port_cycles=port_cycles,
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
        )


def _entry_bits(level: Level) -> int | None:
    return None if level.store is None else level.store.word_bits
