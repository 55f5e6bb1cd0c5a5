"""The JSON documents of `solve` and their strict reader.

Machines without meshes have schema `optmap.solution/2`, those with meshes and prices `optmap.accelerator-solution/1`:
most keys are the same, and what a kind of count has beside them is in `tile_parts`, `nest_parts`, `tree_parts` and
`turn_parts`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from optmap.answers.documents.amounts import amount, finite
from optmap.answers.documents.nest_parts import nest_parts, nest_times
from optmap.answers.documents.said_constraints import said_constraints
from optmap.answers.documents.tile_parts import tile_parts
from optmap.answers.documents.tree_parts import tree_parts
from optmap.answers.documents.turn_parts import turn_parts
from optmap.base.errors import InputError
from optmap.base.shown import PRESENTATIONS, Presentation
from optmap.bounds.certificate import digest
from optmap.count.meshes.count import NEST_EXACT
from optmap.count.meshes.results import SpatialCost
from optmap.count.meshes.turn_results import InTurnCount
from optmap.count.policies import nest_policies, nest_policy
from optmap.count.results import CostReport
from optmap.count.trees import TreeCount
from optmap.files.codes import options_from
from optmap.files.fields import Fields, located
from optmap.files.held import read_held
from optmap.files.inputs import products_of
from optmap.files.machines import machine_document, machine_from
from optmap.files.mappings import read_mapping
from optmap.files.reading import read_json
from optmap.files.workloads import read_workload, workload_document
from optmap.kernels.code_options import CodeOptions
from optmap.machines.fabric import fabric_of
from optmap.machines.form import FormName
from optmap.machines.machine import CapacityRule, Machine
from optmap.mappings.held import Held
from optmap.mappings.levels import Mapping
from optmap.mappings.nest import nest_of
from optmap.questions.form import form_on, objectives_on
from optmap.questions.objective import BOTTLENECK, PREDICTED_TIME
from optmap.questions.options import Merit, TileRule
from optmap.search.floors import Number
from optmap.search.found import Found
from optmap.search.question import Question
from optmap.search.result import Answer, Solved
from optmap.workloads.workload import Workload

SCHEMAS = {
    CostReport.kind: "optmap.solution/2",
    SpatialCost.kind: "optmap.accelerator-solution/1",
    TreeCount.kind: "optmap.solution/2",
    InTurnCount.kind: "optmap.accelerator-solution/1",
}
"""Per kind of count name and version of the document."""
PARTS: dict[str, Callable[[Answer[Any, Any]], dict[str, object]]] = {
    CostReport.kind: tile_parts,
    SpatialCost.kind: nest_parts,
    TreeCount.kind: tree_parts,
    InTurnCount.kind: turn_parts,
}
"""Per kind of count what is said beside what all documents say."""
TIMES: dict[str, Callable[[Answer[Any, Any]], dict[str, object]]] = {
    SpatialCost.kind: nest_times,
    InTurnCount.kind: nest_times,
}
"""Per kind of count what is other the next time, beside the seconds of the answer."""
REQUIRED = ("schema", "workload", "machine", "mapping")
SAID = (
    *("method", "objective", "tiles", "status", "boundaries", "levels", "bottleneck", "cost", "exact", "relaxation"),
    *("integer_gap", "seconds", "seed", "versions", "notes", "constraints", "bound", "gap", "proof", "digest"),
    "others",
)
"""Keys that any document of `solve` may have."""
SHARED = (
    *("schema", "workload", "machine", "method", "objective", "counting", "tiles", "word_bits", "capacity_rule"),
    *("constraints", "seed", "versions"),
)
"""Those of the question: the next best mappings beside an answer have them from it."""
OF_TILES = ("word_bits", "capacity_rule", "integer_bound", "held", "prediction", "certificates")
"""Those where a mapping is counted level by level."""
OF_NESTS = (
    *("counting", "operations", "arithmetic", "compute_cycles", "utilisation", "energy", "cycles", "edp", "search"),
    *("floor", "broken"),
)
"""Those where there are meshes and prices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """A claimed value with its unit."""

    value: Number
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
class SavedSolution(Solved):
    """What a solution document says: the mapping, and the claims made about it."""

    shown_as: ClassVar[str] = "saved-solution"

    source: str
    """File it was read from."""
    document: dict[str, object]
    """The whole document as read."""
    cost: Amount | None = None
    """Claimed per-level objective; None in a document written by hand, or where there are meshes."""
    exact: Amount | None = None
    """Claimed traffic of the concatenated nest; likewise."""
    boundaries: tuple[BoundaryClaim, ...] | None = None
    """Claimed traffic per boundary and tensor; likewise."""

    @property
    def kind(self) -> str:
        """Of its counts."""
        return next(kind for kind, schema in SCHEMAS.items() if schema == self.document["schema"])

    @property
    def presentation(self) -> Presentation:
        """How solutions with its kind of count are shown."""
        return PRESENTATIONS[f"{self.shown_as}/{self.kind}"]


def saved_document(solution: SavedSolution) -> dict[str, object]:
    """A solution file as it was read."""
    return solution.document


