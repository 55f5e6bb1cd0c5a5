"""Groups of statements of a chain, each with an argument for its loads (theorem: `optmap/bounds/chains/groups.py`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..bounds.bound import prove
from ..core.shapes import Shape, anything, count, many, name, records
from ..core.tools import need
from .chain import StatedChain
from .chain_barrier import BARRIER, barrier_loads
from .chain_lines import LINES, line_loads
from .chain_pairs import MISSING, join
from .chain_shared import SHARED, shared_loads

ALONE: dict[str, Shape] = {
    "argument": name,
    "statements": many(name, 1),
    "certificate": anything,
    "loads_words": count,
}
FORMS: dict[str, dict[str, Shape]] = {
    "alone": ALONE,
    "joined": ALONE,
    "lines": LINES,
    "shared": SHARED,
    "barrier": BARRIER,
}


@dataclass(frozen=True)
class ProvedGroup:
    """What a group proves."""

    statements: tuple[str, ...]
    claimed: tuple[str, ...]
    """Tensors whose loads it counts; of one that it reads and others write, the tensor that holds its elements."""
    loads_words: int


def check_group(doc: Any, chain: StatedChain, memory: int) -> ProvedGroup:
    """What a group's argument proves."""
    need(type(doc) is dict and doc.get("argument") in CHECKS, "a group has no known argument")
    records(FORMS[doc["argument"]])(doc, "a group")
    names = doc["statements"]
    need(all(each in chain.names for each in names), "a group has a statement that there is not")
    group = CHECKS[doc["argument"]](doc, chain, memory)
    need(doc["loads_words"] == group.loads_words, f"a group proves {group.loads_words} loads")
    return group


def product_loads(certificate: Any, expected: dict[str, Any], chain: StatedChain, memory: int) -> int:
    """Loads, in words of the chain, that a certificate of one product proves with the memory of the chain."""
    need(type(certificate) is dict, "a certificate must be an object")
    statement, claims = prove(certificate)
    said = certificate["workload"]
    for key, value in expected.items():
        need(said[key] == value, f"the certificate's {key} must be {value}")
    unit = statement.word_bits // chain.word_bits
    need(certificate["memory_words"] == memory // unit, f"the certificate must have {memory // unit} words")
    return unit * claims["loads_words"]


def _alone(doc: Any, chain: StatedChain, memory: int) -> ProvedGroup:
    """One product of which every first appearance of a word is paid, less those that may be free."""
    need(len(doc["statements"]) == 1, "one statement alone is needed")
    number = chain.names.index(doc["statements"][0])
    need(chain.said[number].plain, "the statement is no plain product")
    need(all(chain.is_whole(access["tensor"]) for access in chain.accesses[number][1:]), MISSING)
    loads = product_loads(doc["certificate"], chain.doc_of(number), chain, memory)
    output, *inputs = chain.accesses[number]
    distinct = [access for i, access in enumerate(inputs) if access not in inputs[:i]]
    free = chain.most(output) if chain.starts_empty(output["tensor"]) else 0
    free += sum(chain.most(access) for access in distinct if access["tensor"] in chain.names)
    tensors = dict.fromkeys(chain.held[access["tensor"]] for access in inputs)
    own = () if chain.starts_empty(output["tensor"]) else (output["tensor"],)
    return ProvedGroup((output["tensor"],), (*tensors, *own), max(0, loads - free))


def _joined(doc: Any, chain: StatedChain, memory: int) -> ProvedGroup:
    """Two products as one, every first appearance of a word being paid, less those that may be free."""
    pair = join(chain, doc["statements"])
    loads = product_loads(doc["certificate"], pair.product, chain, memory)
    return ProvedGroup(tuple(doc["statements"]), pair.claimed, max(0, loads - pair.free_words))


def _lines(doc: Any, chain: StatedChain, memory: int) -> ProvedGroup:
    """Two products as one, by lines below the loads of its tensors."""
    loads, claimed = line_loads(doc, chain, memory)
    return ProvedGroup(tuple(doc["statements"]), claimed, loads)


def _shared(doc: Any, chain: StatedChain, memory: int) -> ProvedGroup:
    """Products around one tensor, cut by its loads."""
    loads, claimed = shared_loads(doc, chain, memory)
    return ProvedGroup(tuple(doc["statements"]), claimed, loads)


def _barrier(doc: Any, chain: StatedChain, memory: int) -> ProvedGroup:
    """Two products, rows being whole between them."""
    loads, claimed = barrier_loads(doc, chain, memory)
    return ProvedGroup(tuple(doc["statements"]), claimed, loads)


CHECKS: dict[str, Callable[[Any, StatedChain, int], ProvedGroup]] = {
    "alone": _alone,
    "joined": _joined,
    "lines": _lines,
    "shared": _shared,
    "barrier": _barrier,
}
