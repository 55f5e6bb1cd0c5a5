"""Which solvers are there, in which version, and whether they really solve something."""

from __future__ import annotations

import importlib
import importlib.metadata
from dataclasses import dataclass

import numpy as np

from optmap.base.errors import OptmapError
from optmap.programs.posynomial import EpigraphRow, GeometricProgram, monomial
from optmap.solvers.registry import SOLVERS, SolverEntry
from optmap.solvers.status import Solution, Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class SolverReport:
    """What is known about one solver on this machine."""

    name: str
    title: str
    forms: tuple[str, ...]
    """Forms of programs it solves."""
    available: bool
    version: str
    """Version of the solver and of the package that brings it; empty if it is not there."""
    sample: str
    """The sample program."""
    expected: float
    """Its optimal value."""
    value: float | None
    """What the solver found; None if it failed."""
    passed: bool
    """Whether the value is right to 1e-6."""
    message: str
    """Why it is not there, or the solver's words on the sample."""
    install: str
    """Command that installs it."""


def doctor() -> tuple[SolverReport, ...]:
    """Try every solver on a sample with a known answer."""
    return tuple(_examine(entry) for entry in SOLVERS.values())


def _examine(entry: SolverEntry) -> SolverReport:
    reason = entry.unavailable()
    sample, expected = _LINEAR if entry.name == "highs" else _GEOMETRIC
    value, message = None, reason or ""
    if reason is None:
        try:
            found = _solve_sample(entry.name)
            value, message = found.objective, found.message
            if found.stop is not Stop.OPTIMAL:
                value = None
        except OptmapError as error:
            message = str(error)
    return SolverReport(
        name=entry.name,
        title=entry.title,
        forms=tuple(sorted(entry.forms)),
        available=reason is None,
        version=_version(entry.name) if reason is None else "",
        sample=sample,
        expected=expected,
        value=value,
        passed=value is not None and abs(value - expected) <= 1e-6 * expected,
        message=message,
        install=entry.install,
    )


_LINEAR = ("maximise 3x + 2y subject to x + y <= 4, x + 3y <= 6, x <= 3", 11.0)
_GEOMETRIC = ("minimise max(1/x + 1/y) subject to x*y <= 4, x + y <= 5", 1.0)


def _solve_sample(name: str) -> Solution:
    if name == "highs":
        return _solve_linear()
    names = ("x", "y")
    cost = monomial(names, 1.0, {"x": -1}) + monomial(names, 1.0, {"y": -1})
    program = GeometricProgram(
        names=names,
        lower=np.zeros(2),
        upper=np.full(2, np.log(10.0)),
        levels=(EpigraphRow(posynomial=cost, alpha=1.0),),
        capacities=(
            monomial(names, 0.25, {"x": 1, "y": 1}),
            monomial(names, 0.2, {"x": 1}) + monomial(names, 0.2, {"y": 1}),
        ),
    )
    found: Solution = SOLVERS[name].load().solve_posynomial(program)
    return found


def _solve_linear() -> Solution:
    import pyomo.environ as pyo

    from optmap.solvers.highs import solve_model

    model = pyo.ConcreteModel(name="sample")
    model.x = pyo.Var(bounds=(0, 3))
    model.y = pyo.Var(bounds=(0, None))
    model.first = pyo.Constraint(expr=model.x + model.y <= 4)
    model.second = pyo.Constraint(expr=model.x + 3 * model.y <= 6)
    model.goal = pyo.Objective(expr=3 * model.x + 2 * model.y, sense=pyo.maximize)
    return solve_model(model)


def _version(name: str) -> str:
    if name == "highs":
        return f"HiGHS {_package('highspy')} (highspy)"
    if name == "batch":
        return f"optmap {_package('optmap')}, NumPy {_package('numpy')}"
    if name == "ipopt":
        cyipopt = importlib.import_module("cyipopt")
        number = ".".join(str(part) for part in cyipopt.IPOPT_VERSION)
        return f"Ipopt {number}, linear solver {_linear_solver()}, {_cyipopt_package()}"
    return f"SciPy {_package('scipy')}"


def _linear_solver() -> str:
    """The linear solver that optmap's options lead to: MUMPS, unless this build has none."""
    from optmap.solvers.config import load_config

    chosen = load_config().options.get("ipopt", {}).get("linear_solver")
    return str(chosen) if chosen else "mumps"


def _package(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "of unknown version"


def _cyipopt_package() -> str:
    """The distribution that brings cyipopt: a wheel with its own Ipopt, or a build on the system's."""
    for name in ("cyipopt-wheels", "cyipopt"):
        try:
            return f"{name} {importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            continue
    return "cyipopt of unknown origin"
