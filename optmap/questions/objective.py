"""What mappings are compared by: a quantity per boundary, and how the boundaries are combined.

An objective is a product of terms: a term adds up a quantity over the boundaries, or takes its
largest. Every term grows with every word that is moved, so the same function of words that must
move at least is a lower bound: that is how bounds per boundary become a bound of the objective.
Energy is one term, energy times delay are two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import prod
from typing import Protocol

from optmap.base.names import choose, enter
from optmap.base.shown import Concise
from optmap.machines.machine import Machine
from optmap.questions.options import PORT_CYCLES, Merit


class Crossing(Protocol):
    """Words of one tensor that cross one boundary."""

    @property
    def between(self) -> tuple[str, str]:
        """Names of the inner and the outer memory."""
        ...

    @property
    def loads_words(self) -> int:
        """Words moved inwards."""
        ...

    @property
    def stores_words(self) -> int:
        """Words moved outwards."""
        ...


class Combination(StrEnum):
    """How what is counted at the boundaries becomes one number."""

    LARGEST = "largest"
    """The worst boundary decides: memories work side by side."""
    SUM = "sum"
    """Boundaries are added up."""

    def of(self, values: Iterable[Fraction]) -> Fraction:
        """The combined value of non-negative ones; 0 of none."""
        return max(values, default=Fraction(0)) if self is Combination.LARGEST else sum(values, Fraction(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity(Concise):
    """Something of which every word that crosses a boundary costs a fixed amount."""

    name: str
    unit: Callable[[Machine], str]
    """What it is measured in on a machine."""
    per_word: Callable[[Machine, int], tuple[Fraction, ...]]
    """What a word costs at every boundary, inner first, on a machine with words of so many bits; never negative."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term(Concise):
    """A quantity, combined over the boundaries."""

    quantity: Quantity
    combination: Combination

    def value(self, words: Mapping[int, int | Fraction], machine: Machine, word_bits: int) -> Fraction:
        """The term of words per boundary (by number, inner first)."""
        prices = self.quantity.per_word(machine, word_bits)
        return self.combination.of(count * prices[level] for level, count in words.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective(Concise):
    """What is minimised: the product of its terms."""

    name: str
    """Key in `OBJECTIVES`."""
    description: str
    """One line for lists."""
    terms: tuple[Term, ...]
    stores: bool = True
    """Whether words that leave a memory count beside those that enter."""
    one_memory: bool = False
    """Whether it is defined for machines of one level only."""
    timed: bool = False
    """Whether it is the predicted time of code (`count.timing`), of which words over bandwidth are a part."""
    merit: Merit | None = None
    """On machines with meshes and prices: which number of a counted mapping it is; then it has no terms."""

    @property
    def counts(self) -> str:
        """The words that count, for tables."""
        return "loads and stores" if self.stores else "loads"

    @property
    def mesh_merit(self) -> Merit:
        """Which number of a counted mapping it is, or of what none goes below.

        Raises:
            TypeError: for an objective of machines without meshes and prices.
        """
        if self.merit is None:
            raise TypeError(f"objective {self.name} is not of machines with meshes and prices")
        return self.merit

    def unit(self, machine: Machine) -> str:
        """What it is measured in on a machine."""
        if self.merit is not None:
            return self.merit.unit
        return "cycles" if self.timed else "*".join(term.quantity.unit(machine) for term in self.terms)

    def words(self, crossings: Iterable[Crossing], machine: Machine) -> dict[int, int]:
        """The words that count at every boundary, by number, inner first.

        Args:
            crossings: what crosses, per pair of memories and tensor; memories between the two are passed by, so that it
                counts at all boundaries from the inner to the outer one.
            machine: gives the boundaries.
        """
        number = {name: level for level, name in enumerate([*(each.name for each in machine.levels), machine.memory])}
        counted = dict.fromkeys(range(len(machine.levels)), 0)
        for row in crossings:
            inner, outer = (number[name] for name in row.between)
            for level in range(inner, outer):
                counted[level] += row.loads_words + (row.stores_words if self.stores else 0)
        return counted

    def value(self, words: Mapping[int, int | Fraction], machine: Machine, word_bits: int) -> Fraction:
        """The objective of words that cross every boundary, or a lower bound on it of words that must.

        Args:
            words: by number of the boundary, inner first; of a bound some may be missing.
            machine: gives bandwidths and whatever else a quantity asks for.
            word_bits: size of one word (`Workload.word_bits`).
        """
        return prod((term.value(words, machine, word_bits) for term in self.terms), start=Fraction(1))

    def of(self, crossings: Iterable[Crossing], machine: Machine, word_bits: int) -> Fraction:
        """The objective of traffic, in `unit`."""
        return self.value(self.words(crossings, machine), machine, word_bits)

    def alone(self, words: Mapping[int, int], machine: Machine, word_bits: int) -> dict[int, Fraction]:
        """The objective of every boundary, as if nothing crossed the others: what the boundaries weigh."""
        return {level: self.value({level: count}, machine, word_bits) for level, count in words.items()}


TIME = Quantity(
    name="time",
    unit=lambda machine: machine.cost_unit,
    per_word=lambda machine, word_bits: tuple(1 / rate for rate in machine.rates(word_bits)),
)
"""Words over bandwidth, in cycles (words where one word takes one cycle)."""

BOTTLENECK = Objective(
    name="bottleneck",
    description="largest traffic/bandwidth over the levels",
    terms=(Term(quantity=TIME, combination=Combination.LARGEST),),
)
SUM = Objective(
    name="sum",
    description="traffic/bandwidth added up over the levels",
    terms=(Term(quantity=TIME, combination=Combination.SUM),),
)
LOADS = Objective(
    name="loads",
    description="words loaded into one memory, stores not counted (IOOpt)",
    terms=(Term(quantity=TIME, combination=Combination.SUM),),
    stores=False,
    one_memory=True,
)
TRAFFIC = Objective(
    name="traffic",
    description="words loaded and stored by one memory",
    terms=(Term(quantity=TIME, combination=Combination.SUM),),
    one_memory=True,
)
PREDICTED_TIME = Objective(
    name="time",
    description="predicted time of the code: the core's arithmetic and the links of all caches (needs a core)",
    terms=(Term(quantity=TIME, combination=Combination.LARGEST),),
    stores=False,
    timed=True,
)

OBJECTIVES: dict[str, Objective] = {each.name: each for each in (BOTTLENECK, SUM, LOADS, TRAFFIC, PREDICTED_TIME)}
"""The objectives of machines without meshes and prices by name."""
MERITS: dict[str, Objective] = {
    name: Objective(name=name, description=f"on accelerators: {text}", terms=(), merit=Merit(name))
    for name, text in (
        ("energy", "energy of all accesses and operations"),
        ("cycles", "cycles of computation, or of the slowest memory"),
        ("edp", "energy times cycles"),
        (PORT_CYCLES, "cycles of the slowest port; its older name there is traffic, which elsewhere means words"),
        ("traffic", f"the older name of {PORT_CYCLES}"),
    )
}
"""Those of machines with meshes and prices; two names stand for one number."""


def merit_objective(name: str | None) -> Objective:
    """An objective of machines with meshes and prices; `edp` for None.

    Raises:
        UnknownNameError: for a name that none has.
    """
    return MERITS[choose("objective", name or "edp", MERITS)]


def every_objective() -> dict[str, Objective]:
    """All objectives by name, those of machines with meshes and prices last; of a name that both have, the other."""
    return OBJECTIVES | {name: each for name, each in MERITS.items() if name not in OBJECTIVES}


def register_objective(objective: Objective) -> None:
    """Give an objective a name under which it can be asked for.

    It can then be evaluated and bounded everywhere; it is minimised by the methods that name it.

    Raises:
        InputError: if the name is taken, or is none.
    """
    enter("objective", objective.name, objective, OBJECTIVES)
