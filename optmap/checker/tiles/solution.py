"""Verify a solution: tiles, capacities, traffic in both forms, cost, bounds per boundary, and the gap."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import prod
from typing import Any

from ..bounds.crossings import boundary_of, check_entry, check_setting
from ..bounds.timing import StatedRunning, check_time, instances_used, predicted
from ..core.demands import check_demands
from ..core.form import SOLUTION
from ..core.nest import TiledNest, footprint, traffic
from ..core.report import Report, bound_line, fit_line, hearsay, kernel_lines, machine_lines, statement_lines
from ..core.shapes import check_form
from ..core.statement import StatedWork
from ..core.status import check_status
from ..core.tools import equal, need
from ..core.units import plain_words, rate_of, words_of
from ..cover.cover import check_proof
from .held import HeldLevel
from .kept import KeptNestPart, predicted_cycles
from .pieces import LevelPieces


def check_solution(doc: dict[str, Any]) -> Report:
    """Verify a solution document.

    Raises:
        RefusedError: with the first claim that does not hold.
    """
    need(doc["schema"] != "optmap.solution/1", "the file was written by an older optmap: solve again")
    check_form(doc, SOLUTION, unsigned="seconds")
    work, machine, objective = StatedWork(doc["workload"]), doc["machine"], doc["objective"]
    levels = machine["levels"]
    names = check_setting(doc, work)
    need(objective != "loads" or len(levels) == 1, "loads are the objective of one level only")
    nest = TiledNest(work, doc["mapping"]["levels"], levels)
    held = held_run(nest, doc["held"])
    timed = objective == "time"
    need(not (held and timed), "no time is predicted of what is held, which must fit")
    need(timed == ("prediction" in doc), "a predicted time goes with the objective time")
    plain = doc["tiles"] == "any" and "constraints" not in doc
    need(plain or not (held and held.rest), "nothing is demanded of tiles that leave out a corner, or of pieces")
    rates = [rate_of(level, work.word_bits) for level in levels]
    kept = kept_parts(doc, nest) if timed else []
    exact = [part.moved() for part in kept] or [
        held.traffic() if held else traffic(nest, base, whole=True) for base in range(nest.depth)
    ]
    form = exact if held or timed else [traffic(nest, base, whole=False) for base in range(nest.depth)]
    check_boundaries(doc, work, names, exact)
    sets = [[part.shares()] for part in kept] or [working_sets(doc, nest, held, q) for q in range(nest.depth)]
    check_levels(doc, nest, sets, rates, form)
    unit = "words" if plain_words(levels) and not timed else "cycles"
    cost, found = (objective_of(objective, rows, rates) for rows in (form, exact))
    if timed:
        cost = found = predicted(doc)
    for key, value in (("cost", cost), ("exact", found)):
        need(equal(doc[key]["value"], value) and doc[key]["unit"] == unit, f"{key} must be {float(value)} {unit}")
    check_search(doc, cost)
    divided = check_divisors(doc, nest)
    proved = check_proof(doc, nest, rates, cost)
    claims = "" if timed else f"cost {float(cost):,.10g} and exact {float(found):,.10g} {unit}, counted again like "
    verified = [
        *statement_lines(work, doc["workload"]),
        *machine_lines(machine, work, doc["capacity_rule"], timed=timed),
        fit_line(doc["levels"], objective, divided),
        *(held.lines() if held else []),
        *check_demands(doc, doc["mapping"]["levels"]),
        *kernel_lines(nest, levels, outer=True),
        f"{claims}every row of boundaries" + (", counted again" if timed else ""),
        check_time(doc, nest, proved_rows(doc, nest, exact)) if timed else check_gap(doc, nest, rates, exact, found),
        *proved.lines,
    ]
    return Report(verified=tuple(verified), not_verified=tuple(hearsay(doc, nest, proved)))


def held_run(nest: TiledNest, doc: Any) -> HeldLevel | LevelPieces | None:
    """What is held, in one run or in pieces; None where the loop order alone decides."""
    if doc is None:
        return None
    return LevelPieces(nest, doc) if "pieces" in doc else HeldLevel(nest, doc)


def kept_parts(doc: Any, nest: TiledNest) -> list[KeptNestPart]:
    """What every level keeps of a nest whose time is predicted."""
    need(len(doc["levels"]) == nest.depth, "levels and machine differ")
    need(all("kept" in row for row in doc["levels"]), "no level says what it keeps; an older file: solve again")
    need(doc["capacity_rule"] == "tile", "where time is predicted levels have room for one visit: rule tile")
    return [KeptNestPart(doc, nest, q) for q in range(nest.depth)]


def objective_of(objective: str, rows: list[list[tuple[int, int]]], rates: list[Fraction]) -> Fraction:
    """The objective of traffic per boundary, in cycles."""
    loads_only = objective == "loads"
    times = [sum(a if loads_only else a + b for a, b in row) / rate for row, rate in zip(rows, rates, strict=True)]
    return max(times) if objective == "bottleneck" else sum(times, Fraction(0))


def check_boundaries(doc: Any, work: StatedWork, names: list[str], exact: list[list[tuple[int, int]]]) -> None:
    """The loads and stores per boundary and tensor are those of the whole nest."""
    wanted = [
        {"between": [names[q], names[q + 1]], "tensor": tensor, "loads_words": a, "stores_words": b}
        for q, row in enumerate(exact)
        for tensor, (a, b) in zip(work.names, row, strict=True)
    ]
    need(len(doc["boundaries"]) == len(wanted), f"there are {len(wanted)} rows of boundaries")
    for claimed, counted in zip(doc["boundaries"], wanted, strict=True):
        need(claimed == counted, f"boundaries says {claimed}, counted {counted}")


def check_levels(doc: Any, nest: TiledNest, sets: list[list[list[int]]], rates: list[Fraction], form: Any) -> None:
    """Working sets fit, and the levels' traffic and cycles are those of the per-level form, or as predicted."""
    levels, times = doc["machine"]["levels"], [sum(a + b for a, b in row) for row in form]
    need(len(doc["levels"]) == len(levels), "levels and machine differ")
    timed = doc["objective"] == "time"
    cycles = predicted_cycles(doc) if timed else [words / rate for words, rate in zip(times, rates, strict=True)]
    for q, (level, row, runs) in enumerate(zip(levels, doc["levels"], sets, strict=True)):
        used = max(sum(shares) for shares in runs)
        space, *_ = [check_room(level, nest.work, shares) for shares in runs]
        need(timed or "kept" not in row, f"{level['name']} holds its tile, where no time is predicted")
        need(row["level"] == level["name"] and row["occupancy_words"] == used, f"{level['name']} holds {used} words")
        need(row["capacity_words"] in space, f"{level['name']} has {space[0]} words for one working set")
        need(row["traffic_words"] == times[q], f"{level['name']} moves {times[q]} words")
        need(equal(row["bandwidth_words_per_cycle"], rates[q]), f"{level['name']} moves {rates[q]} words per cycle")
        need(equal(row["cycles"], Fraction(cycles[q])), f"{level['name']} takes {float(cycles[q])} cycles")
    slowest = max(range(len(levels)), key=lambda q: cycles[q])
    need(doc["bottleneck"] == levels[slowest]["name"], f"the bottleneck is {levels[slowest]['name']}")


