"""Verify a solution of an accelerator: its mapping on the machine, every count, energy, cycles, and the floor."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any

from .accesses import Counts, Row, named
from .demands import check_demands
from .explored import TIMES, check_explored
from .fabric import Fabric, Memory
from .floor import check_crossings, movement, port_cycles
from .flows import FlowCounts
from .loops import Loops
from .nest_form import NEST_SOLUTION
from .report import Report, listed, statement_lines
from .tools import digest, equal, need, plain, spelled

UNITS = {"energy": "pJ", "cycles": "cycles", "edp": "pJ*cycles", "traffic": "cycles"}
NEAR = Fraction(1, 10**9)
"""Relative distance to which floating-point bounds of a search are trusted to be at most the cost."""


def check_nest_solution(doc: dict[str, Any]) -> Report:
    """Verify a solution document of an accelerator.

    Raises:
        RefusedError: with the first claim that does not hold.
    """
    check_signature(doc)
    NEST_SOLUTION(doc, "")
    need(doc["workload"]["padding"] == "stored", "on an accelerator padding is stored")
    fabric = Fabric(doc["workload"], doc["machine"])
    need(fabric.work.assign and not fabric.work.padded, "on an accelerator outputs start empty, padding is stored")
    loops = Loops(fabric, doc["mapping"]["levels"])
    timeloop = doc["counting"] == "timeloop"
    loops.check(hulls=timeloop)
    need("broken" not in doc, "the document says that the mapping does not fit, but it does")
    need(doc["status"]["point"] == "feasible", "the mapping fits: status.point is feasible")
    need(doc["tiles"] == "padded" or not loops.padded(), "dims are padded, but divisors were asked for")
    counts = FlowCounts(loops) if doc["counting"] == "factorflow" else Counts(loops, timeloop=timeloop)
    exact = counts if doc["counting"] == "exact" else Counts(loops, timeloop=False)
    check_counts(doc, fabric, loops, counts)
    cost, real = counts.merit(doc["objective"]), exact.merit(doc["objective"])
    for key, value, unit in (
        ("arithmetic", counts.arithmetic, "pJ"),
        ("energy", counts.energy, "pJ"),
        ("cycles", Fraction(counts.cycles), "cycles"),
        ("edp", counts.merit("edp"), "pJ*cycles"),
        ("cost", cost, UNITS[doc["objective"]]),
        ("exact", real, UNITS[doc["objective"]]),
    ):
        check_amount(doc[key], value, unit, key)
    check_claimed_search(doc, cost)
    verified = [
        *statement_lines(fabric.work, doc["workload"]),
        *memory_lines(fabric, loops, counts),
        *rule_lines(fabric),
        spelled(f"the mapping is valid: tiles nest and fit, meshes, keeps and rules are kept{padding(loops)}"),
        *check_demands(doc, loops.tiles, [level["permutation"] for level in doc["mapping"]["levels"]]),
        spelled(
            f"counted as {doc['counting']}: reads, fills and updates per memory and tensor, energy "
            f"{float(counts.energy):,.10g} pJ, {counts.cycles:,} cycles, {float(counts.merit('edp')):,.10g} pJ*cycles"
        ),
        *floor_lines(doc, fabric, real),
    ]
    return Report(verified=tuple(verified), not_verified=tuple(hearsay(doc)))


def check_signature(doc: dict[str, Any]) -> None:
    """The digest is that of the document without the times it took."""
    if type(doc.get("digest")) is str and type(doc.get("search")) is dict:
        search = {key: value for key, value in doc["search"].items() if key not in TIMES}
        signed = {**{key: value for key, value in doc.items() if key != "seconds"}, "search": search}
        need(doc["digest"] == digest(signed), "the digest is not that of the document: it was changed")


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


def check_counts(doc: Any, fabric: Fabric, loops: Loops, counts: Counts) -> None:
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


def occupancy(memory: Memory, row: Row) -> int:
    """Words of its capacity that the tiles of one instance take; elements of a memory without one."""
    weights = {i: weight for _, each, _ in memory.rooms for i, weight in each.items()}
    return sum(memory.taken(i, weights[i], entry[3]) if i in weights else entry[3] for i, entry in row.items())


def equal_float(claimed: float, value: Fraction) -> bool:
    """Whether a share is a value, to the last digit."""
    return claimed == float(value)


def boundaries(fabric: Fabric, counts: Counts) -> list[dict[str, Any]]:
    """What the outer one of neighbouring keepers reads and takes back, tensor by tensor."""
    found = []
    for i, (name, _) in enumerate(fabric.operands):
        keepers = [number for number, row in enumerate(counts.rows) if i in row]
        for inner, outer in pairwise(keepers):
            reads, _, updates, _, _ = counts.rows[outer][i]
            between = [fabric.memories[inner].name, fabric.memories[outer].name]
            found.append({"between": between, "tensor": name, "loads_words": reads, "stores_words": updates})
    return found


def check_claimed_search(doc: Any, cost: Fraction) -> None:
    """What is said of the search does not contradict the cost, nor itself."""
    search, status, relaxed = doc["search"], doc["status"], doc["relaxation"]
    bound, unit = Fraction(search["bound"]), UNITS[doc["objective"]]
    need(bound <= cost * (1 + NEAR), f"a bound of {search['bound']} on what costs {float(cost)}")
    need(search["proved"] == status["proved"], "search and status differ")
    check_explored(search, cost)
    need(not search["proved"] or cost <= bound * (1 + NEAR), "said to be proved optimal above its bound")
    need(relaxed["value"] == search["bound"] and relaxed["unit"] == unit, "relaxation is not the bound of the search")
    need(relaxed["proved"] == (bound > 0), "relaxation is proved, or not, unlike the bound of the search")
    within = float(cost / bound - 1) if bound else None
    for claimed in (status["within"], doc["integer_gap"]):
        same = (
            claimed is None if within is None else claimed is not None and abs(claimed - within) < 1e-9 * (1 + within)
        )
        need(same, f"the cost is {within} above the bound of the search")
    need((status["stop"] == "optimal") == status["proved"], "status.stop is optimal where the search proved that")
    need(status["stop"] != "infeasible", "the mapping fits, status.stop says that none does")


def padding(loops: Loops) -> str:
    """What is padded, as the end of a sentence."""
    grown = loops.padded()
    return f"; padded to {listed(grown.items())}, the work on padding counted" if grown else ""


def memory_lines(fabric: Fabric, loops: Loops, counts: Counts) -> list[str]:
    """Every memory with what the claims depend on."""
    lines = [f"on {fabric.units:,} units of {float(fabric.arithmetic):g} pJ an operation, with memories inner first"]
    for number, memory in enumerate(fabric.memories):
        prices = "/".join(f"{float(price):g}" for price in memory.prices.values())
        rooms = ", ".join(f"{name} {units:,}" for name, _, units in memory.rooms) or "no limit"
        ports = ", ".join(f"{port} {float(rate):g}" for port, rate in memory.rates.items())
        used = occupancy(memory, counts.rows[number])
        keeps = [name for (name, _), kept in zip(fabric.operands, loops.keeps[number], strict=True) if kept]
        lines.append(
            f"{memory.name}: holds {used:,} words of {' '.join(keeps) or 'nothing'} (room: {rooms}), read/fill/update "
            f"{prices} pJ per {memory.block} words"
            + (f", {'bytes' if memory.widths.in_bytes else 'words'} per cycle {ports}" if ports else "")
            + memory.widths.text
        )
        lines[-1] += mesh_text(memory)
        lines[-1] += f", {loops.used(number):,} of {fabric.instances(number):,} instances in use"
    return [spelled(line) for line in lines]


def mesh_text(memory: Memory) -> str:
    """Children of a memory and what is special about its mesh and clusters."""
    parts = [f"feeds {memory.x.size} x {memory.y.size}"] if memory.fanout > 1 else []
    parts += [] if memory.multicast else ["without multicast"]
    parts += [] if memory.reduction else ["without reduction"]
    parts += [f"{memory.cluster} instances to an access"] if memory.cluster > 1 else []
    if any(memory.wires):
        parts.append("a hop {:g} pJ, a router {:g} pJ".format(*map(float, memory.wires)))
    return "".join(f", {part}" for part in parts)


def rule_lines(fabric: Fabric) -> list[str]:
    """What the machine asks of a mapping beside capacities: bypass, dims along axes, factors, orders."""
    lines = []
    for memory in fabric.memories:
        names = [name for name, _ in fabric.operands]
        parts = [f"{name} {keep}" for name, keep in zip(names, memory.keeps, strict=True) if keep != "kept"]
        for axis, direction in (("x", memory.x), ("y", memory.y)):
            if direction.dims is not None and direction.size > 1:
                parts.append(
                    f"along {axis} only {' '.join(d for d in fabric.dims if d in direction.dims) or 'nothing'}"
                )
        rules = [*memory.rules, *memory.x.rules, *memory.y.rules]
        parts += [f"{'*'.join(sorted(dims)) or '1'}{relation}{value}" for _, dims, relation, value in rules]
        if memory.order:
            bands = ["..." if band is None else "+".join(sorted(band)) or "-" for band in memory.order]
            parts.append(f"loops in the order {', '.join(bands)}")
        lines += [f"{memory.name} asks for: {'; '.join(parts)}"] if parts else []
    return [spelled(line) for line in lines]


def floor_lines(doc: Any, fabric: Fabric, real: Fraction) -> list[str]:
    """The floor is proved, and bound and gap follow from it."""
    floor = doc["floor"]
    if floor is None:
        need(doc["bound"] is None and doc["gap"] is None, "a bound or a gap without a floor")
        return []
    crossings = check_crossings(fabric, floor["crossings"])
    operations = prod(fabric.extents.values())
    ports = port_cycles(fabric, crossings)
    cycles = max(-(-operations // fabric.units), ports)
    proved = operations * fabric.arithmetic + movement(fabric, crossings)
    energy = exact_value(floor["energy"]["exact"], "floor")
    check_amount(floor["energy"], energy, "pJ", "floor")
    need(energy <= proved, f"the floor of energy is {float(proved)} pJ")
    need(floor["cycles"] <= cycles and floor["port_cycles"] <= ports, f"the floor is {cycles} cycles, of ports {ports}")
    own = {
        "energy": energy,
        "cycles": floor["cycles"],
        "edp": energy * floor["cycles"],
        "traffic": floor["port_cycles"],
    }
    value = Fraction(own[doc["objective"]])
    need(doc["bound"] is not None, "a floor without a bound")
    check_amount({k: doc["bound"][k] for k in ("value", "unit", "exact")}, value, UNITS[doc["objective"]], "bound")
    need(value <= real, "the mapping is below the floor: one of the two is wrong")
    gap = float(real / value - 1) if value else None
    need(doc["gap"] == gap, f"the gap is {gap}")
    said = "no gap" if gap is None else f"gap {100 * gap:,.4g} % of the exact count above it"
    return [
        spelled(
            f"no schedule on this machine uses less than {float(energy):,.10g} pJ or {floor['cycles']:,} cycles, "
            f"from {len(crossings)} re-proved certificates of words that cross: bound {float(value):,.10g} "
            f"{UNITS[doc['objective']]}, {said}"
        )
    ]


def hearsay(doc: Any) -> list[str]:
    """What the file says beside that."""
    search, status = doc["search"], doc["status"]
    lines = [
        f"called {doc['workload']['name']!r} on {doc['machine']['name']!r} in the file",
        f"method {doc['method']!r}, stop {status['stop']!r}, {search['evaluations']:,} evaluations",
        f"that no mapping of {status['space']!r} is below {search['bound']!r} {UNITS[doc['objective']]} "
        f"(proved optimal: {search['proved']!r}): {search['proof']!r} is a search whose labels are not in the file; "
        "run it again",
        "in which order the innermost memory runs its own loops: no count depends on it",
        "how the search went: valid share, settings, what rules cut, curve of the best",
        "formulation and tolerance of the relaxation, how often the workload occurs, clock, word sizes, notes, "
        "seconds, seed, versions",
    ]
    return [plain(line) for line in lines]
