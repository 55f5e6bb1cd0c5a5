"""Machines: a chain of memory levels, inner to outer, each feeding the one inside it."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import ClassVar

from optmap.errors import InputError
from optmap.names import choose
from optmap.problem.accelerator import Accelerator, Store
from optmap.problem.values import one_line, quoted, whole_number
from optmap.problem.workload import bytes_of
from optmap.shown import Form, Shown


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
class Capacity:
    """An amount of memory in bytes or in words of whatever the workload's word is."""

    amount: int
    unit: str = "bytes"
    """`bytes` or `words`."""

    def __post_init__(self) -> None:
        whole_number(self.amount, "capacity", least=0)  # zero is refused where it belongs to a name
        if self.unit not in ("bytes", "words"):
            raise InputError(f"capacity is in {self.unit!r}; use bytes or words")

    def __str__(self) -> str:
        return f"{self.amount:,} {self.unit}"

    def words(self, word_bits: int) -> int:
        """Whole words that fit.

        Args:
            word_bits: size of one word (`Workload.word_bits`).
        """
        return self.amount if self.unit == "words" else 8 * self.amount // word_bits

    def bytes(self, word_bits: int) -> int | float:
        """The amount in bytes: whole, or a multiple of 1/8.

        Args:
            word_bits: size of one word (`Workload.word_bits`).
        """
        return self.amount if self.unit == "bytes" else bytes_of(self.amount * word_bits)


