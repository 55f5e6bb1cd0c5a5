"""A recount on an accelerator: table and JSON."""

from __future__ import annotations

from optmap.answers.documents.amounts import amount
from optmap.answers.documents.nest_parts import nest_counts
from optmap.answers.documents.recount import Evaluation, nest_claims
from optmap.base.texts import several
from optmap.count.meshes.results import SpatialCost
from optmap.count.meshes.wires import wire_notes
from optmap.files.machines import machine_document
from optmap.files.mappings import mapping_document
from optmap.files.workloads import workload_document
from optmap.machines.fabric_notes import fabric_notes
from optmap.questions.policy import Policy
from optmap.report.answers.accelerators import accelerator_line, amounts, cost_parts
from optmap.report.answers.spatial_nest import nest_text
from optmap.report.tables import constraint_lines, notes_text, pairs, workload_lines

SCHEMA = "optmap.accelerator-evaluation/1"
"""Name and version of the document."""


def evaluation_document(evaluation: Evaluation[SpatialCost]) -> dict[str, object]:
    """The JSON document of `evaluate`; the keys that it shares with `solve` mean the same."""
    solution, merit = evaluation.solution, evaluation.solution.merit
    return {
        "schema": SCHEMA,
        "workload": workload_document(solution.workload),
        "machine": machine_document(solution.machine),
        "objective": solution.objective,
        "counting": _counting(evaluation).name,
        "mapping": mapping_document(solution.mapping),
        **nest_counts(evaluation.count),
        "cost": amount(evaluation.count.merit(merit), merit.unit),
        "exact": amount(evaluation.exact_count.merit(merit), merit.unit),
        "disagreements": evaluation.disagreements,
        "notes": list(_notes(evaluation)),
    }


def _counting(evaluation: Evaluation[SpatialCost]) -> Policy:
    """In which it is shown."""
    return evaluation.counting or evaluation.solution.counting


def _notes(evaluation: Evaluation[SpatialCost]) -> tuple[str, ...]:
    return (*fabric_notes(evaluation.fabric), *wire_notes(evaluation.fabric, _counting(evaluation)))


def evaluation_table(evaluation: Evaluation[SpatialCost]) -> str:
    """The recount for people."""
    solution = evaluation.solution
    head = [
        *workload_lines(solution.workload),
        ("machine", accelerator_line(solution.machine, evaluation.count)),
        ("counting", _counting(evaluation).name),
        *constraint_lines(solution.constraints),
    ]
    notes = _notes(evaluation)
    parts = [
        pairs(head),
        *cost_parts(evaluation.count),
        nest_text(solution.nest, solution.fabric, evaluation.count).rstrip(),
        pairs(amounts(evaluation.count)),
        _verdict(evaluation),
        *([notes_text(notes)] if notes else []),
    ]
    return "\n\n".join(parts)


def _verdict(evaluation: Evaluation[SpatialCost]) -> str:
    """What came of holding the file against the recount; bounds are for `check`."""
    wrong = len(evaluation.disagreements)
    if wrong:
        return several(wrong, "claim of the file does not hold", "claims of the file do not hold")
    return "every count of the file holds" if nest_claims(evaluation) else "the file says no counts to compare"
