"""Verify a certificate of a lower bound of a chain (format: the docstring of `optmap/bounds/chains/certificate.py`)."""

from __future__ import annotations

from typing import Any

from ..bounds.bound import check_count
from ..core.form import BYTES, CLAIMED, COUNT, EXTENTS, SEMANTICS
from ..core.report import Report, listed
from ..core.shapes import anything, check_form, count, many, name, positive, record, table, text, word
from ..core.tools import need, plain, spelled
from .chain import StatedChain, dims_of
from .chain_groups import check_group
from .chain_masks import rules_of, values

CHAIN = record(
    schema=word("optmap.chain-certificate/1"),
    kind=word("bound"),
    method=text,
    workload=record(
        name=text, statements=many(name, 1), extents=EXTENTS, bytes=BYTES, semantics=SEMANTICS, outputs=many(name)
    ),
    memory_words=positive,
    counts=table(record(statement=count, count=COUNT)),
    groups=many(anything),
    claims=record(**dict.fromkeys(["compulsory_loads_words", *CLAIMED], count)),
    digest=text,
)


def check_chain(doc: dict[str, Any]) -> Report:
    """Verify a certificate of a chain.

    Raises:
        RefusedError: with the first reason why it proves nothing.
    """
    check_form(doc, CHAIN)
    chain, memory = StatedChain(doc["workload"]), doc["memory_words"]
    words = check_counts(doc["counts"], chain)
    loaded = chain.loaded()
    groups = [check_group(group, chain, memory) for group in doc["groups"]]
    done = [statement for group in groups for statement in group.statements]
    need(len(set(done)) == len(done), "a statement is in two groups")
    claimed = [tensor for group in groups for tensor in group.claimed]
    need(len(set(claimed)) == len(claimed), "loads of a tensor are counted for two groups")
    loads = sum(group.loads_words for group in groups) + sum(words[t] for t in loaded if t not in claimed)
    stores = sum(words[t] for t in chain.outputs)
    claims = {
        "compulsory_loads_words": sum(words[t] for t in loaded),
        "loads_words": loads,
        "stores_words": stores,
        "total_words": loads + stores,
    }
    need(doc["claims"] == claims, f"the claims must be {claims}")
    return Report(verified=tuple(_verified(doc, chain)), not_verified=(plain(_unread(doc)),))


def check_counts(counts: Any, chain: StatedChain) -> dict[str, int]:
    """Words of every input and output that are touched, at least."""
    need(set(counts) == {*chain.loaded(), *chain.outputs}, "counts do not cover the inputs and outputs")
    words = {}
    for tensor, entry in counts.items():
        number = entry["statement"]
        need(number < len(chain.said), "there is no such statement")
        need(tensor not in chain.names or number == chain.names.index(tensor), "an output is counted where it is read")
        accesses, done = chain.accesses[number], chain.done(number)
        mine = [i for i, access in enumerate(accesses) if access["tensor"] == tensor]
        need(bool(mine) or entry["count"]["elements"] == 0, "a tensor is counted in a statement that lacks it")
        if chain.said[number].conditions:
            found = _under_conditions(entry["count"]["elements"], chain, number, mine)
        else:
            found = check_count(entry["count"], accesses, mine, done)
        words[tensor] = chain.weights[tensor] * found
    return words


def _under_conditions(elements: int, chain: StatedChain, number: int, mine: list[int]) -> int:
    """Elements that some accesses of a statement with conditions touch, as many as are said."""
    said, most = chain.said[number], 0
    for access in (chain.accesses[number][i] for i in mine if elements):
        dims = dims_of(access)
        alone = len(set(dims)) == len(dims) and all(len(axis["terms"]) < 2 for axis in access["axes"])
        if alone and not chain.padded(number):
            most = max(most, values(dims, rules_of(said), chain.extents))
    need(elements <= most, "conditions may leave out what is counted")
    return elements


def chain_lines(chain: StatedChain) -> list[str]:
    """The statements with everything that claims about them depend on."""
    sizes = set(chain.bytes.values())
    elements = (
        f"{sizes.pop():,}-byte elements" if len(sizes) == 1 else f"elements of {listed(chain.bytes.items())} bytes"
    )
    semantics, first = ("assign", "created") if chain.assign else ("accumulate", "loaded")
    return [
        spelled(
            f"for {'; '.join(each.text for each in chain.said)} ({semantics}: words of outputs are "
            f"{first} at their first touch, others that are written are created; outputs: "
            f"{', '.join(t for t in chain.names if t in chain.outputs)}),"
        ),
        spelled(f"extents {listed(chain.extents.items())}, {elements}, words of {chain.word_bits / 8:,.10g} bytes:"),
    ]


def _verified(doc: Any, chain: StatedChain) -> list[str]:
    claims = doc["claims"]
    return [
        *chain_lines(chain),
        f"with {doc['memory_words']:,} words of fast memory that start empty, every schedule that does each operation "
        "once, after those that make what it reads,",
        f"loads at least {claims['loads_words']:,} words (compulsory: {claims['compulsory_loads_words']:,})",
        f"stores at least {claims['stores_words']:,} words, and moves {claims['total_words']:,} words in all",
    ]


def _unread(doc: Any) -> str:
    return f"called {doc['workload']['name']!r} in the file, proved by method {doc['method']!r}"
