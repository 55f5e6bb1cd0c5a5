"""The allocation program solved: a proven lower bound over all mappings, next to the best mapping that was met.

The program of `programs.allocation` is a relaxation with exponentials. HiGHS solves it with tangents in their place;
each point that it finds is made a mapping, whose loop orders are tried and which is counted exactly, and adds
tangents. A mapping that was counted under all its loop orders is then excluded, tiles and keeps together. The least
objective of what is left, or the cutoff where nothing is left, bounds every mapping from below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from heapq import heappop, heappush
from math import ceil, exp, inf, isfinite, log

from optmap.base.clock import NO_LIMIT, Clock
from optmap.base.errors import InfeasibleError
from optmap.base.texts import several
from optmap.count.meshes.count import NEST_EXACT, count_nest
from optmap.count.meshes.policy import NestPolicy
from optmap.machines.accelerator import KeepRule
from optmap.machines.fabric import Fabric
from optmap.mappings.nest import MemoryNest, Nest
from optmap.programs.allocation import Allocation
from optmap.questions.options import Merit
from optmap.search.allocation.nest_orders import best_orders
from optmap.solvers.outer import MARGIN, OuterModel
from optmap.solvers.status import Stop

ORDERS = 720
"""Loop orders of one choice of tiles that are all counted; of more, some are."""
RELAXED, TIGHTENED = 25, 6
"""Rounds of tangents of linear relaxations, of the whole and of its parts."""
COARSEST, FINEST = 0.02, 1e-5
"""Relative gap to which HiGHS solves a program, first and at last."""
PROVED = 3 * MARGIN
"""Relative distance of bound and mapping within which the mapping is called the best."""
SLICE = 2.0
"""Seconds that a program gets at least before another part has its turn."""
FAR = 0.5
"""An incumbent that much below the reference of the program asks for a new program around it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationAnswer:
    """What solving the program gave."""

    nest: Nest | None
    """The best mapping met; None if none was."""
    value: Fraction | None
    """Its merit, counted exactly."""
    bound: Fraction
    """No mapping of the space has less; 0 without a bound."""
    proved: bool
    """Whether none has less than `value` by more than the tolerance of the bound."""
    late: bool
    iterations: int
    """Whole-number programs solved."""
    evaluations: int
    """Mappings counted."""


class _Solving:
    """What is known while programs are solved."""

    def __init__(self, fabric: Fabric, merit: Merit, counting: NestPolicy) -> None:
        self.fabric, self.merit, self.counting = fabric, merit, counting
        self.nest: Nest | None = None
        self.value: Fraction | None = None
        self.bound = 0.0
        self.evaluations = 0
        self.iterations = 0

    def price(self, nest: Nest) -> Fraction | None:
        """The merit of a nest, kept if it is the best; None if it is not valid."""
        self.evaluations += 1
        cost = count_nest(nest, self.fabric, self.counting)
        if cost.broken:
            return None
        value = cost.merit(self.merit)
        if self.value is None or value < self.value:
            self.nest, self.value = nest, value
        return value

    def raise_bound(self, bound: float) -> None:
        """A float bound, tolerances taken off; never above the best mapping."""
        if self.merit in (Merit.CYCLES, Merit.PORT_CYCLES) and isfinite(bound):
            bound = ceil(bound)
        self.bound = max(self.bound, bound if self.value is None else min(bound, float(self.value)))

    @property
    def proved(self) -> bool:
        return self.value is not None and self.bound >= float(self.value) * (1 - PROVED)

    def cutoff(self) -> float:
        """Only mappings below this are of interest."""
        assert self.value is not None  # noqa: S101 # asked for only with a mapping
        if self.merit in (Merit.CYCLES, Merit.PORT_CYCLES):
            return float(self.value) - 0.5
        return float(self.value) * (1 - MARGIN)


