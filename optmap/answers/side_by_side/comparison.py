"""What several methods find for one workload, side by side with what no schedule goes below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any, ClassVar

from optmap.answers.proofs.beside import bound_in_time
from optmap.base.clock import current
from optmap.base.errors import ContradictionError
from optmap.base.shown import PRESENTATIONS, Concise, Presentation, Shown
from optmap.base.texts import several
from optmap.base.values import nearest_float
from optmap.bounds.hierarchy import fast_side_words
from optmap.bounds.methods import bounds
from optmap.count.meshes.results import SpatialCost
from optmap.count.results import CostReport
from optmap.machines.machine import Machine
from optmap.questions.objective import OBJECTIVES
from optmap.search.floors import ProvedBound
from optmap.search.question import Question
from optmap.search.result import Answer, NestAnswer
from optmap.workloads.workload import Workload


class ComparedWords(StrEnum):
    """The words that a method minimises, and that its mapping and the bound are compared by."""

    LOADS = "loads"
    BOTH = "loads + stores"

    def of(self, loads_words: int, stores_words: int) -> int:
        """The words that count, of loads and stores."""
        return loads_words + (stores_words if self is ComparedWords.BOTH else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodWords:
    """What one method's mapping moves across one boundary."""

    loads_words: int
    stores_words: int
    seconds: float
    """Of the whole solve."""
    objective: str = "bottleneck"
    """What the method minimised: a key of `OBJECTIVES`."""

    @property
    def counted(self) -> ComparedWords:
        """The words that it minimises."""
        known = OBJECTIVES.get(self.objective)
        return ComparedWords.LOADS if known is not None and not known.stores else ComparedWords.BOTH

    @property
    def words(self) -> int:
        """Words that it minimises: loads, or loads plus stores."""
        return self.counted.of(self.loads_words, self.stores_words)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow(Concise):
    """Bound and mappings at one capacity."""

    between: tuple[str, str]
    """Names of the inner and the outer memory."""
    memory_words: int
    """Words on the fast side."""
    bound_loads_words: int
    bound_stores_words: int
    compulsory_loads_words: int
    """Loads that no capacity avoids."""
    compulsory_stores_words: int
    found: dict[str, MethodWords]
    """Per mapping method that found one."""

    @property
    def bound_words(self) -> int:
        """Loads plus stores of the bound, in words."""
        return self.bound_on(ComparedWords.BOTH)

    @property
    def compulsory_words(self) -> int:
        """Loads plus stores that no capacity avoids, in words."""
        return self.compulsory_on(ComparedWords.BOTH)

    def bound_on(self, counted: ComparedWords) -> int:
        """The bound on loads, or on loads plus stores, in words."""
        return counted.of(self.bound_loads_words, self.bound_stores_words)

    def compulsory_on(self, counted: ComparedWords) -> int:
        """Loads, or loads plus stores, that no capacity avoids, in words."""
        return counted.of(self.compulsory_loads_words, self.compulsory_stores_words)

    def methods(self, counted: ComparedWords) -> tuple[str, ...]:
        """The methods with a mapping that minimise loads, or loads plus stores."""
        return tuple(name for name, found in self.found.items() if found.counted is counted)

    @property
    def best(self) -> str | None:
        """The method whose mapping is nearest to the bound on what it minimises, as a multiple of it."""

        def times(name: str) -> Fraction:
            found = self.found[name]
            return Fraction(found.words, self.bound_on(found.counted) or 1)

        return min(self.found, key=times, default=None)

    def best_of(self, counted: ComparedWords) -> str | None:
        """Of the methods that minimise loads, or loads plus stores, the one that moves the fewest."""
        return min(self.methods(counted), key=lambda name: self.found[name].words, default=None)

    def gap(self, method: str) -> float | None:
        """What the method minimises over the bound on the same words, minus one; None where nothing has to move."""
        found = self.found[method]
        bound = self.bound_on(found.counted)
        return nearest_float(Fraction(found.words, bound) - 1) if bound else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Shown):
    """What several methods find, beside what no schedule goes below.

    Where all minimise one objective of the whole mapping, on a machine with meshes and prices, it has their answers.
    Elsewhere each minimises its own, and it has a row per boundary, or per capacity, with the words that they move.
    """

    shown_as: ClassVar[str] = "comparison"

    workload: Workload
    """As it is solved: on a machine whose outputs start empty they do."""
    machine: Machine | None
    """None for a range of capacities."""
    methods: tuple[str, ...]
    asked: Question | None = None
    """What all of them were asked, where they minimise one objective; None where each minimises its own."""
    results: dict[str, NestAnswer] = field(default_factory=dict)
    """Where they minimise one objective: of the methods that found a mapping, the answer."""
    rows: tuple[ComparisonRow, ...] = ()
    """Where each minimises its own: smallest capacity first, or inner boundary first."""
    left_out: dict[str, str]
    """Methods without a mapping, at some capacity at least, each with the first reason."""
    unit: str = "words"
    """Unit that the capacities were given in, `words` or `bytes`: that of a picture's axis."""
    notes: tuple[str, ...] = ()
    """What all answers say, or which bounds are compulsory traffic alone for lack of time."""

    @property
    def presentation(self) -> Presentation:
        """How it is shown: by boundary, or by method."""
        return PRESENTATIONS[f"{self.shown_as}/{CostReport.kind if self.asked is None else SpatialCost.kind}"]

    @property
    def best(self) -> str | None:
        """The method with the least objective among mappings that fit; None without any, or without one objective."""
        fitting = [name for name, result in self.results.items() if result.fits]
        return min(fitting, key=lambda name: self.results[name].cost, default=None)

    @property
    def question(self) -> Question:
        """What all of them were asked.

        Raises:
            TypeError: if each minimises its own objective.
        """
        if self.asked is None:
            raise TypeError("each method minimises an objective of its own")
        return self.asked

    @property
    def bound(self) -> ProvedBound | None:
        """The floor of the one objective, of every schedule; None without any result."""
        return next((result.bound for result in self.results.values() if result.bound is not None), None)

    def over_best(self, method: str) -> float | None:
        """The objective of the mapping of a method over that of the best one, minus one; None where that is 0."""
        best = self.results[self.best or method].cost
        return float(self.results[method].cost / best - 1) if best else None

    @property
    def counted(self) -> tuple[ComparedWords, ...]:
        """The words that its methods minimise: loads, loads plus stores, or both kinds; both together without any."""
        seen = {found.counted for row in self.rows for found in row.found.values()}
        return tuple(each for each in ComparedWords if each in seen) or (ComparedWords.BOTH,)

    def only(self, counted: ComparedWords) -> Comparison:
        """The same of the methods that minimise loads, or loads plus stores."""
        rows = (replace(row, found={name: row.found[name] for name in row.methods(counted)}) for row in self.rows)
        return replace(self, rows=tuple(rows))


