"""The independent checker: proves or refuses what a file claims, trusting nothing that made it.

Only Python's standard library, and nothing else of optmap: no line of code is shared with what it
checks. (What searches for the proofs of `cover` asks its rows and tests which steps hold; nothing that
decides comes from there.) Everything is decided in integers and fractions, logarithms in 50 digits. `bounds`
re-proves lower bounds (format: the docstring of `optmap/bounds/certificate.py`), `chains` those of chains of statements
(`optmap/bounds/chains/certificate.py`), `tiles` recounts mappings, `nests` those of machines with meshes and prices,
`trees` those of chains, `turns` those of chains on machines with meshes, and `cover` re-proves what no mapping
undercuts; `core` is what all of them need.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .bounds.bound import check_bound, prove
from .bounds.time_bound import check_time_bound
from .chains.chain_bound import check_chain
from .chains.chain_time import check_chain_time
from .core.form import SWEEP_BOUND
from .core.report import Report, statement_lines
from .core.shapes import check_form
from .core.statement import StatedWork
from .core.tools import RefusedError, need, plain
from .nests.nest_solution import check_nest_solution
from .tiles.solution import check_solution
from .trees.tree_solution import check_tree_solution
from .turns.turn_bound import check_turn_bound
from .turns.turn_solution import check_turn_solution

__all__ = ["RefusedError", "Report", "check_bound", "check_document", "check_file", "check_solution", "plain"]


ELSEWHERE = {
    "optmap.bound/": "write the certificate with bound -o FILE and check that",
    "optmap.evaluation/": "check the solution that was evaluated",
    "optmap.comparison/": "write a solution with solve -o FILE and check that",
    "optmap.accelerator-evaluation/": "check the solution that was evaluated",
    "optmap.accelerator-comparison/": "write a solution with solve -o FILE and check that",
    "optmap.accelerator-network/": "write the solution of a layer with solve -o FILE and check that",
    "optmap.score/": "write the best mapping with solve -o FILE and check that",
}
"""Documents beside certificates and solutions, and where their proofs are."""
SHARED = {
    *("schema", "workload", "machine", "method", "objective", "counting", "tiles", "word_bits", "capacity_rule"),
    *("constraints", "seed", "versions"),
}
"""Keys of a solution that mappings beside it (`others`) have from it."""
MOST_DIGITS = 1000
"""Digits of a number that are read; no count of words has more."""
KNOWN = (
    "optmap.certificate/",
    "optmap.chain-certificate/",
    "optmap.solution/",
    "optmap.sweep-bound/",
    "optmap.accelerator-solution/",
    "optmap.time-bound/",
    "optmap.mesh-certificate/",
)


def check_file(path: str | Path) -> Report:
    """Verify a certificate or a solution file.

    Args:
        path: a JSON file that `bound -o` or `solve -o` wrote, or one of the folders of a sweep.

    Returns:
        What was verified and what was not.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is not one JSON document without repeated keys.
        RefusedError: with the reason why a claim does not hold.
    """
    text = Path(path).read_text(encoding="utf-8")
    try:
        document = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse, parse_int=_whole)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return check_document(document)


def check_document(document: Any) -> Report:
    """Verify a parsed document; see `check_file`."""
    need(type(document) is dict, "not an optmap document: an object is needed")
    schema, mapping = document.get("schema"), document.get("mapping")
    walked = type(mapping) is dict and "tree" in mapping
    solved = str(schema).startswith("optmap.solution/")
    meshes = str(schema).startswith("optmap.accelerator-solution/")
    need(solved or meshes or not walked, "a mapping tree alone claims nothing; count it with: optmap evaluate FILE")
    if type(schema) is str:
        for start, advice in ELSEWHERE.items():
            need(not schema.startswith(start), f"a document {schema!r} proves nothing by itself: {advice}")
        known = schema.startswith(KNOWN)
        need(known, f"the schema is {schema!r}; {', '.join(start + '*' for start in KNOWN)} are checked")
    if (solved or meshes) and "others" in document:
        return _check_several(document)
    try:
        if schema == "optmap.chain-certificate/1":
            return check_chain(document)
        if schema == "optmap.time-bound/1":
            return (check_chain_time if "statements" in document["workload"] else check_time_bound)(document)
        if schema == "optmap.mesh-certificate/1":
            return check_turn_bound(document)
        if solved:
            return check_tree_solution(document) if walked else check_solution(document)
        if meshes:
            return check_turn_solution(document) if walked else check_nest_solution(document)
        if document.get("schema") == "optmap.sweep-bound/1":
            return _check_levels(document)
        statement, claims = prove(document)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise RefusedError(f"the document is malformed: {type(error).__name__}: {error}") from error
    work = document["workload"]
    verified = [
        *statement_lines(statement, work),
        f"with {document['memory_words']:,} words of fast memory that start empty, every schedule",
        f"loads at least {claims['loads_words']:,} words (compulsory: {claims['compulsory_loads_words']:,})",
        f"stores at least {claims['stores_words']:,} words, and moves {claims['total_words']:,} words in all",
    ]
    called = (
        f"called {work['name']!r} in the file, proved by method {document['method']!r}; maps have names of their own"
    )
    return Report(verified=tuple(verified), not_verified=(plain(called),))


def _check_several(document: dict[str, Any]) -> Report:
    """An answer and the mappings beside it, each of them a solution once it has what it shares with the answer."""
    others = document["others"]
    first = {key: value for key, value in document.items() if key != "others"}
    shared = {key: value for key, value in first.items() if key in SHARED}
    answer = check_document(first)
    need(type(others) is list, "others must be a list of mappings")
    verified = list(answer.verified)
    for number, other in enumerate(others, 2):
        need(type(other) is dict, f"mapping {number} of others must be an object")
        need(not other.keys() & {*SHARED, "others"}, f"mapping {number} of others says what is the answer's to say")
        try:
            check_document({**shared, **other})
        except RefusedError as error:
            raise RefusedError(f"mapping {number} of others: {error}") from error
        cost = f"{float(other['cost']['value']):,.10g} {other['cost']['unit']}"
        verified.append(plain(f"mapping {number}: cost {cost}, verified as that one"))
    order = "that there is nothing between the mappings of others"
    return Report(verified=tuple(verified), not_verified=(*answer.not_verified, order))


def _check_levels(document: dict[str, Any]) -> Report:
    """The bounds of a sweep's row: a certificate per level, all of the workload that the row names."""
    check_form(document, SWEEP_BOUND)
    work, entries = StatedWork(document["workload"]), document["bounds"]
    verified: list[str] = []
    for entry in entries:
        proof = entry["certificate"]
        other = StatedWork(proof["workload"])
        same = (other.accesses, other.extents, other.weights, other.assign)
        need(same == (work.accesses, work.extents, work.weights, work.assign), "a certificate of another workload")
        claims = {**check_bound(proof), "memory_words": proof["memory_words"]}
        for key in ("memory_words", "loads_words", "stores_words", "total_words"):
            need(entry[key] == claims[key], f"{key} is not what its certificate proves")
        verified += check_document(proof).verified
    called = ", ".join(str(entry["level"]) for entry in entries)
    unread = f"that these are the memories up to levels {called}, the machine, names, methods and expressions"
    return Report(verified=tuple(verified), not_verified=(plain(unread),))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key appears twice in one object")
    return made


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not a JSON number")


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number has {len(digits):,} digits")
    return int(digits)