def working_sets(doc: Any, nest: TiledNest, held: HeldLevel | LevelPieces | None, q: int) -> list[list[int]]:
    """Words per access that a level must hold, one list per run: as held, or of its tile."""
    level = doc["machine"]["levels"][q]
    safe = doc["capacity_rule"] == "safe" and level["kind"] == "cache"
    if held is None:
        return [occupancy(nest, q, safe=safe)]
    need(not safe, f"{level['name']} is a cache, which under the safe rule keeps what was used, not held")
    found: list[list[int]] = held.occupancies()
    return found


def check_room(level: Any, work: StatedWork, shares: list[int]) -> list[int]:
    """The tensors' shares fit the level and each of its partitions; returns what may be called its capacity."""
    parts, buffers = level["partitions"], level["buffering"]
    total = words_of(level, work.word_bits)
    placed, room = Counter[int](), []
    for part in parts or [{"name": level["name"], "tensors": ["inputs", "output"], "capacity": level["capacity"]}]:
        roles = [{"inputs" if i else "output", name} for i, (name, _) in enumerate(work.tensors)]
        mine = [i for i, role in enumerate(roles) if role & set(part["tensors"])]
        placed.update(mine)
        used, space = sum(shares[i] for i in mine), words_of(part, work.word_bits) // buffers
        need(used <= space, f"{part['name']} needs {used} of {space} words")
        room += [space] * bool(mine)
    need(placed == Counter(range(len(shares))), f"{level['name']}: every tensor needs one partition")
    return [total // buffers, sum(room)]


def occupancy(nest: TiledNest, q: int, *, safe: bool) -> list[int]:
    """Words per tensor that a level must hold: one tile, or all that two consecutive tiles touch where data is reused.

    For the latter let K be the outermost loop at which data of some tensor is reused: one inside the
    innermost loop of the tensor, or that loop itself if neighbouring tiles overlap. Tensors whose innermost
    loop is outside K keep one tile, one that slides along K has two neighbours, others two tiles.
    """
    tile, inner = nest.tiles[q], list(reversed(nest.orders[q]))
    places, shares = [], []
    for _, axes in nest.work.tensors:
        present = {d for terms, _ in axes for d, _ in terms}
        place = next((i for i, d in enumerate(inner) if d in present), len(inner))
        mine = [terms for terms, _ in axes if place < len(inner) and inner[place] in dict(terms)]
        slides = bool(mine) and all(len(terms) > 1 for terms in mine)
        places.append((place, slides, len(mine) == 1))
    last = max(place if slides else place - 1 for place, slides, _ in places)
    for (name, axes), (place, slides, once) in zip(nest.work.tensors, places, strict=True):
        if not safe or place > last:
            share = footprint(axes, tile)
        elif place == last and slides and once:
            share = footprint(axes, {**tile, inner[place]: 2 * tile[inner[place]]})
        else:
            share = 2 * footprint(axes, tile)
        shares.append(share * nest.work.weights[name])
    return shares


def check_search(doc: Any, cost: Fraction) -> None:
    """What the search said about its relaxation is at least consistent with the cost."""
    value = doc["relaxation"]["value"]
    units = {doc["relaxation"]["unit"], doc["integer_bound"]["unit"], doc["cost"]["unit"]}
    need(len(units) == 1, "relaxation, integer bound and cost have other units")
    proved = doc["relaxation"]["proved"] and value
    need(not proved or value <= float(cost) * (1 + 1e-9), "the relaxation is above the cost")
    gap = max(0.0, float(cost) / value - 1) if proved else None
    need(doc["integer_gap"] == gap, f"integer_gap must be {gap}: cost over relaxation, minus one, if that is proved")
    check_status(doc, cost)


def check_divisors(doc: Any, nest: TiledNest) -> list[str]:
    """Where only divisors are allowed, tiles divide what they are cut from; returns the levels where they do.

    A microkernel's tile is fixed, and what it leaves over may be cut into further levels unevenly.
    """
    divided = []
    for q, level in enumerate(doc["machine"]["levels"]) if doc["tiles"] == "divisors" else ():
        tile, even = nest.tiles[q], q + 1 == nest.depth
        even = even or all(n % nest.ways[q + 1][d] == 0 for d in tile for n in nest.tiles_of(d, q + 1))
        if even and all(n % size == 0 for d, size in tile.items() for n in nest.shares_of(d, q + 1)):
            divided.append(level["name"])
        whole = nest.work.extents if q + 1 == nest.depth else nest.tiles[q + 1]
        parts = {d: n if q + 1 == nest.depth else nest.share(d, n, q + 1) for d, n in whole.items()}
        divides = level["microkernel"] is not None or all(parts[d] % n == 0 for d, n in tile.items())
        need(divides, f"tiles is divisors, but the tile of {level['name']} does not divide what it is cut from")
    return divided


def proved_rows(doc: Any, nest: TiledNest, exact: Any) -> dict[int, int]:
    """Words that must cross, by boundary, of the busiest instance: every certificate is verified."""
    objective, work, timed = doc["objective"], nest.work, doc["objective"] == "time"
    proved: dict[int, int] = {}
    for entry in doc["certificates"]:
        q = boundary_of(entry, doc["machine"], proved)
        where = f"the bound between {' and '.join(entry['between'])}"
        split = {d for ways in nest.ways[q + 1 :] for d, n in ways.items() if n > 1}
        apart = {d for terms, _ in work.tensors[0][1] if len(terms) == 1 for d, _ in terms}
        need(split <= apart, f"{where} does not hold where instances share output elements")
        instances = prod(n for ways in nest.ways[q + 1 :] for n in ways.values())
        if timed:  # other code may use more of them
            instances = instances_used(StatedRunning(doc["machine"], doc["prediction"]["threads"], ""), q)
        words = check_entry(doc, work, entry, q, instances, loads=objective in ("loads", "time"))
        moved = sum(a if objective in ("loads", "time") else a + b for a, b in exact[q])
        need(words <= moved, f"{where} is {words} words, but {moved} move: a contradiction")
        proved[q] = words
    return proved


def check_gap(doc: Any, nest: TiledNest, rates: list[Fraction], exact: Any, found: Fraction) -> str:
    """Bound and gap follow from the certificates, which are verified."""
    bound = doc["bound"]
    if bound is None:
        need(doc["gap"] is None and not doc["certificates"], "there is a gap without a bound")
        return "no bound is claimed"
    times = [words / rates[q] for q, words in proved_rows(doc, nest, exact).items()]
    need(bool(times), "a bound is claimed, and no certificate proves it")
    value = max(times) if doc["objective"] == "bottleneck" else sum(times, Fraction(0))
    need(bound["unit"] == doc["exact"]["unit"] and equal(bound["value"], value), f"the bound is {float(value)}")
    gap = float(found / value - 1) if value else None
    need(doc["gap"] == gap, f"the gap is {gap}")
    return bound_line(doc, value, gap)
