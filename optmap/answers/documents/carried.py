"""What a method found in a memory, and lower bounds, as documents by which another process goes on.

Of a mapping they have everything of which `assemble` makes the answer, and nothing that was counted: that is counted
anew.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from optmap.bounds.result import LowerBound
from optmap.files.fields import Fields
from optmap.files.held import read_held
from optmap.files.mappings import mapping_document, read_mapping
from optmap.files.trees import read_tree
from optmap.machines.machine import Machine
from optmap.search.found import Found
from optmap.search.relaxation import Relaxation
from optmap.search.result import Answer
from optmap.solvers.status import PointKind
from optmap.workloads.workload import Workload


def carried_document(answer: Answer[Any, Any]) -> dict[str, object]:
    """What was found in a memory for an answer, as `read_carried` takes it.

    Args:
        answer: of one memory, and of words.
    """
    found = answer.found
    return {
        "mapping": mapping_document(answer.mapping),
        "held": None if found.held is None else found.held.document(),
        "claimed": _number_text(found.claimed),
        "relaxation": None if found.relaxation is None else _relaxation_document(found.relaxation),
        "bound": _number_text(found.bound),
        "proved": found.proved,
        "proof": found.proof,
        "space": found.space,
        "point": found.point.value,
        "evaluations": found.evaluations,
        "late": found.late,
        "notes": list(found.notes),
        "seconds": found.seconds,
    }


def read_carried(fields: Fields, workload: Workload, machine: Machine) -> Found:
    """What a document says was found.

    Args:
        fields: of `carried_document`.
        workload: that was mapped.
        machine: of one level.

    Raises:
        InputError: naming the field.
    """
    read = read_mapping if workload.is_product else read_tree
    return Found(
        mapping=read(fields.fields("mapping"), workload, machine),
        held=read_held(fields.fields("held"), machine.levels[0].name) if fields.given("held") else None,
        claimed=_number(fields, "claimed"),
        relaxation=_relaxation(fields.fields("relaxation")) if fields.given("relaxation") else None,
        bound=_number(fields, "bound"),
        proved=fields.flag("proved"),
        proof=fields.text("proof", ""),
        space=fields.text("space", ""),
        point=PointKind(fields.text("point")),
        evaluations=fields.integer("evaluations", least=0),
        late=fields.flag("late"),
        notes=fields.texts("notes"),
        seconds=fields.number("seconds"),
    )


def _number_text(number: Fraction | float | None) -> str | float | None:
    return str(number) if isinstance(number, Fraction) else number


def _number(fields: Fields, key: str) -> Fraction | float | None:
    if not fields.given(key):
        return None
    return Fraction(fields.text(key)) if isinstance(fields.get(key), str) else fields.number(key)


def _relaxation_document(relaxation: Relaxation) -> dict[str, object]:
    return {
        "value": relaxation.value,
        "proved": relaxation.proved,
        "formulation": relaxation.formulation,
        "tolerance": relaxation.tolerance,
        "method": relaxation.method,
        "classes": [{"outermost_first": list(order)} for order in relaxation.classes],
        "tiles": [dict(tile) for tile in relaxation.tiles],
    }


def _relaxation(fields: Fields) -> Relaxation:
    return Relaxation(
        value=fields.number("value"),
        proved=fields.flag("proved"),
        formulation=fields.text("formulation"),
        tolerance=fields.number("tolerance"),
        method=fields.text("method", ""),
        classes=tuple(order.texts("outermost_first") for order in fields.items("classes", least=0)),
        tiles=tuple({d: tile.number(d) for d in tile.values} for tile in fields.items("tiles", least=0)),
    )


def floor_document(floor: LowerBound) -> dict[str, object]:
    """A lower bound whole, as `read_floor` takes it."""
    return {
        "method": floor.method,
        "loads_words": floor.loads_words,
        "stores_words": floor.stores_words,
        "exponents": {name: str(exponent) for name, exponent in floor.exponents.items()},
        "expression": floor.expression,
        "assumptions": list(floor.assumptions),
        "certificate": floor.certificate,
    }


def read_floor(fields: Fields) -> LowerBound:
    """The lower bound of a document.

    Raises:
        InputError: naming the field.
    """
    exponents = fields.fields("exponents")
    return LowerBound(
        method=fields.text("method"),
        loads_words=fields.integer("loads_words", least=0),
        stores_words=fields.integer("stores_words", least=0),
        exponents={name: Fraction(exponents.text(name)) for name in exponents.values},
        expression=fields.text("expression", ""),
        assumptions=fields.texts("assumptions"),
        certificate=dict(fields.fields("certificate").values) if fields.given("certificate") else None,
    )
