"""Verify a solution of an accelerator: its mapping on the machine, every count, energy, cycles, and the floor."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import Any

from ..bounds.floor import check_crossings, movement, port_cycles
from ..core.demands import check_demands
from ..core.fabric import StatedFabric, StatedMemory
from ..core.report import Report, listed, statement_lines
from ..core.tools import digest, need, plain, spelled
from .accesses import Counts, objective_value
from .explored import TIMES, check_explored
from .loops import Loops
from .nest_counts import (
    COUNTINGS,
    UNITS,
    UNKNOWN,
    check_amount,
    check_counts,
    check_totals,
    counted_lines,
    exact_value,
    occupancy,
)
from .nest_form import NEST_SOLUTION

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
    fabric = StatedFabric(doc["workload"], doc["machine"])
    need(fabric.work.assign and not fabric.work.padded, "on an accelerator outputs start empty, padding is stored")
    loops = Loops(fabric, doc["mapping"]["levels"])
    count = COUNTINGS.get(doc["counting"])
    loops.check(hulls=doc["counting"] == "timeloop")
    need("broken" not in doc, "the document says that the mapping does not fit, but it does")
    need(doc["status"]["point"] == "feasible", "the mapping fits: status.point is feasible")
    need(doc["tiles"] == "padded" or not loops.padded(), "dims are padded, but divisors were asked for")
    exact = Counts(loops, timeloop=False)
    real = exact.merit(doc["objective"])
    counted = exact if count is None else count(loops)
    if count is not None:
        check_counts(doc, fabric, loops, counted)
        check_totals(doc, counted)
    check_amount(doc["exact"], real, UNITS[doc["objective"]], "exact")
    check_claimed_search(doc, exact_value(doc["cost"]["exact"], "cost"))
    verified = [
        *statement_lines(fabric.work, doc["workload"]),
        *memory_lines(fabric, loops, counted),
        *rule_lines(fabric),
        spelled(f"the mapping is valid: tiles nest and fit, meshes, keeps and rules are kept{padding(loops)}"),
        *check_demands(doc, doc["mapping"]["levels"], [name for name, _ in fabric.operands]),
        *counted_lines(doc, counted, real),
        *floor_lines(doc, fabric, real),
    ]
    unknown = () if count else (plain(UNKNOWN.format(doc["counting"])),)
    return Report(verified=tuple(verified), not_verified=(*unknown, *hearsay(doc)))


def check_signature(doc: dict[str, Any]) -> None:
    """The digest is that of the document without the times it took."""
    if type(doc.get("digest")) is str and type(doc.get("search")) is dict:
        search = {key: value for key, value in doc["search"].items() if key not in TIMES}
        signed = {**{key: value for key, value in doc.items() if key != "seconds"}, "search": search}
        need(doc["digest"] == digest(signed), "the digest is not that of the document: it was changed")


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


def memory_lines(fabric: StatedFabric, loops: Loops, counts: Counts) -> list[str]:
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


def mesh_text(memory: StatedMemory) -> str:
    """Children of a memory and what is special about its mesh and clusters."""
    parts = [f"feeds {memory.x.size} x {memory.y.size}"] if memory.fanout > 1 else []
    parts += [] if memory.multicast else ["without multicast"]
    parts += [] if memory.reduction else ["without reduction"]
    parts += [f"{memory.cluster} instances to an access"] if memory.cluster > 1 else []
    if any(memory.wires):
        parts.append("a hop {:g} pJ, a router {:g} pJ".format(*map(float, memory.wires)))
    return "".join(f", {part}" for part in parts)


def rule_lines(fabric: StatedFabric) -> list[str]:
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


def floor_lines(doc: Any, fabric: StatedFabric, real: Fraction) -> list[str]:
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
    value = objective_value(doc["objective"], energy, floor["cycles"], floor["port_cycles"])
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
