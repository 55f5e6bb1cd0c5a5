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
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice

from optmap.bounds.fronts import Corner, Front, summed
from optmap.machines.fabric import Fabric
from optmap.mappings.nodes import Node
from optmap.search.accelerators.wires import are_priced
from optmap.search.chains.turn_beside import BesideNests
from optmap.search.chains.turn_members import TurnMember, family_of
from optmap.search.chains.turn_nests import TINY, NestLeasts
from optmap.search.chains.turn_objectives import objective_of
from optmap.search.chains.turn_problems import NestProblem, problems_of
from optmap.search.found import SAME
from optmap.search.leasts import FamilyBound
from optmap.search.question import Question

MOST_MEMBERS = 2**13
"""Members of a family that are looked at, each for some milliseconds."""
NEAR = Fraction(1001, 1000)
"""Times what is shown of a nest: a share that is less is as good as reached."""
QUICKER = 4
"""Times what a search takes: another one that takes more waits for it."""
LATE = "the time was over"
OPEN = "what the searches show of nests leaves a gap to what their mappings cost"
WIRED = "wires have prices, which are in no bound"


@dataclass(frozen=True, slots=True)
class _Way:
    """A member, and of what its cost is made up."""

    member: TurnMember
    problems: tuple[NestProblem, ...]
    beside: Corner
    """What passes beside the nests."""


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
        ranked: list[tuple[Fraction, int, _Way]] = []
        for number, member in enumerate(family):
            if clock.late:
                return nothing
            way = self._way(member)
            front = self._front(way)
            if front is not None:
                ranked.append((self.objective.least(front), number, way))
        ranked.sort(key=lambda each: each[:2])
        better = sum(self._is_better(least) for least, *_ in ranked)
        open_ones, unfinished = best, ""
        for place, (least, _, way) in enumerate(ranked):
            if not self._is_better(least):
                break
            self.question.tell("ways that may be better", place, better)
            if not self._resolved(way):
                open_ones = min(open_ones, least)
                unfinished = f"{LATE}: {place:,} of {better:,} ways were searched that may be better by floors"
                break
            front = self._front(way)
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

    def _way(self, member: TurnMember) -> _Way:
        """A member with its nests, and what passes by itself."""
        problems = (
            p for group, block in member.segments for p in problems_of(self.workload, self.machine, group, block)
        )
        energy, cycles = self.beside.of(member)
        return _Way(member, tuple(problems), self.objective.ends(energy, cycles, cycles))

    def _front(self, way: _Way) -> Front | None:
        """What a member costs at least, by floors and by what the exact search has shown; None if it has no room."""
        parts: list[tuple[int, Front]] = []
        for problem in way.problems:
            front = self.nests.front(problem)
            if front is None:
                return None
            parts.append((problem.times, front))
        return summed(parts, way.beside)

    def _resolved(self, way: _Way) -> bool:
        """Whether searches ended; until a member is no better than the best, or nothing more is shown of it."""
        before, front = None, self._front(way)
        while front is not None and front != before and self._is_better(self.objective.least(front)):
            cut = self.objective.cut(front, self.best)
            if cut is None:
                break
            if not self._searched(way, *cut):
                return False
            before, front = front, self._front(way)
        return True

    def _searched(self, way: _Way, price: Fraction, limit: Fraction) -> bool:
        """Whether searches ended: none of the member's nests are below a limit together, or its best is counted.

        Args:
            way: to cut and keep.
            price: of a cycle, beside the objective of nests.
            limit: of what a mapping costs at that price.
        """
        left = limit - way.beside[0] - price * way.beside[1]
        for each in way.problems:
            self.nests.inherit(each, price)
        while sum((self._least(each, price) for each in way.problems), Fraction(0)) < left:
            nests = {each.key: self.nests.nest(each, price) for each in way.problems}
            known = {key: nodes for key, nodes in nests.items() if nodes is not None}
            if len(known) == len(nests):
                cost = self.counted(way.member, known)
                self.best = self.best if cost is None else min(self.best, cost)
                return True
            problem, share = self._next(way, price, left)
            if not self.nests.search(problem, price, share / problem.times):
                return False
        return True

    def _next(self, way: _Way, price: Fraction, left: Fraction) -> tuple[NestProblem, Fraction]:
        """The nest that is looked for next, and what all its runs have to be below.

        One that is searched much quicker than all others is looked for first, below all that is left for it: what is
        known of it leaves the others less. Else, if no nest is below its share of what is left, the way is no better:
        each has the share that it is likely to reach, as a search is the shorter the less it has to show.

        Args:
            way: to cut and keep, whose nests are at least below what is left for them together.
            price: of a cycle, beside the objective of nests.
            left: for all nests together.
        """
        wanted = [each for each in way.problems if self.nests.nest(each, price) is None]
        leasts = [self._least(each, price) for each in wanted]
        likely = [each.times * self.nests.likely(each, price) for each in wanted]
        for_them = left - sum((self._least(each, price) for each in way.problems if each not in wanted), Fraction(0))
        shares = [for_them * Fraction(float(much / sum(likely))) for much in likely]
        rises = [share / max(least, TINY) for share, least in zip(shares, leasts, strict=True)]
        higher = [number for number, rise in enumerate(rises) if rise > NEAR]
        number = max(range(len(wanted)), key=rises.__getitem__)
        (least_effort, quickest), *others = sorted((self.nests.effort(each), n) for n, each in enumerate(wanted))
        if others and 0 < QUICKER * least_effort < others[0][0]:
            number = quickest
        elif len(higher) > 1:
            number = min(higher, key=rises.__getitem__)
            return wanted[number], Fraction(f"{float(shares[number]):.12g}")
        return wanted[number], for_them - (sum(leasts, Fraction(0)) - leasts[number])

    def _least(self, problem: NestProblem, price: Fraction) -> Fraction:
        """What all runs of a nest cost at least at a price of cycles, one without room nothing."""
        front = self.nests.front(problem)
        return Fraction(0) if front is None else problem.times * front.least(price)
