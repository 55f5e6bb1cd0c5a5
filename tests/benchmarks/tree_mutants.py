"""Mutate solutions with mapping trees: python tests/benchmarks/tree_mutants.py 20000 7.

Arguments: mutants, seed. Digests are taken to fit, as if each mutant had been signed anew. What the checker accepts
has to be true: its tree is walked element by element, and its bound held against the library's. Prints every false
mutant; exit code 1 if there is one.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

from optmap.base.errors import OptmapError
from optmap.bounds import bounds
from optmap.checker import RefusedError, check_document
from optmap.checker.core import shapes
from optmap.count.trees import walk_tree
from optmap.files.fields import Fields
from optmap.files.machines import machine_from
from optmap.files.trees import read_tree
from optmap.files.workloads import read_workload

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]
mutant = import_module("checker_mutants").mutant
documents = import_module("tree_documents")


def wrong(document: dict[str, Any]) -> list[str]:
    """What of an accepted document is not so."""
    fields = Fields.of(document, "mutant")
    workload, machine = (
        read_workload(fields.fields("workload")),
        machine_from(fields.fields("machine"), default_name=""),
    )
    tree = read_tree(fields.fields("mapping"), workload, machine)
    count, loads_only = walk_tree(tree), document["objective"] == "loads"
    moved = {(*row.between, row.tensor): (row.loads_words, row.stores_words) for row in count.moved}
    rows = {
        (*row["between"], row["tensor"]): (row["loads_words"], row["stores_words"]) for row in document["boundaries"]
    }
    found = ["boundaries differ"] * (rows != moved) + list(count.broken)
    held = [(room.level, room.occupancy_words, room.capacity_words) for room in count.rooms]
    if held != [
        tuple(row[key] for key in ("level", "occupancy_words", "capacity_words")) for row in document["levels"]
    ]:
        found.append("levels differ")
    memory = tree.machine.memory
    cost = sum(a + (0 if loads_only else b) for (_, outer, _), (a, b) in moved.items() if outer == memory)
    found += [f"{key} is {cost}" for key in ("cost", "exact") if document[key]["value"] != cost]
    if document["bound"] is not None:
        words = tree.machine.levels[-1].capacity.words(tree.workload.word_bits)
        floor = bounds(tree.workload, words, ["best"])[0]
        if document["bound"]["value"] > (floor.loads_words if loads_only else floor.total_words):
            found.append("the bound is above the library's")
    return found


def judge(document: dict[str, Any], text: str) -> tuple[str, list[str]]:
    """What became of a mutant, and why it is false if it is."""
    if json.dumps(document) == text:
        return "unchanged", []
    try:
        _ = check_document(document)
    except RefusedError:
        return "refused", []
    if "cost" not in document:
        return "accepted, a certificate", []
    try:
        reasons = wrong(document)
    except OptmapError as error:
        reasons = [f"the library does not take it: {error}"]
    return ("FALSE", reasons) if reasons else ("accepted, true", [])


def main(mutants: int, seed: int) -> int:
    """Show so many mutants to the checker and look at what it accepts."""
    shapes.digest = lambda document: document["digest"]
    texts = [json.dumps(documents.small_document(kind)) for kind in documents.KINDS]
    counts: Counter[str] = Counter()
    for i in range(mutants):
        rng = random.Random(f"{seed}/{i}")
        text = rng.choice(texts)
        made = mutant(rng, text)
        outcome, reasons = judge(made, text)
        counts[outcome] += 1
        if outcome == "FALSE":
            sys.stdout.write(f"FALSE {seed}/{i}: {'; '.join(reasons)}\n")
    sys.stdout.write(f"{mutants:,} mutants: {', '.join(f'{n:,} {what}' for what, n in sorted(counts.items()))}\n")
    return int(counts["FALSE"] > 0)


if __name__ == "__main__":
    sys.exit(main(*(int(a) for a in sys.argv[1:3])))
