"""Verify a solution of a chain on a machine with meshes and prices: the mapping, every count, and the floor."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from ..bounds.floor import check_crossings, movement, port_cycles
from ..chains.chain import StatedChain
from ..chains.chain_bound import chain_lines
from ..chains.chain_document import CHAIN_WORK, read_chain
from ..chains.chain_masks import rules_of
from ..core.fabric import StatedFabric
from ..core.form import BETWEEN, MOVED
from ..core.report import Report
from ..core.shapes import Shape, anything, count, many, maybe, name, positive, record, records, table, text
from ..core.shapes import number as amount_shape
from ..core.tools import need, plain, spelled
from ..nests.accesses import objective_value
from ..nests.nest_counts import UNITS, check_amount, exact_value
from ..nests.nest_form import AMOUNT, SOLVED
from ..nests.nest_solution import check_claimed_search, check_signature, mesh_text, rule_lines
from .single import alone_there, give, has_nest, is_in_place, is_of_rows, places_of, single_fabric
from .stated_turns import StatedTurns, turn_nodes
from .turn_counts import TurnSum, TurnTotals, said_rows, turn_totals
from .turn_family import FAMILY, family_lines

ROW = record(name=name, times=positive, operations=count, energy=AMOUNT, cycles=count, port_cycles=count)
CROSSING = record(between=BETWEEN, memory_words=positive, words=count, certificate=anything)
FLOORED: dict[str, Shape] = {
    "name": name,
    "energy": AMOUNT,
    "cycles": count,
    "port_cycles": count,
    "crossings": many(CROSSING),
}
FLOOR = record(
    energy=AMOUNT,
    cycles=count,
    port_cycles=count,
    statements=many(records(FLOORED, FLOORED | {"box": table(many(count, 2), 1)}), 1),
)
TURN_SOLVED: dict[str, Shape] = {
    **{key: shape for key, shape in SOLVED.items() if key not in ("compute_cycles", "utilisation")},
    "workload": CHAIN_WORK,
    "mapping": record(tree=turn_nodes),
    "boundaries": many(MOVED),
    "levels": many(
        record(
            level=name,
            occupancy_words=count,
            capacity_words=maybe(count),
            energy_pj=amount_shape,
            energy_exact=text,
            accesses=anything,
        ),
        2,
    ),
    "statements": many(ROW, 1),
    "moving": many(ROW),
    "port_cycles": count,
    "floor": maybe(FLOOR),
}
TURN_SOLUTION = records(TURN_SOLVED, TURN_SOLVED | {"family": FAMILY})


def check_turn_solution(doc: dict[str, Any]) -> Report:
    """Verify a solution document of a chain on a machine with meshes and prices.

    Raises:
        RefusedError: with the first claim that does not hold.
    """
    check_signature(doc)
    TURN_SOLUTION(doc, "")
    chain, machine = read_chain(doc["workload"]), doc["machine"]
    need(chain.assign, "on an accelerator outputs start empty")
    need(doc["counting"] in ("exact", "timeloop"), f"not counted: as {doc['counting']}; exact and timeloop are known")
    turns = StatedTurns(chain, machine, doc["mapping"]["tree"])
    for nest in turns.nests:
        nest.loops.check(hulls=doc["counting"] == "timeloop")
        need(not nest.loops.padded(), "a nest covers more than its statement has")
    need(doc["tiles"] == "divisors" and doc["status"]["point"] == "feasible", "the mapping fits, in perfect factors")
    totals = turn_totals(turns, timeloop=doc["counting"] == "timeloop")
    exact = turn_totals(turns, timeloop=False)
    check_sums(doc, totals)
    check_levels(doc, turns, totals)
    real = exact.merit(doc["objective"])
    check_amount(doc["exact"], real, UNITS[doc["objective"]], "exact")
    check_claimed_search(doc, exact_value(doc["cost"]["exact"], "cost"))
    verified = [
        *chain_lines(chain),
        *machine_lines(chain, machine),
        spelled(
            "the mapping is valid: every operation is done once, what it reads being complete and kept; nests fit "
            "beside what stays, meshes, keeps and rules are kept"
        ),
        spelled(
            f"counted as {doc['counting']}, one after the other: reads, fills and updates per memory and tensor, "
            f"energy {float(totals.energy):,.10g} pJ, {totals.cycles:,} cycles, "
            f"{float(totals.merit('edp')):,.10g} pJ*cycles"
        ),
        *floor_lines(doc, chain, real),
        *(family_lines(doc, turns) if "family" in doc else []),
    ]
    return Report(verified=tuple(verified), not_verified=tuple(hearsay(doc)))


def check_sums(doc: Any, totals: TurnTotals) -> None:
    """Statements, tensors that are brought, and everything together."""
    for key, rows in (("statements", totals.statements), ("moving", totals.moving)):
        said = [{field: row[field] for field in row if field != "energy"} for row in doc[key]]
        need(said == said_rows(rows), f"{key} must be {said_rows(rows)}")
        for entry, row in zip(doc[key], rows, strict=True):
            check_amount(entry["energy"], row.energy, "pJ", f"{key}, {row.name}: energy")
    need(doc["operations"] == sum(row.operations for row in totals.rows), "operations are not those of the statements")
    need(doc["port_cycles"] == totals.port_cycles, f"port_cycles must be {totals.port_cycles}")
    slowest: TurnSum = max(totals.rows, key=lambda row: row.cycles)
    need(doc["bottleneck"] == slowest.name, f"the bottleneck is {slowest.name}")
    for key, value, unit in (
        ("arithmetic", totals.arithmetic, "pJ"),
        ("energy", totals.energy, "pJ"),
        ("cycles", Fraction(totals.cycles), "cycles"),
        ("edp", totals.merit("edp"), "pJ*cycles"),
        ("cost", totals.merit(doc["objective"]), UNITS[doc["objective"]]),
    ):
        check_amount(doc[key], value, unit, key)


def check_levels(doc: Any, turns: StatedTurns, totals: TurnTotals) -> None:
    """What every memory holds, serves and costs, and what crosses."""
    names, levels = turns.names, turns.machine["levels"]
    need([row["level"] for row in doc["levels"]] == names, "levels and machine differ")
    for place, row in enumerate(doc["levels"]):
        space = None
        if place < len(levels):
            level = levels[place]
            bits, size = level["word_bits"] or turns.chain.word_bits, level["capacity"]["amount"]
            space = (size if level["capacity"]["unit"] == "words" else 8 * size // bits) // level["buffering"]
        accesses = {
            tensor: dict(zip(("reads", "fills", "updates"), words, strict=True))
            for (where, tensor), words in totals.accesses.items()
            if where == place
        }
        wanted = {"occupancy_words": totals.held.get(place, 0), "capacity_words": space, "accesses": accesses}
        for key, value in wanted.items():
            need(row[key] == value, f"{names[place]}: {key} says {row[key]}, counted {value}")
        need(space is None or row["occupancy_words"] <= space, f"{names[place]} holds more than it has room for")
        energy = {"value": row["energy_pj"], "unit": "pJ", "exact": row["energy_exact"]}
        check_amount(energy, totals.energies.get(place, Fraction(0)), "pJ", f"{names[place]}: energy")
    said = {(*row["between"], row["tensor"]): [row["loads_words"], row["stores_words"]] for row in doc["boundaries"]}
    found = {(names[inner], names[outer], t): words for (inner, outer, t), words in totals.crossing.items()}
    need(said == found and len(said) == len(doc["boundaries"]), "boundaries are not those counted")


def machine_lines(chain: StatedChain, machine: Any) -> list[str]:
    """Every memory with what the claims depend on, and what it asks of each statement."""
    lines = list[str]()
    for number, title in enumerate(chain.names):
        if is_in_place(chain, number):
            lines.append(spelled(f"{title} is done in place: no access, energy or cycle of it is counted"))
            continue
        if is_of_rows(chain, number):
            what = "rows pass twice where they are, word by word, and are complete before anything of them is read"
            lines.append(spelled(f"{title}: {what}; no operation is counted"))
            continue
        fabric = single_fabric(chain, number, machine, chain.extents)
        if not any(line.startswith("on ") for line in lines):
            lines.append(f"on {fabric.units:,} units of {float(fabric.arithmetic):g} pJ an operation, inner first")
            lines += [memory_line(fabric, place) for place in range(len(fabric.memories))]
        lines += [f"{title}: {line}" for line in rule_lines(fabric)]
        if not chain.said[number].multiplies:
            lines.append(spelled(f"{title} is counted as a product element by element: an operation at each point"))
        if chain.said[number].conditions:
            lines.append(spelled(f"{title} is under conditions: every iteration is done, and its floor is of a box"))
    return lines


def memory_line(fabric: StatedFabric, place: int) -> str:
    """Room, prices, ports and children of a memory."""
    memory = fabric.memories[place]
    prices = "/".join(f"{float(price):g}" for price in memory.prices.values())
    rooms = ", ".join(f"{title} {units:,}" for title, _, units in memory.rooms) or "no limit"
    ports = ", ".join(f"{port} {float(rate):g}" for port, rate in memory.rates.items())
    parts = [f"{memory.name}: room {rooms}, read/fill/update {prices} pJ per {memory.block} words"]
    parts += [f"{'bytes' if memory.widths.in_bytes else 'words'} per cycle {ports}"] if ports else []
    return spelled(", ".join(parts) + memory.widths.text + mesh_text(memory))


def floor_lines(doc: Any, chain: StatedChain, real: Fraction) -> list[str]:
    """The floor is proved statement by statement, and bound and gap follow from it."""
    floor = doc["floor"]
    if floor is None:
        need(doc["bound"] is None and doc["gap"] is None, "a bound or a gap without a floor")
        return []
    energy, cycles, ports = checked_floor(doc, chain)
    certificates = sum(len(each["crossings"]) for each in floor["statements"])
    value = objective_value(doc["objective"], energy, cycles, ports)
    need(doc["bound"] is not None, "a floor without a bound")
    check_amount({k: doc["bound"][k] for k in ("value", "unit", "exact")}, value, UNITS[doc["objective"]], "bound")
    need(value <= real, "the mapping is below the floor: one of the two is wrong")
    gap = float(real / value - 1) if value else None
    need(doc["gap"] == gap, f"the gap is {gap}")
    best = ["the mapping is as good as any: its cost is the bound"] if value == real else []
    shown = "no gap" if gap is None else f"gap {100 * gap:,.4g} % of the exact count above it"
    return [
        spelled(
            f"no mapping that does these statements in turn uses less than {float(energy):,.10g} pJ or {cycles:,} "
            f"cycles, whatever stays on chip, from {certificates} re-proved certificates of words that cross: bound "
            f"{float(value):,.10g} {UNITS[doc['objective']]}, {shown}"
        ),
        *best,
    ]


def checked_floor(doc: Any, chain: StatedChain) -> tuple[Fraction, int, int]:
    """Energy, cycles, and cycles of ports of a floor, whose statements' are proved."""
    floor = doc["floor"]
    products = [number for number in range(len(chain.names)) if has_nest(chain, number)]
    need([each["name"] for each in floor["statements"]] == [chain.names[n] for n in products], "floor: statements")
    energy, cycles, ports = Fraction(0), 0, 0
    for number, entry in zip(products, floor["statements"], strict=True):
        proved, own, port = statement_floor(doc, chain, number, entry)
        said = exact_value(entry["energy"]["exact"], "floor")
        check_amount(entry["energy"], said, "pJ", "floor")
        need(said <= proved, f"the floor of {entry['name']} is {float(proved)} pJ")
        need(
            entry["cycles"] <= own and entry["port_cycles"] <= port,
            f"the floor of {entry['name']} is {own} cycles, of ports {port}",
        )
        energy, cycles, ports = energy + said, cycles + entry["cycles"], ports + entry["port_cycles"]
    check_amount(floor["energy"], energy, "pJ", "floor")
    need((floor["cycles"], floor["port_cycles"]) == (cycles, ports), "the floor is not the sum of its statements'")
    return energy, cycles, ports


