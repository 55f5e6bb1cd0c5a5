"""What all runs of a nest cost at least together, however loops around cut the statement: one search for many ways.

**Theorem.** A statement without windows, some of whose tensors are given, is done by a nest as often as loops around it
say. All runs together cost no less, in energy, cycles or cycles of ports, as a literal walk counts, than the best nest
of the whole statement on the same machine, where what is given takes only the room of its tile and loops at the
outermost memory obey no rule.

*Proof.* Put each loop around into the nest's own loop over the same dim at the outermost memory, or outside of all of
them where there is none. That is a nest of the whole: tiles of all levels are as before, what is given takes no more
room than the block that stayed, and of the loops only those at the outermost memory have changed, which obey no rule.
A tensor comes anew to a level with each trip of all loops outside, divided by the trips of the innermost ones that do
not move it. All these are still there: the loop that moves it, and which is the first one outside of them, is one of
the nest's own, and then all inside of it are and have as many trips or more; or it is one around that has none of its
dim inside, and stays outside of all others. So no tensor comes more often. First touches of a result are as many: each
element begins empty in one run, and goes on with partial sums in all others. What is rounded up per run, accesses and
cycles, is no less if it is rounded up together; the slowest port of all runs is no slower than the slowest of each. QED
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from optmap.machines.accelerator import Store
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.given import with_homes
from optmap.questions.options import Merit
from optmap.search.accelerators.wires import without_wires
from optmap.search.chains.turn_problems import NestProblem
from optmap.search.exact.search import search_nest
from optmap.search.question import Question
from optmap.workloads.single import product_alone

ROOM = Fraction(51, 50)
"""Times a limit that some way asks for: what the whole is searched below, as other ways ask for a little more."""
WAITING = 2_000_000
"""Evaluations of searches for nests of single ways before the whole is searched, which takes as many or less."""


class WholeNests:
    """Leasts of whole statements, found once for all ways to cut them that give the same tensors.

    Args:
        question: of the chain.
        merit: what nests are searched for.
    """

    def __init__(self, question: Question, merit: Merit) -> None:
        self.question, self.merit = question, merit
        self.evaluations = 0
        self._fabrics: dict[object, Fabric] = {}
        self._leasts: dict[object, Fraction] = {}
        self._found = set[object]()
        """Of which the best nest is known, so that nothing more can be."""
        self._waited: dict[object, int] = {}

    def known(self, problem: NestProblem, price: Fraction) -> Fraction:
        """What one of the runs costs at least on average, by what was searched; nothing where cycles have a price.

        Each way has prices of its own, so that there a search of the whole would serve one way alone.
        """
        least = Fraction(0) if price else self._leasts.get((problem.name, problem.homes), Fraction(0))
        return least / problem.times

    def least(self, problem: NestProblem, price: Fraction, limit: Fraction) -> Fraction:
        """The same, after a search if several nests of the statement were asked for of which less is known.

        Args:
            problem: a nest.
            price: of a cycle, in pJ.
            limit: what a run has to cost at least to be of no use.
        """
        shared = problem.name, problem.homes
        least = self.known(problem, price)
        wanted = least < limit and not price and shared not in self._found and self._holds(problem)
        if wanted and self._waited.get(shared, 0) >= WAITING:
            self._waited[shared] = 0
            self._search(problem, limit * problem.times * ROOM)
        return self.known(problem, price)

    def waited(self, problem: NestProblem, evaluations: int) -> None:
        """Take note of what a search for one of the nests took."""
        shared = problem.name, problem.homes
        self._waited[shared] = self._waited.get(shared, 0) + evaluations

    def _holds(self, problem: NestProblem) -> bool:
        """Whether the theorem says anything of a nest."""
        plain = all(len(axis.terms) <= 1 for access in problem.alone.tensors for axis in access.axes)
        return plain and problem.times > 1 and self.question.counting.walked

    def _search(self, problem: NestProblem, limit: Fraction) -> None:
        """Looks for the best nest of the whole below a limit, and keeps what all of them cost at least."""
        found = search_nest(
            self._fabric(problem),
            merit=self.merit,
            counting=self.question.counting,
            clock=self.question.clock,
            below=float(limit),
            straight=True,
        )
        self.evaluations += found.evaluations
        key = problem.name, problem.homes
        self._leasts[key] = max(Fraction(found.bound), self._leasts.get(key, Fraction(0)))
        if found.proved:
            self._found.add(key)

    def _fabric(self, problem: NestProblem) -> Fabric:
        """The machine as the whole statement sees it, some tensors given, with no rule of the outermost memory."""
        shared = problem.name, problem.homes
        if shared not in self._fabrics:
            whole = product_alone(self.question.workload, problem.name)
            machine = self.question.machine
            free = replace(machine.outermost or Store(), factors=(), order=())
            ruled = with_homes(replace(machine, outermost=free), whole, dict(problem.homes))
            self._fabrics[shared] = fabric_of(whole, without_wires(ruled))
        return self._fabrics[shared]
