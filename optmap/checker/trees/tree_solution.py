"""Verify a solution whose mapping is a tree: what it moves and holds, cost, bound and gap."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import Any

from ..bounds.crossings import boundary_of, check_machine, fast_words
from ..bounds.timing import StatedRunning, link
from ..chains.chain import StatedChain
from ..chains.chain_bound import chain_lines
from ..chains.chain_document import CHAIN_WORK, proved_claims, read_chain
from ..chains.chain_time import chain_roof
from ..core.form import MACHINE, MOVED, PROOF, STATUS
from ..core.report import LOADED, Report, bound_line, level_lines
from ..core.shapes import (
    check_form,
    count,
    many,
    maybe,
    name,
    number,
    positive,
    record,
    table,
    text,
    word,
)
from ..core.status import check_status
from ..core.tools import equal, need, plain, spelled
from ..core.units import plain_words, rate_of, words_of
from .stated_parts import count_stated
from .stated_tree import nodes_shape
from .tree_counts import CountedTree

UNIT = word("words", "cycles")
AMOUNT = record(value=number, unit=UNIT)
TREE_SOLUTION = record(
    schema=word("optmap.solution/2"),
    workload=CHAIN_WORK,
    word_bits=positive,
    machine=MACHINE,
    method=text,
    objective=word("traffic", "loads", "bottleneck", "sum", "time"),
    tiles=word("any"),
    capacity_rule=word("tile", "safe"),
    status=STATUS,
    mapping=record(tree=nodes_shape),
    boundaries=many(MOVED, 1),
    levels=many(record(level=name, occupancy_words=count, capacity_words=count), 1),
    statements=many(record(name=name, operations=count, bound_alone=maybe(number)), 1),
    cost=AMOUNT,
    exact=AMOUNT,
    integer_bound=record(value=maybe(number), unit=UNIT),
    bound=maybe(record(value=number, unit=UNIT, method=text)),
    gap=maybe(number),
    certificates=many(PROOF),
    seconds=number,
    seed=count,
    versions=table(text),
    notes=many(text),
    digest=text,
)
OVER_LEVELS = ("bottleneck", "sum", "time")
"""Objectives of the words of every boundary over its bandwidth; the others are words of the outermost one."""


def check_tree_solution(doc: dict[str, Any]) -> Report:
    """Verify a solution document with a mapping tree.

    Raises:
        RefusedError: with the first claim that does not hold, or with what of the tree is not counted.
    """
    check_form(doc, TREE_SOLUTION, unsigned="seconds")
    chain, machine = read_chain(doc["workload"]), doc["machine"]
    need(doc["word_bits"] == chain.word_bits, f"a word has {chain.word_bits} bits")
    names = check_machine(machine)
    need(
        prod(level["fanout"] for level in machine["levels"]) == machine["cores"], "cores is not the product of fanouts"
    )
    caches = [level["name"] for level in machine["levels"] if level["kind"] == "cache"]
    need(doc["capacity_rule"] == "tile" or not caches, f"not counted: rule safe, which concerns {', '.join(caches)}")
    kinds = {level["name"]: level["kind"] for level in machine["levels"] if level["inclusive"]}
    copies = [level for level, kind in kinds.items() if kind == "cache" or doc["bound"] is not None]
    counted = count_stated(chain, names, copies, doc["mapping"]["tree"])
    check_moved(doc, counted)
    check_rooms(doc, chain, counted)
    check_statements(doc, chain)
    moved = {q: crossing(counted, names, q, doc["objective"]) for q in range(len(names) - 1)}
    cost = objective_of(doc, chain, moved)
    timed = doc["objective"] == "time"
    unit = "cycles" if timed or (doc["objective"] in OVER_LEVELS and not plain_words(machine["levels"])) else "words"
    for key in ("cost", "exact"):
        need(equal(doc[key]["value"], cost) and doc[key]["unit"] == unit, f"{key} must be {float(cost)} {unit}")
    need(doc["integer_bound"]["unit"] == unit, f"the integer bound is in {unit}")
    check_status(doc, cost)
    side = "loads" if doc["objective"] in LOADED else "loads and stores"
    combined = "the largest or the multiply-adds of one core" if timed else f"{doc['objective']} over levels"
    of = f"between {names[-1]} and all inside it" if unit == "words" else f"over bandwidth, {combined}"
    verified = [
        *chain_lines(chain),
        *level_lines(machine, chain),
        held_line(doc),
        spelled(f"cost {float(cost):,.10g} {unit}, the {side} {of}, counted again like every row of boundaries"),
        check_gap(doc, chain, moved, cost),
    ]
    best = doc["bound"] is not None and equal(doc["bound"]["value"], cost)
    fewer = "takes fewer cycles" if timed else "loads fewer" if doc["objective"] in LOADED else "moves fewer"
    verified += [f"the cost is the bound: no mapping {fewer}"] * best
    return Report(verified=tuple(verified), not_verified=tuple(hearsay(doc, best=best)))


def check_moved(doc: Any, counted: CountedTree) -> None:
    """The loads and stores per pair of levels and tensor are those of the tree, every pair once."""
    said = {(*row["between"], row["tensor"]): (row["loads_words"], row["stores_words"]) for row in doc["boundaries"]}
    need(len(said) == len(doc["boundaries"]), "a row of boundaries is there twice")
    need(said.keys() == counted.moved.keys(), f"boundaries must have rows for {listed_pairs(counted)}")
    for pair, words in counted.moved.items():
        need(said[pair] == words, f"boundaries says {pair}: {said[pair]}, counted {words}")


def listed_pairs(counted: CountedTree) -> str:
    """Every pair of levels with the tensor that may move between them."""
    return ", ".join(f"{tensor} between {inner} and {outer}" for inner, outer, tensor in counted.moved)


def check_rooms(doc: Any, chain: StatedChain, counted: CountedTree) -> None:
    """What every level holds at most is what the tree says, and fits."""
    levels = doc["machine"]["levels"]
    need(len(doc["levels"]) == len(levels), "levels and machine differ")
    for level, row in zip(levels, doc["levels"], strict=True):
        title, space = level["name"], words_of(level, chain.word_bits) // level["buffering"]
        need(not level["partitions"], f"not counted: the partitions of {title}")
        used = counted.occupied[title]
        need(row["level"] == title and row["occupancy_words"] == used, f"{title} holds {used} words")
        need(row["capacity_words"] == space, f"{title} has {space} words for one working set")
        need(used <= space, f"{title} needs {used} of {space} words")


def check_statements(doc: Any, chain: StatedChain) -> None:
    """Every statement has as many operations as its dims have iterations together."""
    need([row["name"] for row in doc["statements"]] == chain.names, f"statements must be {', '.join(chain.names)}")
    for row, dims in zip(doc["statements"], chain.dims, strict=True):
        operations = prod(chain.extents[d] for d in dims)
        need(row["operations"] == operations, f"{row['name']} has {operations} operations")


def crossing(counted: CountedTree, names: list[str], q: int, objective: str) -> int:
    """Words between levels up to number q and those outside them."""
    inside = set(names[: q + 1])
    rows = [words for (inner, outer, _), words in counted.moved.items() if inner in inside and outer not in inside]
    return sum(loads + (0 if objective in LOADED else stores) for loads, stores in rows)


def objective_of(doc: Any, chain: StatedChain, words: dict[int, int]) -> Fraction:
    """The objective of words per boundary, by number of the level inside, or a bound on it of those that are known."""
    levels = doc["machine"]["levels"]
    if doc["objective"] == "time":
        running = StatedRunning(doc["machine"], 1, "cold")
        links = [link(running, q, many, chain.word_bits) for q, many in words.items()]
        return max(part.cycles for part in (chain_roof(chain, running), *links))
    if doc["objective"] not in OVER_LEVELS:
        return Fraction(words[len(levels) - 1])
    times = [many / rate_of(levels[q], chain.word_bits) for q, many in words.items()]
    return max(times) if doc["objective"] == "bottleneck" else sum(times, Fraction(0))


def check_gap(doc: Any, chain: StatedChain, moved: dict[int, int], cost: Fraction) -> str:
    """Bound and gap follow from the certificates, which are verified.

    Args:
        doc: the solution.
        chain: its statements.
        moved: words through every boundary, by number of the level inside.
        cost: the objective of these.
    """
    bound = doc["bound"]
    if bound is None:
        need(doc["gap"] is None and not doc["certificates"], "there is a gap without a bound")
        return "no bound is claimed"
    proved: dict[int, int] = {}
    for entry in doc["certificates"]:
        q = boundary_of(entry, doc["machine"], proved)
        words = proved_words(doc, chain, entry, q)
        where = f"the bound between {' and '.join(entry['between'])}"
        need(words <= moved[q], f"{where} is {words} words, but {moved[q]} move: a contradiction")
        proved[q] = words
    wanted = set(moved) if doc["objective"] in OVER_LEVELS else {max(moved)}
    need(not wanted.isdisjoint(proved), "a bound is claimed, and no certificate proves it")
    value = objective_of(doc, chain, proved)
    unit = doc["cost"]["unit"]
    need(equal(bound["value"], value) and bound["unit"] == unit, f"the bound is {float(value)} {unit}")
    gap = float(cost / value - 1) if value else None
    need(doc["gap"] == gap, f"the gap is {gap}")
    return bound_line(doc, value, gap)


def proved_words(doc: Any, chain: StatedChain, entry: Any, q: int) -> int:
    """The words of an entry are what its certificate proves for the chain and the levels up to number q."""
    memory = fast_words(doc["machine"]["levels"], q, chain.word_bits)
    claims, where = proved_claims(entry, chain, memory), f"the bound between {' and '.join(entry['between'])}"
    words = claims["loads_words" if doc["objective"] in LOADED else "total_words"]
    need(entry["instances"] == 1 and entry["words"] == words, f"{where} is {words} words, of one instance")
    need(entry["certificate"]["method"] == doc["bound"]["method"], f"{where} is by another method")
    return words


def held_line(doc: Any) -> str:
    """What every level holds."""
    used = [
        f"{row['level']} holds {row['occupancy_words']:,} of {row['capacity_words']:,} words" for row in doc["levels"]
    ]
    return spelled(
        f"below {doc['machine']['memory']}, by a mapping tree that does every operation once, what it reads being "
        f"complete and kept: {', '.join(used)}"
    )


def hearsay(doc: Any, *, best: bool) -> list[str]:
    """What a solution says beside its claims."""
    status, least = doc["status"], doc["integer_bound"]["value"]
    searched = "how the search went" + ("" if best else "; it is not verified that no mapping of the space is better")
    alone = ", ".join(f"{row['name']} {row['bound_alone']}" for row in doc["statements"])
    rates = "bandwidths, " if doc["cost"]["unit"] == "words" else ""
    lines = [
        f"called {doc['workload']['name']!r} on {doc['machine']['name']!r} in the file",
        f"method {doc['method']!r}, stop {status['stop']!r}, point {status['point']!r}, proved {status['proved']!r}, "
        f"within {status['within']!r} of the best of {status['space']!r}: {searched}",
        f"integer bound {'none' if least is None else f'{least:,.10g}'} {doc['integer_bound']['unit']}",
        f"what statements would move alone at least: {alone}",
        f"how often the workload occurs, which levels are shared, {rates}clock, energies, microkernels, notes, "
        "seconds, seed, versions",
    ]
    return [plain(line) for line in lines]