def solve_allocation(
    fabric: Fabric,
    *,
    merit: Merit = Merit.EDP,
    counting: NestPolicy = NEST_EXACT,
    clock: Clock = NO_LIMIT,
    start: Nest | None = None,
    progress: Callable[[str], None] | None = None,
) -> AllocationAnswer:
    """Solve the allocation program of a fabric.

    Args:
        fabric: machine and workload.
        merit: what is minimised.
        counting: as mappings are counted, and as the program bounds them.
        clock: when to stop; the bound holds then, too.
        start: a mapping to cut off with, such as that of the exact search.
        progress: called with what is being done.

    Raises:
        InputError: for a workload that the program is not for.
        InfeasibleError: if it has no point.
        SolverUnavailableError: without HiGHS.
    """
    state = _Solving(fabric, merit, counting)
    if start is not None:
        state.price(start)
    reference = float(state.value) if state.value is not None else _scale(state)
    late = False
    while not state.proved and not late:
        done = _around(state, max(reference, 1e-9), clock, progress or (lambda text: None))
        late = clock.late
        if done:
            break
        reference = float(state.value or 1)
    return AllocationAnswer(
        nest=state.nest,
        value=state.value,
        bound=Fraction(state.bound),
        proved=state.proved,
        late=late and not state.proved,
        iterations=state.iterations,
        evaluations=state.evaluations,
    )


def root_bound(fabric: Fabric, *, merit: Merit, counting: NestPolicy, clock: Clock = NO_LIMIT) -> float:
    """The linear relaxation of the allocation program, in the unit of the merit: a first lower bound.

    Raises:
        InputError: for a workload that the program is not for.
        InfeasibleError: if it has no point.
        SolverUnavailableError: without HiGHS.
    """
    reference = max(_scale(_Solving(fabric, merit, counting)), 1e-9)
    made = Allocation(fabric=fabric, merit=merit, counting=counting, reference=reference)
    found = OuterModel(made.built[0], made.curves).relax(rounds=RELAXED, clock=clock)
    if found == inf:
        raise InfeasibleError(f"no mapping with perfect factors fits {fabric.machine.name}")
    return reference * (exp(found) if made.is_log else max(found, 0.0))


def _scale(state: _Solving) -> float:
    """Merit of a mapping that has all loops outermost: a reference where no valid mapping is known."""
    fabric = state.fabric
    still = (1,) * len(fabric.dims)
    keeps = [tuple(keep is not KeepRule.REFUSED for keep in memory.keeps) for memory in fabric.memories]
    inner = [MemoryNest(x=still, y=still, temporal=(), keeps=kept) for kept in keeps]
    loops = tuple((dim, extent) for dim, extent in enumerate(fabric.extents) if extent > 1)
    nest = Nest(memories=(*inner[:-1], replace(inner[-1], temporal=loops)))
    state.price(nest)
    return float(count_nest(nest, fabric, state.counting).merit(state.merit))


def _around(state: _Solving, reference: float, clock: Clock, progress: Callable[[str], None]) -> bool:
    """Solve the program scaled by a reference until it is proved, late, or a much better mapping asks for another."""
    made = Allocation(fabric=state.fabric, merit=state.merit, counting=state.counting, reference=reference)
    tree = _Tree(state, made, clock)
    while not state.proved and not clock.late and tree.step():
        found = "none" if state.value is None else f"{float(state.value):.6g}"
        progress(f"allocation: {several(state.iterations, 'program')}, bound {state.bound:.6g}, found {found}")
        if state.value is not None and float(state.value) < FAR * reference:
            return False
    return True


@dataclass(order=True, slots=True)
class _Box:
    """Part of the mapspace: some memories keep an operand, or do not."""

    bound: float
    """On the objective of the program, as the solver says it."""
    number: int
    fixed: dict[str, float] = field(compare=False)
    gap: float = field(default=COARSEST, compare=False)
    """At which the solver may stop."""


