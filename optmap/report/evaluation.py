"""A recount: table and JSON."""

from __future__ import annotations

from optmap.evaluate.results import BoundaryTraffic
from optmap.evaluate.tally import Moved
from optmap.gap.recount import Evaluation, disagreements
from optmap.problem.io.machines import machine_document
from optmap.problem.io.mappings import mapping_document
from optmap.problem.io.workloads import workload_document
from optmap.report.tables import (
    boundary_table,
    constraint_lines,
    exact_meaning,
    grid,
    level_table,
    machine_line,
    mapping_table,
    pairs,
    shared_by,
    workload_lines,
)
from optmap.texts import number

SCHEMA = "optmap.evaluation/1"


def evaluation_document(evaluation: Evaluation) -> dict[str, object]:
    """The JSON document of `evaluate`; the keys it shares with `solve` mean the same."""
    solution = evaluation.solution
    document: dict[str, object] = {
        "schema": SCHEMA,
        "workload": workload_document(solution.workload),
        "machine": machine_document(solution.machine),
        "capacity_rule": solution.capacity.value,
        "mapping": mapping_document(solution.mapping),
        "boundaries": [_moved(row) for row in evaluation.boundaries],
        "levels": [
            {
                "level": level.level,
                "occupancy_words": level.occupancy_words,
                "capacity_words": level.capacity_words,
                "traffic_words": level.traffic_words,
                "bandwidth_words_per_cycle": level.bandwidth,
                "cycles": level.cycles,
            }
            for level in evaluation.report.levels
        ],
        "bottleneck": evaluation.report.bottleneck,
        "cost": {"value": evaluation.cost.value, "unit": evaluation.cost.unit},
        "exact": {"value": evaluation.exact.value, "unit": evaluation.exact.unit},
        "disagreements": disagreements(evaluation),
    }
    if evaluation.simulations:
        document["simulation"] = [
            {"policy": simulated.policy, **_moved(row)}
            for simulated in evaluation.simulations
            for row in simulated.moved
        ]
    return document


def _moved(row: BoundaryTraffic | Moved) -> dict[str, object]:
    return {
        "between": list(row.between),
        "tensor": row.tensor,
        "loads_words": row.loads_words,
        "stores_words": row.stores_words,
    }


def evaluation_table(evaluation: Evaluation) -> str:
    """The recount for people."""
    solution = evaluation.solution
    shares = shared_by(solution.machine, solution.mapping)
    parts = [
        pairs(
            [
                *workload_lines(solution.workload),
                ("machine", machine_line(solution.machine)),
                ("capacity", solution.capacity.value),
                *constraint_lines(solution.constraints),
            ]
        ),
        mapping_table(solution.workload, solution.machine, solution.mapping),
        boundary_table(evaluation.boundaries, shares),
        level_table(evaluation.report.levels, evaluation.report.bottleneck, shares, solution.workload.word_bits),
        pairs(
            [
                ("cost", f"{number(evaluation.cost.value)} {evaluation.cost.unit} (per-level form)"),
                (
                    "exact",
                    f"{number(evaluation.exact.value)} {evaluation.exact.unit} "
                    f"({exact_meaning(held=solution.held is not None)})",
                ),
            ]
        ),
    ]
    if solution.held is not None and solution.held.corner is not None:
        parts.append(f"note: {solution.held.corner}")
    if solution.held is not None and solution.held.pieces:
        parts.append(f"note: {solution.held.pieces_text(solution.mapping)}")
    if evaluation.simulations:
        parts.append(_simulation_table(evaluation))
    return "\n\n".join(parts)


def _simulation_table(evaluation: Evaluation) -> str:
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
