"""Methods for lower bounds of chains: what is compulsory, and groups of statements by one argument or by all.

The only place where a bound of a chain gets its certificate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from optmap.bounds.chains.barrier import barrier
from optmap.bounds.chains.certificate import chain_certificate
from optmap.bounds.chains.counts import NOTHING, chain_counts, chain_words, loaded_tensors, stored_tensors
from optmap.bounds.chains.finishing import finishing
from optmap.bounds.chains.groups import Argument, SlowArgument, StatementGroup, alone, best_groups, unclaimed
from optmap.bounds.chains.joined import joined
from optmap.bounds.chains.lines import lines
from optmap.bounds.chains.shared import shared
from optmap.bounds.proved import first_proved
from optmap.bounds.result import LowerBound
from optmap.workloads.workload import Workload

ASSUMED = (
    "the fast memory starts empty and results end in slow memory",
    "every operation is done once, after all that make what it reads: nothing is computed again",
)
ARGUMENTS: Mapping[str, Argument] = {"lines": lines, "finishing": finishing, "shared": shared, "barrier": barrier}
"""What proves loads of a group of statements, by name."""
SLOW: Mapping[str, SlowArgument] = {"joined": joined, "alone": alone}
"""What proves them by a bound of one product, which takes longer: it is asked after the others."""


def floor_by(method: str, arguments: Sequence[str], workload: Workload, memory_words: int) -> LowerBound:
    """The strongest bound by groups of statements, each with one of some arguments.

    Args:
        method: what the bound is called.
        arguments: keys of `ARGUMENTS` and `SLOW`; none of them leaves compulsory traffic.
        workload: the chain.
        memory_words: fast memory, in words.

    Raises:
        CheckError: if the independent checker refuses even compulsory traffic.

    Source: the theorem in `docs/chain-floors.md`, Groups of statements.
    """
    found: list[StatementGroup] = []
    for name, argument in ARGUMENTS.items():
        if name in arguments:
            found += argument(workload, memory_words)
    for name, slow in SLOW.items():
        if name in arguments:
            found += slow(workload, memory_words, tuple(found))
    found.sort(key=lambda group: arguments.index(group.argument))
    groups, document = first_proved(
        workload,
        ((each, chain_certificate(workload, memory_words, each, method)) for each in _choices(workload, found)),
    )
    return LowerBound(
        method=method,
        loads_words=document["claims"]["loads_words"],
        stores_words=document["claims"]["stores_words"],
        expression=_expression(workload, groups),
        assumptions=(*ASSUMED, *_uncounted(workload)),
        certificate=document,
    )


def _choices(workload: Workload, found: Sequence[StatementGroup]) -> Iterator[tuple[StatementGroup, ...]]:
    """The best choice of groups, then no group."""
    best = best_groups(workload, found)
    if best:
        yield best
    yield ()


def _expression(workload: Workload, groups: Sequence[StatementGroup]) -> str:
    terms = [group.expression for group in groups]
    return " + ".join([*terms, *(f"|{t}|" for t in unclaimed(workload, groups))]) or "0"


def _uncounted(workload: Workload) -> tuple[str, ...]:
    """What is left out, and why."""
    names = [name for name, each in chain_counts(workload).items() if each.count is NOTHING]
    return (f"conditions may leave out elements of {', '.join(names)}: none of them is counted",) if names else ()


def statements_alone(workload: Workload, memory_words: int) -> dict[str, int]:
    """Words that each statement by itself moves at least, loads and stores; what is done in place moves none.

    Their sum is no floor of the chain: what one stores and the next loads may stay in the fast memory.

    Args:
        workload: the chain.
        memory_words: fast memory, in words.
    """
    from optmap.bounds.best import best

    found = {}
    for each in workload.statements:
        nest = workload.alone(each.name)
        unit = nest.word_bits // workload.word_bits
        if workload.stored_as[each.inputs[0].name] == workload.stored_as[each.name]:
            found[each.name] = 0
        elif each.is_product and memory_words >= unit:
            found[each.name] = unit * best(nest, memory_words // unit).total_words
        else:
            words = chain_words(nest)
            moved = [*loaded_tensors(nest), *stored_tensors(nest)]
            found[each.name] = unit * sum(words[t] for t in moved)
    return found
