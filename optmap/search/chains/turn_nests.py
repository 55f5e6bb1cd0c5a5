"""What the nests of a family cost at least: floors, and what exact searches show beyond them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from optmap.base.errors import InputError
from optmap.bounds.fronts import Corner, Front
from optmap.bounds.mesh_least import least_of
from optmap.machines.accelerator import KeepRule
from optmap.machines.fabric import fabric_of
from optmap.machines.given import keeping, with_given
from optmap.machines.machine import Machine
from optmap.mappings.levels import Mapping as NestMapping
from optmap.mappings.nest import mapping_of
from optmap.mappings.nodes import Node
from optmap.mappings.parts import branch_of
from optmap.search.accelerators.arrange import arranged
from optmap.search.accelerators.wires import without_wires
from optmap.search.chains.turn_objectives import FamilyObjective
from optmap.search.chains.turn_problems import NestProblem, half_kept
from optmap.search.exact.frame import NOTHING, WHOLE
from optmap.search.exact.search import search_nest
from optmap.search.found import SAME
from optmap.search.leasts import LeastNest
from optmap.search.question import Question


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
        self.floors: dict[object, Corner | None] = {}
        self.lines: dict[object, dict[Fraction, LeastNest]] = {}
        self.fronts: dict[object, Front] = {}
        self.nests: dict[object, tuple[Node, ...]] = {}
        self.evaluations = 0

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
        if key not in self.fronts:
            lines = self.lines.get(key, {})
            self.fronts[key] = Front(*floor, tuple((price, line.least) for price, line in lines.items()))
        return self.fronts[key]

    def nest(self, problem: NestProblem, price: Fraction) -> tuple[Node, ...] | None:
        """The best nest at a price of cycles, if it is known."""
        return self.nests.get((self._key(problem), price))

    def search(self, problem: NestProblem, price: Fraction, limit: Fraction) -> bool:
        """Whether the exact search ended: with the best nest, or with none below a limit.

        Args:
            problem: the nest that is looked for.
            price: of a cycle, in pJ.
            limit: of what the nest costs at that price.

        Raises:
            InputError: for what it cannot count.
        """
        machine = problem.machine(self.machine)
        if machine is None:
            raise InputError(f"{problem.name} finds no room on {self.machine.name}")
        found = self._shown(problem, machine, price, limit)
        self._note(problem, price, found.least)
        if found.ended and found.mapping is not None:
            nodes = branch_of(found.mapping, problem.alone, machine, tuple(dict(problem.homes)))
            self.nests[self._key(problem), price] = nodes
        return found.ended

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
            begun=problem.begun_part,
            cycle_pj=price,
        )
        self.evaluations += found.evaluations
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
        for rule in (KeepRule.KEPT, KeepRule.REFUSED):
            ruled = keeping(machine, problem.alone, *half, rule)
            part = self._shown(problem, ruled, price, limit)
            leasts.append(part.least)
            ended = ended and part.ended
            if part.mapping is not None:
                best, limit = part.mapping, part.least
        return _Shown(max(least, min(leasts)), best, ended)

    def _floor(self, problem: NestProblem) -> Corner | None:
        key = problem.key
        if key not in self.floors:
            same = problem.name, problem.alone.sizes, problem.homes
            if problem.machine(self.machine) is None:
                self.floors[key] = None
            elif same in self.floors:
                self.floors[key] = self.floors[same]
            else:
                given = with_given(self.machine, problem.alone, dict(problem.homes))
                least = None if given is None else least_of(fabric_of(problem.alone, given), {})
                value = None
                if least is not None:
                    value = self.objective.ends(least.energy_pj, least.cycles, least.port_cycles)
                self.floors[key] = self.floors[same] = value
        return self.floors[key]

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
        self.fronts.pop(key, None)
