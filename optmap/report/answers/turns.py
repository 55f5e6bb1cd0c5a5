"""Mappings of chains on machines with meshes and prices as text: statements in turn, memories, what is proved."""

from __future__ import annotations

from typing import Any

from optmap.answers.documents.amounts import amount
from optmap.answers.documents.saved_turns import TurnEvaluation
from optmap.answers.documents.turn_parts import turn_counts
from optmap.answers.proofs.mesh_bound import MeshBound
from optmap.base.texts import energy_text, number, percent
from optmap.count.meshes.turn_results import InTurnCount
from optmap.files.machines import machine_document
from optmap.files.trees import tree_document
from optmap.files.workloads import workload_document
from optmap.questions.options import Merit
from optmap.report.answers.accelerators import accelerator_line, answer_status, gap_lines, merit_text
from optmap.report.answers.trees import tree_text
from optmap.report.tables import grid, notes_text, pairs, workload_lines
from optmap.search.result import Answer


def answer_table(answer: Answer[Any, Any]) -> str:
    """The whole answer of `solve` to a chain, for people."""
    head = pairs(
        [
            *workload_lines(answer.workload),
            ("machine", accelerator_line(answer.machine)),
            ("method", f"{answer.method}, objective {answer.objective}, counting {answer.counting}"),
            ("status", answer_status(answer)),
            ("space", answer.space),
        ]
    )
    notes = notes_text(answer.notes)
    parts = [head, *count_tables(answer.count), tree_text(answer.mapping), pairs(_summary(answer)), notes]
    return "\n\n".join(part for part in parts if part)


def count_tables(count: InTurnCount) -> list[str]:
    """Statements, memories, and accesses."""
    return [_statements(count), _memories(count), _accesses(count)]


def amounts(count: InTurnCount) -> list[tuple[str, str]]:
    """Energy, cycles and their product."""
    return [
        ("energy", energy_text(count.energy_pj)),
        ("cycles", f"{count.cycles:,} (most of them of {count.bottleneck})"),
        ("edp", f"{merit_text(count.edp)} pJ*cycles"),
    ]


def _summary(answer: Answer[Any, Any]) -> list[tuple[str, str]]:
    floor, unit, rows = answer.floor, answer.cost_unit, amounts(answer.count)
    if floor is not None:
        rows.append(("floor", f"{merit_text(floor.of(answer.question.objective))} {unit}, of every schedule in turn"))
        rows += [
            (f"  {each.statement}", f"energy {energy_text(each.energy_pj)}, cycles {each.cycles:,}")
            for each in floor.statements
        ]
    return [*rows, *gap_lines(answer), ("time", f"{answer.seconds:.3f} s")]


def _statements(count: InTurnCount) -> str:
    titled = [(row, row.name) for row in count.statements]
    titled += [(row, f"{row.name} brought to stay") for row in count.moving]
    rows = [
        (
            title,
            f"{row.times:,}",
            f"{row.operations:,}",
            number(float(row.energy_pj)),
            percent(float(row.energy_pj), float(count.energy_pj)),
            f"{row.cycles:,}",
            percent(row.cycles, count.cycles),
        )
        for row, title in titled
    ]
    header = ("in turn", "times", "operations", "energy (pJ)", "share", "cycles", "share")
    return "Statements in turn, and tensors that are moved by themselves\n" + grid(header, "<>>>>>>", rows)


def _memories(count: InTurnCount) -> str:
    rows = [
        (
            level.level,
            "-" if level.capacity_words is None else f"{level.occupancy_words:,}",
            "-" if level.capacity_words is None else f"{level.capacity_words:,}",
            level.statement or "-",
            number(float(level.energy_pj)),
            percent(float(level.energy_pj), float(count.energy_pj)),
        )
        for level in count.levels
    ]
    arithmetic = float(count.arithmetic_pj)
    rows.insert(0, ("arithmetic", "-", "-", "-", number(arithmetic), percent(arithmetic, float(count.energy_pj))))
    header = ("memory", "occupancy", "capacity", "in", "energy (pJ)", "share")
    return "Memories, inner first: most words of one instance, energy of all\n" + grid(header, "<>><>>", rows)


def _accesses(count: InTurnCount) -> str:
    rows = [
        (
            row.memory,
            row.tensor,
            f"{row.reads:,}",
            f"{row.fills:,}",
            f"{row.updates:,}",
            number(float(row.energy_pj)),
        )
        for row in count.accesses
    ]
    header = ("memory", "tensor", "reads", "fills", "updates", "energy (pJ)")
    return "Accesses of all instances together, in words\n" + grid(header, "<<>>>>", rows)


def bound_table(bound: MeshBound) -> str:
    """What no mapping costs less than, for people."""
    rows = [
        (
            each.statement,
            number(float(each.energy_pj)),
            f"{each.cycles:,}",
            f"{each.port_cycles:,}",
            f"{len(each.certificates)}",
        )
        for each in bound.floor.statements
    ]
    header = ("statement", "energy (pJ)", "cycles", "of ports", "certificates")
    title = f"At least {merit_text(bound.value)} {bound.unit} of {bound.objective.name}, whatever stays on chip\n"
    return "\n".join([title + grid(header, "<>>>>", rows), *(f"note: {note}" for note in bound.notes)])


def merit_document(bound: MeshBound) -> dict[str, object]:
    """The same as JSON."""
    return {
        **amount(bound.value, bound.unit),
        "statements": [
            {
                "name": each.statement,
                "energy": amount(each.energy_pj, Merit.ENERGY.unit),
                "cycles": each.cycles,
                "port_cycles": each.port_cycles,
            }
            for each in bound.floor.statements
        ],
        "notes": list(bound.notes),
    }


def evaluation_table(evaluation: TurnEvaluation) -> str:
    """What statements of a file in turn cost, for people."""
    saved, count = evaluation.saved, evaluation.count
    head = pairs([*workload_lines(saved.workload), ("machine", accelerator_line(saved.machine))])
    rows = amounts(count)
    if count.uncounted:
        rows = [("cost", f"of the chain unknown: {' and '.join(count.uncounted)} without room, and left out above")]
    return "\n\n".join([head, *count_tables(count), tree_text(saved.tree), pairs(rows)])


def evaluation_document(evaluation: TurnEvaluation) -> dict[str, object]:
    """The JSON document of `evaluate`; the keys that it shares with `solve` mean the same."""
    saved = evaluation.saved
    return {
        "schema": "optmap.accelerator-evaluation/1",
        "workload": workload_document(saved.workload),
        "machine": machine_document(saved.machine),
        "counting": evaluation.counting.name,
        "mapping": tree_document(saved.tree),
        **turn_counts(evaluation.count),
        "violations": list(evaluation.count.broken),
        "uncounted": list(evaluation.count.uncounted),
        "disagreements": evaluation.disagreements,
    }
