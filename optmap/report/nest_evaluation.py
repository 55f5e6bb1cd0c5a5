"""A recount on an accelerator: table and JSON."""

from __future__ import annotations

from optmap.evaluate.spatial.wires import wire_notes
from optmap.gap.nest_recount import NestEvaluation
from optmap.gap.nest_solution import amount, counts_document
from optmap.problem.fabric_notes import fabric_notes
from optmap.problem.io.machines import machine_document
from optmap.problem.io.mappings import mapping_document
from optmap.problem.io.workloads import workload_document
from optmap.report.accelerators import accelerator_line, amounts, cost_parts
from optmap.report.spatial_nest import nest_text
from optmap.report.tables import constraint_lines, pairs, workload_lines

SCHEMA = "optmap.accelerator-evaluation/1"
"""Name and version of the document."""


def evaluation_document(evaluation: NestEvaluation) -> dict[str, object]:
    """The JSON document of `evaluate`; the keys that it shares with `solve` mean the same."""
    solution, merit = evaluation.solution, evaluation.solution.merit
    return {
        "schema": SCHEMA,
        "workload": workload_document(solution.workload),
        "machine": machine_document(solution.machine),
        "objective": merit.value,
        "counting": evaluation.counting.name,
        "mapping": mapping_document(solution.mapping),
        **counts_document(solution.fabric, evaluation.count),
        "cost": amount(evaluation.count.merit(merit), merit.unit),
        "exact": amount(evaluation.exact.merit(merit), merit.unit),
        "disagreements": evaluation.disagreements,
        "notes": list(_notes(evaluation)),
    }


def _notes(evaluation: NestEvaluation) -> tuple[str, ...]:
    return (*fabric_notes(evaluation.fabric), *wire_notes(evaluation.fabric, evaluation.counting))


def evaluation_table(evaluation: NestEvaluation) -> str:
    """The recount for people."""
    solution = evaluation.solution
    head = [
        *workload_lines(solution.workload),
        ("machine", accelerator_line(solution.machine, evaluation.count)),
        ("counting", evaluation.counting.name),
        *constraint_lines(solution.constraints),
    ]
    wrong, notes = evaluation.disagreements, _notes(evaluation)
    verdict = "every claim of the file holds" if not wrong else f"{len(wrong)} claims of the file do not hold"
    parts = [
        pairs(head),
        *cost_parts(evaluation.count),
        nest_text(solution.nest, solution.fabric, evaluation.count).rstrip(),
        pairs(amounts(evaluation.count)),
        verdict,
        *(["\n".join(f"note: {note}" for note in notes)] if notes else []),
    ]
    return "\n\n".join(parts)
