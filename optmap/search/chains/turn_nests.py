"""What the nests of a family cost at least: floors, and what exact searches show beyond them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from optmap.base.errors import InputError
from optmap.bounds.fronts import Corner, Front
from optmap.bounds.mesh_least import least_of
from optmap.count.meshes.count import count_nest
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.given import kept_or_refused, with_homes, with_kept
from optmap.machines.machine import Machine
from optmap.mappings.levels import Mapping as NestMapping
from optmap.mappings.nest import mapping_of, nest_of
from optmap.mappings.nodes import Node
from optmap.mappings.parts import branch_of
from optmap.search.accelerators.arrange import arranged
from optmap.search.accelerators.wires import without_wires
from optmap.search.chains.turn_objectives import FamilyObjective
from optmap.search.chains.turn_problems import NestProblem, half_kept
from optmap.search.chains.turn_whole import WholeNests
from optmap.search.exact.frame import NOTHING, WHOLE
from optmap.search.exact.search import search_nest
from optmap.search.found import SAME
from optmap.search.leasts import LeastNest
from optmap.search.question import Question

TINY = Fraction(1, 10**9)
"""What takes the place of nothing where it divides."""


@dataclass(frozen=True, slots=True)
class _Shown:
    """What a search showed of a nest."""

    least: Fraction
    mapping: NestMapping | None
    """That costs it; None if the least is the limit, or the time was over."""
    ended: bool


class NestLeasts:
    """What one run of each nest costs at least.

    Args:
        question: of the chain.
        objective: what nests are searched for.
        shown: per problem what its best nest costs in a run that begins empty, and the nest, where that is proved of
            the objective.
    """

    def __init__(
        self,
        question: Question,
        objective: FamilyObjective,
        shown: Mapping[object, tuple[Fraction, tuple[Node, ...]]],
    ) -> None:
        self.question, self.machine, self.stored = question, question.machine, question.workload.stored_as
        self.objective, self.shown = objective, shown
        self.given: dict[object, tuple[Machine, Fabric]] = {}
        self.rooms: dict[object, bool] = {}
        self.floors: dict[object, Corner] = {}
        self.lines: dict[object, dict[Fraction, LeastNest]] = {}
        self.fronts: dict[object, Front] = {}
        self.mappings: dict[object, NestMapping] = {}
        self.nests: dict[object, tuple[Node, ...]] = {}
        self.reached: dict[object, Fraction] = {}
        """Per statement and what is given to it, how many times its floor the best nest cost that was found last."""
        self.usual = Fraction(1)
        """The same of any statement."""
        self.whole = WholeNests(question, objective.merit)
        self.efforts: dict[str, int] = {}
        """Per statement the most evaluations of a search that ended."""
        self.judged = 0

    @property
    def evaluations(self) -> int:
        """Labels and mappings that were judged."""
        return self.judged + self.whole.evaluations

    @property
    def leasts(self) -> Iterator[LeastNest]:
        """All that was shown."""
        return (least for lines in self.lines.values() for least in lines.values())

    def front(self, problem: NestProblem) -> Front | None:
        """What one run costs at least; None if there is no room."""
        floor, key = self._floor(problem), self._key(problem)
        if floor is None:
            return None
        if problem.key in self.shown and problem.begun_part == WHOLE and (key, NOTHING) not in self.nests:
            least, self.nests[key, NOTHING] = self.shown[problem.key]
            self._note(problem, NOTHING, least)
        lines = dict[Fraction, Fraction]()
        for own in (problem.key, problem.bare.key):  # what holds beside less that stays, and of runs that begin empty
            for part in (problem.begun_part, WHOLE):
                for price, line in self.lines.get((own, part), {}).items():
                    lines[price] = max(line.least, lines.get(price, line.least))
        bounds = floor, tuple(lines.items())
        if bounds not in self.fronts:
            self.fronts[bounds] = Front(*floor, bounds[1])
        return self.fronts[bounds]

    def nest(self, problem: NestProblem, price: Fraction) -> tuple[Node, ...] | None:
        """The best nest at a price of cycles, if it is known."""
        return self.nests.get((self._key(problem), price))

    def likely(self, problem: NestProblem, price: Fraction) -> Fraction:
        """What one run is likely to cost at a price of cycles, by what was found with other sizes."""
        times = self.reached.get((problem.name, problem.homes), self.usual)
        return max(times * self._floored(problem, price), TINY)

    def effort(self, problem: NestProblem) -> int:
        """Evaluations that a search for a nest may take, by those of other sizes; 0 where nothing is known."""
        return self.efforts.get(problem.name, 0)

    def inherit(self, problem: NestProblem, price: Fraction) -> None:
        """Note of a nest what is known of all its runs together."""
        bare, least = problem.bare, self.whole.known(problem, price)
        if least > self._least(bare, price):
            self._note(bare, price, least)

    def search(self, problem: NestProblem, price: Fraction, limit: Fraction) -> bool:
        """Whether exact searches ended: with the best nest, or with none below a limit.

        It is looked for beside nothing that stays of other tensors first: many ways to cut and keep have that search in
        common, and the best nest there is the best one here, too, if it has room here.

        Args:
            problem: the nest that is looked for.
            price: of a cycle, in pJ.
            limit: of what the nest costs at that price.

        Raises:
            InputError: for what it cannot count.
        """
        for asked in (problem.bare, problem):
            if self.nest(problem, price) is not None or self._least(problem, price) >= limit:
                break
            if not self._ended(asked, price, limit):
                return False
            mapping = self.mappings.get((self._key(asked), price))
            if mapping is not None and self._fits(mapping, problem):
                nodes = branch_of(mapping, problem.alone, self._machine(problem), tuple(dict(problem.homes)))
                self.nests[self._key(problem), price] = nodes
        return True

    def _ended(self, problem: NestProblem, price: Fraction, limit: Fraction) -> bool:
        """Whether it is known of a nest beside what stays which is the best, or that none is below a limit."""
        key = self._key(problem), price
        if key in self.mappings or self._least(problem, price) >= limit:
            return True
        if self.whole.least(problem, price, limit) >= limit:
            self.inherit(problem, price)
            return True
        before = self.judged
        found = self._shown(problem, self._machine(problem), price, limit)
        self.whole.waited(problem, self.judged - before)
        self.efforts[problem.name] = max(self.effort(problem), self.judged - before)
        self._note(problem, price, found.least)
        if found.ended and found.mapping is not None:
            self.mappings[key] = found.mapping
            self.usual = found.least / max(self._floored(problem, price), TINY)
            self.reached[problem.name, problem.homes] = self.usual
        return found.ended

    def _fits(self, mapping: NestMapping, problem: NestProblem) -> bool:
        """Whether a nest has room beside all that stays."""
        fabric = fabric_of(problem.alone, self._machine(problem))
        return not count_nest(nest_of(mapping, fabric), fabric, self.question.counting).broken

    def _least(self, problem: NestProblem, price: Fraction) -> Fraction:
        """What one run costs at least at a price of cycles; nothing where there is no room."""
        front = self.front(problem)
        return Fraction(0) if front is None else front.least(price)

    def _floored(self, problem: NestProblem, price: Fraction) -> Fraction:
        """What one run costs at least at a price of cycles, by its floor alone."""
        floor = self._floor(problem)
        return Fraction(0) if floor is None else floor[0] + price * floor[1]

    def _machine(self, problem: NestProblem) -> Machine:
        """The machine with what is kept as rules."""
        machine = problem.machine(self.machine)
        if machine is None:
            raise InputError(f"{problem.name} finds no room on {self.machine.name}")
        return machine

    def _shown(self, problem: NestProblem, machine: Machine, price: Fraction, limit: Fraction) -> _Shown:
        """What the exact search shows of nests that a tree can say.

        Where the best of all keeps a tensor that is read twice for one of both reads, those that keep it for both there
        and those that keep it for none are searched, which are all the others. Wires cost nothing in the search.
        """
        fabric = fabric_of(problem.alone, without_wires(machine))
        found = search_nest(
            fabric,
            merit=self.objective.merit,
            counting=self.question.counting,
            clock=self.question.clock,
            below=float(limit),
            straight=True,
            begun=problem.begun_part,
            cycle_pj=price,
        )
        self.judged += found.evaluations
        least = Fraction(found.bound)
        if found.nest is None:  # a bound is trusted to `SAME`, as that of the best is
            ended = found.bound >= float(limit) * (1 - SAME)
            return _Shown(max(least, limit) if ended else least, None, ended)
        wired = fabric_of(problem.alone, machine)
        mapping = mapping_of(arranged(found.nest, wired, self.question.counting, self.question.clock), wired)
        half = half_kept(mapping, problem.alone)
        if half is None:
            return _Shown(least, mapping if found.proved else None, found.proved)
        best: NestMapping | None = None
        leasts, ended = list[Fraction](), True
        for ruled in kept_or_refused(machine, problem.alone, *half):
            part = self._shown(problem, ruled, price, limit)
            leasts.append(part.least)
            ended = ended and part.ended
            if part.mapping is not None:
                best, limit = part.mapping, part.least
        return _Shown(max(least, min(leasts, default=limit)), best, ended)

    def _floor(self, problem: NestProblem) -> Corner | None:
        """What one run costs at least, whatever stays meanwhile; None if there is no room."""
        shared, homes = (problem.name, problem.homes), dict(problem.homes)
        if shared not in self.given:
            ruled = with_homes(self.machine, problem.alone, homes)
            self.given[shared] = ruled, fabric_of(problem.alone, ruled)
        ruled, fabric = self.given[shared]
        if problem.key not in self.rooms:
            self.rooms[problem.key] = with_kept(ruled, problem.alone, homes, problem.kept) is not None
        if not self.rooms[problem.key]:
            return None
        same = *shared, problem.alone.sizes
        if same not in self.floors:
            least = least_of(fabric.resized(problem.alone), {})
            self.floors[same] = self.objective.ends(least.energy_pj, least.cycles, least.port_cycles)
        return self.floors[same]

    def _key(self, problem: NestProblem) -> object:
        return problem.key, problem.begun_part

    def _note(self, problem: NestProblem, price: Fraction, least: Fraction) -> None:
        """Keep what was shown of a nest, if it is more than what is known."""
        key = self._key(problem)
        lines = self.lines.setdefault(key, {})
        if price in lines and lines[price].least >= least:
            return
        lines[price] = LeastNest(
            statement=problem.name,
            sizes=problem.alone.sizes,
            homes=tuple(sorted({(self.stored[tensor], level) for tensor, level in problem.homes})),
            kept=tuple(replace(each, tensor=self.stored[each.tensor]) for each in problem.kept),
            begun=problem.begun_part,
            cycle_pj=price,
            least=least,
        )
