"""Words that must cross the boundaries of a machine: certificates of two-level bounds, held to machine and workload."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import Any

from ..core.statement import StatedWork
from ..core.tools import need
from ..core.units import element_bits, words_of
from .bound import check_bound


def check_setting(doc: Any, work: StatedWork) -> list[str]:
    """Padding, size of a word and cores belong to the statement and to a machine that can exist; names of its memories.

    Args:
        doc: of a solution or of a bound in time.
        work: its workload.
    """
    machine = doc["machine"]
    need(doc["workload"]["padding"] == ("implicit" if work.padded else "stored"), "padding and statement differ")
    need(doc["word_bits"] == work.word_bits, f"a word has {work.word_bits} bits")
    cores = prod(level["fanout"] for level in machine["levels"])
    need(cores == machine["cores"], "cores is not the product of the fanouts")
    return check_machine(machine)


def check_machine(machine: Any) -> list[str]:
    """The machine can exist; returns the names of its memories, inner first."""
    names = [level["name"] for level in machine["levels"]] + [machine["memory"]]
    need(len(set(names)) == len(names), "memory names repeat")
    for inner, outer in pairwise(machine["levels"]):
        one, other = inner["capacity"], outer["capacity"]
        small = one["unit"] == other["unit"] and other["amount"] < one["amount"]
        need(not (small and outer["inclusive"]), f"{outer['name']} holds a copy of {inner['name']}, but is smaller")
    for level in machine["levels"]:
        parts = [part["capacity"] for part in level["partitions"]]
        whole = {"unit": level["capacity"]["unit"], "amount": sum(part["amount"] for part in parts)}
        fits = whole == level["capacity"] and {part["unit"] for part in parts} == {whole["unit"]}
        called = {part["name"] for part in level["partitions"]}
        need(not parts or (fits and len(called) == len(parts)), f"partitions of {level['name']} do not make it up")
    return names


def fast_words(levels: Any, q: int, word_bits: int) -> int:
    """Words on the fast side of the boundary outside level q: its own if it is inclusive, else all inside."""
    own = words_of(levels[q], word_bits)
    return own if q == 0 or levels[q]["inclusive"] else own + levels[q]["fanout"] * fast_words(levels, q - 1, word_bits)


def proved_words(cert: Any, instances: int, *, loads: bool) -> int:
    """Words that the busiest of several instances moves, or loads, by a verified certificate."""
    # One cold memory can run the instances' parts in turn, emptied in between: all of them together move
    # at least what one has to, as long as every output element is in one part.
    words = check_bound(cert)["loads_words" if loads else "total_words"]
    return -(-words // instances)


def boundary_of(entry: Any, machine: Any, known: dict[int, int]) -> int:
    """Number of the level inside the boundary of an entry, of which there is none yet."""
    names = [level["name"] for level in machine["levels"]] + [machine["memory"]]
    inner, outer = entry["between"]
    meets = inner in names[:-1] and outer == names[names.index(inner) + 1]
    need(
        meets and names.index(inner) not in known, f"the bound between {inner} and {outer}: no such boundary, or twice"
    )
    return names.index(inner)


def check_entry(doc: Any, work: StatedWork, entry: Any, q: int, instances: int, *, loads: bool) -> int:
    """The words of an entry are what its certificate proves of so many instances of a level; returns them."""
    cert, where = entry["certificate"], f"the bound between {' and '.join(entry['between'])}"
    theirs = cert["workload"]
    same = all(theirs[key] == doc["workload"][key] for key in ("expression", "extents", "semantics"))
    need(same and element_bits(theirs["bytes"]) == work.bits, f"{where} is about another workload")
    need(
        cert["memory_words"] == fast_words(doc["machine"]["levels"], q, work.word_bits),
        f"{where} is for another capacity",
    )
    words = proved_words(cert, instances, loads=loads)
    need(entry["instances"] == instances and entry["words"] == words, f"{where} is {words} words")
    need(cert["method"] == doc["bound"]["method"], f"{where} is by another method")
    return words
