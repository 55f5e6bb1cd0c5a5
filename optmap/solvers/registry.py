"""The solvers that optmap knows: what each can do, whether it is there, and how to call it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from optmap.base.errors import InputError, SolverUnavailableError
from optmap.base.names import choose
from optmap.programs.program import Form, Program
from optmap.solvers.config import FORMS, SolverConfig, check_options, load_config
from optmap.solvers.status import PointKind, Solution


@dataclass(frozen=True, slots=True, kw_only=True)
class SolverEntry:
    """One solver as data; its module is imported when it is used."""

    name: str
    title: str
    load: Callable[[], ModuleType]
    """Imports the module that calls it; it has `solve_model`, or `solve_posynomial` for geometric programs."""
    requires: str
    """Python module that must be importable."""
    install: str
    """Command that installs it."""

    @property
    def forms(self) -> tuple[str, ...]:
        """Sections of `solvers.cfg` that it may be chosen for."""
        return tuple(form for form, solvers in FORMS.items() if self.name in solvers)

    def unavailable(self) -> str | None:
        """None if the solver can be used, else the reason."""
        try:
            importlib.import_module(self.requires)
        except ImportError as error:
            return f"cannot import {self.requires}: {error}"
        return None


def _highs() -> ModuleType:
    from optmap.solvers import highs

    return highs


def _ipopt() -> ModuleType:
    from optmap.solvers import ipopt

    return ipopt


def _batch() -> ModuleType:
    from optmap.solvers import batch

    return batch


def _scipy() -> ModuleType:
    from optmap.solvers import scipy_

    return scipy_


SOLVERS: dict[str, SolverEntry] = {
    entry.name: entry
    for entry in (
        SolverEntry(
            name="highs",
            title="HiGHS",
            load=_highs,
            requires="highspy",
            install="pip install highspy",
        ),
        SolverEntry(
            name="ipopt",
            title="Ipopt through cyipopt",
            load=_ipopt,
            requires="cyipopt",
            install="pip install cyipopt-wheels==1.7.0.dev0 (Linux x86-64), else pip install cyipopt",
        ),
        SolverEntry(
            name="batch",
            title="batched interior point of optmap",
            load=_batch,
            requires="numpy",
            install="pip install numpy",
        ),
        SolverEntry(
            name="scipy_slsqp",
            title="SciPy SLSQP",
            load=_scipy,
            requires="scipy.optimize",
            install="pip install scipy",
        ),
    )
}
"""Every solver by name."""


def section(program: Program) -> str:
    """The section of `solvers.cfg` that a program falls under."""
    return "geometric" if program.form is Form.NLP and program.convex else str(program.form)


def solve(
    program: Program,
    config: SolverConfig | None = None,
    *,
    solver: str | None = None,
    options: Mapping[str, object] | None = None,
    time_limit: float | None = None,
    start: Mapping[str, float] | None = None,
) -> Solution:
    """Solve a program with the configured solver.

    Args:
        program: what to solve.
        config: solvers and options; optmap's `solvers.cfg` by default.
        solver: use this one instead of the configured one.
        options: options for this call, on top of the configured ones.
        time_limit: seconds, instead of the configured limit.
        start: value per variable name (nonlinear programs only).

    Returns:
        Objective and bound in the program's own unit; values in the program's variables, for
        `Program.read_back`.

    Raises:
        InputError: if the solver cannot handle the form, or an option is wrong.
        UnknownNameError: for an unknown solver or option.
        SolverUnavailableError: if the solver is not installed, with the install command.
    """
    settings = config or load_config()
    form = section(program)
    chosen = settings.forms[form]
    name = solver or chosen.solver
    choose("solver", name, SOLVERS)
    entry = SOLVERS[name]
    if form not in entry.forms:
        fitting = ", ".join(e.name for e in SOLVERS.values() if form in e.forms)
        raise InputError(f"{entry.title} cannot solve form {form}; solvers that can: {fitting}")
    reason = entry.unavailable()
    if reason:
        raise SolverUnavailableError(f"{entry.title} is not available ({reason}); install it with: {entry.install}")
    merged = {**settings.options.get(name, {}), **check_options(name, options or {})}
    limit = time_limit if time_limit is not None else chosen.time_limit
    call: Callable[..., Solution] = entry.load().solve_model
    found = call(program.pyomo(), **_arguments(name, program, merged, limit, start))
    return _in_own_unit(program, found)


def _arguments(
    name: str,
    program: Program,
    options: dict[str, object],
    limit: float | None,
    start: Mapping[str, float] | None,
) -> dict[str, Any]:
    if name == "highs":
        return {"options": options, "time_limit": limit}
    smooth: dict[str, Any] = {"options": options, "start": start, "convex": program.convex}
    return {**smooth, "time_limit": limit} if name == "ipopt" else smooth


def _in_own_unit(program: Program, found: Solution) -> Solution:
    objective = None if found.objective is None else program.objective_value(found.objective)
    bound = None if found.bound is None else program.objective_value(found.bound)
    if found.point is PointKind.NONE:
        objective = None
    return replace(found, objective=objective, bound=bound)