class _Tree:
    """Best first over who keeps what: linear relaxations where that is open, whole-number programs where it is not.

    Switched terms are weak in a linear relaxation, and what is kept switches most of them.
    """

    def __init__(self, state: _Solving, made: Allocation, clock: Clock) -> None:
        self.state, self.made, self.clock = state, made, clock
        self.outer = OuterModel(made.built[0], made.curves)
        self.cut: Fraction | None = None
        self.closed = inf
        """Least bound of the parts that are looked at no more."""
        self.count = 0
        self.open: list[_Box] = []
        self._cut_off()
        self._add({}, self._relaxed({}, RELAXED))

    def step(self) -> bool:
        """Look at the part with the least bound; whether there was one."""
        if not self.open:
            self._tell()
            return False
        box = heappop(self.open)
        undecided = next((name for name in self.made.switches if name not in box.fixed), None)
        if undecided is None:
            self._whole(box)
        else:
            for value in (1.0, 0.0):
                fixed = {**box.fixed, undecided: value}
                self._add(fixed, max(box.bound, self._relaxed(fixed, TIGHTENED)))
        self._tell()
        return True

    def _relaxed(self, fixed: dict[str, float], rounds: int) -> float:
        self.outer.restrict(fixed, self.made.switches)
        return self.outer.relax(rounds=rounds, clock=self.clock)

    def _add(self, fixed: dict[str, float], bound: float, gap: float = COARSEST) -> None:
        if bound < inf:
            self.count += 1
            heappush(self.open, _Box(bound, self.count, fixed, gap))

    def _whole(self, box: _Box) -> None:
        """Solve one program for some time, and learn from its point."""
        state = self.state
        self.outer.restrict(box.fixed, self.made.switches)
        left = self.clock.left
        point = self.outer.solve(gap=box.gap, seconds=min(left, max(SLICE, left / 8)), start=self._hint(box))
        state.iterations += 1
        bound = max(box.bound, point.bound)
        if point.stop is Stop.INFEASIBLE:
            return
        learned = point.values is not None and self._learn(point.values)
        gap = box.gap if learned or point.stop is not Stop.OPTIMAL else box.gap / 10
        if gap < FINEST or point.stop is Stop.ERROR:
            self.closed = min(self.closed, bound)
        else:
            self._add(box.fixed, bound, gap)

    def _hint(self, box: _Box) -> dict[str, float] | None:
        """The best mapping as a start, where it is in a part."""
        if self.state.nest is None:
            return None
        names = set(self.made.chosen(self.state.nest))
        if any((name in names) != bool(value) for name, value in box.fixed.items()):
            return None
        return dict.fromkeys(names, 1.0)

    def _learn(self, values: dict[str, float]) -> bool:
        """Count the mapping of a point, add tangents there, and exclude it once all its orders are counted."""
        state, made = self.state, self.made
        nest = made.nest(values)
        _, _, every = best_orders(nest, state.price, most=ORDERS, ordered=bool(state.fabric.memories[0].order))
        added = self.outer.tighten(values)
        if every:
            names = made.chosen(nest)
            others = {name for name in made.switches if name not in names}
            row = {**dict.fromkeys(names, 1.0), **dict.fromkeys(others, -1.0)}
            self.outer.add_row(row, -inf, len(names) - 1)
        self._cut_off()
        return bool(added) or every

    def _cut_off(self) -> None:
        """Nothing but better mappings from here on."""
        if self.state.value != self.cut:
            self.cut = self.state.value
            self.outer.cut_off(self._inward(self.state.cutoff()))

    def _inward(self, value: float) -> float:
        """A value of the merit as an objective of the program."""
        part = max(value, 1e-300) / self.made.reference
        return log(part) if self.made.is_log else part

    def _tell(self) -> None:
        """The least bound of all parts, tolerances taken off; where nothing is left, what was cut off at."""
        least = min(self.closed, self.open[0].bound if self.open else inf)
        if least == -inf:
            return
        if least == inf and self.state.value is None:
            raise InfeasibleError(f"no mapping with perfect factors fits {self.state.fabric.machine.name}")
        limit = self.state.cutoff() * (1 - MARGIN) if self.state.value is not None else inf
        part = exp(least) if self.made.is_log and least < inf else least
        self.state.raise_bound(min(part * self.made.reference * (1 - MARGIN), limit))
