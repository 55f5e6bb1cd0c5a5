"""Methods side by side on an accelerator: table and JSON."""

from __future__ import annotations

from optmap.answers.documents.amounts import amount
from optmap.answers.documents.solution import solution_document
from optmap.answers.side_by_side.nest_comparison import NestComparison
from optmap.base.texts import number
from optmap.files.machines import machine_document
from optmap.files.workloads import workload_document
from optmap.report.answers.accelerators import accelerator_line, merit_text
from optmap.report.tables import grid, pairs, workload_lines
from optmap.search.result import NestAnswer

SCHEMA = "optmap.accelerator-comparison/1"
"""Name and version of the document."""
COPIED = ("status", "energy", "cycles", "edp", "cost", "exact", "search", "gap", "mapping", "notes", "seconds")
"""Keys of a row that are those of the document of `solve`."""


def comparison_document(comparison: NestComparison) -> dict[str, object]:
    """The JSON document of `compare` on an accelerator: a row per method, with the keys of `solve`."""
    floor = comparison.floor
    rows = []
    for name, result in comparison.results.items():
        document = solution_document(result)
        rows.append({"method": name, **{key: document[key] for key in COPIED}, "over_best": _over(comparison, name)})
    return {
        "schema": SCHEMA,
        "workload": workload_document(comparison.fabric.workload),
        "machine": machine_document(comparison.fabric.machine),
        "objective": comparison.merit.value,
        "counting": comparison.counting.name,
        "methods": list(comparison.methods),
        "best": comparison.best,
        "bound": None if floor is None else amount(floor.merit(comparison.merit), comparison.merit.unit),
        "rows": rows,
        "left_out": dict(comparison.left_out),
    }


def _status(result: NestAnswer) -> str:
    if not result.fits:
        return "does not fit"
    return "optimal" if result.proved else result.stop.value.replace("_", " ")


def _over(comparison: NestComparison, name: str) -> float | None:
    """The objective of a method over the best one, minus one."""
    best = comparison.results[comparison.best or name].cost
    return float(comparison.results[name].cost / best - 1) if best else None


def comparison_table(comparison: NestComparison) -> str:
    """One line per method."""
    merit, floor = comparison.merit, comparison.floor
    head = [
        *workload_lines(comparison.fabric.workload),
        ("machine", accelerator_line(comparison.fabric.machine)),
        ("objective", f"{merit}, counting {comparison.counting}"),
    ]
    if floor is not None:
        head.append(("floor", f"{merit_text(floor.merit(merit))} {merit.unit}, of every schedule"))
    rows = []
    for name, result in comparison.results.items():
        over = _over(comparison, name)
        gap = result.gap
        rows.append(
            (
                name,
                number(float(result.count.energy_pj)),
                f"{result.count.cycles:,}",
                f"{float(result.count.edp):.6g}",
                "-" if over is None else f"{1 + over:.4f}x",
                "-" if gap is None else f"{100 * float(gap):.1f} %",
                _status(result),
                f"{result.found.evaluations:,}",
                f"{result.seconds:.2f}",
            )
        )
    header = ("method", "energy (pJ)", "cycles", "EDP", "over best", "over floor", "status", "evaluations", "seconds")
    parts = [pairs(head), grid(header, "<>>>>><>>", rows)]
    if comparison.left_out:
        parts.append("\n".join(f"left out: {name}: {reason}" for name, reason in comparison.left_out.items()))
    notes = _common_notes(comparison)
    if notes:
        parts.append("\n".join(f"note: {note}" for note in notes))
    return "\n\n".join(parts)


def _common_notes(comparison: NestComparison) -> list[str]:
    """What the answers of all methods say: of the machine and of the counting, not of a method."""
    answers = list(comparison.results.values())
    return [note for note in answers[0].notes if all(note in answer.notes for answer in answers)] if answers else []
