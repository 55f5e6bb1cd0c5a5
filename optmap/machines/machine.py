"""Machines: a chain of memory levels, inner to outer, each feeding the one inside it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import ClassVar

from optmap.base.errors import InputError
from optmap.base.names import choose
from optmap.base.shown import Concise, Shown
from optmap.base.values import one_line, whole_number
from optmap.machines.accelerator import Arithmetic, Store
from optmap.machines.core import Core, Microkernel
from optmap.machines.form import FormName
from optmap.machines.traits import TRAITS, TraitValue, check_trait
from optmap.workloads.amounts import ONE_WORD, Bandwidth, Capacity


class LevelKind(StrEnum):
    """How a level decides what it holds."""

    SCRATCHPAD = "scratchpad"
    """Software decides; one tile of capacity is enough."""
    CACHE = "cache"
    """Least recently used; two adjacent tiles may be needed (see `CapacityRule`)."""


class CapacityRule(StrEnum):
    """Which working set must fit into a level."""

    TILE = "tile"
    """One tile of every tensor (MOpt Eq. 4)."""
    SAFE = "safe"
    """The union of consecutive tiles between which data is reused: enough for LRU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A part of a level that only some tensors may use."""

    name: str
    """What the part is called."""
    tensors: tuple[str, ...]
    """`inputs`, `output`, or names of tensors."""
    capacity: Capacity
    """How much it holds."""

    def __post_init__(self) -> None:
        one_line(self.name, "a partition")
        if self.capacity.amount < 1:
            raise InputError(f"partition {self.name}: capacity is {self.capacity.amount}; it must be 1 or more")
        if not self.tensors:
            raise InputError(f"partition {self.name}: no tensors; write inputs, output or names of tensors")


@dataclass(frozen=True, slots=True, kw_only=True)
class Level(Concise):
    """One bounded memory level and its link to the next outer level."""

    name: str
    capacity: Capacity
    bandwidth: Bandwidth = ONE_WORD
    """Of the link between one instance of this level and the next outer level; a plain number is
    taken as words per cycle."""
    kind: LevelKind = LevelKind.SCRATCHPAD
    shared: bool = False
    """True if one instance serves all cores; False if every core has its own."""
    fanout: int = 1
    """Children (instances of the next inner level, or cores) that one instance feeds."""
    inclusive: bool = True
    """Whether the level holds a copy of what the levels inside it hold."""
    energy_pj: float | None = None
    """Energy of one word access, in pJ; None if unknown."""
    microkernel: Microkernel | None = None
    """What imposes its tile, on the innermost level only; None if the tile is free."""
    partitions: tuple[Partition, ...] = ()
    """Parts with tensors of their own, together the capacity; empty for a unified level."""
    buffering: int = 1
    """Working sets that share the capacity: 2 if the next tile is brought in while one is used."""
    store: Store | None = None
    """What a memory of an accelerator is beside this; None on a machine that is none."""
    line_bytes: int | None = None
    """What a cache moves at once; None if unknown."""
    ways: int | None = None
    """Lines of a cache that share a set; None if unknown."""
    core_bandwidth: Bandwidth | None = None
    """What one core alone gets over the link, if that is less than `bandwidth`, which all get together."""
    traits: tuple[tuple[str, TraitValue], ...] = ()
    """(name, value) of its traits of one's own (`machines.traits`), by name."""

    def rule(self, wanted: CapacityRule) -> CapacityRule:
        """The capacity rule in force: `safe` concerns caches only, a scratchpad needs one tile."""
        return wanted if self.kind is LevelKind.CACHE else CapacityRule.TILE

    def trait(self, name: str) -> TraitValue:
        """The value of a trait of one's own.

        Raises:
            InputError: if it says nothing of it: what it is, and what to write.
        """
        for own, value in self.traits:
            if own == name:
                return value
        raise InputError(
            f"level {self.name} has no {name} ({TRAITS[name].description}); write for example `traits: {{{name}: 1}}`"
        )

    def __post_init__(self) -> None:
        one_line(self.name, "a level")
        if self.capacity.amount < 1:
            raise InputError(f"level {self.name}: capacity is {self.capacity.amount}; it must be 1 or more")
        if not isinstance(self.bandwidth, Bandwidth):
            try:
                object.__setattr__(self, "bandwidth", Bandwidth(amount=self.bandwidth, unit="words"))
            except InputError as error:
                raise InputError(f"level {self.name}: {error}") from error
        if self.store is not None:
            object.__setattr__(self, "fanout", self.store.mesh.size)
            object.__setattr__(self, "inclusive", False)  # it holds the tensors that it keeps, no others
        whole_number(self.fanout, f"level {self.name}: fanout")
        for key in ("line_bytes", "ways"):
            if getattr(self, key) is not None:
                whole_number(getattr(self, key), f"level {self.name}: {key}")
        whole_number(self.buffering, f"level {self.name}: buffering")
        if self.energy_pj is not None and not 0 <= self.energy_pj < math.inf:
            raise InputError(f"level {self.name}: energy_pj is {self.energy_pj}; a finite number, 0 or more, is needed")
        if self.partitions:
            self._check_partitions()
        for name, value in self.traits:
            check_trait(name, value, f"level {self.name}")
        object.__setattr__(self, "traits", tuple(sorted(dict(self.traits).items())))

    def _check_partitions(self) -> None:
        names = [part.name for part in self.partitions]
        units = {self.capacity.unit, *(part.capacity.unit for part in self.partitions)}
        total = sum(part.capacity.amount for part in self.partitions)
        if len(set(names)) != len(names):
            raise InputError(f"level {self.name}: partition names repeat in {names}")
        if len(units) > 1 or total != self.capacity.amount:
            raise InputError(
                f"level {self.name}: the partitions hold {total:,}, the capacity is {self.capacity.amount:,} "
                f"{self.capacity.unit}; make them agree, in one unit"
            )

    def words(self, word_bits: int) -> int:
        """Words of one working set in a unified level.

        Args:
            word_bits: size of one word (`Workload.word_bits`).

        Raises:
            InputError: if the level has partitions, for which one number is not enough.
        """
        if self.partitions:
            parts = ", ".join(part.name for part in self.partitions)
            raise InputError(
                f"level {self.name} has partitions ({parts}): use --method gemmini or iooub, which know them, "
                "or a machine without partitions"
            )
        return self.capacity.words(word_bits) // self.buffering

    @property
    def axes(self) -> tuple[tuple[str, int], ...]:
        """The axes along which its children stand, by name, with their number: those of its mesh, else one."""
        return ((self.name, self.fanout),) if self.store is None else _mesh_axes(self.name, self.store)

    @property
    def room(self) -> Capacity:
        """Its capacity; of a memory whose elements share entries, the bytes of these."""
        entry = self.store.word_bits if self.store is not None and self.store.pack else None
        return self.capacity if entry is None else Capacity(amount=int(self.capacity.bytes(entry)))

    def most_words(self, word_bits: int, largest: int = 1) -> int:
        """Words that it can hold, both halves of a double buffer together.

        Args:
            word_bits: size of one word (`Workload.word_bits`).
            largest: words of the largest element; an entry of an accelerator's memory holds one of any size, unless
                elements share its bits.
        """
        entry = None if self.store is None else self.store.word_bits
        if self.store is not None and self.store.pack and entry is not None:
            return self.capacity.words(entry) * entry // word_bits
        if self.store is None or (entry is None and self.capacity.unit == "bytes"):
            return self.capacity.words(word_bits)
        return self.capacity.words(entry or word_bits) * largest


