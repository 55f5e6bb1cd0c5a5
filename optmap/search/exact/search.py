"""The proven optimum of a mapping on an accelerator: passes with rising cutoffs until nothing is left.

A pass keeps every label whose bound is below its cutoff, so what it leaves out costs the cutoff or more. The first
pass goes on with the most promising labels only; it gives an incumbent. Then the cutoff rises from the root's bound;
a pass that finds a mapping has found the least one, and one that finds none has proved that all cost at least its
cutoff. No cutoff goes beyond the incumbent.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

from optmap.base.clock import Clock
from optmap.base.errors import CheckError
from optmap.base.texts import several
from optmap.count.meshes.count import count_nest
from optmap.count.meshes.policy import NestPolicy
from optmap.count.meshes.results import SpatialCost
from optmap.machines.fabric import Fabric
from optmap.mappings.nest import Nest
from optmap.questions.options import Merit
from optmap.search.curve import Improvement
from optmap.search.exact.frame import NOTHING, SLACK, WHOLE, ExactFrame
from optmap.search.exact.passes import Machinery, PassTally
from optmap.symbolic.numbers import prime_factors

RISES = (0.003, 0.01, 0.02, 0.04, 0.08, 0.16, 0.3)
"""How far above what is proved the cutoff of each pass is; the last for all further ones."""
BEAMS = (30, 120)
"""Labels per level of the passes that look for an incumbent: before the first cutoff, and if two did not suffice."""
ELSEWHERE = 1_000_000
"""Evaluations after which another search is asked for an incumbent: most problems are solved before."""
SHARE = 0.4
"""Of the time that is left, what a pass for an incumbent may take, and what another search that is asked may."""
STRAIGHT = 1.4
"""Times what is proved at first: below a limit that is no farther away one pass looks for all there is, none before."""
WIDE = 25
"""Prime factors of all extents together from which it is asked before the first pass, which would be a long one."""

Elsewhere = Callable[[Clock], tuple[Nest | None, int]]
"""Another search: a mapping, and how many were judged for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactAnswer:
    """What the exact search hands back."""

    nest: Nest | None
    """The best mapping found."""
    value: float
    """Its merit, from the exact recount; infinite for none."""
    bound: float
    """No mapping of the space is below it."""
    proved: bool
    """Whether the mapping is optimal (up to a relative 1e-9, which floats are trusted for)."""
    evaluations: int
    """Labels and mappings whose cost was computed, by the search that was asked for an incumbent, too."""
    passes: tuple[PassTally, ...]
    reason: str
    """Why it ended, in words."""
    curve: tuple[Improvement, ...] = ()
    """Every time that it found a better mapping."""


def search_nest(
    fabric: Fabric,
    *,
    merit: Merit,
    counting: NestPolicy,
    clock: Clock,
    progress: Callable[[str], None] | None = None,
    elsewhere: Elsewhere | None = None,
    below: float = float("inf"),
    straight: bool = False,
    begun: Fraction = WHOLE,
    cycle_pj: Fraction = NOTHING,
    dominance: bool = True,
    bounds: bool = True,
) -> ExactAnswer:
    """The best mapping with perfect factors, and the proof.

    Args:
        fabric: machine and workload. Where energy matters its wires must cost nothing (see
            `search.accelerators.wires`).
        merit: what is minimised.
        counting: how words are counted.
        clock: when to stop; the answer then has what was found and proved so far.
        progress: takes a line of text now and then.
        elsewhere: another search, asked once for a mapping to be better than, and how many it judged, if some passes
            prove nothing.
        below: look for mappings with a merit less than this only; without any the answer has none, and this as bound.
        straight: whether one pass looks for all that is below a limit first, where it is near (`STRAIGHT`): the
            shortest way to show that nothing is.
        begun: part of the runs in which the output starts empty (see `ExactFrame`), the merit being of an average run.
        cycle_pj: what each cycle is charged beside the energy, where that is the merit: the least of a weighted sum.
        dominance: off to check the search against itself.
        bounds: off to check the search against itself.

    Raises:
        InputError: for what the search cannot count (see `ExactFrame`).
        CheckError: if a recount contradicts the search.
    """
    started = time.monotonic()
    machinery = Machinery(ExactFrame(fabric, counting, merit, begun, cycle_pj), dominance=dominance, bounds=bounds)
    search = _ExactSearch(
        machinery,
        clock,
        progress or (lambda _: None),
        below=below,
        straight=straight,
        started=started,
        begun=begun,
        cycle_pj=cycle_pj,
        elsewhere=elsewhere,
    )
    return search.run()


