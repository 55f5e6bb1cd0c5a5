"""Groups of statements of a chain, each with an argument for its loads (theorem: `docs/chain-floors.md`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..bounds.bound import prove
from ..core.shapes import Shape, anything, count, many, name, records
from ..core.tools import need
from .chain import StatedChain
from .chain_barrier import BARRIER, barrier_loads
from .chain_finishing import FINISHING, finishing_loads
from .chain_lines import LINES, line_loads
from .chain_pairs import MISSING, join
from .chain_shared import SHARED, shared_loads

CERTIFIED: dict[str, Shape] = {"certificate": anything}


@dataclass(frozen=True)
class ProvedGroup:
    """What a group proves."""

    statements: list[str]
    claimed: set[str]
    """Tensors whose loads it counts; of one that it reads and others write, the tensor that holds its elements."""
    loads_words: int


def check_group(doc: Any, chain: StatedChain, memory: int) -> ProvedGroup:
    """What a group's argument proves."""
    need(type(doc) is dict and doc.get("argument") in ARGUMENTS, "a group has no known argument")
    least, own, loads_of = ARGUMENTS[doc["argument"]]
    form = {"argument": name, "statements": many(name, least), **own, "loads_words": count}
    records(form)(doc, "a group")
    names = doc["statements"]
    need(all(each in chain.names for each in names), "a group has a statement that there is not")
    loads = max(0, loads_of(doc, chain, memory))
    need(doc["loads_words"] == loads, f"a group proves {loads} loads")
    return ProvedGroup(names, chain.claimed(names), loads)


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


def _alone(doc: Any, chain: StatedChain, memory: int) -> int:
    """One product of which every first appearance of a word is paid, less those that may be free."""
    need(len(doc["statements"]) == 1, "one statement alone is needed")
    number = chain.names.index(doc["statements"][0])
    need(chain.said[number].plain, "the statement is no plain product")
    need(all(chain.is_whole(access["tensor"]) for access in chain.accesses[number][1:]), MISSING)
    loads = product_loads(doc["certificate"], chain.doc_of(number), chain, memory)
    accesses, appearing = chain.accesses[number], chain.appearing(doc["statements"])
    distinct = [access for i, access in enumerate(accesses) if access not in accesses[:i]]
    return loads - sum(chain.most(access) for access in distinct if access["tensor"] in appearing)


def _joined(doc: Any, chain: StatedChain, memory: int) -> int:
    """Two products as one, every first appearance of a word being paid, less those that may be free."""
    pair = join(chain, doc["statements"])
    return product_loads(doc["certificate"], pair.product, chain, memory) - pair.free_words


ARGUMENTS: dict[str, tuple[int, dict[str, Shape], Callable[[Any, StatedChain, int], int]]] = {
    "alone": (1, CERTIFIED, _alone),
    "joined": (1, CERTIFIED, _joined),
    "lines": (1, LINES, line_loads),
    "finishing": (1, FINISHING, finishing_loads),
    "shared": (2, SHARED, shared_loads),
    "barrier": (2, BARRIER, barrier_loads),
}
"""How many statements there must be, what else is said, and the loads that it proves, which may be fewer than none."""
