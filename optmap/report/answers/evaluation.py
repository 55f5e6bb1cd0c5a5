"""A recount: table and JSON."""

from __future__ import annotations

from optmap.answers.documents.amounts import amount
from optmap.answers.documents.recount import Evaluation, disagreements
from optmap.answers.documents.rows import boundary_documents
from optmap.answers.documents.tile_parts import prediction_document, tile_counts
from optmap.base.texts import number
from optmap.count.results import CostReport
from optmap.files.machines import machine_document
from optmap.files.mappings import mapping_document
from optmap.files.workloads import workload_document
from optmap.report.tables import (
    boundary_table,
    constraint_lines,
    exact_meaning,
    grid,
    level_table,
    machine_line,
    mapping_table,
    pairs,
    prediction_lines,
    shared_by,
    workload_lines,
)

SCHEMA = "optmap.evaluation/1"


def evaluation_document(evaluation: Evaluation[CostReport]) -> dict[str, object]:
    """The JSON document of `evaluate`; the keys it shares with `solve` mean the same."""
    solution = evaluation.solution
    document: dict[str, object] = {
        "schema": SCHEMA,
        "workload": workload_document(solution.workload),
        "machine": machine_document(solution.machine),
        "capacity_rule": solution.capacity.value,
        "mapping": mapping_document(solution.mapping),
        **({} if evaluation.counting is None else {"counting": evaluation.counting.name}),
        **tile_counts(evaluation.count, evaluation.boundaries),
        "cost": amount(evaluation.cost.value, evaluation.cost.unit),
        "exact": amount(evaluation.exact.value, evaluation.exact.unit),
        "disagreements": disagreements(evaluation),
    }
    predicted = evaluation.predicted
    if predicted is not None:
        document["prediction"] = prediction_document(predicted, solution.found.options)
    if evaluation.simulations:
        document["simulation"] = [
            {"policy": simulated.policy, **row}
            for simulated in evaluation.simulations
            for row in boundary_documents(simulated.moved)
        ]
    return document


def evaluation_table(evaluation: Evaluation[CostReport]) -> str:
    """The recount for people."""
    solution = evaluation.solution
    shares = shared_by(solution.machine, solution.mapping)
    count, counting = evaluation.count, "" if evaluation.counting is None else evaluation.counting.name
    parts = [
        pairs(
            [
                *workload_lines(solution.workload),
                ("machine", machine_line(solution.machine)),
                ("capacity", solution.capacity.value),
                *constraint_lines(solution.constraints),
            ]
        ),
        mapping_table(solution.workload, solution.machine, solution.mapping, timed=evaluation.prediction is not None),
        boundary_table(evaluation.boundaries, shares, counting),
        level_table(count.levels, count.bottleneck, shares, solution.workload.word_bits, counting),
        pairs(_values(evaluation)),
    ]
    if solution.held is not None and solution.held.corner is not None:
        parts.append(f"note: {solution.held.corner}")
    if solution.held is not None and solution.held.pieces:
        parts.append(f"note: {solution.held.pieces_text(solution.mapping)}")
    if evaluation.simulations:
        parts.append(_simulation_table(evaluation))
    return "\n\n".join(parts)


def _values(evaluation: Evaluation[CostReport]) -> list[tuple[str, str]]:
    """The objective in both forms, or the predicted time."""
    if evaluation.prediction is not None:
        return prediction_lines(evaluation.prediction)
    meaning = exact_meaning(held=evaluation.solution.held is not None)
    form = "per-level form" if evaluation.counting is None else f"counting {evaluation.counting}"
    predicted = evaluation.predicted
    return [
        ("cost", f"{number(evaluation.cost.value)} {evaluation.cost.unit} ({form})"),
        ("exact", f"{number(evaluation.exact.value)} {evaluation.exact.unit} ({meaning})"),
        *([] if predicted is None else [prediction_lines(predicted)[0], ("bound by", predicted.bound_by)]),
    ]


def _simulation_table(evaluation: Evaluation[CostReport]) -> str:
    header = ["between", "tensor"]
    for simulated in evaluation.simulations:
        header += [f"{simulated.policy} loads", f"{simulated.policy} stores"]
    rows = []
    for entries in zip(*(simulated.moved for simulated in evaluation.simulations), strict=True):
        row = [" - ".join(entries[0].between), entries[0].tensor]
        for entry in entries:
            row += [f"{entry.loads_words:,}", f"{entry.stores_words:,}"]
        rows.append(row)
    return "Simulated, in words: one tile held; LRU cache; optimal replacement\n" + grid(
        header, "<<" + ">" * (len(header) - 2), rows
    )
