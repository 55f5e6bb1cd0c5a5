"""Statements by themselves and neighbours together, with the nests that do them and what these cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from optmap.base.errors import InfeasibleError
from optmap.count.meshes.in_turn import count_in_turn
from optmap.count.meshes.turn_results import InTurnCount, TurnCost
from optmap.mappings.nodes import Compute, Keep, Loop, Node
from optmap.mappings.parts import branch_of
from optmap.mappings.tree import MappingTree
from optmap.questions.options import TileRule
from optmap.search.chains.alone import part_of, tails_of
from optmap.search.chains.blocks import GroupBlock, TurnGroup, accesses_to
from optmap.search.chains.trees import sequence_of
from optmap.search.chains.turn_problems import NestProblem, homes_in, mapped, problems_of
from optmap.search.question import Question
from optmap.workloads.single import has_nest, is_of_rows, product_alone

SKETCH, FINAL = "sunstone", "exact"
"""Methods that map one statement: blocks are compared by the first, the best one is mapped by the second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSegment:
    """Some neighbours with the nodes that do them, and what they cost."""

    names: tuple[str, ...]
    group: TurnGroup | None
    block: GroupBlock | None
    nodes: tuple[Node, ...]
    rows: tuple[TurnCost, ...]


def totals(segments: Iterable[TurnSegment]) -> tuple[Fraction, int, int]:
    """Energy in pJ, cycles, and cycles of ports of segments one after the other."""
    rows = [row for segment in segments for row in segment.rows]
    energy = sum((row.energy_pj for row in rows), Fraction(0))
    return energy, sum(row.cycles for row in rows), sum(row.port_cycles for row in rows)


class TurnSegments:
    """Makes segments of a chain; each nest is looked for once by a method.

    Args:
        question: of a chain of products and functions in place, and a machine with meshes and prices.
    """

    def __init__(self, question: Question) -> None:
        self.question, self.workload, self.machine = question, question.workload, question.machine
        self.tails = tails_of(self.workload)
        nested = [each.name for each in self.workload.statements if has_nest(self.workload, each.name)]
        self.alone = {name: product_alone(self.workload, name) for name in nested}
        self.share = 1.0
        """Of the time limit: what one nest may take."""
        self.nests: dict[object, tuple[Node, ...] | None] = {}
        """By problem and method."""
        self.shown: dict[object, tuple[Fraction, tuple[Node, ...]]] = {}
        """By problem what the best nest costs and that nest, where it is proved to be the best."""

    def single(self, name: str, method: str) -> TurnSegment:
        """A statement by itself.

        Args:
            name: of the statement.
            method: that looks for its nest.

        Raises:
            InfeasibleError: if it has no mapping.
        """
        alone = self.alone.get(name)
        nodes = (Compute(statement=name),) if alone is None else self._nest(NestProblem(alone=alone), method)
        found = None if nodes is None else self._counted((name,), None, None, nodes)
        if found is None:
            read = [access.name for access in self.workload.statement(name).inputs]
            twice = next((tensor for tensor in read if read.count(tensor) > 1), None)
            why = f" that keep {twice} for both reads at a level, or for none" if twice else ""
            raise InfeasibleError(
                f"{name} of {self.workload.title} has no mapping on {self.machine.name} in perfect factors{why}"
            )
        return found

    def together(self, group: TurnGroup, block: GroupBlock, method: str) -> TurnSegment | None:
        """A group cut into blocks; None if a statement finds no place.

        Args:
            group: neighbours.
            block: how they are cut.
            method: that looks for their nests.
        """
        homes = homes_in(self.machine, group, block)
        branches = []
        for problem in problems_of(self.workload, self.machine, group, block):
            nodes = self._nest(problem, method)
            if nodes is None:
                return None
            branches.append(nodes)
            if self.workload.stored_as[problem.name] in dict(group.inner):
                branches += [(Compute(statement=each),) for each in self.tails.get(problem.name, ())]
        around: list[Node] = [*self._keeps(group, block, homes, 0)]
        for depth, (dim, tile) in enumerate(block.loops, 1):
            around += [Loop(dim=dim, tile=tile), *self._keeps(group, block, homes, depth)]
        nodes = (
            *around,
            *(Keep(level=level, tensors=(tensor,)) for tensor, level in group.inner),
            *sequence_of(branches),
        )
        return self._counted(group.names, group, block, nodes)

    def _keeps(self, group: TurnGroup, block: GroupBlock, homes: dict[str, str], depth: int) -> Iterator[Keep]:
        """Keeps behind so many loops, by the name that a tensor has there: a function in place may come behind all."""
        for tensor, around in block.stays:
            if around == depth:
                named = accesses_to(self.workload, group.names, tensor)[0].name
                yield Keep(level=homes[tensor], tensors=(named,))

    def _nest(self, problem: NestProblem, method: str) -> tuple[Node, ...] | None:
        """The nodes of a statement alone; None if it finds no place."""
        key = problem.key, method
        if key not in self.nests:
            self.nests[key] = self._searched(problem, method)
        return self.nests[key]

    def _searched(self, problem: NestProblem, method: str) -> tuple[Node, ...] | None:
        machine = problem.machine(self.machine)
        if machine is None:
            return None
        asked = Question(
            workload=problem.alone,
            machine=machine,
            objective=self.question.objective,
            counting=self.question.counting,
            tiles=TileRule.DIVISORS,
            time_limit=max(1.0, min(self.question.clock.left / 2, self.share * self.question.time_limit)),
            seed=self.question.seed,
        )
        found = mapped(asked, (method, FINAL))
        if found is None:
            return None
        nodes = branch_of(found[0], problem.alone, machine, tuple(dict(problem.homes)))
        if found[1] is not None:
            self.shown[problem.key] = found[1], nodes
        return nodes

    def _counted(
        self, names: tuple[str, ...], group: TurnGroup | None, block: GroupBlock | None, nodes: tuple[Node, ...]
    ) -> TurnSegment | None:
        """A segment with what it costs, counted as a chain of its own; None if it does not fit."""
        count = self._count_of(names, group, nodes)
        if count is None:
            return None
        inside = dict(group.inner) if group else {}
        behind = [name for name in names if self.workload.stored_as[name] not in inside]
        rows = (*count.rows, *(row for name in behind for row in self._rows_behind(name)))
        return TurnSegment(names=names, group=group, block=block, nodes=nodes, rows=rows)

    def _rows_behind(self, name: str) -> Iterator[TurnCost]:
        """What functions of rows cost that are applied in place, in the outermost memory, to what a statement makes."""
        for each in self.tails.get(name, ()):
            if is_of_rows(self.workload.statement(each)):
                part, nodes = part_of(self.workload, (each,)), (Compute(statement=each),)
                yield from count_in_turn(MappingTree(workload=part, machine=self.machine, nodes=nodes)).rows

    def _count_of(self, names: tuple[str, ...], group: TurnGroup | None, nodes: tuple[Node, ...]) -> InTurnCount | None:
        inside = {tensor for tensor, _ in group.inner} if group else set()
        handed = [name for name in names if self.workload.stored_as[name] in inside]
        tails = (each for name in handed for each in self.tails.get(name, ()))
        part = part_of(self.workload, (*tails, *names))
        count = count_in_turn(MappingTree(workload=part, machine=self.machine, nodes=nodes), self.question.counting)
        return None if count.broken else count