def common_notes(results: Mapping[str, Answer[Any, Any]]) -> tuple[str, ...]:
    """What the answers of all methods say: of the machine and of the counting, not of a method."""
    first, *others = (result.notes for result in results.values()) if results else ((),)
    return tuple(note for note in first if all(note in notes for notes in others))


def comparison_rows(
    workload: Workload, machine: Machine, results: Mapping[str, Answer[Any, Any]], notes: list[str]
) -> Iterator[ComparisonRow]:
    """One row per boundary of a machine, inner boundary first, from the results of several methods on it.

    Args:
        workload: the computation.
        machine: gives the boundaries.
        results: one per method.
        notes: gets one where the bound was not known in time, and compulsory traffic stands for it.

    Raises:
        ContradictionError: if a mapping moves fewer words than the bound allows.
    """
    for level, between in enumerate(machine.boundaries):
        words = fast_side_words(machine, level, workload.word_bits)
        yield comparison_row(workload, between, words, results, notes)


def comparison_row(
    workload: Workload,
    between: tuple[str, str],
    memory_words: int,
    results: Mapping[str, Answer[Any, Any]],
    notes: list[str],
) -> ComparisonRow:
    """One row from the results of several methods.

    Args:
        workload: the computation.
        between: the boundary.
        memory_words: words on its fast side.
        results: one per method.
        notes: gets one where the bound was not known in time, and compulsory traffic stands for it.

    Raises:
        ContradictionError: if a mapping moves fewer words than the bound allows.
    """
    bound = bound_in_time(workload, memory_words, current(), between, notes)
    (floor,) = bounds(workload, memory_words, ("compulsory",))
    found = {}
    for name, result in results.items():
        rows = [row for row in result.boundaries if row.between == between]
        found[name] = MethodWords(
            loads_words=sum(row.loads_words for row in rows),
            stores_words=sum(row.stores_words for row in rows),
            seconds=result.seconds,
            objective=result.objective,
        )
        for counted in ComparedWords:
            moved = counted.of(found[name].loads_words, found[name].stores_words)
            least = counted.of(bound.loads_words, bound.stores_words)
            if moved < least:
                raise ContradictionError(
                    f"{workload.title}: the mapping of {name} moves {several(moved, 'word')} ({counted}) between "
                    f"{' and '.join(between)}, fewer than the bound of {least:,} allows: one of the two is "
                    "wrong; please report workload and memory"
                )
    return ComparisonRow(
        between=between,
        memory_words=memory_words,
        bound_loads_words=bound.loads_words,
        bound_stores_words=bound.stores_words,
        compulsory_loads_words=floor.loads_words,
        compulsory_stores_words=floor.stores_words,
        found=found,
    )