class _ExactSearch:
    """One search: the passes so far, the incumbent and the bound."""

    def __init__(
        self,
        machinery: Machinery,
        clock: Clock,
        progress: Callable[[str], None],
        *,
        below: float,
        straight: bool,
        started: float,
        begun: Fraction,
        cycle_pj: Fraction,
        elsewhere: Elsewhere | None,
    ) -> None:
        self.machinery, self.clock, self.progress = machinery, clock, progress
        frame = machinery.frame
        self.fabric, self.merit, self.counting = frame.fabric, frame.merit, frame.counting
        self.bounded = machinery.bounded
        self.passes: list[PassTally] = []
        self.curve: list[Improvement] = []
        self.started = started
        self.begun, self.cycle_pj = begun, cycle_pj
        self.judged = 0
        self.elsewhere = elsewhere
        self.nest: Nest | None = None
        self.value = below
        self.straight = straight
        self.bound = 0.0

    def run(self) -> ExactAnswer:
        """All passes."""
        root = self.machinery.root_bound()
        self.bound = root
        if not self.bounded:
            self._pass(float("inf"))
            return self._answer("every mapping was looked at")
        if sum(len(prime_factors(extent)) for extent in self.fabric.extents) >= WIDE:
            self._ask()
        cutoff = root
        if self.straight and self.value <= STRAIGHT * root and not self.clock.late:
            self._pass(self.value)
        for number in count():
            if number in (0, 2) and self.bound < self.value * (1 - SLACK):
                self._beam(BEAMS[number // 2])
            if self.bound >= self.value * (1 - SLACK):
                break
            if self.clock.late:
                return self._answer("the time was over")
            if self.evaluations >= ELSEWHERE:
                self._ask()
            cutoff = max(cutoff, self.bound) * (1 + RISES[min(number, len(RISES) - 1)])
            self._pass(min(cutoff, self.value) if cutoff else self.value)
        if self.nest is not None:
            return self._answer("nothing can be better")
        return self._answer("no mapping is valid" if self.value == float("inf") else "no mapping is below the limit")

    def _ask(self) -> None:
        """Asks another search, the first time."""
        elsewhere, self.elsewhere = self.elsewhere, None
        if elsewhere is not None:
            self._given(*elsewhere(self._share()))

    @property
    def evaluations(self) -> int:
        """Labels and mappings until now, those of another search among them."""
        return self.judged + sum(each.evaluations for each in self.passes)

    def _given(self, nest: Nest | None, judged: int) -> None:
        """A mapping that the passes did not find is the incumbent if it is valid and better."""
        self.judged += judged
        if nest is None:
            return
        cost = self._count(nest)
        value = self._value(nest, cost)
        if not cost.broken and value < self.value:
            self.nest, self.value = nest, value
            self.curve.append(Improvement(self.evaluations, time.monotonic() - self.started, value))
            self.progress(f"given: best {value:.6g}")

    def _beam(self, width: int) -> None:
        """A pass for an incumbent: it proves nothing, so it may be cut short."""
        clock = self._share()
        self._pass(self.value, width, clock)
        if clock.late:
            self._ask()

    def _share(self) -> Clock:
        """A clock for what proves nothing."""
        return self.clock.share(SHARE)

    def _pass(self, cutoff: float, beam: int | None = None, clock: Clock | None = None) -> None:
        """One pass, and what it proves."""
        tally = self.machinery.run(cutoff, clock or self.clock, beam)
        before = self.evaluations
        for moment, evaluations, value in tally.found:
            if value < self.value * (1 - SLACK):
                self.curve.append(Improvement(before + evaluations, moment - self.started, value))
        self.passes.append(tally)
        if tally.nest is not None:
            self._found(tally, tally.nest)
        if beam is None:
            self.bound = min(self.value, max(self.bound, min(tally.discarded, tally.value)))
        self.progress(
            f"{'beam' if beam else 'cutoff'} {beam or format(cutoff, '.6g')}: "
            f"best {self.value:.6g}, bound {self.bound:.6g}, "
            f"{several(tally.labels, 'label')} ({', '.join(tally.sizes)}), {several(tally.evaluations, 'evaluation')}"
        )

    def _found(self, tally: PassTally, nest: Nest) -> None:
        """Recounts the best mapping of a pass exactly."""
        cost = self._count(nest)
        value = self._value(nest, cost)
        if cost.broken:
            raise CheckError(f"the exact search found a mapping that is not valid: {cost.broken[0]}")
        if abs(value - tally.value) > SLACK * abs(value):
            raise CheckError(f"the exact search counted {tally.value!r}, the recount says {value!r}")
        if value < self.value:
            self.nest, self.value = nest, value

    def _count(self, nest: Nest) -> SpatialCost:
        return count_nest(nest, self.fabric, self.counting)

    def _value(self, nest: Nest, first: SpatialCost) -> float:
        """The merit of an average run, and what its cycles are charged."""
        if self.begun == 1:
            return float(first.merit(self.merit) + self.cycle_pj * first.cycles)
        again = self.counting.count(nest, self.fabric, bias=True)
        merit = self.begun * first.merit(self.merit) + (1 - self.begun) * again.merit(self.merit)
        return float(merit + self.cycle_pj * (self.begun * first.cycles + (1 - self.begun) * again.cycles))

    def _answer(self, reason: str) -> ExactAnswer:
        proved = self.nest is not None and self.bound >= self.value * (1 - SLACK)
        return ExactAnswer(
            nest=self.nest,
            value=self.value,
            bound=self.value if proved else self.bound,
            proved=proved,
            evaluations=self.evaluations,
            passes=tuple(self.passes),
            reason=reason,
            curve=tuple(self.curve),
        )
