"""Comparisons of bound and mappings: table, JSON, and its reader."""

from __future__ import annotations

from itertools import groupby

from optmap.errors import InputError
from optmap.gap.comparison import Comparison, ComparisonRow, MethodWords
from optmap.problem.io.fields import Fields
from optmap.problem.io.machines import machine_document, machine_from
from optmap.problem.io.workloads import read_workload, workload_document
from optmap.report.tables import grid, pairs, workload_lines
from optmap.texts import number

SCHEMA = "optmap.comparison/1"


def comparison_document(comparison: Comparison) -> dict[str, object]:
    """The JSON document of `compare`: one flat row per capacity and method under `rows`.

    Its `gap` is of the words moved, whatever a method minimises; that of `solve` is of the objective.
    """
    return {
        "schema": SCHEMA,
        "workload": workload_document(comparison.workload),
        "machine": None if comparison.machine is None else machine_document(comparison.machine),
        "capacity_unit": comparison.unit,
        "gap_of": "words",
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
            entry.text("method"): MethodWords(
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
    header = ("between", "capacity", "compulsory", "bound", *methods, "traffic gap", "best")
    parts = [
        pairs(workload_lines(comparison.workload)),
        "Words moved (loads + stores), by capacity of the fast side in words\n"
        + grid(header, "<" + ">" * (len(header) - 2) + "<", rows),
    ]
    if comparison.left_out:
        parts.append("\n".join(f"left out: {name}: {reason}" for name, reason in comparison.left_out.items()))
    return "\n\n".join(parts)
