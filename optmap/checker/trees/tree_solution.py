"""Verify a solution whose mapping is a tree: what it moves and holds, cost, bound and gap."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import Any

from ..bounds.bound import check_bound
from ..bounds.crossings import boundary_of, check_machine, fast_words
from ..chains.chain import StatedChain
from ..chains.chain_bound import chain_lines, check_chain
from ..chains.chain_text import read_chain_statement
from ..core.form import MACHINE, MOVED, PROOF, STATUS, WORK
from ..core.report import Report, bound_line, level_lines
from ..core.shapes import (
    Shape,
    check_form,
    count,
    many,
    maybe,
    name,
    number,
    positive,
    record,
    records,
    table,
    text,
    word,
)
from ..core.status import check_status
from ..core.tools import need, plain, spelled
from ..core.units import element_bits, plain_words, words_of
from .stated_tree import StatedTree, nodes_shape
from .tree_counts import CountedTree, count_tree

STATEMENTS: dict[str, Shape] = {"statements": many(record(expression=name, output=name, inputs=many(name, 1)), 1)}
WORDS = word("words")
TREE_SOLUTION = record(
    schema=word("optmap.solution/2"),
    workload=records(WORK, WORK | STATEMENTS, WORK | STATEMENTS | {"outputs": many(name, 1)}),
    word_bits=positive,
    machine=MACHINE,
    method=text,
    objective=word("traffic", "loads", "bottleneck", "sum"),
    tiles=word("any"),
    capacity_rule=word("tile"),
    status=STATUS,
    mapping=record(tree=nodes_shape),
    boundaries=many(MOVED, 1),
    levels=many(record(level=name, occupancy_words=count, capacity_words=count), 1),
    statements=many(record(name=name, operations=count, bound_alone=maybe(number)), 1),
    cost=record(value=count, unit=WORDS),
    exact=record(value=count, unit=WORDS),
    integer_bound=record(value=maybe(number), unit=WORDS),
    bound=maybe(record(value=count, unit=WORDS, method=text)),
    gap=maybe(number),
    certificates=many(PROOF),
    seconds=number,
    seed=count,
    versions=table(text),
    notes=many(text),
    digest=text,
)
ALIKE = ("bottleneck", "sum")
"""Of one boundary with a word per cycle these are its traffic."""


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
    words = doc["objective"] not in ALIKE or plain_words(machine["levels"])
    need(words, f"objective {doc['objective']} is in words on one level with a bandwidth of one word only")
    kinds = {level["name"]: level["kind"] for level in machine["levels"] if level["inclusive"]}
    copies = [level for level, kind in kinds.items() if kind == "cache" or doc["bound"] is not None]
    counted = count_tree(StatedTree(chain, names, copies, doc["mapping"]["tree"]))
    check_moved(doc, counted)
    check_rooms(doc, chain, counted)
    check_statements(doc, chain)
    cost = crossing(counted, names, len(names) - 2, doc["objective"])
    for key in ("cost", "exact"):
        need(doc[key]["value"] == cost, f"{key} must be {cost} words")
    check_status(doc, Fraction(cost))
    side = "loads" if doc["objective"] == "loads" else "loads and stores"
    verified = [
        *chain_lines(chain),
        *level_lines(machine, chain),
        held_line(doc),
        spelled(
            f"cost {cost:,} words, the {side} between {names[-1]} and all inside it, counted again "
            "like every row of boundaries"
        ),
        check_gap(doc, chain, counted, names, cost),
    ]
    best = doc["bound"] is not None and doc["bound"]["value"] == cost
    verified += [
        f"the cost is the bound: no mapping {'loads' if doc['objective'] == 'loads' else 'moves'} fewer"
    ] * best
    return Report(verified=tuple(verified), not_verified=tuple(hearsay(doc, best=best)))


def read_chain(work: Any) -> StatedChain:
    """The statements of a workload; what is said of each beside its text is what the text says."""
    entries = work.get("statements", [{"expression": work["expression"]}])
    texts = [each["expression"] for each in entries]
    need(work["expression"] == "; ".join(texts), "expression and statements differ")
    tensors = [[tensor for tensor, _ in read_chain_statement(each).accesses] for each in texts]
    for each, (output, *inputs) in zip(entries, tensors, strict=True):
        said = (each.get("output", output), each.get("inputs", inputs))
        need(said == (output, inputs), f"{output} is made of {', '.join(inputs)}")
    need(work["padding"] == "stored", "not counted: padding")
    sizes = work["bytes"]
    if type(sizes) is not dict:
        sizes = {tensor: sizes for names in tensors for tensor in names}
    same = {key: work[key] for key in ("extents", "semantics")}
    return StatedChain({"statements": texts, "bytes": sizes, "outputs": work.get("outputs", []), **same})


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
    return sum(loads + (0 if objective == "loads" else stores) for loads, stores in rows)


def check_gap(doc: Any, chain: StatedChain, counted: CountedTree, names: list[str], cost: int) -> str:
    """Bound and gap follow from the certificates, which are verified."""
    bound, objective = doc["bound"], doc["objective"]
    if bound is None:
        need(doc["gap"] is None and not doc["certificates"], "there is a gap without a bound")
        return "no bound is claimed"
    proved: dict[int, int] = {}
    for entry in doc["certificates"]:
        q = boundary_of(entry, doc["machine"], proved)
        words = proved_words(doc, chain, entry, q)
        moved = crossing(counted, names, q, objective)
        where = f"the bound between {' and '.join(entry['between'])}"
        need(words <= moved, f"{where} is {words} words, but {moved} move: a contradiction")
        proved[q] = words
    need(len(names) - 2 in proved, "a bound is claimed, and no certificate proves it")
    value = Fraction(proved[len(names) - 2])
    need(bound["value"] == value, f"the bound is {value} words")
    gap = float(cost / value - 1) if value else None
    need(doc["gap"] == gap, f"the gap is {gap}")
    return bound_line(doc, value, gap)


def proved_words(doc: Any, chain: StatedChain, entry: Any, q: int) -> int:
    """The words of an entry are what its certificate proves for the chain and the levels up to number q."""
    cert, where = entry["certificate"], f"the bound between {' and '.join(entry['between'])}"
    if cert.get("schema") == "optmap.chain-certificate/1":
        _ = check_chain(cert)
        claims, theirs = cert["claims"], StatedChain(cert["workload"])
        same = theirs.said == chain.said and theirs.outputs == chain.outputs
        same = same and (theirs.extents, theirs.bits, theirs.assign) == (chain.extents, chain.bits, chain.assign)
    else:
        claims, work = check_bound(cert), cert["workload"]
        same = [work["expression"]] == [said.text for said in chain.said] and work["extents"] == chain.extents
        same = same and element_bits(work["bytes"]) == chain.bits
    need(same, f"{where} is about another workload")
    memory = fast_words(doc["machine"]["levels"], q, chain.word_bits)
    need(cert["memory_words"] == memory, f"{where} is for another capacity")
    words: int = claims["loads_words" if doc["objective"] == "loads" else "total_words"]
    need(entry["instances"] == 1 and entry["words"] == words, f"{where} is {words} words, of one instance")
    need(cert["method"] == doc["bound"]["method"], f"{where} is by another method")
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
    lines = [
        f"called {doc['workload']['name']!r} on {doc['machine']['name']!r} in the file",
        f"method {doc['method']!r}, stop {status['stop']!r}, point {status['point']!r}, proved {status['proved']!r}, "
        f"within {status['within']!r} of the best of {status['space']!r}: {searched}",
        f"integer bound {'none' if least is None else f'{least:,.10g}'} words",
        f"what statements would move alone at least: {alone}",
        "how often the workload occurs, which levels are shared, bandwidths, clock, energies, microkernels, notes, "
        "seconds, seed, versions",
    ]
    return [plain(line) for line in lines]
