"""The JSON document of `solve` on an accelerator (schema `optmap.accelerator-solution/1`) and its strict reader."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from optmap.bounds.certificate import digest
from optmap.errors import InputError
from optmap.evaluate.policies import nest_policies, nest_policy
from optmap.evaluate.spatial.count import NEST_EXACT
from optmap.evaluate.spatial.policy import NestPolicy
from optmap.gap.nest_search import search_claims, search_times
from optmap.gap.said_constraints import said_constraints
from optmap.problem.constraints import Constraints
from optmap.problem.fabric import Fabric, fabric_of
from optmap.problem.inputs import products_of
from optmap.problem.io.fields import Fields, located
from optmap.problem.io.machines import machine_document, machine_from
from optmap.problem.io.mappings import mapping_document, read_mapping
from optmap.problem.io.workloads import read_workload, workload_document
from optmap.problem.machine import Machine
from optmap.problem.mapping import Mapping
from optmap.problem.nest import Nest, nest_of
from optmap.problem.options import Merit
from optmap.problem.workload import Workload
from optmap.shown import ShownMapping
from optmap.texts import exact_text, plain

if TYPE_CHECKING:
    from optmap.evaluate.spatial.results import MemoryCost, SpatialCost
    from optmap.search.accelerators.result import AcceleratorResult

SCHEMA = "optmap.accelerator-solution/1"
REQUIRED = ("schema", "workload", "machine", "mapping")


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedNest(ShownMapping):
    """What a solution document of an accelerator says: the mapping, and the claims made about it."""

    shown_as: ClassVar[str] = "saved-nest"

    source: str
    """File it was read from."""
    fabric: Fabric
    mapping: Mapping
    nest: Nest
    counting: NestPolicy
    merit: Merit
    constraints: Constraints
    """What was demanded of it beside the machine's rules."""
    document: dict[str, object]
    """The whole document as read."""

    @property
    def workload(self) -> Workload:
        """What was mapped."""
        return self.fabric.workload

    @property
    def machine(self) -> Machine:
        """Onto what."""
        return self.fabric.machine


def saved_document(solution: SavedNest) -> dict[str, object]:
    """A solution file as it was read."""
    return solution.document


def nest_document(result: AcceleratorResult) -> dict[str, object]:
    """The JSON document of a workload mapped onto an accelerator.

    Levels are inner first, the outermost memory among them, counts those of all instances together. Where a
    number may be a fraction, `exact` beside it is the same as exact text. The digest leaves out the times.
    """
    search = result.search
    claims = search_claims(search)
    document: dict[str, object] = {
        "schema": SCHEMA,
        "workload": workload_document(result.workload),
        "machine": machine_document(result.machine),
        "method": result.method,
        "objective": result.objective,
        "counting": result.counting.name,
        "tiles": result.tiles.value,
        "status": {
            "stop": result.stop.value,
            "point": "feasible" if result.fits else "none",
            "proved": search.proved,
            "within": _within(result),
            "space": search.space,
        },
        "mapping": mapping_document(result.mapping),
        **counts_document(result.fabric, result.count),
        "cost": amount(result.cost, result.cost_unit),
        "exact": amount(result.exact.merit(result.merit), result.cost_unit),
        **_relaxation(result),
        "search": claims,
        **_floor(result),
        "seed": result.seed,
        "versions": dict(result.versions),
        "notes": list(result.notes),
        **({} if result.fits else {"broken": list(result.broken)}),
        **({"constraints": result.constraints.document()} if result.constraints else {}),
    }
    # The time it took is no claim: the same answer has the same digest.
    timed = {"search": {**claims, **search_times(search)}, "seconds": result.seconds}
    return {**document, **timed, "digest": digest(document)}


def _within(result: AcceleratorResult) -> float | None:
    """How far the cost is above the bound of the search, as a share of it; None without one."""
    return float(result.cost / result.search.bound - 1) if result.search.bound else None


def _relaxation(result: AcceleratorResult) -> dict[str, object]:
    """The bound of the search under the keys that every solution has."""
    search = result.search
    return {
        "relaxation": {
            "value": plain(search.bound),
            "unit": result.cost_unit,
            "proved": search.bound > 0,
            "formulation": search.proof,
            "tolerance": 0.0,
        },
        "integer_gap": _within(result),
    }


def amount(value: Fraction | int, unit: str) -> dict[str, object]:
    """A number with its unit, and as exact text."""
    return {"value": plain(Fraction(value)), "unit": unit, "exact": exact_text(Fraction(value))}


