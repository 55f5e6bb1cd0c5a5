"""Chains that no family takes as a whole, in one memory: parts that one takes, and statements by themselves.

A part is a run of products, each of which alone reads the result of the one before, or a gate. Parts and what is left
are done one after the other, and what goes between them through the memory. Which parts are taken is decided by what
the whole chain moves with each of them. Each is looked for as a workload of its own, where what it hands on is an
output that starts empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from optmap.base.errors import InfeasibleError, InputError, LimitError
from optmap.base.packing import heaviest_packing
from optmap.count.trees import count_boxes, count_tree
from optmap.mappings.kept_tensors import kept_tensors
from optmap.mappings.tree import MappingTree
from optmap.search.chains.alone import (
    SingleStatements,
    disjoint,
    in_order,
    in_words_of,
    one_after_other,
    part_of,
    tails_of,
)
from optmap.search.chains.trees import Branch
from optmap.search.question import Question
from optmap.workloads.chain import TensorRole

FAMILY = (
    "one after the other, with what is between them in the memory: runs of products and gates, each the best of its "
    "family, and statements by themselves, products by methods mopt and iooub, functions of rows and of several "
    "tensors element by element"
)
"""The mappings among which the best is looked for, in words."""
APART = "every statement by itself, products by methods mopt and iooub, all that is between them in the memory"
"""Of these the mapping without parts."""
Find = Callable[[Question], Branch | None]
"""From a question of a part to the nodes of its best mapping; None if nothing fits. What it raises is no part."""


@dataclass(frozen=True, slots=True)
class ChainPart:
    """Statements that are done together."""

    makes: tuple[str, ...]
    """Those that make tensors of their own, in order; the last one hands on what it makes."""
    nodes: Branch


class ChainGraph:
    """A chain of products and functions of elements in one memory.

    Args:
        question: of the chain and a machine of one level.
        find: the best mapping of a part.

    Raises:
        InputError: for a statement that has no mapping by itself.
    """

    def __init__(self, question: Question, find: Find) -> None:
        self._single = SingleStatements(question)
        self.question, self.workload, self.find = question, question.workload, find
        self.tails, self._statistics = tails_of(self.workload), kept_tensors(self.workload).statistics
        read = [access.name for each in self.workload.statements for access in each.inputs]
        self.once = {
            name
            for name, role in self.workload.roles.items()
            if role is TensorRole.INTERMEDIATE and read.count(name) == 1
        }

    def best(self, *, together: bool) -> Branch:
        """The nodes of the best mapping that is found.

        Args:
            together: whether parts are looked for.

        Raises:
            InfeasibleError: if a statement finds no place.
            LimitError: if the time was over before parts were found with which all do.
        """
        parts = list(self._parts()) if together else []
        nodes = self._nodes(self._chosen(parts) if parts else ())
        if nodes is None:
            raise InfeasibleError(f"{self.question.machine.name} has no room for tiles of {self.workload.title}")
        return nodes

    def apart(self) -> tuple[Branch, int] | None:
        """Every statement by itself: the nodes, and words that they move.

        Returns:
            None if one finds no place, or only a walk counts them.
        """
        nodes, machine = self._nodes(()), self.question.machine
        if nodes is None:
            return None
        count = count_boxes(MappingTree(workload=self.workload, machine=machine, nodes=nodes))
        return None if count is None else (nodes, self.question.objective.words(count.moved, machine)[0])

    def _chosen(self, parts: Sequence[ChainPart]) -> tuple[ChainPart, ...]:
        """The parts with which the fewest words move: what one saves does not depend on what others do."""
        apart = self._words(())
        if apart is None:  # some statement has no place by itself
            known: dict[tuple[ChainPart, ...], int] = {}
            for some in disjoint(parts, _makes):
                if known and self.question.clock.late:
                    break
                self.question.clock.check()
                words = self._words(some)
                known |= {} if words is None else {some: words}
            return min(known, key=known.__getitem__, default=())
        saves = {part.makes: apart - words for part in parts if (words := self._words((part,))) is not None}
        order = list(self.tails)
        paying = [part for part in parts if saves.get(part.makes, 0) > 0]
        paying.sort(key=lambda part: [order.index(name) for name in part.makes])
        chosen = heaviest_packing([frozenset(part.makes) for part in paying], [saves[part.makes] for part in paying])
        return tuple(paying[number] for number in chosen)

    def _words(self, parts: Sequence[ChainPart]) -> int | None:
        """Words that the whole chain moves with some parts done together; None if a statement finds no place."""
        nodes, machine = self._nodes(parts), self.question.machine
        if nodes is None:
            return None
        count = count_tree(MappingTree(workload=self.workload, machine=machine, nodes=nodes))
        return self.question.objective.words(count.moved, machine)[0]

    def _nodes(self, parts: Sequence[ChainPart]) -> Branch | None:
        done = {each.makes[-1]: each.nodes for each in parts}
        within = {name for each in parts for name in self._statements(each.makes)}
        branches = in_order(self.workload, self.question.machine, done, within, self._single.branches)
        if branches is None:
            return None
        inside = {self.workload.stored_as[name] for each in parts for name in each.makes[:-1]}
        inside |= {each.name for each in self._statistics if each.made_by in within}
        return one_after_other(self.workload, self.question.machine.memory, branches, inside)

    def _parts(self) -> Iterator[ChainPart]:
        """All parts that have a mapping."""
        for makes in [*self._gates(), *self._runs()]:
            self.question.tell(f"{', '.join(makes)} together")
            if self.question.clock.late:
                return
            names = self._statements(makes)
            if any(each.made_by not in names and {*names} & {*each.reads} for each in self._statistics):
                continue  # it would not know that rows are to be kept
            part = part_of(self.workload, names)
            (level,) = self.question.machine.levels
            machine = replace(self.question.machine, levels=(in_words_of(level, self.workload, part),))
            try:
                nodes = self.find(replace(self.question, workload=part, machine=machine, progress=None))
            except (InputError, LimitError):
                continue
            if nodes is not None:
                yield ChainPart(makes, nodes)

    def _runs(self) -> Iterator[tuple[str, ...]]:
        """Runs of two products or more."""
        ends: dict[str, list[tuple[str, ...]]] = {}
        for name in self.tails:
            statement = self.workload.statement(name)
            read = {access.name for access in statement.inputs}
            before = [run for last, runs in ends.items() if self._result(last) in read & self.once for run in runs]
            if statement.multiplies:
                ends[name] = [(name,), *((*run, name) for run in before)]
                yield from ends[name][1:]

    def _gates(self) -> Iterator[tuple[str, ...]]:
        """Two products, a function of both results, and a product that reads it."""
        products = [name for name in self.tails if self.workload.statement(name).multiplies]
        for name in self.tails:
            meeting, result = self.workload.statement(name), {self._result(name)} & self.once
            reads = {access.name for access in meeting.inputs} & self.once
            makers = [each for each in products if self._result(each) in reads]
            last = [each for each in products if result & {a.name for a in self.workload.statement(each).inputs}]
            if not meeting.multiplies and len(meeting.inputs) == len(makers) == 2 and last:
                yield (*makers, name, *last)

    def _result(self, name: str) -> str:
        """The tensor that others read of a statement and its functions in place."""
        return (name, *self.tails[name])[-1]

    def _statements(self, makes: Sequence[str]) -> list[str]:
        """All statements of a part: what is done in place of what it hands on is none of it."""
        return [*(each for name in makes[:-1] for each in (name, *self.tails[name])), makes[-1]]


def _makes(part: ChainPart) -> tuple[str, ...]:
    return part.makes