_LEAVES = {FormName.TILES: "core", FormName.NEST: "unit"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine(Shown):
    """A memory hierarchy below one unbounded memory.

    Raises:
        InputError: for no level, two levels of one name, a level named like the memory, a microkernel around a
            level, or a level with less capacity than the one inside it that is inclusive, or numbered below that one.
    """

    shown_as: ClassVar[str] = "machine"

    name: str
    levels: tuple[Level, ...]
    """Bounded levels, inner to outer."""
    memory: str = "Memory"
    """Name of the unbounded outermost memory."""
    clock_hz: int | None = None
    """Cycles per second; None if unknown. It turns cycles into seconds and is in no cost or bound."""
    outermost: Store | None = None
    """What the unbounded memory feeds, costs and passes, if the levels have stores; None where links are limited."""
    arithmetic: Arithmetic = field(default_factory=Arithmetic)
    """The units at the leaves, if the levels have stores."""
    core: Core | None = None
    """What a core computes with; None if unknown: then there is no time, only words and their links."""

    def __post_init__(self) -> None:
        one_line(self.name, "a machine")
        one_line(self.memory, f"the memory of machine {self.name}")
        names = [level.name for level in self.levels] + [self.memory]
        if not self.levels:
            raise InputError(f"machine {self.name}: at least one bounded level is needed")
        if len(set(names)) != len(names):
            raise InputError(f"machine {self.name}: level names repeat in {names}")
        for level in self.levels[1:]:
            if level.microkernel is not None:
                raise InputError(
                    f"machine {self.name}: {level.name} has a microkernel; only the innermost level, {names[0]}, "
                    "can have one"
                )
        if len({level.store is None for level in self.levels} | {self.outermost is None}) > 1:
            raise InputError(
                f"machine {self.name}: every memory of an accelerator needs a store, and no other memory has one"
            )
        for inner, outer in pairwise(self.levels):
            if inner.capacity.unit == outer.capacity.unit:
                self._check_sizes(inner, outer, inner.capacity.amount, outer.capacity.amount)

    def check_inclusion(self, word_bits: int) -> None:
        """Compare levels whose capacities are in different units, once the size of a word is known.

        Args:
            word_bits: size of one word (`Workload.word_bits`).

        Raises:
            InputError: for a smaller level around a larger one, as when the machine is made.
        """
        for inner, outer in pairwise(self.levels):
            if inner.capacity.unit != outer.capacity.unit:
                self._check_sizes(inner, outer, inner.words(word_bits), outer.words(word_bits))

    def _check_sizes(self, inner: Level, outer: Level, least: int, amount: int) -> None:
        """Refuse an outer level that is smaller than one instance of the inner one and cannot be.

        An inclusive level holds a copy of what one of its children holds, be that child full. One that is not may be
        smaller, as the part of a shared cache that one core has beside a large cache of its own; but not where the
        names of the two say that they are in the wrong order.
        """
        if amount >= least or outer.store is not None:
            return
        unit = outer.capacity.unit if outer.capacity.unit == inner.capacity.unit else "words"
        if _numbered_inwards(inner.name, outer.name):
            raise InputError(
                f"machine {self.name}: levels are written inner first, but {inner.name} ({least:,} {unit}) stands "
                f"before {outer.name} ({amount:,} {unit}); did you swap them? Write {outer.name} above {inner.name}"
            )
        if outer.inclusive:
            raise InputError(
                f"machine {self.name}: {outer.name} is inclusive, it holds a copy of what {inner.name} holds, but its "
                f"{amount:,} {unit} are fewer than {least:,}; levels are written inner first, did you swap them? "
                f"Else make {outer.name} larger, or write inclusive: false there"
            )

    def rates(self, word_bits: int) -> tuple[Fraction, ...]:
        """Words per cycle of every level's link outwards, inner first: where traffic meets bandwidth.

        Args:
            word_bits: size of one word (`Workload.word_bits`).
        """
        return tuple(level.bandwidth.words(word_bits) for level in self.levels)

    @property
    def cost_unit(self) -> str:
        """`words` for one level with a bandwidth of one word per cycle, else `cycles`."""
        return "words" if len(self.levels) == 1 and self.levels[0].bandwidth == ONE_WORD else "cycles"

    @property
    def cores(self) -> int:
        """Cores of the machine: the product of all fanouts."""
        return prod(level.fanout for level in self.levels)

    @property
    def stores(self) -> tuple[Store, ...]:
        """What its memories feed, cost and pass, inner to outer, the outermost last; none where links are limited."""
        return tuple(s for s in (*(level.store for level in self.levels), self.outermost) if s is not None)

    @property
    def form(self) -> FormName:
        """The form of its mappings: a nest where memories have prices and meshes, else tiles."""
        return FormName.NEST if self.stores else FormName.TILES

    @property
    def units(self) -> int:
        """Arithmetic units: the product of all fanouts, that of the outermost memory's mesh included."""
        return self.cores * prod(store.mesh.size for store in self.stores[len(self.levels) :])

    @property
    def leaf(self) -> str:
        """What is at its leaves, in a word."""
        return _LEAVES[self.form]

    @property
    def mapped(self) -> tuple[str, ...]:
        """Names of the memories that a mapping has an entry for: the levels, and an outermost memory with a mesh."""
        return (*(level.name for level in self.levels), *([self.memory] if self.outermost is not None else []))

    @property
    def bypassed(self) -> tuple[str, ...]:
        """Names of the memories that may let a tensor pass without holding it: those with stores."""
        inner = tuple(level.name for level in self.levels if level.store is not None)
        return inner if self.outermost is None else (*inner, self.memory)

    @property
    def axes(self) -> tuple[tuple[str, int], ...]:
        """Every axis along which children of a memory stand, by name, inner memories first, with their number."""
        inner = tuple(axis for level in self.levels for axis in level.axes)
        return inner if self.outermost is None else (*inner, *_mesh_axes(self.memory, self.outermost))

    def split_level(self, cores: int) -> int | None:
        """Number of the level whose tile is split among cores, the innermost shared one.

        Args:
            cores: that take part; one splits nothing.

        Returns:
            None for one core, or without a shared level.
        """
        if cores == 1:
            return None
        return next((number for number, level in enumerate(self.levels) if level.shared), None)

    @property
    def boundaries(self) -> tuple[tuple[str, str], ...]:
        """(inner, outer) names of every pair of neighbouring memories, inner first."""
        names = [level.name for level in self.levels] + [self.memory]
        return tuple(pairwise(names))

    def from_level(self, name: str) -> Machine:
        """The machine without the levels inside `name`.

        Raises:
            InputError: if there is no such level.
        """
        names = [level.name for level in self.levels]
        start = names.index(choose("level", name, names, where=f"machine {self.name}"))
        fanout = prod(level.fanout for level in self.levels[: start + 1])
        first = replace(self.levels[start], fanout=fanout)
        return replace(self, levels=(first, *self.levels[start + 1 :]))

    def scaled(self, name: str, factor: float) -> Machine:
        """The machine with the capacity of one level multiplied, rounded down; its name says so.

        Raises:
            InputError: if there is no such level, or nothing is left of its capacity.
        """
        names = [level.name for level in self.levels]
        place = names.index(choose("level", name, names, where=f"machine {self.name}"))
        level = self.levels[place]
        resized = replace(level, capacity=replace(level.capacity, amount=int(level.capacity.amount * factor)))
        levels = (*self.levels[:place], resized, *self.levels[place + 1 :])
        return replace(self, name=f"{self.name}, {name} x {factor:g}", levels=levels)


def _mesh_axes(name: str, store: Store) -> tuple[tuple[str, int], ...]:
    return (f"{name}.x", store.mesh.x.size), (f"{name}.y", store.mesh.y.size)


def _numbered_inwards(inner: str, outer: str) -> bool:
    """Whether two names are alike but for their number, and the inner one has the higher, as L2 inside L1."""
    first, second = (re.fullmatch(r"(\D*?)([0-9]{1,9})(\D*)", name) for name in (inner, outer))
    if first is None or second is None or (first[1], first[3]) != (second[1], second[3]):
        return False
    return int(first[2]) > int(second[2])


def two_level(capacity: Capacity, *, name: str = "two-level") -> Machine:
    """A machine with one cache, bandwidth 1 word per cycle, below the memory."""
    return Machine(name=name, levels=(Level(name="Fast", capacity=capacity, kind=LevelKind.CACHE),))
