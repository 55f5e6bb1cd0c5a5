"""What a mapping on an accelerator reads, writes, holds and costs: counted anew, and held against its document."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

from ..core.fabric import StatedFabric, StatedMemory
from ..core.tools import equal, need, plain, spelled
from .accesses import Counts, Row, named
from .flows import FlowCounts
from .loops import Loops

UNITS = {"energy": "pJ", "cycles": "cycles", "edp": "pJ*cycles", "port-cycles": "cycles", "traffic": "cycles"}
"""Of objectives."""
COUNTINGS: dict[str, Callable[[Loops], Counts]] = {
    "exact": lambda loops: Counts(loops, timeloop=False),
    "timeloop": lambda loops: Counts(loops, timeloop=True),
    "factorflow": FlowCounts,
}
"""The countings that are known here; of another one only what is counted exactly is verified."""
UNKNOWN = (
    "counted as {!r}, which is not known here: what it says of boundaries, levels, energy, cycles, edp and cost is its "
    "own; the exact count above was made from the mapping"
)


def counted_lines(doc: Any, counts: Counts, real: Fraction) -> list[str]:
    """What was counted: all of it as the document asks, or only exactly what its cost is."""
    if doc["counting"] not in COUNTINGS:
        return [spelled(f"counted exactly, the {doc['objective']} is {float(real):,.10g} {UNITS[doc['objective']]}")]
    return [
        spelled(
            f"counted as {doc['counting']}: reads, fills and updates per memory and tensor, energy "
            f"{float(counts.energy):,.10g} pJ, {counts.cycles:,} cycles, {float(counts.merit('edp')):,.10g} pJ*cycles"
        )
    ]


def check_totals(doc: Any, counts: Counts) -> None:
    """Energy, cycles and the cost of a document are those counted here."""
    for key, value, unit in (
        ("arithmetic", counts.arithmetic, "pJ"),
        ("energy", counts.energy, "pJ"),
        ("cycles", Fraction(counts.cycles), "cycles"),
        ("edp", counts.merit("edp"), "pJ*cycles"),
        ("cost", counts.merit(doc["objective"]), UNITS[doc["objective"]]),
    ):
        check_amount(doc[key], value, unit, key)


def check_amount(claimed: Any, value: Fraction, unit: str, key: str) -> None:
    """A number, its unit, and its exact text."""
    need(equal(claimed["value"], value) and claimed["unit"] == unit, f"{key} must be {float(value)} {unit}")
    need(exact_value(claimed["exact"], key) == value, f"{key} must be exactly {value}")


def exact_value(text: str, key: str) -> Fraction:
    """The value of a decimal number or p/q."""
    need(len(text) < 4000 and all(c in "0123456789./" for c in text), f"{key}: {plain(text)[:80]!r} is no number")
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        need(False, f"{key}: {plain(text)[:80]!r} is no number")
        raise


def check_counts(doc: Any, fabric: StatedFabric, loops: Loops, counts: Counts) -> None:
    """Levels, boundaries and totals are those counted here."""
    need(doc["operations"] == counts.operations, f"{counts.operations} operations are done")
    need(doc["compute_cycles"] == counts.compute_cycles, f"the arithmetic takes {counts.compute_cycles} cycles")
    busy = Fraction(counts.operations, fabric.units * counts.cycles)
    need(equal_float(doc["utilisation"], busy), f"the utilisation is {float(busy)}")
    slowest = max(range(len(counts.rows)), key=lambda number: counts.port_cycles[number])
    waits = counts.port_cycles[slowest] > counts.compute_cycles
    bottleneck = fabric.memories[slowest].name if waits else "arithmetic"
    need(doc["bottleneck"] == bottleneck, f"the bottleneck is {bottleneck}")
    need(len(doc["levels"]) == len(fabric.memories), "levels and machine differ")
    rows = boundaries(fabric, counts)
    need(doc["boundaries"] == rows, "boundaries are not those counted")
    for number, (memory, row) in enumerate(zip(fabric.memories, doc["levels"], strict=True)):
        used = loops.used(number)
        rates, word = memory.rates.values(), Fraction(8, fabric.work.word_bits) if memory.widths.in_bytes else 1
        wanted = {
            "level": memory.name,
            "instances": used,
            "occupancy_words": occupancy(memory, counts.rows[number]),
            "capacity_words": sum(units for _, _, units in memory.rooms) if memory.rooms else None,
            "traffic_words": sum(r["loads_words"] + r["stores_words"] for r in rows if r["between"][0] == memory.name),
            "bandwidth_words_per_cycle": float(min(rates) * word) if rates else None,
            "cycles": counts.port_cycles[number],
            "accesses": named(fabric, counts.rows[number]),
        }
        for key, value in wanted.items():
            need(row[key] == value, f"{memory.name}: {key} says {row[key]}, counted {value}")
        there = Fraction(used, fabric.instances(number))
        need(equal_float(row["utilisation"], there), f"{memory.name}: the utilisation is {float(there)}")
        energy = {"value": row["energy_pj"], "unit": "pJ", "exact": row["energy_exact"]}
        wires = " (in its wires one trunk per column; files from before that must be solved again)"
        said = f"{memory.name}: energy{wires if any(memory.wires) else ''}"
        check_amount(energy, counts.energies[number], "pJ", said)


def occupancy(memory: StatedMemory, row: Row) -> int:
    """Words of its capacity that the tiles of one instance take; elements of a memory without one."""
    weights = {i: weight for _, each, _ in memory.rooms for i, weight in each.items()}
    return sum(memory.taken(i, weights[i], entry[3]) if i in weights else entry[3] for i, entry in row.items())


def equal_float(claimed: float, value: Fraction) -> bool:
    """Whether a share is a value, to the last digit."""
    return claimed == float(value)


def boundaries(fabric: StatedFabric, counts: Counts) -> list[dict[str, Any]]:
    """What the outer one of neighbouring keepers reads and takes back, tensor by tensor."""
    found = []
    for i, (name, _) in enumerate(fabric.operands):
        keepers = [number for number, row in enumerate(counts.rows) if i in row]
        for inner, outer in pairwise(keepers):
            reads, _, updates, _, _ = counts.rows[outer][i]
            between = [fabric.memories[inner].name, fabric.memories[outer].name]
            found.append({"between": between, "tensor": name, "loads_words": reads, "stores_words": updates})
    return found
