"""The convex program behind an answer: exported, changed, solved elsewhere, and read back.

It is the program that the relaxation solved last and best: the same rows, with names. Whoever adds
a constraint to its Pyomo model solves a restriction of it; whole tiles next to the new point are
checked and counted like those of any answer.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import exp
from typing import Any

from optmap.answers.proofs.beside import with_bound
from optmap.base.clock import Clock
from optmap.base.errors import LimitError
from optmap.base.shown import brief
from optmap.programs.export import export_program
from optmap.programs.posynomial import GeometricProgram
from optmap.programs.program import Program
from optmap.programs.tile_plan import Scale
from optmap.search.answer import assemble
from optmap.search.papers.mopt import handed_in
from optmap.search.question import Question
from optmap.search.relax.level_programs import program_of
from optmap.search.relax.tree import TOLERANCE, RelaxationResult, relax
from optmap.search.result import TileAnswer
from optmap.search.space.search_space import Setting, setting_of
from optmap.search.whole.whole_tiles import Tiles, whole_tiles
from optmap.solvers.status import Solution


@dataclass(frozen=True, kw_only=True)
class ProvedProgram:
    """The best convex program of a relaxation."""

    question: Question
    setting: Setting
    relaxation: RelaxationResult

    def __str__(self) -> str:
        return self.export()

    def __repr__(self) -> str:
        return brief(self, ("question.workload", "question.machine", "value", "proved"))

    @property
    def value(self) -> float:
        """Least cost over real tiles, in the machine's unit: largest traffic over bandwidth."""
        return self.relaxation.best.value

    @property
    def proved(self) -> bool:
        """Whether no other loop order and no other filter extents can do with less than `value`."""
        return self.relaxation.proved

    @property
    def permutations(self) -> tuple[tuple[str, ...], ...]:
        """Loop order per level, inner level first, outermost loop first."""
        return self.relaxation.best.permutations

    @property
    def tiles(self) -> tuple[dict[str, float], ...]:
        """Real tile per level at the optimum, inner level first."""
        return self.relaxation.best.tiles

    @cached_property
    def rows(self) -> GeometricProgram:
        """The program as named rows of coefficients and exponents."""
        return program_of(self.setting, self.relaxation.best.node)

    def program(self, scale: Scale = Scale.LOG) -> Program:
        """The program with its exports, in logarithms for solvers or in sizes for reading."""
        from optmap.programs.geometric_model import geometric_program

        workload, machine = self.setting.workload, self.setting.machine
        sizes = {
            f"T[{level.name},{d}]": tile[d]
            for level, tile in zip(machine.levels, self.tiles, strict=True)
            for d in workload.dims
        }
        return geometric_program(
            self.rows,
            name=f"tile program of {workload.title} on {machine.name}, loop orders {self._orders()}",
            unit=machine.cost_unit,
            scale=scale,
            fixed={q: size for q, size in sizes.items() if q not in self.rows.names},
            notes=(self._note(),),
        )

    def pyomo(self) -> Any:
        """A new Pyomo model, convex: variables `t` (logarithms), expressions `T = exp(t)`; change it as you like."""
        return self.program().pyomo()

    def export(self, format: str = "text") -> str:
        """The program as text.

        Args:
            format: `text` or `latex` (sizes as they are), or `nl` (logarithms).

        Raises:
            InputError: for another format.
        """
        return export_program(self.program(Scale.LOG if format == "nl" else Scale.RAW), format)

    def solve(self, model: Any = None) -> Solution:
        """Solve the model with Ipopt; its variables get the point.

        Args:
            model: what `pyomo` returned, with changes; None for the program as it is.

        Returns:
            Objective and proved bound in the unit of `value`.

        Raises:
            InputError: for a model that is not smooth.
            SolverUnavailableError: without Ipopt, with the install command.
        """
        from optmap.solvers.config import load_config
        from optmap.solvers.ipopt import solve_model, with_objective

        target = self.pyomo() if model is None else model
        found = solve_model(target, options=load_config().options.get("ipopt", {}), load=True)
        return with_objective(found, exp) if self.rows.in_log_z else found

    def read_back(self, point: Any) -> TileAnswer:
        """Whole tiles next to a point, checked and counted exactly.

        Args:
            point: a solved model of `pyomo`, whose added constraints are kept in whole numbers too; or
                a `Solution`; or a value per variable (`t[L1,k]`) or size (`T[L1,k]`).

        Returns:
            An answer like that of `solve`: mapping, exact cost, proved relaxation without the added
            constraints, certified bound and gap.

        Raises:
            InputError: if a value is missing.
            InfeasibleError: if no whole tiles next to the point keep everything.
        """
        from optmap.programs.geometric_model import broken_rows, sizes_of

        begun = time.monotonic()
        sizes = sizes_of(self.rows, point)
        names = [level.name for level in self.setting.machine.levels]
        real = tuple(
            {d: sizes.get(f"T[{name},{d}]", tile[d]) for d in self.setting.workload.dims}
            for name, tile in zip(names, self.tiles, strict=True)
        )
        added = partial(broken_rows, point, self.rows) if hasattr(point, "component_data_objects") else None

        def broken(tiles: Tiles) -> dict[str, float]:
            if added is None:
                return {}
            whole = {f"T[{name},{d}]": float(n) for name, t in zip(names, tiles, strict=True) for d, n in t.items()}
            return added({q: whole[q] for q in self.rows.names})

        orders = [self.setting.order(permutation) for permutation in self.permutations]
        rounded = whole_tiles(self.setting, orders, real, broken)
        found = handed_in(self.question, self.setting, self.relaxation, rounded, bound=self.relaxation.bound)
        note = "tiles read back from a point of the program: roundings of it, not the best of all whole tiles"
        noted = replace(found, notes=(*found.notes, note), space=f"{found.space}{self._kept()}")
        asked = replace(self.question, method="mopt")
        return with_bound(assemble(asked, noted, seconds=time.monotonic() - begun))

    def _orders(self) -> str:
        names = [level.name for level in self.setting.machine.levels]
        return "; ".join(f"{name} {','.join(order)}" for name, order in zip(names, self.permutations, strict=True))

    def _kept(self) -> str:
        return f"; loop orders {self._orders()} only" if self.setting.loops else ""

    def _note(self) -> str:
        among = "under these loop orders" if self.setting.loops else "under any loop orders"
        least = f"least {among} and tiles: {self.value:.9g} {self.setting.machine.cost_unit}"
        count = f"{self.relaxation.programs} convex programs, of which this is the best"
        how = f"proved to {TOLERANCE:g} over" if self.proved else "not proved in time, after"
        return f"{least}, {how} {count}"


def proved_program(question: Question, loops: Sequence[tuple[str, ...]] = ()) -> ProvedProgram:
    """Solve the relaxation of a question and keep its best program.

    Args:
        question: workload, machine, capacity rule, solver and time limit; one core.
        loops: loop orders to keep to, one per level, inner level first; none for a free choice.

    Raises:
        InfeasibleError: if nothing fits.
        LimitError: if the time is over before any program is solved.
    """
    setting = setting_of(question)
    if loops:
        setting = replace(setting, loops=tuple(loops))
        setting.check_capacities()
    found = relax(setting, clock=Clock.after(question.time_limit))
    if not found.best.node:
        raise LimitError("the time was over before a program was solved; raise the time limit")
    return ProvedProgram(question=question, setting=setting, relaxation=found)


def class_programs(question: Question) -> tuple[ProvedProgram, ...]:
    """The best program of every class of loop orders, each used at all levels, the cheapest class first.

    Raises:
        InfeasibleError: if nothing fits under some class.
        LimitError: if the time is over before a program of some class is solved.
    """
    setting = setting_of(question)
    depth = len(question.machine.levels)
    found = [proved_program(question, (order.permutation,) * depth) for order in setting.orders]
    return tuple(sorted(found, key=lambda program: program.value))