def counts_document(fabric: Fabric, cost: SpatialCost) -> dict[str, object]:
    """What a nest reads, writes, holds and costs, as `solve` and `evaluate` say it."""
    return {
        "boundaries": boundary_rows(fabric, cost),
        "levels": [_level(fabric, number, cost) for number in range(len(cost.memories))],
        "operations": cost.operations,
        "arithmetic": amount(cost.arithmetic_pj, "pJ"),
        "compute_cycles": cost.compute_cycles,
        "utilisation": float(cost.utilisation),
        "bottleneck": bottleneck(cost),
        "energy": amount(cost.energy_pj, Merit.ENERGY.unit),
        "cycles": amount(cost.cycles, Merit.CYCLES.unit),
        "edp": amount(cost.edp, Merit.EDP.unit),
    }


def bottleneck(cost: SpatialCost) -> str:
    """What decides the cycles: `arithmetic`, or the memory with the slowest port."""
    slowest = max(cost.memories, key=lambda memory: memory.cycles)
    return slowest.name if slowest.cycles > cost.compute_cycles else "arithmetic"


def boundary_rows(fabric: Fabric, cost: SpatialCost) -> list[dict[str, object]]:
    """Per tensor and pair of neighbouring keepers what the outer one reads and takes back for the inner one."""
    rows: list[dict[str, object]] = []
    for operand in fabric.operands:
        keepers = [m for m in cost.memories if any(row.operand == operand.name for row in m.accesses)]
        for inner, outer in pairwise(keepers):
            row = next(row for row in outer.accesses if row.operand == operand.name)
            rows.append(
                {
                    "between": [inner.name, outer.name],
                    "tensor": operand.name,
                    "loads_words": row.reads,
                    "stores_words": row.updates,
                }
            )
    return rows


def _level(fabric: Fabric, number: int, cost: SpatialCost) -> dict[str, object]:
    memory = cost.memories[number]
    return {
        "level": memory.name,
        "instances": memory.instances,
        "occupancy_words": memory.occupancy_words,
        "capacity_words": memory.capacity_words,
        "traffic_words": _traffic(memory, cost),
        "bandwidth_words_per_cycle": _rate(memory),
        "cycles": memory.cycles,
        "utilisation": float(memory.utilisation),
        "energy_pj": plain(memory.energy_pj),
        "energy_exact": exact_text(memory.energy_pj),
        "accesses": {
            row.operand: {
                "reads": row.reads,
                "fills": row.fills,
                "updates": row.updates,
                "tile_words": row.tile_words,
                "multicast": float(row.multicast),
            }
            for row in memory.accesses
        },
    }


def _traffic(memory: MemoryCost, cost: SpatialCost) -> int:
    """Words that the memories outside read and take back for it."""
    outside = cost.memories[[m.name for m in cost.memories].index(memory.name) + 1 :]
    total = 0
    for mine in memory.accesses:
        found = (row for other in outside for row in other.accesses if row.operand == mine.operand)
        keeper = next(found, None)
        total += 0 if keeper is None else keeper.reads + keeper.updates
    return total


def _rate(memory: MemoryCost) -> float | None:
    """Words per cycle of its slowest port; None without a limit."""
    return min((float(port.rate) for port in memory.ports), default=None)


def _floor(result: AcceleratorResult) -> dict[str, object]:
    """The floor of every schedule, the bound on the objective that it is, and the gap to it."""
    floor = result.floor
    if floor is None:
        return {"bound": None, "gap": None, "floor": None}
    crossings = [
        {
            "between": list(crossing.between),
            "memory_words": crossing.memory_words,
            "words": crossing.words,
            "certificate": crossing.certificate,
        }
        for crossing in floor.crossings
    ]
    least = amount(floor.merit(result.merit), result.cost_unit)
    return {
        "bound": {**least, "method": "data movement of every schedule"},
        "gap": None if result.gap is None else float(result.gap),
        "floor": {
            "energy": amount(floor.energy_pj, "pJ"),
            "cycles": floor.cycles,
            "port_cycles": floor.port_cycles,
            "crossings": crossings,
        },
    }


def nest_solution_from(fields: Fields) -> SavedNest:
    """A solution of an accelerator from its document; `schema`, `workload`, `machine` and `mapping` are enough.

    Raises:
        InputError: naming file and field of the first thing that is wrong.
    """
    fields.choice("schema", (SCHEMA,), "")
    missing = [key for key in REQUIRED if key not in fields.values]
    if missing:
        raise InputError(f"{fields.where}: {missing[0]} is missing")
    (workload,) = products_of([read_workload(fields.fields("workload"))])
    machine = machine_from(fields.fields("machine"))
    try:
        fabric = fabric_of(workload, machine)
        mapping = read_mapping(fields.fields("mapping"), workload, machine)
        nest = nest_of(mapping, fabric)
    except InputError as error:
        raise located(error, fields.where) from error
    return SavedNest(
        source=fields.where,
        fabric=fabric,
        mapping=mapping,
        nest=nest,
        counting=nest_policy(fields.choice("counting", nest_policies(), NEST_EXACT.name)),
        merit=Merit(fields.choice("objective", [m.value for m in Merit], Merit.EDP.value)),
        constraints=said_constraints(fields, workload, machine),
        document=dict(fields.values),
    )
