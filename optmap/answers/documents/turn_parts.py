"""What the document of an answer to a chain has beside the others where there are meshes and prices."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from optmap.answers.documents.amounts import amount
from optmap.answers.documents.nest_parts import search_claims
from optmap.answers.documents.relaxed import relaxed_parts
from optmap.answers.documents.rows import boundary_documents, crossing_documents
from optmap.base.texts import exact_text, plain
from optmap.count.meshes.turn_results import InTurnCount, TurnCost, TurnLevel
from optmap.questions.options import Merit
from optmap.search.floors import StatementFloor, TurnFloor
from optmap.search.leasts import FamilyBound
from optmap.search.result import Answer


def turn_counts(count: InTurnCount) -> dict[str, object]:
    """What statements in turn read, write, hold and cost, as `solve` and `evaluate` say it.

    Levels are inner first, the outermost memory among them; counts are those of the whole run and of all instances.
    """
    return {
        "boundaries": boundary_documents(count.boundaries),
        "levels": [_level(level, count) for level in count.levels],
        "statements": _rows(count.statements),
        "moving": _rows(count.moving),
        "operations": count.operations,
        "arithmetic": amount(count.arithmetic_pj, Merit.ENERGY.unit),
        "bottleneck": count.bottleneck,
        "energy": amount(count.energy_pj, Merit.ENERGY.unit),
        "cycles": amount(Fraction(count.cycles), Merit.CYCLES.unit),
        "port_cycles": count.port_cycles,
        "edp": amount(count.edp, Merit.EDP.unit),
    }


def turn_parts(answer: Answer[Any, Any]) -> dict[str, object]:
    """What counting it found, and what else is said of an answer."""
    return {
        **relaxed_parts(answer),
        "counting": answer.counting.name,
        **turn_counts(answer.count),
        "search": search_claims(answer),
        "floor": None if answer.floor is None else floor_document(answer.floor),
        **({} if answer.found.family is None else {"family": _family(answer.found.family, answer.merit)}),
    }


def _family(family: FamilyBound, merit: Merit) -> dict[str, object]:
    """What no nest costs less than, of those of which floors do not show enough; homes and what stays by element.

    For energy-delay that is energy with cycles at a price.
    """
    product = merit is Merit.EDP
    unit = Merit.ENERGY.unit if product else merit.unit
    nests = [
        {
            "statement": each.statement,
            "extents": dict(each.sizes),
            "homes": dict(each.homes),
            "kept": [{"level": k.level, "tensor": k.tensor, "elements": k.elements} for k in each.kept],
            "begun": exact_text(each.begun),
            **({"cycle_pj": exact_text(each.cycle_pj)} if product else {}),
            "least": amount(each.least, unit),
        }
        for each in family.nests
    ]
    return {"together": family.together, "members": family.members, "nests": nests}


def _rows(rows: Iterable[TurnCost]) -> list[dict[str, object]]:
    return [
        {
            "name": row.name,
            "times": row.times,
            "operations": row.operations,
            "energy": amount(row.energy_pj, Merit.ENERGY.unit),
            "cycles": row.cycles,
            "port_cycles": row.port_cycles,
        }
        for row in rows
    ]


def _level(level: TurnLevel, count: InTurnCount) -> dict[str, object]:
    return {
        "level": level.level,
        "occupancy_words": level.occupancy_words,
        "capacity_words": level.capacity_words,
        "energy_pj": plain(level.energy_pj),
        "energy_exact": exact_text(level.energy_pj),
        "accesses": {
            row.tensor: {"reads": row.reads, "fills": row.fills, "updates": row.updates}
            for row in count.accesses
            if row.memory == level.level
        },
    }


def floor_document(floor: TurnFloor) -> dict[str, object]:
    """What no schedule goes below, statement by statement, with the proofs."""
    return {
        "energy": amount(floor.merit(Merit.ENERGY), Merit.ENERGY.unit),
        "cycles": int(floor.merit(Merit.CYCLES)),
        "port_cycles": int(floor.merit(Merit.PORT_CYCLES)),
        "statements": [_statement(each) for each in floor.statements],
    }


def _statement(floor: StatementFloor) -> dict[str, object]:
    return {
        "name": floor.statement,
        "energy": amount(floor.energy_pj, Merit.ENERGY.unit),
        "cycles": floor.cycles,
        "port_cycles": floor.port_cycles,
        "crossings": crossing_documents(floor.certificates),
        **({"box": {dim: [first, beyond] for dim, first, beyond in floor.box}} if floor.box else {}),
    }