def solution_document(answer: Answer[Any, Any]) -> dict[str, object]:
    """The JSON document of a solved workload.

    Mapping levels are inner first, permutations outermost first; words are the workload's words
    (the greatest common divisor of its element sizes). Where a number may be a fraction, `exact` beside it is the same
    as exact text. The digest is that of the certificates; it leaves out times. The next best mappings are documents
    without what they share with the answer, each with a digest of its own.
    """
    unit, bound, kind = answer.cost_unit, answer.bound, answer.count.kind
    document: dict[str, object] = {
        "schema": SCHEMAS[kind],
        "workload": workload_document(answer.workload),
        "machine": machine_document(answer.machine),
        "method": answer.method,
        "objective": answer.objective,
        "tiles": str(answer.tiles),
        "status": {
            "stop": answer.stop.value,
            "point": answer.point.value,
            "proved": answer.proved,
            "within": finite(answer.within),
            "space": answer.space,
        },
        **PARTS[kind](answer),
        "cost": amount(answer.cost, unit),
        "exact": amount(answer.exact, unit),
        "bound": None if bound is None else {**amount(bound.value, unit), "method": bound.method},
        "gap": finite(answer.gap),
        "seed": answer.seed,
        "versions": dict(answer.versions),
        "notes": list(answer.notes),
        **({} if answer.fits else {"broken": list(answer.broken)}),
        **({"constraints": answer.constraints.document()} if answer.constraints else {}),
        **({} if answer.proof is None else {"proof": answer.proof}),
    }
    # The time it took is no claim: the same answer has the same digest.
    times = TIMES[kind](answer) if kind in TIMES else {}
    whole = {**document, **times, "seconds": answer.seconds, "digest": digest(document)}
    others = [_beside(solution_document(other)) for other in answer.others]
    return {**whole, "others": others} if others else whole


def _beside(document: dict[str, object]) -> dict[str, object]:
    """What a document says that it does not share with the answer it stands beside."""
    return {key: value for key, value in document.items() if key not in SHARED}


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
    if "tree" in fields.fields("mapping").values:
        raise InputError(
            f"{fields.at('mapping')} is a mapping tree; evaluate, check, show and emit take it, this needs tiles per "
            "level"
        )
    if fields.get("schema") == SCHEMAS[SpatialCost.kind]:
        return _nest_from(fields)
    fields.allow(*REQUIRED, *SAID, *OF_TILES)
    _check_schema(fields)
    workload, machine = _problem(fields)
    if form_on(machine).name is not FormName.TILES:
        raise InputError(f"{fields.at('schema')}: of a machine with fanouts it is {SCHEMAS[SpatialCost.kind]}")
    rules = [rule.value for rule in CapacityRule]
    rule = CapacityRule(fields.choice("capacity_rule", rules, CapacityRule.TILE.value))
    known = objectives_on(machine)
    objective = known[fields.choice("objective", tuple(known), BOTTLENECK.name)]
    if rule is CapacityRule.SAFE and objective.timed:
        raise InputError(f"{fields.at('capacity_rule')}: where time is predicted levels have room for one visit: tile")
    mapping = read_mapping(fields.fields("mapping"), workload, machine)
    cost, exact, claims = _amount(fields, "cost"), _amount(fields, "exact"), _claims(fields)
    held = _held(fields, workload, machine, mapping, rule)
    constraints, options = said_constraints(fields, workload, machine), _options(fields)
    return SavedSolution(
        question=Question(
            workload=workload, machine=machine, objective=objective, capacity=rule, constraints=constraints
        ),
        found=Found(mapping=mapping, held=held, options=options),
        mapping=mapping,
        source=fields.where,
        document=dict(fields.values),
        cost=cost,
        exact=exact,
        boundaries=claims,
    )


def _nest_from(fields: Fields) -> SavedSolution:
    """A solution where there are meshes and prices."""
    fields.allow(*REQUIRED, *SAID, *OF_NESTS)
    for key in REQUIRED:
        fields.get(key)
    workload, machine = _problem(fields)
    try:
        fabric = fabric_of(workload, machine)
        mapping = read_mapping(fields.fields("mapping"), workload, machine)
        nest = nest_of(mapping, fabric)
    except InputError as error:
        raise located(error, fields.where) from error
    counting = nest_policy(fields.choice("counting", nest_policies(), NEST_EXACT.name))
    known = objectives_on(machine)
    objective = known[fields.choice("objective", tuple(known), Merit.EDP.value)]
    return SavedSolution(
        question=Question(
            workload=workload,
            machine=machine,
            objective=objective,
            counting=counting,
            constraints=said_constraints(fields, workload, machine),
        ),
        found=Found(mapping=nest),
        mapping=mapping,
        source=fields.where,
        document=dict(fields.values),
    )


def _problem(fields: Fields) -> tuple[Workload, Machine]:
    """Workload and machine of a document."""
    (workload,) = products_of([read_workload(fields.fields("workload"))])
    return workload, machine_from(fields.fields("machine"))


def _check_schema(fields: Fields) -> None:
    if fields.get("schema") == "optmap.solution/1":
        raise InputError(f"{fields.at('schema')}: the file was written by an older optmap; solve again")
    fields.choice("schema", (SCHEMAS[CostReport.kind],), "")


def _options(fields: Fields) -> CodeOptions | None:
    """Of what code a document predicts the time; None if it does not.

    Raises:
        InputError: naming file and field.
    """
    if not fields.has("prediction"):
        return None
    return options_from(fields.fields("prediction"))


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
