"""The best of a declared family of mappings of statements in turn on a mesh, and the proof that it is.

A member says which statements are done together, the loops around them and what stays on chip; what is left is a nest
of each statement, any that is a mapping of it by itself. Energy, cycles, and cycles of ports add up over nests: a
member costs as much as the best nest of each of its statements does, as often as it is done, and what tensors cost that
are brought, or more. Of most members a floor of every nest shows that they are no better than what was found; of the
others the exact search looks for nests that would make them better. Where it finds none, and ends, no member is better.

Energy-delay is the product of two sums. A product is quasi-concave: over all nests that a member may have it is least
where a weighted sum of energy and cycles is, which adds up again. So nests are searched for such sums; what is bounded
of them leaves corners of energy and cycles (`bounds.fronts`), and each next price of a cycle is that of the line which
would leave no corner below the best that was found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import islice

from optmap.bounds.fronts import Front, summed
from optmap.machines.fabric import Fabric
from optmap.mappings.nodes import Node
from optmap.search.accelerators.wires import are_priced
from optmap.search.chains.turn_beside import BesideNests
from optmap.search.chains.turn_members import TurnMember, family_of
from optmap.search.chains.turn_nests import NestLeasts
from optmap.search.chains.turn_objectives import objective_of
from optmap.search.chains.turn_problems import NestProblem, problems_of
from optmap.search.found import SAME
from optmap.search.leasts import FamilyBound
from optmap.search.question import Question

MOST_MEMBERS = 2**12
"""Members of a family that are looked at, each for some milliseconds."""
MOST_SEARCHED = 64
"""Members that floors leave open of which nests are searched, each for some seconds."""
LATE = "the time was over"
OPEN = "what the searches show of nests leaves a gap to what their mappings cost"
WIRED = "wires have prices, which are in no bound"


class FamilySearch:
    """Looks for what is better than a mapping, in a family.

    Args:
        question: of the chain.
        fabrics: of each statement alone.
        counted: from a member and the nests of its statements to what it costs; None if it does not fit.
        shown: per problem what its best nest costs in a run that begins empty, and the nest, where that is proved.
    """

    def __init__(
        self,
        question: Question,
        fabrics: dict[str, Fabric],
        counted: Callable[[TurnMember, dict[object, tuple[Node, ...]]], Fraction | None],
        shown: Mapping[object, tuple[Fraction, tuple[Node, ...]]],
    ) -> None:
        self.question, self.workload, self.machine = question, question.workload, question.machine
        self.fabrics, self.counted = fabrics, counted
        self.objective = objective_of(question.merit)
        self.beside = BesideNests(self.workload, self.machine, fabrics)
        known = shown if self.objective.merit is question.merit else {}
        self.nests = NestLeasts(question, self.objective, known)
        self.best = Fraction(0)

    def run(self, best: Fraction, *, together: bool) -> FamilyBound:
        """What no member costs less than; what is better is counted as it is found.

        Args:
            best: what the best known one costs.
            together: whether there are members that do two statements together.
        """
        self.best = best
        clock = self.question.clock
        family = list(islice(family_of(self.workload, self.fabrics, together=together), MOST_MEMBERS + 1))
        nothing = FamilyBound(together=together, members=len(family), least=Fraction(0), unfinished=LATE)
        if len(family) > MOST_MEMBERS:
            return replace(nothing, unfinished=f"it has more than {MOST_MEMBERS:,} ways to cut and keep")
        ranked: list[tuple[Fraction, int]] = []
        for number, member in enumerate(family):
            if clock.late:
                return nothing
            front = self._front(member)
            if front is not None:
                ranked.append((self.objective.least(front), number))
        ranked.sort()
        better = sum(self._is_better(least) for least, _ in ranked)
        open_ones, unfinished = best, ""
        if better > MOST_SEARCHED:
            ranked, open_ones = [], ranked[0][0]
            unfinished = f"{better:,} ways may be better by floors, and {MOST_SEARCHED:,} are searched at most"
        for place, (least, number) in enumerate(ranked):
            if not self._is_better(least):
                break
            self.question.tell("ways that may be better", place, better)
            if not self._resolved(family[number]):
                unfinished, open_ones = LATE, min(open_ones, *(each for each, _ in ranked[place:]))
                break
            front = self._front(family[number])
            open_ones = open_ones if front is None else min(open_ones, self.objective.least(front))
        if not unfinished and self._is_better(open_ones):
            unfinished = WIRED if are_priced(self.question) else OPEN
        return replace(
            nothing,
            least=min(self.best, open_ones),
            unfinished=unfinished,
            nests=tuple(self.nests.leasts),
            evaluations=self.nests.evaluations,
        )

    def _is_better(self, least: Fraction) -> bool:
        """Whether what costs at least so much may be better than the best."""
        return least < self.best * (1 - Fraction(SAME))

    def _problems(self, member: TurnMember) -> list[NestProblem]:
        return [
            each for group, block in member.segments for each in problems_of(self.workload, self.machine, group, block)
        ]

    def _front(self, member: TurnMember) -> Front | None:
        """What a member costs at least, by floors and by what the exact search has shown; None if it has no room."""
        parts: list[tuple[int, Front]] = []
        for problem in self._problems(member):
            front = self.nests.front(problem)
            if front is None:
                return None
            parts.append((problem.times, front))
        energy, cycles = self.beside.of(member)
        return summed(parts, self.objective.ends(energy, cycles, cycles))

    def _resolved(self, member: TurnMember) -> bool:
        """Whether searches ended; until a member is no better than the best, or nothing more is shown of it."""
        before, front = None, self._front(member)
        while front is not None and front != before and self._is_better(self.objective.least(front)):
            cut = self.objective.cut(front, self.best)
            if cut is None:
                break
            if not self._searched(member, *cut):
                return False
            before, front = front, self._front(member)
        return True

    def _searched(self, member: TurnMember, price: Fraction, limit: Fraction) -> bool:
        """Whether searches ended: none of the member's nests are below a limit together, or its best is counted.

        Args:
            member: a way to cut and keep.
            price: of a cycle, beside the objective of nests.
            limit: of what a mapping costs at that price.
        """
        problems = self._problems(member)
        energy, cycles = self.beside.of(member)
        ends = self.objective.ends(energy, cycles, cycles)
        beside = ends[0] + price * ends[1]
        for problem in problems:
            others = sum((self._least(each, price) for each in problems if each is not problem), Fraction(0))
            own = limit - beside - others
            if self._least(problem, price) >= own:
                return True
            if self.nests.nest(problem, price) is None and not self.nests.search(problem, price, own / problem.times):
                return False
        nests = {problem.key: self.nests.nest(problem, price) for problem in problems}
        known = {key: nodes for key, nodes in nests.items() if nodes is not None}
        if len(known) == len(nests):
            cost = self.counted(member, known)
            self.best = self.best if cost is None else min(self.best, cost)
        return True

    def _least(self, problem: NestProblem, price: Fraction) -> Fraction:
        """What all runs of a nest cost at least at a price of cycles, one without room nothing."""
        front = self.nests.front(problem)
        return Fraction(0) if front is None else problem.times * front.least(price)
