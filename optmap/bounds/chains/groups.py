"""Loads of a chain, group by group of its statements: model, lemma, theorem and proof are in `docs/chain-floors.md`.

The *lemma* of creation there is what all arguments count by: a word that starts empty counts as one load when it is
created, so that every word that is touched has been loaded and has stayed since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from optmap.base.packing import heaviest_packing
from optmap.bounds.chains.counts import chain_words, is_whole, loaded_tensors, most_words, starts_empty
from optmap.bounds.result import Document, LowerBound
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
SlowArgument = Callable[[Workload, int, Sequence[StatementGroup]], list[StatementGroup]]
"""The same; given groups that are known, it may leave out those for which these leave no use."""


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
    return StatementGroup(
        argument=argument,
        statements=tuple(each.name for each in statements),
        claimed=claimed_by(workload, statements),
        loads_words=max(0, loads_words),
        proof=proof,
        expression=f"({expression}){''.join(f' - |{name}|' for name in less)}",
    )


def claimed_by(workload: Workload, statements: Sequence[Statement]) -> frozenset[str]:
    """Tensors whose loads a group of some statements counts; of one made in place of others the last."""
    held = workload.stored_as
    read = {held[access.name] for each in statements for access in each.inputs}
    return frozenset(read | {each.name for each in statements if not starts_empty(workload, each.name)})


def appearing(workload: Workload, statements: Sequence[Statement]) -> frozenset[str]:
    """Tensors whose words some statements may find or create without a load: of others, or started empty."""
    own = {each.name for each in statements if not starts_empty(workload, each.name)}
    return frozenset(each.name for each in workload.statements if each.name not in own)


def alone(workload: Workload, memory_words: int, known: Sequence[StatementGroup]) -> list[StatementGroup]:
    """Every product of tensors as a group of its own.

    Args:
        workload: the chain.
        memory_words: fast memory, in words.
        known: groups by other arguments. If each of them has all these products, and one gains more than all groups
            of one product together, then none of these is in a best choice, and none is returned.
    """
    products = [
        _AloneProduct(workload, each, memory_words)
        for each in workload.statements
        if each.is_product and all(is_whole(workload, access.name) for access in each.inputs)
    ]
    every = [each for each in products if each.room]
    if every and known and all({each.statement.name for each in every} <= {*group.statements} for group in known):
        share = (max(gains(workload, known).values()) - 1) // len(every)
        if share > 0 and not any(each.gains_more(share) for each in every):
            return []
    return [each.group() for each in every]


class _AloneProduct:
    """A product of a chain by itself, every first appearance in it a load.

    Args:
        workload: the chain.
        statement: the product.
        memory_words: fast memory, in words of the chain.
    """

    def __init__(self, workload: Workload, statement: Statement, memory_words: int) -> None:
        self.workload, self.statement = workload, statement
        self._nest = _loaded_alone(workload, statement.name)
        self._unit = self._nest.word_bits // workload.word_bits
        """Words of the chain in a word of the product."""
        self.room = memory_words // self._unit
        """The memory in words of the product."""
        appear = appearing(workload, [statement])
        self._free = [each for each in dict.fromkeys(statement.accesses) if each.name in appear]
        self._free_words = sum(most_words(workload, access) for access in self._free)
        self._bound: LowerBound | None = None

    def group(self) -> StatementGroup:
        """It as a group."""
        from optmap.bounds.best import best

        bound = best(self._nest, self.room) if self._bound is None else self._bound
        return group_of(
            self.workload,
            "alone",
            [self.statement],
            loads_words=self._unit * bound.loads_words - self._free_words,
            proof={"certificate": bound.certificate},
            expression=f"{self.statement.name} alone: {bound.expression}",
            less=[access.name for access in self._free],
        )

    def gains_more(self, gain: int) -> bool:
        """Whether it gains more than so many words of the chain; its bound is known then."""
        from optmap.bounds.best import best_above

        words, inputs = chain_words(self.workload), {*loaded_tensors(self.workload)}
        claimed = claimed_by(self.workload, [self.statement])
        above = (gain + self._free_words + sum(words[t] for t in claimed & inputs)) // self._unit
        self._bound = best_above(self._nest, self.room, above)
        return self._bound is not None


@lru_cache(maxsize=64)
def _loaded_alone(workload: Workload, name: str) -> Workload:
    """A statement by itself whose first appearances are loads."""
    return workload.alone(name).with_semantics(Semantics.ACCUMULATE)


def gains(workload: Workload, groups: Sequence[StatementGroup]) -> dict[StatementGroup, int]:
    """Words that each group adds to the loads that are compulsory."""
    words = chain_words(workload)
    inputs = set(loaded_tensors(workload))
    return {group: group.loads_words - sum(words[t] for t in group.claimed & inputs) for group in groups}


def best_groups(workload: Workload, groups: Sequence[StatementGroup]) -> tuple[StatementGroup, ...]:
    """Groups that fit together and prove the most.

    Args:
        workload: the chain.
        groups: what there is to choose from.
    """
    gained = gains(workload, groups)
    worth = sorted((group for group in groups if gained[group] > 0), key=lambda g: -gained[g])[:MOST_GROUPS]
    order = {each.name: number for number, each in enumerate(workload.statements)}
    worth.sort(key=lambda g: [order[name] for name in g.statements])
    needs = [frozenset({("done", s) for s in g.statements} | {("read", t) for t in g.claimed}) for g in worth]
    return tuple(worth[number] for number in heaviest_packing(needs, [gained[group] for group in worth]))


def loads_of(workload: Workload, groups: Sequence[StatementGroup]) -> int:
    """Loads that some groups prove, with those of inputs that none of them reads."""
    words = chain_words(workload)
    return sum(words[t] for t in unclaimed(workload, groups)) + sum(group.loads_words for group in groups)


def unclaimed(workload: Workload, groups: Sequence[StatementGroup]) -> tuple[str, ...]:
    """What is loaded and read by none of some groups."""
    claimed = frozenset[str]().union(*(group.claimed for group in groups))
    return tuple(t for t in loaded_tensors(workload) if t not in claimed)
