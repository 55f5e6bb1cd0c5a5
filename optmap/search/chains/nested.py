"""Chains of products on several levels: neighbours fused in the outermost one, or everything one after the other.

In a fused step (see `groups`) a product is one statement whose tensors come from the outermost level: its tiles on the
inner levels are found by method `mopt`, for the few steps that look best. Which steps are best, and which neighbours
are fused, is decided by counting whole trees. Not every mapping of the family is looked at, and nothing is proved of it
but the floor of the chain. Without fusing, each product is mapped to all levels by that method, and what is between two
products goes through the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Ordered
from dataclasses import dataclass, replace
from fractions import Fraction

from optmap.base.errors import InfeasibleError
from optmap.count.timing.roofline import roofline
from optmap.count.trees import count_tree
from optmap.mappings.tree import MappingTree
from optmap.search.chains.alone import (
    SingleStatements,
    disjoint,
    in_order,
    one_after_other,
    path_by_itself,
    tails_of,
    with_functions,
)
from optmap.search.chains.compulsory import compulsory_relaxation, notes_of
from optmap.search.chains.groups import FusedGroup, FusedStep, groups_of, steps_of_levels
from optmap.search.chains.trees import Branch, keeps, loops, sequence_of
from optmap.search.found import Found
from optmap.search.question import Question

FAMILY = (
    "fused tiles of the outermost level, of which operands stay or come with every step, in each step the products one "
    "after the other, their inner levels by method mopt; and one product after the other on all levels by that method"
)
"""The mappings among which the best is looked for, in words."""
APART = "one product after the other on all levels, each by method mopt"
"""Of these the mapping without anything fused."""
TRIED = 4
"""Steps whose inner levels are looked for, of each group of products."""


def fused(question: Question) -> Found:
    """A mapping of a chain of products on a machine of several levels: neighbours fused, or one after the other.

    Args:
        question: of a chain and a machine without meshes.

    Raises:
        InputError: for a statement that is neither a product nor a function of elements.
        InfeasibleError: if nothing fits.
    """
    groups, reason = groups_of(question.workload)
    found = _Levels(question).best(groups)
    notes = (f"nothing is fused: {reason}", *found.notes) if reason else found.notes
    return replace(found, notes=notes, space=FAMILY if groups else APART)


def apart(question: Question) -> Found:
    """The products one after the other on a machine of several levels; as `fused`."""
    return _Levels(question).best(())


@dataclass(frozen=True, slots=True)
class _Fused:
    """A group of products with the nodes that do them, from the outside in."""

    group: FusedGroup
    nodes: Branch
    inside: tuple[str, ...]
    """Names of what never leaves it for the memory."""


@dataclass(frozen=True, slots=True)
class _Counted:
    """A mapping with what it moves."""

    tree: MappingTree
    fused: tuple[_Fused, ...]
    words: dict[int, int]
    """That count across every boundary, by number, inner first."""
    cost: Fraction

    @property
    def statements(self) -> frozenset[str]:
        """Names of those that are fused."""
        return frozenset(name for own in self.fused for name in own.group.statements)


class _Levels:
    """Mappings of a chain on several levels."""

    def __init__(self, question: Question) -> None:
        self.question, self.workload, self.machine = question, question.workload, question.machine
        self._single = SingleStatements(question)
        self._tails = tails_of(question.workload)

    def best(self, groups: Ordered[FusedGroup]) -> Found:
        """The best of the mappings that are tried: nothing fused, each group by itself, and those that pay together."""
        question = self.question
        question.tell("one after the other")
        base = self._counted(())
        paying = list[_Counted]()
        for group in groups:
            tried = [counted for step in self._steps(group) if (counted := self._with_step(group, step)) is not None]
            better = [each for each in tried if base is None or each.cost < base.cost]
            if better:
                paying.append(min(better, key=lambda each: each.cost))
        found = [each for each in (base, *paying) if each is not None]
        if base is not None and len(paying) > 1:
            sets = min(self._together(paying), key=lambda some: self._cost_together(base, some))
            together = self._counted(tuple(own for each in sets for own in each.fused))
            found += [] if together is None else [together]
        if not found:
            raise InfeasibleError(
                f"{self.machine.name} has no room for tiles of {self.workload.title} in all of its levels"
            )
        return Found(
            mapping=min(found, key=lambda each: each.cost).tree,
            relaxation=compulsory_relaxation(question),
            space=APART,
            late=question.clock.late,
            notes=notes_of(question),
        )

    def _together(self, paying: Ordered[_Counted]) -> Iterator[tuple[_Counted, ...]]:
        """Groups that may be fused together, none of them first, as long as there is time."""
        for number, some in enumerate(disjoint(paying, lambda each: each.statements)):
            if number and self.question.clock.late:
                return
            yield some

    def _steps(self, group: FusedGroup) -> Iterator[FusedStep]:
        """The steps that are tried."""
        for step in steps_of_levels(self.question, group)[:TRIED]:
            if self.question.clock.late:
                return
            names = " and ".join(group.products)
            self.question.tell(f"{names}: tiles of {step.tile:,} and {step.inner:,}")
            yield step

    def _with_step(self, group: FusedGroup, step: FusedStep) -> _Counted | None:
        nodes = self._fused(group, step)
        rows = group.pair.rows
        inside = (*group.tiles, *([rows.name] if rows is not None and step.rows_stay else []))
        return None if nodes is None else self._counted((_Fused(group, nodes, inside),))

    def _counted(self, fused: tuple[_Fused, ...]) -> _Counted | None:
        """The mapping with some groups fused; None if a product finds no place on the machine."""
        tree = self._tree(fused)
        if tree is None:
            return None
        count = count_tree(tree)
        if count.broken:
            return None
        objective = self.question.objective
        words = objective.words(count.moved, self.machine)
        return _Counted(tree, fused, words, count.value_of(objective, self.workload, self.machine))

    def _cost_together(self, base: _Counted, some: Ordered[_Counted]) -> Fraction:
        """The objective with several groups fused: each changes by itself what crosses the boundaries."""
        words = {level: count + sum(each.words[level] - count for each in some) for level, count in base.words.items()}
        return roofline(self.question.objective, words, self.workload, self.machine)

    def _tree(self, fused: tuple[_Fused, ...]) -> MappingTree | None:
        """Statements one after the other but for those that are fused; what is between them stored."""
        done = {each.group.products[-1]: each.nodes for each in fused}
        within = {name for each in fused for name in each.group.statements}
        branches = in_order(self.workload, self.machine, done, within, self._single.branches)
        if branches is None:
            return None
        stored = self.workload.stored_as
        inside = {stored.get(name, name) for each in fused for name in each.inside}
        nodes = one_after_other(self.workload, self.machine.memory, branches, inside)
        return MappingTree(workload=self.workload, machine=self.machine, nodes=nodes)

    def _fused(self, group: FusedGroup, step: FusedStep) -> Branch | None:
        """The nodes of a step; None if a product finds no place in the inner levels."""
        *within, outermost = self.machine.levels
        inside = replace(self.machine, levels=tuple(within), memory=outermost.name)
        extents, pair = self.workload.extents, group.pair
        out, inn = pair.sides[step.outer], pair.sides[1 - step.outer]
        left = {**extents, **dict.fromkeys(pair.batch, 1), out.dim: step.tile, inn.dim: step.inner}
        kept = [held.own for held, stays in zip(group.operands, step.stays, strict=True) if stays]
        coming = [held for held, stays in zip(group.operands, step.stays, strict=True) if not stays]
        branches, joined = list[Branch](), set[str]()
        levels = [level.name for level in within]
        for name in group.statements:
            if name in joined:
                continue
            phase = group.products.index(name) if name in group.products else None
            statement, reads = self.workload.statement(name), name == group.products[-1]
            tail = () if reads else self._tails.get(name, ())
            path = path_by_itself(self.question, inside, statement, left, empty=not reads, tail=tail)
            if path is None:
                return None
            together = (
                with_functions(self.workload, path, statement, tail=tail, levels=levels, left=left) if tail else None
            )
            joined |= set() if together is None else {*tail}
            held = keeps(outermost.name, [each.own.operand.name for each in coming if phase in each.phases])
            branches.append((*held, *(together or path)))
        staying = [(each.side, each.operand.name) for each in kept]
        tiles = list(group.tiles)
        if pair.rows is not None and step.rows_stay:
            staying.append((pair.rows.side, pair.rows.name))
        elif pair.rows is not None:
            tiles.append(pair.rows.name)
        return (
            *loops(extents, dict.fromkeys(pair.batch, 1)),
            *keeps(outermost.name, [name for side, name in staying if side != step.outer]),
            *loops(extents, {out.dim: step.tile}),
            *keeps(outermost.name, [name for side, name in staying if side == step.outer]),
            *loops(extents, {inn.dim: step.inner}),
            *keeps(outermost.name, tiles),
            *sequence_of(branches),
        )
