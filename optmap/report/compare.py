"""Lower bound and mappings of one workload over capacities, or over the boundaries of a machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import ClassVar

from optmap.bounds.methods import bounds
from optmap.errors import InputError
from optmap.problem import Machine, Workload
from optmap.problem.io.fields import Fields
from optmap.problem.io.machines import machine_document, machine_from
from optmap.problem.io.workloads import read_workload, workload_document
from optmap.report.gaps import certified_bound
from optmap.report.tables import grid, number, pairs, workload_lines
from optmap.search.result import SolveResult
from optmap.shown import Form, Shown

SCHEMA = "optmap.comparison/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
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
    found: dict[str, Found]
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
        found[name] = Found(
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


def comparison_document(comparison: Comparison) -> dict[str, object]:
    """The JSON document of `compare`: one flat row per capacity and method under `rows`."""
    return {
        "schema": SCHEMA,
        "workload": workload_document(comparison.workload),
        "machine": None if comparison.machine is None else machine_document(comparison.machine),
        "capacity_unit": comparison.unit,
        "methods": list(comparison.methods),
        "rows": [entry for row in comparison.rows for entry in _row_documents(row)],
        "left_out": dict(comparison.left_out),
    }


def _row_documents(row: ComparisonRow) -> list[dict[str, object]]:
    shared: dict[str, object] = {
        "between": list(row.between),
        "memory_words": row.memory_words,
        "compulsory_words": row.compulsory_words,
        "bound_loads_words": row.bound_loads_words,
        "bound_stores_words": row.bound_stores_words,
        "bound_words": row.bound_words,
    }
    return [
        {
            **shared,
            "method": name,
            "loads_words": found.loads_words,
            "stores_words": found.stores_words,
            "found_words": found.total_words,
            "gap": row.gap(name),
            "time_s": found.seconds,
        }
        for name, found in row.found.items()
    ] or [{**shared, "method": None}]


def read_comparison(fields: Fields) -> Comparison:
    """The comparison of a document, as it was written: nothing is bounded or counted again.

    Raises:
        InputError: naming file and field.
    """
    machine = None if fields.get("machine") is None else machine_from(fields.fields("machine"))
    entries = groupby(fields.items("rows"), key=lambda row: (row.texts("between"), row.integer("memory_words")))
    left_out = fields.fields("left_out")
    return Comparison(
        workload=read_workload(fields.fields("workload")),
        machine=machine,
        methods=fields.texts("methods"),
        rows=tuple(_read_row(list(group)) for _, group in entries),
        left_out={name: left_out.text(name) for name in left_out.values},
        unit=fields.choice("capacity_unit", ("words", "bytes"), "words"),
    )


def _read_row(entries: list[Fields]) -> ComparisonRow:
    """One row from its entries, one per method."""
    first = entries[0]
    between = first.texts("between")
    if len(between) != 2:
        raise InputError(f"{first.at('between')} has {len(between)} names; the inner and the outer memory are needed")
    return ComparisonRow(
        between=(between[0], between[1]),
        memory_words=first.integer("memory_words"),
        bound_loads_words=first.integer("bound_loads_words", least=0),
        bound_stores_words=first.integer("bound_stores_words", least=0),
        compulsory_words=first.integer("compulsory_words", least=0),
        found={
            entry.text("method"): Found(
                loads_words=entry.integer("loads_words", least=0),
                stores_words=entry.integer("stores_words", least=0),
                seconds=entry.number("time_s"),
            )
            for entry in entries
            if entry.get("method") is not None
        },
    )


def comparison_table(comparison: Comparison) -> str:
    """One line per capacity: floor, bound, what every method moves, and the smallest gap."""
    methods = comparison.methods
    rows = []
    for row in comparison.rows:
        best = row.best
        gap = None if best is None else row.gap(best)
        rows.append(
            (
                " - ".join(row.between),
                number(row.memory_words),
                number(row.compulsory_words),
                number(row.bound_words),
                *(number(row.found[name].total_words) if name in row.found else "-" for name in methods),
                "-" if gap is None else f"{100 * gap:.1f} %",
                best or "-",
            )
        )
    header = ("between", "capacity", "compulsory", "bound", *methods, "gap", "best")
    parts = [
        pairs(workload_lines(comparison.workload)),
        "Words moved (loads + stores), by capacity of the fast side in words\n"
        + grid(header, "<" + ">" * (len(header) - 2) + "<", rows),
    ]
    if comparison.left_out:
        parts.append("\n".join(f"left out: {name}: {reason}" for name, reason in comparison.left_out.items()))
    return "\n\n".join(parts)