def floor_extents(chain: StatedChain, number: int, entry: Any) -> dict[str, int]:
    """Iterations per dim of the points whose floor it is: all, or those of a box that meet every condition."""
    box = entry.get("box", {})
    need(all(len(ends) == 2 for ends in box.values()), f"the box of {entry['name']} has two ends per dim")
    need(box.keys() <= chain.dims[number], f"the box of {entry['name']} has a dim that it has not")
    ranges = {d: (0, n) for d, n in chain.extents.items()} | {d: (first, beyond) for d, (first, beyond) in box.items()}
    inside = all(0 <= first < beyond <= chain.extents[d] for d, (first, beyond) in ranges.items())
    need(inside, f"the box of {entry['name']} is no part of its points")
    for rule in rules_of(chain.said[number]):
        most = sum(c * (ranges[d][1] - 1 if c > 0 else ranges[d][0]) for d, c in rule.factors)
        need(most + rule.constant <= 0, f"points of the box of {entry['name']} do not meet its conditions")
    return {d: beyond - first for d, (first, beyond) in ranges.items()}


def statement_floor(doc: Any, chain: StatedChain, number: int, entry: Any) -> tuple[Fraction, int, int]:
    """Energy, cycles, and cycles of ports that a statement has at least, whatever it is given on chip."""
    extents = floor_extents(chain, number, entry)

    def fabric() -> StatedFabric:
        return single_fabric(chain, number, doc["machine"], extents)

    whole = fabric()
    crossings = check_crossings(whole, entry["crossings"])
    operations = prod(whole.extents.values())
    earlier = {chain.held[access["tensor"]] for accesses in chain.accesses[:number] for access in accesses}
    inner = {chain.held[t] for t in chain.names} - {chain.held[t] for t in chain.outputs}
    mine = dict.fromkeys(chain.held[access["tensor"]] for access in chain.accesses[number])
    twice = {tensor for tensor in mine if len(places_of(chain, number, tensor)) > 1}
    handed = [tensor for tensor in mine if tensor in earlier | inner | twice]
    choices: list[list[int | None]] = []
    for tensor in handed:
        places = places_of(chain, number, tensor)
        able = [
            place
            for place, memory in enumerate(whole.memories)
            if alone_there(whole, place) and all(memory.keeps[i] != "refused" for i in places)
        ]
        choices.append([None, *able])
    energy, cycles, ports = list[Fraction](), list[int](), list[int]()
    for homes in product(*choices):
        found = fabric()
        for tensor, home in zip(handed, homes, strict=True):
            if home is not None:
                give(found, places_of(chain, number, tensor), home)
        port = port_cycles(found, crossings)
        energy.append(operations * found.arithmetic + movement(found, crossings))
        cycles.append(max(-(-operations // found.units), port))
        ports.append(port)
    return min(energy), min(cycles), min(ports)


def hearsay(doc: Any) -> list[str]:
    """What the file says beside that."""
    search, status = doc["search"], doc["status"]
    lines = [
        f"called {doc['workload']['name']!r} on {doc['machine']['name']!r} in the file",
        f"method {doc['method']!r}, stop {status['stop']!r}, {search['evaluations']:,} evaluations; "
        + (
            "that no nest of those that the file lists costs less is a search whose labels are not in it; run it "
            f"again; the family is what is said above, and not verified is that it is {status['space']!r}"
            if "family" in doc
            else f"that it is the best of {status['space']!r} is not verified"
        ),
        "how the search went: names of its proof and of the method of the bound, formulation and tolerance of the "
        "relaxation, how often the workload occurs, clock, word sizes, notes, seconds, seed, versions",
    ]
    return [plain(line) for line in lines]
