"""`solvers.cfg`: which solver handles which form of program, and with which options.

Solvers accept misspelt options silently (HiGHS, Pyomo), so every key is checked against a table
and every value against its type.
"""

from __future__ import annotations

import configparser
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from optmap.base.errors import InputError, UnknownNameError
from optmap.base.names import choose
from optmap.files.library import solvers_config_path

FORMS: dict[str, tuple[str, ...]] = {
    "lp": ("highs",),
    "milp": ("highs",),
    "nlp": ("ipopt", "scipy_slsqp"),
    "geometric": ("ipopt", "scipy_slsqp"),
    "relaxation": ("batch", "ipopt"),
}
"""Solvers that can handle each form; `relaxation` is the whole tree of geometric programs of one solve."""

_YES_NO = ("yes", "no")
OPTIONS: dict[str, dict[str, type | tuple[str, ...]]] = {
    "highs": {
        "dual_feasibility_tolerance": float,
        "ipm_iteration_limit": int,
        "mip_abs_gap": float,
        "mip_feasibility_tolerance": float,
        "mip_heuristic_effort": float,
        "mip_max_nodes": int,
        "mip_rel_gap": float,
        "objective_bound": float,
        "parallel": ("choose", "on", "off"),
        "presolve": ("choose", "on", "off"),
        "primal_feasibility_tolerance": float,
        "random_seed": int,
        "simplex_iteration_limit": int,
        "simplex_strategy": int,
        "solver": ("choose", "simplex", "ipm", "pdlp"),
        "threads": int,
    },
    "ipopt": {
        "acceptable_iter": int,
        "acceptable_tol": float,
        "bound_frac": float,
        "bound_push": float,
        "bound_relax_factor": float,
        "compl_inf_tol": float,
        "constr_viol_tol": float,
        "dual_inf_tol": float,
        "hessian_approximation": ("exact", "limited-memory"),
        "honor_original_bounds": _YES_NO,
        "linear_solver": ("mumps", "ma27", "ma57", "ma77", "ma86", "ma97", "pardiso", "spral"),
        "max_cpu_time": float,
        "max_iter": int,
        "max_wall_time": float,
        "mu_init": float,
        "mu_strategy": ("monotone", "adaptive"),
        "nlp_scaling_method": ("none", "gradient-based", "equilibration-based"),
        "obj_scaling_factor": float,
        "tol": float,
        "warm_start_init_point": _YES_NO,
    },
    "scipy_slsqp": {"ftol": float, "maxiter": int},
}
"""Options that are passed on, with their type or their allowed words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormConfig:
    """The solver of one form."""

    solver: str
    time_limit: float | None = None
    """Seconds; None for no limit (SLSQP has none and ignores it)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolverConfig:
    """Everything that `solvers.cfg` says."""

    forms: Mapping[str, FormConfig]
    """Per form: `lp`, `milp`, `nlp`, `geometric`, `relaxation`."""
    options: Mapping[str, Mapping[str, object]]
    """Per solver: option to value, of the right type."""


def load_config(path: str | Path | None = None) -> SolverConfig:
    """Read and check a configuration.

    Args:
        path: an INI file; forms and solvers it leaves out keep the values of optmap's own file.

    Raises:
        InputError: for a file that cannot be read, or a value of the wrong type.
        UnknownNameError: for an unknown section, key, solver or option, naming the nearest.
    """
    own = solvers_config_path()
    base = _read(own)
    if path is None or Path(path) == own:
        return base
    given = _read(Path(path))
    return SolverConfig(
        forms={**base.forms, **given.forms},
        options={name: {**base.options.get(name, {}), **given.options.get(name, {})} for name in OPTIONS},
    )


def relaxation_solver(name: str | None = None) -> str:
    """The solver of a relaxation: the one asked for, else the configured one.

    Args:
        name: `batch` or `ipopt`.

    Raises:
        UnknownNameError: for another name, with the nearest.
    """
    if name is None:
        return load_config().forms["relaxation"].solver
    return choose("solver", name, FORMS["relaxation"])


def _read(path: Path) -> SolverConfig:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign] # keys keep their case
    try:
        parser.read_string(path.read_text(encoding="utf-8"), source=str(path))
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        raise InputError(f"cannot read solver configuration {path}: {error}") from error
    forms: dict[str, FormConfig] = {}
    options: dict[str, dict[str, object]] = {}
    for section in parser.sections():
        choose("section", section, (*FORMS, *OPTIONS), where=str(path))
        entries = dict(parser[section])
        if section in FORMS:
            forms[section] = _form(entries, section, path)
        else:
            options[section] = check_options(section, entries, where=str(path))
    if parser.defaults():
        raise UnknownNameError(f"{path}: section DEFAULT is not used; sections are {', '.join((*FORMS, *OPTIONS))}")
    return SolverConfig(forms=forms, options=options)


def _form(entries: Mapping[str, str], form: str, path: Path) -> FormConfig:
    keys = ("solver",) if form == "relaxation" else ("solver", "time_limit")
    for key in entries:
        choose("key", key, keys, where=f"{path}: [{form}]")
    if "solver" not in entries:
        raise InputError(f"{path}: [{form}] has no solver; choose one of {', '.join(FORMS[form])}")
    solver = entries["solver"]
    choose("solver", solver, FORMS[form], where=f"{path}: [{form}]")
    limit = None
    if "time_limit" in entries:
        limit = _number(entries["time_limit"], float, f"{path}: [{form}] time_limit")
        if limit <= 0:
            raise InputError(f"{path}: [{form}] time_limit is {limit}; it must be above 0 seconds")
    return FormConfig(solver=solver, time_limit=limit)


def check_options(solver: str, entries: Mapping[str, object], *, where: str = "options") -> dict[str, object]:
    """Options with values of the right type.

    Args:
        solver: a solver of `OPTIONS`.
        entries: option to value, as text or already typed.
        where: what to name in errors.

    Raises:
        InputError: for a value of the wrong type.
        UnknownNameError: for an unknown solver or option, naming the nearest.
    """
    choose("solver", solver, OPTIONS, where=where)
    table = OPTIONS[solver]
    checked: dict[str, object] = {}
    for key, value in entries.items():
        choose("option", key, table, where=f"{where}: [{solver}]")
        kind = table[key]
        label = f"{where}: [{solver}] {key}"
        if isinstance(kind, tuple):
            if str(value) not in kind:
                raise InputError(f"{label} is {value!r}; it must be one of {', '.join(kind)}")
            checked[key] = str(value)
        else:
            checked[key] = _number(value, kind, label)
    return checked


def _number(value: object, kind: type, label: str) -> float:
    word = "a whole number" if kind is int else "a number"
    try:
        number = int(str(value)) if kind is int else float(str(value))
    except ValueError as error:
        raise InputError(f"{label} is {value!r}; it must be {word}") from error
    if not math.isfinite(number):
        raise InputError(f"{label} is {value!r}; it must be finite")
    return number
