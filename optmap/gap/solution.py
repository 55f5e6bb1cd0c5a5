"""The JSON document of `solve` (schema `optmap.solution/2`) and its strict reader."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from optmap.bounds.certificate import digest
from optmap.errors import InputError
from optmap.gap.rows import boundary_documents, level_documents
from optmap.gap.said_constraints import said_constraints
from optmap.problem import CapacityRule, Machine, Mapping, Workload
from optmap.problem.code_options import CodeOptions
from optmap.problem.constraints import NO_CONSTRAINTS, Constraints
from optmap.problem.held import Held
from optmap.problem.inputs import products_of
from optmap.problem.io.codes import options_document, options_from
from optmap.problem.io.fields import Fields, located
from optmap.problem.io.files import read_json
from optmap.problem.io.held import read_held
from optmap.problem.io.machines import machine_document, machine_from
from optmap.problem.io.mappings import mapping_document, read_mapping
from optmap.problem.io.workloads import read_workload, workload_document
from optmap.problem.objective import OBJECTIVES, PREDICTED_TIME
from optmap.problem.options import TileRule
from optmap.shown import ShownMapping
from optmap.writing import to_json, write_text

if TYPE_CHECKING:
    from optmap.evaluate.timing import Prediction
    from optmap.search.result import SolveResult

SCHEMA = "optmap.solution/2"
REQUIRED = ("schema", "workload", "machine", "mapping")
OPTIONAL = (
    "word_bits",
    "method",
    "objective",
    "tiles",
    "capacity_rule",
    "status",
    "boundaries",
    "levels",
    "bottleneck",
    "cost",
    "exact",
    "relaxation",
    "integer_bound",
    "integer_gap",
    "seconds",
    "seed",
    "versions",
    "notes",
    "held",
    "prediction",
    "constraints",
    "bound",
    "gap",
    "certificates",
    "proof",
    "digest",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """A claimed value with its unit."""

    value: float
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryClaim:
    """The traffic that a document claims for one tensor across one boundary."""

    between: tuple[str, str]
    """(inner, outer) memory names."""
    tensor: str
    loads_words: int
    stores_words: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedSolution(ShownMapping):
    """What a solution document says: the mapping, and the claims made about it."""

    shown_as: ClassVar[str] = "saved-solution"

    source: str
    """File it was read from."""
    workload: Workload
    machine: Machine
    mapping: Mapping
    capacity: CapacityRule
    cost: Amount | None
    """Claimed per-level objective; None in a document written by hand."""
    exact: Amount | None
    """Claimed traffic of the concatenated nest; None in a document written by hand."""
    boundaries: tuple[BoundaryClaim, ...] | None
    """Claimed traffic per boundary and tensor; None in a document written by hand."""
    document: dict[str, object]
    """The whole document as read."""
    objective: str = "bottleneck"
    """What `cost` and `exact` are: a key of `OBJECTIVES`."""
    held: Held | None = None
    """Reuse position per access of a one-level mapping; None where the loop order alone decides."""
    constraints: Constraints = NO_CONSTRAINTS
    """What was demanded of the mapping; `evaluate` says whether it meets them."""
    options: CodeOptions | None = None
    """Of the code whose time the document predicts; None if it predicts none."""


def finite(value: float | None) -> float | None:
    """The number, or None where JSON has no number for it (infinite, not a number, absent)."""
    return value if value is not None and math.isfinite(value) else None


def solution_document(result: SolveResult) -> dict[str, object]:
    """The JSON document of a solved workload.

    Mapping levels are inner first, permutations outermost first; words are the workload's words
    (the greatest common divisor of its element sizes). The digest is that of the certificates.
    """
    document: dict[str, object] = {
        "schema": SCHEMA,
        "workload": workload_document(result.workload),
        "word_bits": result.workload.word_bits,
        "machine": machine_document(result.machine),
        "method": result.method,
        "objective": result.objective,
        "tiles": str(result.tiles),
        "capacity_rule": str(result.capacity),
        "status": {
            "stop": result.stop.value,
            "point": result.point.value,
            "proved": result.proved,
            "within": finite(result.within),
            "space": result.space,
        },
        "mapping": mapping_document(result.mapping),
        "boundaries": boundary_documents(result.boundaries),
        "levels": level_documents(result.levels),
        "bottleneck": result.bottleneck,
        "cost": {"value": finite(result.cost), "unit": result.cost_unit},
        "exact": {"value": finite(result.exact), "unit": result.exact_unit},
        "relaxation": _relaxation(result),
        "integer_bound": {"value": finite(result.integer_bound), "unit": result.cost_unit},
        "integer_gap": finite(result.integer_gap),
        "seconds": result.seconds,
        "seed": result.seed,
        "versions": dict(result.versions),
        "notes": list(result.notes),
        "held": None if result.held is None else result.held.document(),
        **({} if result.prediction is None else {"prediction": _prediction(result.prediction, result.options)}),
        **({"constraints": result.constraints.document()} if result.constraints else {}),
        **_gap(result),
        **({} if result.proof is None else {"proof": result.proof}),
    }
    # The time it took is no claim: the same answer has the same digest.
    document["digest"] = digest({key: value for key, value in document.items() if key != "seconds"})
    return document


def _prediction(prediction: Prediction, options: CodeOptions | None) -> dict[str, object]:
    """The predicted time with all its parts, and of what code it is."""
    code = options or CodeOptions()
    return {
        "cycles": finite(prediction.cycles),
        "seconds": finite(prediction.seconds),
        "kernel": prediction.kernel,
        "bound_by": prediction.bound_by,
        "threads": prediction.threads,
        "caches": prediction.caches.value,
        "registers": prediction.registers,
        "compute_cycles": prediction.compute_cycles,
        "packing_cycles": prediction.packing_cycles,
        "boundaries": [
            {
                "between": list(row.between),
                "moved_bytes": row.moved_bytes,
                "cycles": row.cycles,
                "waited_cycles": row.waited_cycles,
            }
            for row in prediction.boundaries
        ],
        **options_document(code),
    }


def _options(fields: Fields) -> CodeOptions | None:
    """Of what code a document predicts the time; None if it does not.

    Raises:
        InputError: naming file and field.
    """
    if not fields.has("prediction"):
        return None
    return options_from(fields.fields("prediction"))


def _gap(result: SolveResult) -> dict[str, object]:
    bound = result.bound
    return {
        "bound": None if bound is None else {"value": bound.value, "unit": bound.unit, "method": bound.method},
        "gap": finite(result.gap),
        "certificates": [
            {
                "between": list(proof.between),
                "instances": proof.instances,
                "words": proof.words,
                "certificate": proof.certificate,
            }
            for proof in result.certificates
        ],
    }


def _relaxation(result: SolveResult) -> dict[str, object]:
    relaxation = result.relaxation
    return {
        "value": finite(relaxation.value),
        "unit": result.cost_unit,
        "proved": relaxation.proved,
        "formulation": relaxation.formulation,
        "tolerance": relaxation.tolerance,
        "method": relaxation.method,
        "classes": [list(permutation) for permutation in relaxation.classes],
        "tiles": [dict(tile) for tile in relaxation.tiles],
        "cross_check": finite(relaxation.cross_check),
    }


def write_solution(result: SolveResult, path: Path) -> None:
    """Write the document of a result to a file.

    Raises:
        InputError: if the file cannot be written.
    """
    write_text(path, to_json(solution_document(result)) + "\n")


def read_solution(path: str | Path) -> SavedSolution:
    """Read and validate a solution document.

    Only `schema`, `workload`, `machine` and `mapping` are needed, so that a mapping written by
    hand can be evaluated too; what else is there must have the right form.

    Raises:
        InputError: naming file and field of the first thing that is wrong.
    """
    return solution_from(read_json(Path(path)))


def solution_from(fields: Fields) -> SavedSolution:
    """A solution from its document, validated as `read_solution` does.

    Raises:
        InputError: naming file and field of the first thing that is wrong.
    """
    fields.allow(*REQUIRED, *OPTIONAL)
    _check_schema(fields)
    (workload,) = products_of([read_workload(fields.fields("workload"))])
    machine = machine_from(fields.fields("machine"))
    rules = [rule.value for rule in CapacityRule]
    rule = CapacityRule(fields.choice("capacity_rule", rules, CapacityRule.TILE.value))
    objective = fields.choice("objective", tuple(OBJECTIVES), "bottleneck")
    if rule is CapacityRule.SAFE and OBJECTIVES[objective].timed:
        raise InputError(f"{fields.at('capacity_rule')}: where time is predicted levels have room for one visit: tile")
    mapping = read_mapping(fields.fields("mapping"), workload, machine)
    return SavedSolution(
        source=fields.where,
        workload=workload,
        machine=machine,
        mapping=mapping,
        capacity=rule,
        cost=_amount(fields, "cost"),
        exact=_amount(fields, "exact"),
        boundaries=_claims(fields),
        document=dict(fields.values),
        objective=objective,
        held=_held(fields, workload, machine, mapping, rule),
        constraints=said_constraints(fields, workload, machine),
        options=_options(fields),
    )


def _check_schema(fields: Fields) -> None:
    if fields.get("schema") == "optmap.solution/1":
        raise InputError(f"{fields.at('schema')}: the file was written by an older optmap; solve again")
    fields.choice("schema", (SCHEMA,), "")


def _held(fields: Fields, workload: Workload, machine: Machine, mapping: Mapping, rule: CapacityRule) -> Held | None:
    """What a document holds of every access, by name; None where the loop order alone decides.

    Raises:
        InputError: naming file and field.
    """
    if fields.values.get("held") is None:
        return None
    held = read_held(fields.fields("held"), mapping.levels[0].level)
    try:
        held.check(workload, machine, mapping, rule)
    except InputError as error:
        raise located(error, fields.where) from error
    divided = fields.get("tiles") == TileRule.DIVISORS
    if (held.corner is not None or held.pieces) and (divided or fields.has("constraints")):
        where = fields.at("tiles" if divided else "constraints")
        raise InputError(f"{where}: of tiles that leave out a corner, and of pieces, nothing is demanded")
    if fields.get("objective") == PREDICTED_TIME.name:
        raise InputError(f"{fields.at('held')}: no time is predicted of a run that holds what it is told to")
    return held


def _amount(fields: Fields, key: str) -> Amount | None:
    if not fields.has(key):
        return None
    inside = fields.fields(key)
    inside.allow("value", "unit")
    return Amount(value=inside.number("value"), unit=inside.text("unit"))


def _claims(fields: Fields) -> tuple[BoundaryClaim, ...] | None:
    if not fields.has("boundaries"):
        return None
    claims = []
    for item in fields.items("boundaries"):
        item.allow("between", "tensor", "loads_words", "stores_words")
        between = item.texts("between")
        if len(between) != 2:
            raise InputError(f"{item.at('between')} is {list(between)}; two memory names, inner and outer, are needed")
        claims.append(
            BoundaryClaim(
                between=(between[0], between[1]),
                tensor=item.text("tensor"),
                loads_words=item.integer("loads_words", least=0),
                stores_words=item.integer("stores_words", least=0),
            )
        )
    return tuple(claims)