SLOWEST = Fraction(1, 2**64)
"""Least bandwidth; its inverse is the largest. Times stay within what a float can hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bandwidth:
    """What crosses a link in one cycle, in bytes or in words of whatever the workload's word is.

    Raises:
        InputError: for an amount that is not positive and finite, or an unknown unit.
    """

    amount: Fraction | float
    """Units per cycle, kept as an exact fraction: 0.1 is one tenth."""
    unit: str = "bytes"
    """`bytes` or `words`."""

    def __post_init__(self) -> None:
        if self.unit not in ("bytes", "words"):
            raise InputError(f"bandwidth is in {self.unit!r} per cycle; use bytes or words")
        number = isinstance(self.amount, int | float | Fraction) and not isinstance(self.amount, bool)
        if not (number and 0 < self.amount < math.inf):
            raise InputError(f"bandwidth is {quoted(self.amount)}; it must be a positive finite number")
        if not SLOWEST <= self.exact <= 1 / SLOWEST:
            raise InputError("bandwidth is out of range; it must be between 2^-64 and 2^64 per cycle")
        object.__setattr__(self, "amount", self.exact)

    @property
    def exact(self) -> Fraction:
        """Units per cycle; a float is taken as the decimal number that was written."""
        return self.amount if isinstance(self.amount, Fraction) else Fraction(str(self.amount))

    def words(self, word_bits: int) -> Fraction:
        """Words per cycle.

        Args:
            word_bits: size of one word (`Workload.word_bits`).
        """
        return self.exact if self.unit == "words" else 8 * self.exact / word_bits

    def __str__(self) -> str:
        return f"{float(self.exact):g} {'B' if self.unit == 'bytes' else 'w'}/cycle"


ONE_WORD = Bandwidth(amount=1, unit="words")
"""One word per cycle: time is traffic."""


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
class Microkernel:
    """A fixed outer-product register tile (MOpt section 6).

    The tile spans `vector` elements of one output dim that one input has and another input has
    not, and `broadcast` elements of an output dim for which it is the other way round; every
    other dim has extent 1 and the reduction loops are innermost. It does not apply to a workload
    without such a pair of dims. Both count elements: the shape is that of the element size it was
    written for (4 bytes in the library) and does not widen for smaller elements.
    """

    vector: int
    broadcast: int

    def __post_init__(self) -> None:
        for key in ("vector", "broadcast"):
            whole_number(getattr(self, key), f"microkernel: {key}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """What one core computes with: vector registers and the units that they feed (MOpt section 6).

    Numbers are of fused multiply-adds on whole vectors; peak is `fma_ports` vectors of them per cycle.

    Raises:
        InputError: for a number that is not whole and positive.
    """

    vector_bytes: int
    """Of one vector register."""
    registers: int
    """Vector registers that code may name."""
    fma_ports: int
    """Vector multiply-adds that may begin in one cycle."""
    fma_latency: int
    """Cycles until the sum of one may be added to again."""
    load_ports: int
    """Vectors that may be loaded in one cycle."""

    def __post_init__(self) -> None:
        for field in fields(self):
            whole_number(getattr(self, field.name), f"core: {field.name}")

    def lanes(self, bits: int) -> int:
        """Elements of one vector, at least one.

        Args:
            bits: of one element.
        """
        return max(8 * self.vector_bytes // bits, 1)

    def peak(self, bits: int) -> int:
        """Multiply-adds per cycle; `bits` as for `lanes`."""
        return self.fma_ports * self.lanes(bits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
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

    def rule(self, wanted: CapacityRule) -> CapacityRule:
        """The capacity rule in force: `safe` concerns caches only, a scratchpad needs one tile."""
        return wanted if self.kind is LevelKind.CACHE else CapacityRule.TILE

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine(Shown):
    """A memory hierarchy below one unbounded memory.

    Raises:
        InputError: for no level, two levels of one name, a level named like the memory, or an inclusive level
            with less capacity than the level inside it.
    """

    shown_as: ClassVar[Form] = Form(
        table="report.machines:machine_table",
        document="report.entries:machine_entry",
        yaml="report.showing:machine_yaml",
    )

    name: str
    levels: tuple[Level, ...]
    """Bounded levels, inner to outer."""
    memory: str = "Memory"
    """Name of the unbounded outermost memory."""
    clock_hz: int | None = None
    """Cycles per second; None if unknown. It turns cycles into seconds and is in no cost or bound."""
    accelerator: Accelerator | None = None
    """Store of the outermost memory and arithmetic, if every level has a store; None on other machines."""
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
        if any((level.store is None) != (self.accelerator is None) for level in self.levels):
            raise InputError(
                f"machine {self.name}: every level of an accelerator needs a store, and no other level has one"
            )
        for inner, outer in pairwise(self.levels):
            if inner.capacity.unit == outer.capacity.unit:
                self._check_inclusion(inner, outer, inner.capacity.amount, outer.capacity.amount)

    def check_inclusion(self, word_bits: int) -> None:
        """Compare levels whose capacities are in different units, once the size of a word is known.

        Args:
            word_bits: size of one word (`Workload.word_bits`).

        Raises:
            InputError: for an inclusive level that is smaller than one inside it.
        """
        for inner, outer in pairwise(self.levels):
            if inner.capacity.unit != outer.capacity.unit:
                self._check_inclusion(inner, outer, inner.words(word_bits), outer.words(word_bits))

    def _check_inclusion(self, inner: Level, outer: Level, least: int, amount: int) -> None:
        """An inclusive level holds a copy of what one of its children holds, be that child full."""
        if outer.inclusive and amount < least:
            unit = outer.capacity.unit if outer.capacity.unit == inner.capacity.unit else "words"
            raise InputError(
                f"machine {self.name}: {outer.name} is inclusive, it holds a copy of what {inner.name} holds, but its "
                f"{amount:,} {unit} are fewer than {least:,}; make {outer.name} larger, or write "
                "inclusive: false there"
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
    def units(self) -> int:
        """Arithmetic units: cores, times the fanout of an accelerator's outermost memory."""
        return self.cores if self.accelerator is None else self.cores * self.accelerator.outermost.mesh.size

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


def two_level(capacity: Capacity, *, name: str = "two-level") -> Machine:
    """A machine with one cache, bandwidth 1 word per cycle, below the memory."""
    return Machine(name=name, levels=(Level(name="Fast", capacity=capacity, kind=LevelKind.CACHE),))
