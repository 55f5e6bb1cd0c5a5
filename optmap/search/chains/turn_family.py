"""The best of a declared family of mappings of statements in turn on a mesh, and the proof that it is.

A member says which statements are done together, the loops around them and what stays on chip; what is left is a nest
of each statement, any that is a mapping of it by itself. Where the objective adds up over nests, a member costs as much
as the best nest of each of its statements does, as often as it is done, and what tensors cost that are brought, or
more. Of most members a floor of every nest shows that they are no better than what was found; of the others the exact
search looks for nests that would make them better. Where it finds none, and ends, no member is better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, combinations, islice, permutations, product
from math import prod

from optmap.base.errors import InputError
from optmap.bounds.mesh_least import least_of
from optmap.count.meshes.in_turn import rows_passed
from optmap.count.meshes.passing import Passing, brought
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.given import with_given
from optmap.mappings.nest import mapping_of
from optmap.mappings.nodes import Node
from optmap.mappings.parts import branch_of
from optmap.mappings.turn_parts import RowsPart
from optmap.questions.options import Merit
from optmap.search.chains.blocks import BlockChoice, GroupBlock, TurnGroup, common_levels, stays_inside
from optmap.search.chains.turn_problems import NO_LOOPS, NestProblem, half_kept, homes_in, kept_block, problems_of
from optmap.search.exact.frame import WHOLE, grouped
from optmap.search.exact.search import search_nest
from optmap.search.found import SAME
from optmap.search.leasts import FamilyBound, LeastNest
from optmap.search.question import Question
from optmap.symbolic.numbers import divisors_of
from optmap.workloads.single import is_of_rows, row_reads, touched_alone
from optmap.workloads.workload import Workload

MOST_MEMBERS = 2**12
"""Members of a family that are looked at, each for some milliseconds."""
MOST_SEARCHED = 64
"""Members that floors leave open of which nests are searched, each for some seconds."""
LATE = "the time was over"
HALF_KEPT = "the best nest of a statement keeps a tensor that is read twice for one of both reads, which no tree says"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnMember:
    """What is decided of a mapping before its nests are."""

    segments: tuple[tuple[TurnGroup, GroupBlock], ...]
    """Statements that are done together, and how they are cut."""


def family_of(workload: Workload, fabrics: dict[str, Fabric], *, together: bool) -> Iterator[TurnMember]:
    """Statements one after the other, and two together with what they hand on in one level on chip.

    Args:
        workload: the chain.
        fabrics: of each statement alone that has a nest, in order.
        together: whether there are such as do two together.
    """
    names = tuple(fabrics)
    yield TurnMember(segments=tuple((TurnGroup(names=(name,), inner=()), NO_LOOPS) for name in names))
    tensors = [workload.stored_as[name] for name in names]
    inner = [tensor for tensor in tensors if stays_inside(workload, tensor, names)]
    if not together or len(names) != 2 or len(inner) != 1:
        return
    for level in common_levels(fabrics, workload, names, inner[0]):
        group = TurnGroup(names=names, inner=((inner[0], level),))
        yield from members_of(BlockChoice(workload, group, fabrics))


def members_of(choice: BlockChoice) -> Iterator[TurnMember]:
    """Every way to cut a group that has what it hands on in one level.

    Loops go over dims that all statements have and that subscript what is handed on, in every order, in every number of
    steps that divides; any set of other tensors stays in that level over the innermost loops that do not move them.

    Args:
        choice: the blocks of the group.
    """
    extents, seen = choice.workload.extents, set[tuple[frozenset[object], ...]]()
    able = [tensor for tensor in choice.outer if choice.may_stay(tensor)]
    orders = chain.from_iterable(permutations(choice.dims, size) for size in range(len(choice.dims) + 1))
    for order in orders:
        held = [t for t in able if order and order[-1] not in choice.outer[t][0].dims]
        for tiles in product(*(divisors_of(extents[dim])[:-1] for dim in order)):
            for some in chain.from_iterable(combinations(held, size) for size in range(len(held) + 1)):
                stays = tuple((t, around(order, choice.outer[t][0].dims)) for t in some)
                block = GroupBlock(loops=tuple(zip(order, tiles, strict=True)), stays=stays)
                if block.sort not in seen:
                    seen.add(block.sort)
                    yield TurnMember(segments=((choice.group, block),))


def around(order: tuple[str, ...], dims: Iterable[str]) -> int:
    """How many loops are around a tensor that stays over the innermost ones that do not move it."""
    moving = {*dims}
    return max((number for number, dim in enumerate(order, 1) if dim in moving), default=0)


class FamilySearch:
    """Looks for what is better than a mapping, in a family.

    Args:
        question: of the chain; its objective adds up over nests.
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
        self.fabrics, self.counted, self.shown = fabrics, counted, shown
        self.floors: dict[object, Fraction | None] = {}
        self.leasts: dict[object, LeastNest] = {}
        self.nests: dict[object, tuple[Node, ...]] = {}
        self.evaluations = 0

    def run(self, best: Fraction, *, together: bool) -> FamilyBound:
        """What no member costs less than; what is better is counted as it is found.

        Args:
            best: what the best known one costs.
            together: whether there are members that do two statements together.
        """
        clock = self.question.clock
        family = list(islice(family_of(self.workload, self.fabrics, together=together), MOST_MEMBERS + 1))
        nothing = FamilyBound(together=together, members=len(family), least=Fraction(0), unfinished=LATE)
        if len(family) > MOST_MEMBERS:
            return replace(nothing, unfinished=f"it has more than {MOST_MEMBERS:,} ways to cut and keep")
        ranked: list[tuple[Fraction, int]] = []
        for number, member in enumerate(family):
            if clock.late:
                return nothing
            least = self._least(member)
            if least is not None:
                ranked.append((least, number))
        ranked.sort()
        better = sum(least < best * (1 - Fraction(SAME)) for least, _ in ranked)
        open_ones, unfinished = Fraction(best), ""
        if better > MOST_SEARCHED:
            ranked, open_ones = [], ranked[0][0]
            unfinished = f"{better:,} ways may be better by floors, and {MOST_SEARCHED:,} are searched at most"
        for place, (least, number) in enumerate(ranked):
            if least >= best * (1 - Fraction(SAME)):
                break
            self.question.tell("ways that may be better", place, better)
            found = self._resolve(family[number], best)
            if found is None:
                unfinished = LATE if clock.late else HALF_KEPT
                open_ones = min(open_ones, *(each for each, _ in ranked[place:]))
                break
            proved, cost = found
            best = best if cost is None else min(best, cost)
            open_ones = min(open_ones, proved)
        return replace(
            nothing,
            least=min(best, open_ones),
            unfinished=unfinished,
            nests=tuple(self.leasts.values()),
            evaluations=self.evaluations,
        )

    def _problems(self, member: TurnMember) -> list[NestProblem]:
        return [
            each for group, block in member.segments for each in problems_of(self.workload, self.machine, group, block)
        ]

    def _least(self, member: TurnMember) -> Fraction | None:
        """What a member costs at least, by floors and by what the exact search has shown; None if it has no room."""
        total = self._beside(member)
        for problem in self._problems(member):
            least = self._least_of(problem)
            if least is None:
                return None
            total += problem.times * least
        return total

    def _least_of(self, problem: NestProblem) -> Fraction | None:
        """What one run of a nest costs at least; None if there is no room."""
        floor = self._floor(problem)
        if problem.key in self.shown and self._begun(problem) == 1 and self._key(problem) not in self.nests:
            least, self.nests[self._key(problem)] = self.shown[problem.key]
            self._note(problem, least)
        known = self.leasts.get(self._key(problem))
        return floor if known is None or floor is None else max(floor, known.least)

    def _floor(self, problem: NestProblem) -> Fraction | None:
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
                value = None if least is None else self._merit(least.energy_pj, least.cycles, least.port_cycles)
                self.floors[key] = self.floors[same] = value
        return self.floors[key]

    def _merit(self, energy: Fraction, cycles: int, port_cycles: int) -> Fraction:
        return self.question.merit.of(energy, cycles, port_cycles)

    def _begun(self, problem: NestProblem) -> Fraction:
        """The part of runs whose average the search bounds: all begin empty, where words do not cost the same each."""
        linear = self.question.merit is Merit.ENERGY and not grouped(self.fabrics[problem.name])
        return Fraction(problem.begun, problem.times) if linear else WHOLE

    def _key(self, problem: NestProblem) -> tuple[object, Fraction]:
        return problem.key, self._begun(problem)

    def _beside(self, member: TurnMember) -> Fraction:
        """What is no nest: tensors that are brought to stay, and functions of rows."""
        passed = [*self._moved(member), *self._rows(member)]
        energy = sum((many * each.energy_pj for many, each in passed), Fraction(0))
        cycles = sum(many * each.cycles for many, each in passed)
        return self._merit(energy, cycles, cycles)

    def _moved(self, member: TurnMember) -> Iterator[tuple[int, Passing]]:
        """How often what passes of tensors that are brought to stay."""
        for group, block in member.segments:
            homes = homes_in(self.machine, group, block)
            for tensor, depth in block.stays:
                trips = {d: self.workload.extents[d] // tile for d, tile in block.loops[:depth]}
                fabric, place = self._access(group, tensor)
                kept = kept_block(self.workload, group, block, tensor, homes[tensor])
                names = [memory.name for memory in fabric.memories]
                ends = len(names) - 1, names.index(kept.level)
                times, made = prod(trips.values()), fabric.operands[place].output
                different = prod(many for d, many in trips.items() if d in fabric.workload.tensors[place].dims)
                come, go = brought(fabric, place, ends, kept.elements)
                yield times - (different if made else 0), come
                yield times if made else 0, go

    def _rows(self, member: TurnMember) -> Iterator[tuple[int, Passing]]:
        """How often what passes of functions of rows."""
        stored, extents = self.workload.stored_as, self.workload.extents
        for each in self.workload.statements:
            if not is_of_rows(each):
                continue
            around = next((own for own in member.segments if stored[each.name] in dict(own[0].inner)), None)
            loops = () if around is None else around[1].loops
            homes = {} if around is None else homes_in(self.machine, *around)
            alone = touched_alone(self.workload, each.name, {**extents, **dict(loops)})
            part = RowsPart(
                statement=each.name,
                loops=(),
                workload=alone,
                levels=tuple(homes.get(stored[access.name], self.machine.memory) for access in alone.tensors),
                first=row_reads(each),
                stays=(),
                fits=True,
            )
            times = prod(extents[dim] // tile for dim, tile in loops)
            for passed in rows_passed(part, fabric_of(alone, self.machine)):
                yield times, passed

    def _access(self, group: TurnGroup, tensor: str) -> tuple[Fabric, int]:
        """The first statement of a group that has a tensor, and the number of its access; what is made is made last."""
        stored = self.workload.stored_as
        found = [
            (self.fabrics[name], place)
            for name in group.names
            for place, access in enumerate(self.fabrics[name].workload.tensors)
            if stored[access.name] == tensor
        ]
        return next((each for each in found if each[1] == 0), found[0])

    def _resolve(self, member: TurnMember, best: Fraction) -> tuple[Fraction, Fraction | None] | None:
        """What a member costs at least and what its best nests cost, if that may be below the best; None at the end.

        The second is None where no nests make it better.
        """
        problems, moving = self._problems(member), self._beside(member)
        for problem in problems:
            others = self._sum(each for each in problems if each is not problem)
            limit = (best - moving - others) / problem.times
            if self._sum([problem]) >= problem.times * limit * (1 - Fraction(SAME)):
                return best, None
            if self._key(problem) not in self.nests and not self._searched(problem, limit):
                return None
            if self._key(problem) not in self.nests:
                return best, None
        nests = {problem.key: self.nests[self._key(problem)] for problem in problems}
        return moving + self._sum(problems), self.counted(member, nests)

    def _sum(self, problems: Iterable[NestProblem]) -> Fraction:
        """What nests cost together at least, those without room nothing."""
        return sum((each.times * (self._least_of(each) or Fraction(0)) for each in problems), Fraction(0))

    def _searched(self, problem: NestProblem, limit: Fraction) -> bool:
        """Whether the exact search ended: with the best nest, or with none below a limit.

        Raises:
            InputError: for what it cannot count.
        """
        machine = problem.machine(self.machine)
        if machine is None:
            raise InputError(f"{problem.name} finds no room on {self.machine.name}")
        fabric, begun = fabric_of(problem.alone, machine), self._begun(problem)
        found = search_nest(
            fabric,
            merit=self.question.merit,
            counting=self.question.counting,
            clock=self.question.clock,
            below=float(limit),
            begun=begun,
        )
        self.evaluations += found.evaluations
        least = Fraction(found.bound)
        ended = found.proved or (found.nest is None and least >= limit * (1 - Fraction(SAME)))
        self._note(problem, least)
        if found.proved and found.nest is not None:
            mapping = mapping_of(found.nest, fabric)
            if half_kept(mapping, problem.alone) is not None:
                return False  # no tree says it
            self.nests[self._key(problem)] = branch_of(mapping, problem.alone, machine, tuple(dict(problem.homes)))
        return ended

    def _note(self, problem: NestProblem, least: Fraction) -> None:
        """Keep what was shown of a nest, if it is more than what is known."""
        known, stored = self.leasts.get(self._key(problem)), self.workload.stored_as
        if known is None or known.least < least:
            self.leasts[self._key(problem)] = LeastNest(
                statement=problem.name,
                sizes=problem.alone.sizes,
                homes=tuple(sorted({(stored[tensor], level) for tensor, level in problem.homes})),
                kept=tuple(replace(each, tensor=stored[each.tensor]) for each in problem.kept),
                begun=self._begun(problem),
                least=least,
            )


def additive(question: Question) -> str:
    """Why an objective does not add up over nests that are searched exactly; empty if it does.

    Args:
        question: of a chain on a machine with meshes.
    """
    if question.merit is Merit.EDP:
        return "energy-delay is a product of two sums: no best of the family is proved"
    stores = [level.store for level in question.machine.levels] + [question.machine.outermost]
    wired = any(store is not None and (store.hop_pj or store.router_pj) for store in stores)
    if wired and question.merit is Merit.ENERGY:
        return "wires have prices, which no search bounds: no best of the family is proved"
    return ""
