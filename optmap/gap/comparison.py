"""Lower bound and mappings of one workload over capacities, or over the boundaries of a machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from optmap.bounds.methods import bounds
from optmap.gap.beside import certified_bound
from optmap.problem import Machine, Workload
from optmap.search.result import SolveResult
from optmap.shown import Form, Shown


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodWords:
    """What one method's mapping moves across one boundary."""

    loads_words: int
    stores_words: int
    seconds: float
    """Of the whole solve."""

    @property
    def total_words(self) -> int:
        """Loads plus stores, in words."""
        return self.loads_words + self.stores_words


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """Bound and mappings at one capacity."""

    between: tuple[str, str]
    """Names of the inner and the outer memory."""
    memory_words: int
    """Words on the fast side."""
    bound_loads_words: int
    bound_stores_words: int
    compulsory_words: int
    """Loads plus stores that no capacity avoids."""
    found: dict[str, MethodWords]
    """Per mapping method that found one."""

    @property
    def bound_words(self) -> int:
        """Loads plus stores of the bound, in words."""
        return self.bound_loads_words + self.bound_stores_words

    @property
    def best(self) -> str | None:
        """The mapping method that moves the fewest words."""
        return min(self.found, key=lambda name: self.found[name].total_words, default=None)

    def gap(self, method: str) -> float | None:
        """Traffic found over the bound, minus one (loads plus stores); None where nothing has to move."""
        if not self.bound_words:
            return None
        return float(Fraction(self.found[method].total_words, self.bound_words) - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Shown):
    """Bound against mappings."""

    shown_as: ClassVar[Form] = Form(
        table="report.compare:comparison_table",
        document="report.compare:comparison_document",
        plot="report.compare_plot:plot_comparison",
    )

    workload: Workload
    machine: Machine | None
    """None for a range of capacities."""
    methods: tuple[str, ...]
    rows: tuple[ComparisonRow, ...]
    """Smallest capacity first, or inner boundary first."""
    left_out: dict[str, str]
    """Methods without a mapping at some capacity, each with the first reason."""
    unit: str = "words"
    """Unit that the capacities were given in, `words` or `bytes`: that of a picture's axis."""


def comparison_row(
    workload: Workload, between: tuple[str, str], memory_words: int, results: Mapping[str, SolveResult]
) -> ComparisonRow:
    """One row from the results of several methods.

    Args:
        workload: the computation.
        between: the boundary.
        memory_words: words on its fast side.
        results: one per method.
    """
    bound = certified_bound(workload, memory_words)
    (floor,) = bounds(workload, memory_words, ("compulsory",))
    found = {}
    for name, result in results.items():
        rows = [row for row in result.boundaries if row.between == between]
        found[name] = MethodWords(
            loads_words=sum(row.loads_words for row in rows),
            stores_words=sum(row.stores_words for row in rows),
            seconds=result.seconds,
        )
    return ComparisonRow(
        between=between,
        memory_words=memory_words,
        bound_loads_words=bound.loads_words,
        bound_stores_words=bound.stores_words,
        compulsory_words=floor.total_words,
        found=found,
    )
