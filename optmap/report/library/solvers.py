"""The state of the solvers as a document and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from optmap.base.shown import Shown
from optmap.base.texts import number
from optmap.native.toolchain.doctor import CompilerReport
from optmap.report.tables import grid
from optmap.solvers.doctor import SolverReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Doctor(Shown):
    """The state of every solver, and of the C compiler."""

    shown_as: ClassVar[str] = "doctor"
    reports: tuple[SolverReport, ...]
    compiler: CompilerReport


def state_document(found: Doctor) -> dict[str, object]:
    """The JSON document of `doctor`."""
    compiler = found.compiler
    state = {
        "available": compiler.available,
        "path": compiler.path,
        "version": compiler.version,
        "passed": compiler.passed,
        "message": compiler.message,
        "install": compiler.install,
    }
    return {**doctor_document(found.reports), "compiler": state}


def state_table(found: Doctor) -> str:
    """The state of solvers and compiler for people."""
    return f"{doctor_table(found.reports)}\n\n{compiler_line(found.compiler)}"


def compiler_line(compiler: CompilerReport) -> str:
    """The C compiler for people; a missing one with what installs it."""
    if not compiler.available:
        return (
            f"compiler: {compiler.message}; without it emit writes code, and run, bench, validate say what is missing"
        )
    verdict = "builds code that runs" if compiler.passed else f"its sample is wrong: {compiler.message or 'no 1.5'}"
    return f"compiler: {compiler.path}, {compiler.version}; {verdict}"


def doctor_document(reports: Sequence[SolverReport]) -> dict[str, object]:
    """The JSON document of `doctor`."""
    return {
        "schema": "optmap.doctor/1",
        "solvers": [
            {
                "solver": report.name,
                "title": report.title,
                "forms": list(report.forms),
                "available": report.available,
                "version": report.version,
                "sample": {
                    "program": report.sample,
                    "expected": report.expected,
                    "value": report.value,
                    "passed": report.passed,
                },
                "message": report.message,
                "install": report.install,
            }
            for report in reports
        ],
    }


def doctor_table(reports: Sequence[SolverReport]) -> str:
    """The state of the solvers for people; a missing one with the command that installs it."""
    rows = [
        (
            report.name,
            " ".join(report.forms),
            report.version if report.available else "not installed",
            "-" if report.value is None else number(round(report.value, 6)),
            "ok" if report.passed else ("wrong" if report.available else "-"),
        )
        for report in reports
    ]
    lines = [grid(("solver", "solves", "version", "sample", "verdict"), "<<<><", rows), ""]
    lines += [f"{report.name}: sample {report.sample}; optimum {number(report.expected)}" for report in reports]
    missing = [report for report in reports if not report.available]
    lines += [f"{report.name} is missing ({report.message}); install it with: {report.install}" for report in missing]
    return "\n".join(lines)
