"""Comparisons, by boundary and by method: tables, JSON, and the readers of both."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

from optmap.answers.documents.amounts import amount, finite
from optmap.answers.documents.solution import solution_document
from optmap.answers.side_by_side.comparison import ComparedWords, Comparison, ComparisonRow, MethodWords
from optmap.base.errors import InputError
from optmap.base.shown import Shown
from optmap.base.texts import in_percent, number, several
from optmap.files.fields import Fields
from optmap.files.machines import machine_document, machine_from
from optmap.files.workloads import read_workload, workload_document
from optmap.machines.machine import Machine
from optmap.report.answers.accelerators import accelerator_line, merit_text
from optmap.report.tables import grid, notes_text, pairs, workload_lines
from optmap.workloads.workload import Workload

SCHEMA = "optmap.comparison/1"
"""Name and version of the document by boundary."""
ROW = (
    *("between", "memory_words", "compulsory_loads_words", "compulsory_stores_words", "bound_loads_words"),
    *("bound_stores_words", "counted", "compulsory_words", "bound_words", "method", "objective", "loads_words"),
    *("stores_words", "found_words", "gap", "time_s"),
)
"""Keys of a row by boundary."""
METHODS_SCHEMA = "optmap.accelerator-comparison/1"
"""Of the document by method."""
COPIED = (
    *("status", "energy", "cycles", "edp", "cost", "exact", "search", "gap", "mapping", "notes", "broken"),
    "seconds",
)
"""Keys of a row by method that are those of the document of `solve`, as far as that has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedComparison(Shown):
    """A comparison by method, as its document says it: nothing in it is counted again."""

    shown_as: ClassVar[str] = "saved-comparison"

    workload: Workload
    machine: Machine
    objective: str
    """What every method minimised."""
    counting: str
    """Name of the policy that counted."""
    bound: float | None
    """What no schedule goes below, in `unit`."""
    unit: str
    """Of the bound."""
    rows: tuple[MethodRow, ...]
    left_out: dict[str, str]
    """Methods without a mapping, each with the reason."""
    notes: tuple[str, ...]
    document: dict[str, object]
    """The whole document as read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodRow:
    """What a document says of the mapping of one method."""

    method: str
    energy_pj: float
    cycles: int
    edp: float
    """In pJ*cycles."""
    over_best: float | None
    """The objective over that of the best, minus one."""
    gap: float | None
    """The objective over the bound, minus one."""
    status: str
    evaluations: int
    """Mappings that were judged."""
    seconds: float


def comparison_document(comparison: Comparison) -> dict[str, object]:
    """The JSON document of `compare` by boundary: one flat row per capacity and method under `rows`.

    `found_words`, `bound_words`, `compulsory_words` and the `gap` of a row are of the words that its method minimises
    (`counted`): loads, or loads plus stores. A row without a method has loads plus stores.
    """
    return {
        "schema": SCHEMA,
        "workload": workload_document(comparison.workload),
        "machine": None if comparison.machine is None else machine_document(comparison.machine),
        "capacity_unit": comparison.unit,
        "gap_of": "the words that the method minimises: counted",
        "methods": list(comparison.methods),
        "rows": [entry for row in comparison.rows for entry in _row_documents(row)],
        "left_out": dict(comparison.left_out),
        "notes": list(comparison.notes),
    }


def _row_documents(row: ComparisonRow) -> list[dict[str, object]]:
    shared: dict[str, object] = {
        "between": list(row.between),
        "memory_words": row.memory_words,
        "compulsory_loads_words": row.compulsory_loads_words,
        "compulsory_stores_words": row.compulsory_stores_words,
        "bound_loads_words": row.bound_loads_words,
        "bound_stores_words": row.bound_stores_words,
    }
    return [
        {
            **shared,
            **_on(row, found.counted),
            "method": name,
            "objective": found.objective,
            "loads_words": found.loads_words,
            "stores_words": found.stores_words,
            "found_words": found.words,
            "gap": finite(row.gap(name)),
            "time_s": found.seconds,
        }
        for name, found in row.found.items()
    ] or [{**shared, **_on(row, ComparedWords.BOTH), "method": None}]


def _on(row: ComparisonRow, counted: ComparedWords) -> dict[str, object]:
    """What must move, in the words that a method minimises."""
    return {
        "counted": counted.value,
        "compulsory_words": row.compulsory_on(counted),
        "bound_words": row.bound_on(counted),
    }


def methods_document(comparison: Comparison) -> dict[str, object]:
    """The JSON document of `compare` where all minimise one objective: a row per method, with the keys of `solve`.

    Raises:
        TypeError: if each minimises its own.
    """
    asked, bound = comparison.question, comparison.bound
    rows = []
    for name, result in comparison.results.items():
        document = solution_document(result)
        copied = {key: document[key] for key in COPIED if key in document}
        rows.append({"method": name, **copied, "over_best": comparison.over_best(name)})
    return {
        "schema": METHODS_SCHEMA,
        "workload": workload_document(comparison.workload),
        "machine": machine_document(asked.machine),
        "objective": asked.objective.name,
        "counting": asked.counting.name,
        "methods": list(comparison.methods),
        "best": comparison.best,
        "bound": None if bound is None else amount(bound.value, bound.unit),
        "rows": rows,
        "left_out": dict(comparison.left_out),
        "notes": list(comparison.notes),
    }


def read_comparison(fields: Fields) -> Comparison:
    """The comparison of a document by boundary, as it was written: nothing is bounded or counted again.

    Raises:
        InputError: naming file and field.
    """
    fields.allow("schema", "workload", "machine", "capacity_unit", "gap_of", "methods", "rows", "left_out", "notes")
    machine = None if fields.get("machine") is None else machine_from(fields.fields("machine"))
    entries = groupby(fields.items("rows"), key=lambda row: (row.texts("between"), row.integer("memory_words")))
    workload, left_out, notes = _said_of_all(fields)
    return Comparison(
        workload=workload,
        machine=machine,
        methods=fields.texts("methods"),
        rows=tuple(_read_row(list(group)) for _, group in entries),
        left_out=left_out,
        unit=fields.choice("capacity_unit", ("words", "bytes"), "words"),
        notes=notes,
    )


def _said_of_all(fields: Fields) -> tuple[Workload, dict[str, str], tuple[str, ...]]:
    """What both documents say beside their rows: the workload, methods that are left out with the reason, notes."""
    workload = read_workload(fields.fields("workload"))
    left_out = fields.fields("left_out")
    reasons = {name: left_out.text(name) for name in left_out.values}
    return workload, reasons, fields.texts("notes") if fields.given("notes") else ()


def _read_row(entries: list[Fields]) -> ComparisonRow:
    """One row from its entries, one per method."""
    for entry in entries:
        entry.allow(*ROW)
    first = entries[0]
    between = first.texts("between")
    stores = first.integer("compulsory_stores_words", first.integer("bound_stores_words", least=0), least=0)
    if len(between) != 2:
        raise InputError(
            f"{first.at('between')} has {several(len(between), 'name')}; the inner and the outer memory are needed"
        )
    return ComparisonRow(
        between=(between[0], between[1]),
        memory_words=first.integer("memory_words"),
        bound_loads_words=first.integer("bound_loads_words", least=0),
        bound_stores_words=first.integer("bound_stores_words", least=0),
        compulsory_loads_words=first.integer(
            "compulsory_loads_words", first.integer("compulsory_words", least=0) - stores, least=0
        ),
        compulsory_stores_words=stores,
        found={
            entry.text("method"): MethodWords(
                loads_words=entry.integer("loads_words", least=0),
                stores_words=entry.integer("stores_words", least=0),
                seconds=entry.number("time_s"),
                objective=entry.text("objective", "bottleneck"),
            )
            for entry in entries
            if entry.get("method") is not None
        },
    )


def read_methods(fields: Fields) -> SavedComparison:
    """The comparison of a document by method, as it was written.

    Raises:
        InputError: naming file and field.
    """
    fields.allow(
        *("schema", "workload", "machine", "objective", "counting", "methods", "best", "bound", "rows", "left_out"),
        "notes",
    )
    bound = fields.fields("bound") if fields.given("bound") else None
    workload, left_out, notes = _said_of_all(fields)
    return SavedComparison(
        workload=workload,
        machine=machine_from(fields.fields("machine")),
        objective=fields.text("objective"),
        counting=fields.text("counting"),
        bound=None if bound is None else bound.number("value"),
        unit="" if bound is None else bound.text("unit"),
        rows=tuple(_method_row(row) for row in fields.items("rows", least=0)),
        left_out=left_out,
        notes=notes,
        document=dict(fields.values),
    )


def _method_row(row: Fields) -> MethodRow:
    row.allow("method", *COPIED, "over_best")
    status = row.fields("status")
    said = "optimal" if status.flag("proved", False) else status.text("stop").replace("_", " ")
    return MethodRow(
        method=row.text("method"),
        energy_pj=row.fields("energy").number("value"),
        cycles=row.fields("cycles").integer("value", least=0),
        edp=row.fields("edp").number("value"),
        over_best=row.number("over_best") if row.given("over_best") else None,
        gap=row.number("gap") if row.given("gap") else None,
        status="does not fit" if row.given("broken") else said,
        evaluations=row.fields("search").integer("evaluations", least=0),
        seconds=row.number("seconds"),
    )


def _line(comparison: Comparison, row: ComparisonRow, counted: ComparedWords) -> tuple[str, ...]:
    """A line of the table, of the methods that minimise such words; there is a dash for the others."""
    best, own = row.best_of(counted), row.methods(counted)
    gap = None if best is None else row.gap(best)
    return (
        " - ".join(row.between),
        number(row.memory_words),
        counted.value,
        number(row.compulsory_on(counted)),
        number(row.bound_on(counted)),
        *(number(row.found[name].words) if name in own else "-" for name in comparison.methods),
        in_percent(gap),
        best or "-",
    )


def comparison_table(comparison: Comparison) -> str:
    """One line per capacity and kind of words that are minimised: floor, bound, what methods move, smallest gap."""
    kinds = comparison.counted
    rows = [_line(comparison, row, counted) for row in comparison.rows for counted in kinds]
    mixed = len(kinds) > 1
    header = ("between", "capacity", "words", "compulsory", "bound", *comparison.methods, "traffic gap", "best")
    align = "<><" + ">" * (len(header) - 4) + "<"
    if not mixed:
        rows, header, align = [(*row[:2], *row[3:]) for row in rows], (*header[:2], *header[3:]), align[:2] + align[3:]
    what = "that each method minimises" if mixed else f"moved ({kinds[0]})"
    return _parts(
        comparison,
        pairs(workload_lines(comparison.workload)),
        f"Words {what}, by capacity of the fast side in words\n" + grid(header, align, rows),
    )


def _parts(comparison: Comparison | SavedComparison, *parts: str) -> str:
    """A table with what is left out and what a reader should know beneath."""
    left_out = "\n".join(f"left out: {name}: {reason}" for name, reason in comparison.left_out.items())
    notes = notes_text(comparison.notes)
    return "\n\n".join([*parts, *filter(None, (left_out, notes))])


def methods_table(comparison: Comparison) -> str:
    """One line per method, where all minimise one objective.

    Raises:
        TypeError: if each minimises its own.
    """
    return saved_table(read_methods(Fields.of(methods_document(comparison), "comparison")))


def saved_document(saved: SavedComparison) -> dict[str, object]:
    """A comparison by method as it was read."""
    return saved.document


def saved_table(saved: SavedComparison) -> str:
    """One line per method, as the document says it."""
    head = [
        *workload_lines(saved.workload),
        ("machine", accelerator_line(saved.machine)),
        ("objective", f"{saved.objective}, counting {saved.counting}"),
    ]
    if saved.bound is not None:
        head.append(("floor", f"{merit_text(saved.bound)} {saved.unit}, of every schedule"))
    header = ("method", "energy (pJ)", "cycles", "EDP", "over best", "over floor", "status", "evaluations", "seconds")
    return _parts(saved, pairs(head), grid(header, "<>>>>><>>", map(_method_line, saved.rows)))


def _method_line(row: MethodRow) -> tuple[str, ...]:
    return (
        row.method,
        number(row.energy_pj),
        f"{row.cycles:,}",
        f"{row.edp:.6g}",
        "-" if row.over_best is None else f"{1 + row.over_best:.4f}x",
        in_percent(row.gap),
        row.status,
        f"{row.evaluations:,}",
        f"{row.seconds:.2f}",
    )
