"""What a solution document has beside the others where there are meshes and prices."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from optmap.answers.documents.amounts import amount
from optmap.answers.documents.relaxed import relaxed_parts
from optmap.answers.documents.rows import boundary_documents, crossing_documents
from optmap.base.texts import exact_text, plain
from optmap.count.meshes.results import MemoryCost, SpatialCost
from optmap.questions.options import Merit
from optmap.search.result import Answer, NestAnswer


def nest_counts(cost: SpatialCost) -> dict[str, object]:
    """What a nest reads, writes, holds and costs, as `solve` and `evaluate` say it.

    Levels are inner first, the outermost memory among them, counts those of all instances together.
    """
    return {
        "boundaries": boundary_documents(cost.boundaries),
        "levels": [_level(number, cost) for number in range(len(cost.memories))],
        "operations": cost.operations,
        "arithmetic": amount(cost.arithmetic_pj, "pJ"),
        "compute_cycles": cost.compute_cycles,
        "utilisation": float(cost.utilisation),
        "bottleneck": cost.bottleneck,
        "energy": amount(cost.energy_pj, Merit.ENERGY.unit),
        "cycles": amount(Fraction(cost.cycles), Merit.CYCLES.unit),
        "edp": amount(cost.edp, Merit.EDP.unit),
    }


def nest_parts(answer: NestAnswer) -> dict[str, object]:
    """What counting it found, and what else is said of an answer."""
    return {
        **relaxed_parts(answer),
        "counting": answer.counting.name,
        **nest_counts(answer.count),
        "search": search_claims(answer),
        "floor": _floor(answer),
    }


def nest_times(answer: Answer[Any, Any]) -> dict[str, object]:
    """What is other the next time: the search with its seconds, and the curve as [evaluations, seconds, value]."""
    found = answer.found
    times = {
        "seconds": found.seconds,
        "seconds_to_best": found.seconds_to_best,
        "curve": [[point.evaluations, point.seconds, point.value] for point in found.curve],
    }
    return {"search": {**search_claims(answer), **times}}


def search_claims(answer: Answer[Any, Any]) -> dict[str, object]:
    """What the digest of the document covers of the search: bound and counts, no times.

    Of a method that has mappings judged one by one also how many were valid, its settings, why it ended, and per rule
    how many candidates it was asked about and left out.
    """
    found, trace = answer.found, answer.found.trace
    claims: dict[str, object] = {
        "bound": plain(Fraction(answer.integer_bound)),
        "proved": found.proved,
        "proof": found.proof,
        "evaluations": found.evaluations,
    }
    if trace is None:
        return claims
    return claims | {
        "valid": trace.valid,
        "valid_share": trace.valid_share,
        "ended": None if trace.end is None else trace.end.value,
        "settings": dict(trace.settings),
        "cuts": [{"rule": cut.rule, "seen": cut.seen, "cut": cut.cut} for cut in trace.cuts],
    }


def _floor(answer: NestAnswer) -> dict[str, object] | None:
    """What no schedule goes below, with the proofs."""
    floor = answer.floor
    if floor is None:
        return None
    return {
        "energy": amount(floor.energy_pj, Merit.ENERGY.unit),
        "cycles": floor.cycles,
        "port_cycles": floor.port_cycles,
        "crossings": crossing_documents(floor.certificates),
    }


def _level(number: int, cost: SpatialCost) -> dict[str, object]:
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
