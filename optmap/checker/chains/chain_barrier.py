"""Two products with a function of whole rows between them (theorem: `docs/chain-floors.md`)."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, prod
from typing import Any

from ..core.shapes import Shape, name, positive
from ..core.tools import need
from .chain import Access, StatedChain
from .chain_pairs import join, live

BARRIER: dict[str, Shape] = {"operand": name, "segment": positive}


def barrier_loads(doc: Any, chain: StatedChain, memory: int) -> int:
    """Words that two products load at least."""
    _ = join(chain, doc["statements"])
    segment = doc["segment"]
    first, second = (chain.names.index(each) for each in doc["statements"])
    kept = chain.held[chain.names[first]]
    made = chain.accesses[first][0]
    (read,) = (access for access in chain.accesses[second][1:] if chain.held[access["tensor"]] == kept)
    need(doc["operand"] not in chain.names, "the operand of a barrier must be an input")
    most = 0
    for place in _places(chain, kept):
        for number, core in ((first, made), (second, read)):
            inner = live(core, chain.extents)
            along = inner.intersection(d for d, _ in core["axes"][place]["terms"])
            length, elements = prod(chain.extents[d] for d in along), chain.elements(core)
            for operand in chain.accesses[number][1:]:
                dims = live(operand, chain.extents)
                if operand["tensor"] == doc["operand"] and along and along <= dims:
                    index = chain.weights[doc["operand"]] * prod(chain.extents[d] for d in dims - inner)
                    waiting = max(0, length - (memory + segment) // index)
                    most = max(most, elements // length * waiting * chain.weights[kept])
    every = [*chain.accesses[first], *chain.accesses[second]]
    once = sum(chain.most(access) for access in every if access["tensor"] in chain.loaded())
    return ceil(Fraction((most + once) * segment, memory + segment))


def _places(chain: StatedChain, kept: str) -> list[int]:
    """Positions of the subscripts along which functions of whole rows are applied to a tensor."""
    found = []
    for number, said in enumerate(chain.said):
        if said.whole and chain.held[said.name] == kept:
            source: Access = chain.accesses[number][1]
            found += [n for n, axis in enumerate(source["axes"]) if [d for d, _ in axis["terms"]] == [said.whole]]
    return found
