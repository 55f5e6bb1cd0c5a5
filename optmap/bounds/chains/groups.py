"""Loads of a chain, group by group of its statements: model, lemma, theorem and proof are in `docs/chain-floors.md`.

The *lemma* of creation there is what all arguments count by: a word that starts empty counts as one load when it is
created, so that every word that is touched has been loaded and has stayed since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache

from optmap.bounds.chains.counts import chain_words, is_whole, loaded_tensors, most_words, starts_empty
from optmap.bounds.result import Document
from optmap.workloads.statement import Statement
from optmap.workloads.workload import Semantics, Workload

MOST_GROUPS = 64
"""Groups among which the best choice is sought; of more, those that gain most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementGroup:
    """Statements with a bound on their loads."""

    argument: str
    """Name of what proves it."""
    statements: tuple[str, ...]
    """The tensors that they write."""
    claimed: frozenset[str]
    """Tensors whose loads it counts; of one made in place of others the last."""
    loads_words: int
    """What it adds to the loads of the chain."""
    proof: Document = field(compare=False)
    """What a certificate says of it beside that."""
    expression: str
    """The argument as a formula."""


Argument = Callable[[Workload, int], list[StatementGroup]]
"""Finds groups of a workload for a memory of so many words."""


def group_of(
    workload: Workload,
    argument: str,
    statements: Sequence[Statement],
    *,
    loads_words: int,
    proof: Document,
    expression: str,
    less: Iterable[str] = (),
) -> StatementGroup:
    """Some statements as a group.

    Args:
        workload: the chain.
        argument: name of what proves it.
        statements: of the group.
        loads_words: what it adds to the loads of the chain; none if that is negative.
        proof: what a certificate says of it beside that.
        expression: the argument as a formula, of all loads and creations.
        less: tensors whose words may appear without a load, which `loads_words` leaves out.
    """
    held = workload.stored_as
    read = {held[access.name] for each in statements for access in each.inputs}
    return StatementGroup(
        argument=argument,
        statements=tuple(each.name for each in statements),
        claimed=frozenset(read | {each.name for each in statements if not starts_empty(workload, each.name)}),
        loads_words=max(0, loads_words),
        proof=proof,
        expression=f"({expression}){''.join(f' - |{name}|' for name in less)}",
    )


def appearing(workload: Workload, statements: Sequence[Statement]) -> frozenset[str]:
    """Tensors whose words some statements may find or create without a load: of others, or started empty."""
    own = {each.name for each in statements if not starts_empty(workload, each.name)}
    return frozenset(each.name for each in workload.statements if each.name not in own)


def alone(workload: Workload, memory_words: int) -> list[StatementGroup]:
    """Every product of tensors as a group of its own."""
    from optmap.bounds.best import best

    found = []
    for statement in workload.statements:
        if not (statement.is_product and all(is_whole(workload, access.name) for access in statement.inputs)):
            continue
        nest = _loaded_alone(workload, statement.name)
        unit = nest.word_bits // workload.word_bits
        if memory_words < unit:
            continue
        bound = best(nest, memory_words // unit)
        free = [each for each in dict.fromkeys(statement.accesses) if each.name in appearing(workload, [statement])]
        group = group_of(
            workload,
            "alone",
            [statement],
            loads_words=unit * bound.loads_words - sum(most_words(workload, access) for access in free),
            proof={"certificate": bound.certificate},
            expression=f"{statement.name} alone: {bound.expression}",
            less=[access.name for access in free],
        )
        found.append(group)
    return found


@lru_cache(maxsize=64)
def _loaded_alone(workload: Workload, name: str) -> Workload:
    """A statement by itself whose first appearances are loads."""
    return workload.alone(name).with_semantics(Semantics.ACCUMULATE)


def best_groups(workload: Workload, groups: Sequence[StatementGroup]) -> tuple[StatementGroup, ...]:
    """Groups that fit together and prove the most.

    Args:
        workload: the chain.
        groups: what there is to choose from.
    """
    words = chain_words(workload)
    inputs = set(loaded_tensors(workload))
    gains = {group: group.loads_words - sum(words[t] for t in group.claimed & inputs) for group in groups}
    worth = sorted((group for group in groups if gains[group] > 0), key=lambda g: -gains[g])[:MOST_GROUPS]
    order = {each.name: number for number, each in enumerate(workload.statements)}
    worth.sort(key=lambda g: [order[name] for name in g.statements])
    needs = [frozenset({("done", s) for s in g.statements} | {("read", t) for t in g.claimed}) for g in worth]
    later: list[frozenset[tuple[str, str]]] = [frozenset()]
    for need in reversed(needs):
        later.append(later[-1] | need)
    later.reverse()

    @cache
    def chosen(number: int, used: frozenset[tuple[str, str]]) -> tuple[int, tuple[int, ...]]:
        """Gain and positions of the best of the groups from one on."""
        if number == len(worth):
            return 0, ()
        without = chosen(number + 1, used & later[number + 1])
        if used & needs[number]:
            return without
        gain, rest = chosen(number + 1, (used | needs[number]) & later[number + 1])
        return max((gain + gains[worth[number]], (number, *rest)), without, key=lambda found: found[0])

    return tuple(worth[number] for number in chosen(0, frozenset())[1])


def loads_of(workload: Workload, groups: Sequence[StatementGroup]) -> int:
    """Loads that some groups prove, with those of inputs that none of them reads."""
    words = chain_words(workload)
    return sum(words[t] for t in unclaimed(workload, groups)) + sum(group.loads_words for group in groups)


def unclaimed(workload: Workload, groups: Sequence[StatementGroup]) -> tuple[str, ...]:
    """What is loaded and read by none of some groups."""
    claimed = frozenset[str]().union(*(group.claimed for group in groups))
    return tuple(t for t in loaded_tensors(workload) if t not in claimed)
