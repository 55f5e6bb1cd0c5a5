"""Two-level bounds at the boundaries of a hierarchy."""

from __future__ import annotations

from optmap.bounds.result import LowerBound
from optmap.errors import InputError
from optmap.problem.machine import Machine

INCLUSIVE = "the level outside the boundary's fast side holds a copy of what the levels inside it hold"
TOTAL = "capacities of all levels on the fast side count together"
INSTANCES = "every output element is computed by one of the instances"


def fast_side_words(machine: Machine, level: int, word_bytes: int) -> int:
    """Words that the fast side of the boundary outside a level can hold at the same time.

    An inclusive level holds a copy of everything inside it, so its own capacity is all there is.
    Otherwise the words of the levels inside count as well (of all children that it feeds).

    Args:
        machine: the hierarchy.
        level: index of the level inside the boundary.
        word_bytes: size of one word.
    """
    here = machine.levels[level]
    own = here.capacity.words(word_bytes)
    if level == 0 or here.inclusive:
        return own
    return own + here.fanout * fast_side_words(machine, level - 1, word_bytes)


def instance_words(bound: LowerBound, instances: int, *, loads_only: bool = False) -> int:
    """Words that the busiest of several private memories must move.

    With P memories every one of them may have one segment that is not full, so together they load at
    least T (ceil(G/U(M+T)) - P) units, and at least every word of every tensor once; the busiest one
    moves at least the P-th part of loads and stores.

    Args:
        bound: of one memory of the same size.
        instances: P, memories that share the work; no reduction is split among them.
        loads_only: leave the stores out (one instance only).

    Raises:
        InputError: for several instances and a bound without a certificate.
    """
    if instances == 1:
        return bound.loads_words if loads_only else bound.total_words
    document = bound.certificate
    if document is None:
        raise InputError(f"method {bound.method} has no certificate to divide among {instances} instances")
    claims, segment = document["claims"], document["segment"]
    loads: int = claims["compulsory_loads_words"]
    if segment is not None and segment["U_full"]:
        full: int = segment["T"] * (-(-segment["operations"] // segment["U_full"]) - instances)
        top, bottom = (int(part) for part in document["mu"].split("/"))
        created = top * claims["output_words_at_most"] if document["workload"]["semantics"] == "assign" else 0
        loads = max(loads, -((created - full) // bottom))
    return -(-(loads + bound.stores_words) // instances)
