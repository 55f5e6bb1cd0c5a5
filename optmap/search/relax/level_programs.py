"""The programs of the search tree with names, and the tree's second road: Pyomo and Ipopt.

A node's rows are the same for both roads. The batched interior point takes them as arrays, with a
little room so that an interior exists; here they become a `GeometricProgram`, from which the Pyomo
model that is exported is made and that Ipopt solves.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from math import exp, inf

import numpy as np

from optmap.base.arrays import Floats
from optmap.base.clock import current
from optmap.programs.posynomial import EpigraphRow, GeometricProgram, Posynomial, tidy
from optmap.programs.tile_plan import tensor_labels
from optmap.search.relax.layout import ColumnLayout, CoreSplit, Node
from optmap.search.relax.node_programs import SLACK, Bounder
from optmap.search.space.search_space import Setting
from optmap.solvers.batch import BatchSolution, Settled
from optmap.solvers.iterates import NO_TERM
from optmap.solvers.status import PointKind, Solution


class NamedPrograms(Bounder):
    """Nodes as convex programs whose variables and rows have names."""

    def describe(self, node: Node, *, slack: float = 0.0) -> GeometricProgram:
        """The program of a node.

        Args:
            node: at least one level with a loop order.
            slack: relative enlargement of the capacities.

        Returns:
            Variables `T[level,dim]`; rows `bottleneck[level]` in words with parts
            `traffic[level,tensor]`, `capacity[level]` with parts `occupancy[level,tensor]`, and
            `cores` if cores share a level.
        """
        layout = self.layout(node)
        names = self._names(layout)
        rows = []
        for level, unit in enumerate(node):
            if unit is not None and unit.order is not None:
                rows.append(self._bottleneck(node, level, layout, names))
        rows += [self._capacity(node, level, layout, names, slack) for level in layout.levels]
        if layout.split is not None:
            rows.append(_cores(layout.split, names))
        lower, upper = self._box([node], layout)
        return GeometricProgram(
            names=names,
            lower=lower[0],
            upper=np.maximum(lower[0], upper[0]),
            levels=tuple(rows),
            chain=tuple(layout.pairs()),
        )

    def _names(self, layout: ColumnLayout) -> tuple[str, ...]:
        names = [""] * layout.width
        free = self.space.free
        split = layout.split
        if split is not None:
            for dim, column in zip(compress(free, split.dims), split.own, strict=True):
                names[column] = f"T[core,{dim}]"
            if split.extra >= 0:
                names[split.extra] = f"T[core,{'*'.join(self.space.branch)}]"
        for level, columns in layout.tile.items():
            for dim, column in zip(free, columns, strict=True):
                names[column] = f"T[{self.setting.machine.levels[level].name},{dim}]"
        return tuple(names)

    def _bottleneck(self, node: Node, level: int, layout: ColumnLayout, names: tuple[str, ...]) -> EpigraphRow:
        unit = node[level]
        if unit is None or unit.order is None:
            raise ValueError("only levels with a loop order have traffic")
        exponents, logs = self._traffics([node], level, layout)
        outer = node[level + 1] if level + 1 < len(node) else None
        sizes = self.space.traffic(unit.order.flow, unit.box, None if outer is None else outer.box).parts
        return EpigraphRow(
            posynomial=_posynomial(names, exponents[0], logs[0]),
            alpha=self.setting.bandwidths[level],
            constant=self.first_touches,
            name=f"bottleneck[{self.setting.machine.levels[level].name}]",
            parts=self._parts("traffic", level, sizes),
        )

    def _capacity(
        self, node: Node, level: int, layout: ColumnLayout, names: tuple[str, ...], slack: float
    ) -> EpigraphRow:
        unit = node[level]
        if unit is None:
            raise ValueError("only levels with a unit have a capacity row")
        exponents, logs = self._occupancies([node], level, layout)
        sizes = self.space.capacity(unit.box, self.setting.working(unit.order, level)).parts
        return EpigraphRow(
            posynomial=_posynomial(names, exponents[0], logs[0]),
            alpha=0.0,
            constant=float(self.setting.capacities[level]) * (1 + slack),
            name=f"capacity[{self.setting.machine.levels[level].name}]",
            parts=self._parts("occupancy", level, sizes),
        )

    def _parts(self, what: str, level: int, sizes: Sequence[int]) -> tuple[tuple[str, int], ...]:
        name = self.setting.machine.levels[level].name
        labels = (label for label, _ in tensor_labels(self.setting.workload))
        return tuple((f"{what}[{name},{label}]", size) for label, size in zip(labels, sizes, strict=True))


class IpoptBounder(NamedPrograms):
    """Bounds nodes one by one: a Pyomo model each, solved by Ipopt.

    What Ipopt finds proves nothing; the bound is the dual one at its multipliers, which holds for
    any multipliers of a convex program. Without it a node stays unbounded.
    """

    def solve(self, nodes: Sequence[Node], *, settled: Settled | None = None) -> BatchSolution:
        """Solve the programs of nodes of the same shape.

        Args:
            nodes: at least one.
            settled: not used: every optimum is found exactly.

        Raises:
            SolverUnavailableError: if Ipopt is not installed, with the install command.
        """
        del settled
        found = [self._solve_one(node) for node in nodes]
        points, values, bounds, steps = zip(*found, strict=True)
        return BatchSolution(
            point=np.array(points), value=np.array(values), bound=np.array(bounds), iterations=max(steps)
        )

    def _solve_one(self, node: Node) -> tuple[Floats, float, float, int]:
        """Point, value and bound of a node, and the iterations; once more with room if that fails."""
        nothing = np.full(self.layout(node).width, np.nan)
        if current().late:  # a bound that holds of every node
            return nothing, inf, -inf, 0
        if not self._smallest_fits(node):
            return nothing, inf, inf, 0
        steps = 0
        for slack in (0.0, SLACK):
            program = self.describe(node, slack=slack)
            solution = solve_described(program)
            steps += solution.iterations
            if solution.point is not PointKind.NONE and solution.bound is not None:
                t = np.array([solution.values["t" + name.removeprefix("T")] for name in program.names])
                return t, program.value(t), solution.bound, steps
        return nothing, inf, -inf, steps

    def _smallest_fits(self, node: Node) -> bool:
        """Whether the lower corner of the box keeps the capacities, which grow with every size."""
        program = self.describe(node, slack=SLACK)
        return all(
            float(row.posynomial.log_value(program.lower)) <= np.log(row.constant)
            for row in program.levels
            if row.name.startswith("capacity")
        )


def solve_described(program: GeometricProgram) -> Solution:
    """Solve a program through Pyomo and Ipopt.

    Returns:
        Objective and bound in the unit of z; values by the names of the model's variables.

    Raises:
        SolverUnavailableError: if Ipopt is not installed, with the install command.
    """
    from optmap.programs.geometric_model import geometric_model  # here: the batch needs no Pyomo
    from optmap.solvers.config import load_config
    from optmap.solvers.ipopt import solve_model, with_objective

    found = solve_model(geometric_model(program), options=load_config().options.get("ipopt", {}))
    return with_objective(found, exp) if program.in_log_z else found


def bounder_of(setting: Setting) -> Bounder:
    """What bounds the nodes of a setting: the solver that it names."""
    return IpoptBounder(setting) if setting.solver == "ipopt" else Bounder(setting)


def program_of(setting: Setting, node: Node) -> GeometricProgram:
    """The convex program of a node as data that any solver can take.

    Args:
        setting: what is searched.
        node: loop orders and boxes of every level.
    """
    return NamedPrograms(setting).describe(node)


def _cores(split: CoreSplit, names: tuple[str, ...]) -> EpigraphRow:
    """The chunks into which a tile is split are at most as many as the cores."""
    chunks = Posynomial(names=names, coefficients=np.ones(1), exponents=-split.share(len(names))[None])
    return EpigraphRow(posynomial=chunks, alpha=0.0, constant=tidy(exp(split.most)), name="cores")


def _posynomial(names: tuple[str, ...], exponents: Floats, logs: Floats) -> Posynomial:
    there = logs > 0.5 * NO_TERM
    coefficients = np.array([tidy(c) for c in np.exp(logs[there])])
    return Posynomial(names=names, coefficients=coefficients, exponents=exponents[there])
