"""Programs as text: lp and mps for linear ones, nl for all, readable text and LaTeX."""

from __future__ import annotations

import io
import math
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
from pyomo.repn.plugins.lp_writer import LPWriter
from pyomo.repn.plugins.nl_writer import NLWriter

from optmap.base.errors import InputError
from optmap.base.names import choose
from optmap.programs.program import Form, Program, Sense
from optmap.programs.render import LATEX, TEXT, Dialect, number, render

COLUMNS = 110
"""Width at which long expressions in readable text are broken."""


def export_program(program: Program, fmt: str) -> str:
    """A program as text; the same program always gives the same bytes.

    Args:
        program: what to export.
        fmt: `lp`, `mps` (linear programs), `nl` (for AMPL solvers), `text` or `latex`.

    Raises:
        InputError: for an unknown format, or a nonlinear program in a linear one.
    """
    choose("format", fmt, FORMATS)
    if fmt in ("lp", "mps") and program.form not in (Form.LP, Form.MILP):
        raise InputError(f"{program.name} is nonlinear and cannot be written as {fmt}; use nl, text or latex")
    return FORMATS[fmt](program)


def _lp(program: Program) -> str:
    stream = io.StringIO()
    LPWriter().write(program.pyomo(), stream, symbolic_solver_labels=True)
    return stream.getvalue()


def _nl(program: Program) -> str:
    stream = io.StringIO()
    # Presolving takes fixed variables out of the file, and ends with an error of its own where nothing is feasible.
    NLWriter().write(program.pyomo(), stream, symbolic_solver_labels=True, linear_presolve=False)
    return stream.getvalue()


def _mps(program: Program) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.mps"
        model = program.pyomo()
        model.name = re.sub(r"\W+", "_", model.name)  # MPS names end at a blank
        model.write(str(path), format="mps", io_options={"symbolic_solver_labels": True})
        return path.read_text(encoding="utf-8")


def _text(program: Program) -> str:
    model = program.pyomo()
    shape = "not known to be convex"
    if program.convex or program.geometric:
        shape = "convex in these variables" if program.convex else "convex in the logarithms of these variables"
    lines = [f"# {program.name}", f"# form {program.form}, {shape}"]
    lines += [f"# note: {note}" for note in program.notes]
    lines += ["", "variables"]
    width = max((len(v.name) for v in program.variables), default=0)
    for v in program.variables:
        meaning = f"log of {v.quantity}, {v.unit}" if v.log else v.unit
        domain = ", whole number" if v.integer else ""
        lines.append(f"  {v.name:<{width}}  in [{_end(v.lower)}, {_end(v.upper)}]  {meaning}{domain}".rstrip())
    if program.fixed:
        lines += ["", "parameters"]
        lines += [f"  {name} = {number(value)}" for name, value in program.fixed]
    (goal,) = model.component_data_objects(pyo.Objective, active=True)
    what = f"log of {program.objective_unit}" if program.objective_log else program.objective_unit
    if program.objective_offset:
        what += f"; the objective itself is {number(program.objective_offset)} more"
    lines += ["", f"{program.sense} ({what})" if what else str(program.sense)]
    lines += _wrapped("  ", render(goal.expr))
    lines += ["", "subject to"]
    for row in model.component_data_objects(pyo.Constraint, active=True):
        lines += _wrapped("  ", f"{row.name}: {_row(row, TEXT)}")
    named = list(model.component_data_objects(pyo.Expression, active=True))
    if named:
        lines += ["", "where"]
        for expression in named:
            lines += _wrapped("  ", f"{expression.name} = {render(expression.expr)}")
    return "\n".join(lines) + "\n"


def _latex(program: Program) -> str:
    model = program.pyomo()
    (goal,) = model.component_data_objects(pyo.Objective, active=True)
    verb = r"\min" if program.sense is Sense.MINIMIZE else r"\max"
    rows = [rf"{verb}\quad & {render(goal.expr, LATEX)} \\"]
    lead = r"\text{s.t.}\quad"
    for row in model.component_data_objects(pyo.Constraint, active=True):
        rows.append(rf"{lead} & {_row(row, LATEX)} \\")
        lead = ""
    for v in program.variables:
        rows.append(rf"{lead} & {_latex_end(v.lower)} \le {LATEX.name(v.name)} \le {_latex_end(v.upper)} \\")
        lead = ""
    for expression in model.component_data_objects(pyo.Expression, active=True):
        rows.append(rf"& {LATEX.name(expression.name)} = {render(expression.expr, LATEX)} \\")
    rows[-1] = rows[-1].removesuffix(r" \\")
    return "\n".join([f"% {program.name}", r"\begin{align*}", *rows, r"\end{align*}"]) + "\n"


def _row(row: Any, dialect: Dialect) -> str:
    body = render(row.body, dialect)
    lower = None if row.lower is None else number(pyo.value(row.lower))
    upper = None if row.upper is None else number(pyo.value(row.upper))
    if lower is not None and lower == upper:
        return f"{body} = {upper}"
    left = f"{lower} {dialect.less} " if lower is not None else ""
    right = f" {dialect.less} {upper}" if upper is not None else ""
    return f"{left}{body}{right}"


def _end(value: float) -> str:
    return number(value) if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def _latex_end(value: float) -> str:
    return number(value) if math.isfinite(value) else (r"\infty" if value > 0 else r"-\infty")


def _wrapped(indent: str, text: str) -> list[str]:
    """Lines of at most `COLUMNS` characters where possible, broken outside parentheses."""
    lines, current, depth = [], indent, 0
    for piece in re.split(r"(?= [+*] | - )", text):
        if depth == 0 and len(current) + len(piece) > COLUMNS and current.strip():
            lines.append(current)
            current = indent + "   "
        current += piece
        depth += piece.count("(") - piece.count(")")
    return [*lines, current]


FORMATS: dict[str, Callable[[Program], str]] = {"lp": _lp, "mps": _mps, "nl": _nl, "text": _text, "latex": _latex}
"""Writer per format."""
