"""The verbs `export` and `program`: the mathematical program of a workload, as text and to work with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from optmap.base.errors import InputError
from optmap.base.names import choose
from optmap.files.inputs import WorkloadInput, machine_of, workload_of
from optmap.machines.form import FormName
from optmap.machines.machine import CapacityRule
from optmap.questions.form import form_on
from optmap.questions.option import Here, Opt, declared, taking, values_of
from optmap.search.options import (
    CapacityOption,
    CountingOption,
    ExtentsOption,
    MethodOption,
    ObjectiveOption,
    SemanticsOption,
    SolverOption,
    TargetOptions,
    TimeLimitOption,
)
from optmap.verbs.deriving import order_of

if TYPE_CHECKING:
    from optmap.answers.proofs.program import ProvedProgram
    from optmap.report.answers.programs import Exported
    from optmap.search.question import Question

MOPT = "mopt"
"""The method whose relaxation the programs are of."""


class RelaxedOptions(TargetOptions, total=False):
    """Options of `export` and `program`."""

    permutations: Annotated[
        Sequence[str | Sequence[str]] | None,
        Opt(
            help="Loop order, outermost first; repeat it to give one per level, inner level first.",
            detail="One order for all levels or one per level; none for a free choice.",
            flag="--permutation",
            metavar="a,b,c",
            shell=list[str],
        ),
    ]
    capacity: CapacityOption
    extents: ExtentsOption
    semantics: SemanticsOption
    time_limit: Annotated[TimeLimitOption, Here(help="Stop the relaxation after this time.")]


class ExportOptions(RelaxedOptions, total=False):
    """Options of `export`."""

    program: Annotated[
        str,
        Opt(
            help="best, classes or paper: which programs (text, latex and nl).",
            detail="`best` attains the proved relaxation, `classes` are those of every class of loop orders, `paper` "
            "is as MOpt prints it, every size free, not solved.",
            default="best",
        ),
    ]
    method: Annotated[MethodOption, Here(help="On accelerators: allocation (if left out) or cosa.")]
    objective: Annotated[ObjectiveOption, Here(help="Of allocation: edp (if left out), energy, cycles, port-cycles.")]
    counting: Annotated[CountingOption, Here(detail="Of `allocation`.")]


class ProgramOptions(RelaxedOptions, total=False):
    """Options of `program`."""

    solver: SolverOption


@taking(ExportOptions)
def export(
    workload: WorkloadInput,
    *,
    format: str = "text",
    path: str | Path | None = None,
    **options: Unpack[ExportOptions],
) -> str:
    """The mathematical program of a workload as text.

    Args:
        workload: as for `solve`.
        format: `lp`, `mps`, `nl`, `text` or `latex`.
        path: written there as well.
        **options: as they are declared.

    Raises:
        InputError: for anything that cannot be accepted.
        InfeasibleError: if not even the smallest tiles fit.
        LimitError: if the time is over before a program is solved.

    Examples:
        >>> product = optmap.workload("C[i,j] += A[i,k]*B[k,j]", "i=64,j=64,k=64")
        >>> optmap.export(product, memory="256w", format="text").splitlines()[0]
        '# tile program of C[i,j] += A[i,k] * B[k,j] on two-level, loop orders Fast i,j,k'
    """
    from optmap.base.writing import write_text

    content = "\n".join(each.content for each in programs_of(workload, format, **options))
    if path is not None:
        write_text(Path(path), content)
    return content


def programs_of(workload: WorkloadInput, format: str, **options: Unpack[ExportOptions]) -> tuple[Exported, ...]:
    """The programs of `export`; arguments as its own.

    Raises:
        InputError: for anything that cannot be accepted.
        InfeasibleError: if not even the smallest tiles fit.
        LimitError: if the time is over before a program is solved.
    """
    from optmap.report.answers.programs import Format, Which

    asked = values_of(declared(ExportOptions), options)
    asked["format"] = Format(choose("format", format, list(Format)))
    asked["program"] = Which(choose("program", asked["program"], list(Which)))
    return PROGRAMS[form_on(machine_of(asked["machine"], asked["memory"])).name](workload, asked)


def _relaxations(workload: WorkloadInput, asked: dict[str, Any]) -> tuple[Exported, ...]:
    """The convex programs of nested tiles."""
    from optmap.report.answers.programs import exported

    if any(asked.pop(name) is not None for name in ("method", "objective", "counting")):
        raise InputError("--method, --objective and --counting choose programs of accelerators; leave them out")
    form, which = asked.pop("format"), asked.pop("program")
    question, orders = _relaxed(workload, asked)
    return exported(question, form, which, orders)


def _allocation(workload: WorkloadInput, asked: dict[str, Any]) -> tuple[Exported, ...]:
    """The one program of a nest."""
    from optmap.report.answers.accelerator_programs import exported_allocation
    from optmap.report.answers.programs import Which

    if asked["permutations"] or asked["program"] is not Which.BEST or asked["capacity"] is not CapacityRule.TILE:
        raise InputError("on an accelerator leave out --permutation, --program and --capacity: there is one program")
    problem, target = workload_of(workload, asked["extents"]), machine_of(asked["machine"], asked["memory"])
    chosen = {name: asked[name] for name in ("method", "objective", "counting", "semantics")}
    return exported_allocation(problem, target, asked["format"], **chosen)


PROGRAMS = {FormName.TILES: _relaxations, FormName.NEST: _allocation}
"""Per form of mappings, from a workload and options to its programs."""


@taking(ProgramOptions)
def program(workload: WorkloadInput, **options: Unpack[ProgramOptions]) -> ProvedProgram:
    """The convex program that attains the proved relaxation, to be changed, solved and read back.

    `.pyomo()` is a Pyomo model of it: variables `t[level,dim]` (logarithms of tile sizes),
    expressions `T[level,dim]`. Add constraints, solve it with `.solve(model)` (Ipopt) or any solver
    of Pyomo's, and `.read_back(model)` makes whole tiles of the point, checked and counted exactly.

    Args:
        workload: as for `solve`.
        **options: as they are declared.

    Raises:
        InputError: for anything that cannot be accepted.
        InfeasibleError: if not even the smallest tiles fit.
        LimitError: if the time is over before a program is solved.

    Examples:
        >>> program = optmap.program("C[i,j] += A[i,k]*B[k,j]", extents="i=64,j=64,k=64", memory="256w")
        >>> round(program.value)
        43072
    """
    from optmap.answers.proofs.program import proved_program
    from optmap.report.answers.programs import per_level

    question, orders = _relaxed(workload, values_of(declared(ProgramOptions), options))
    return proved_program(question, per_level(orders, len(question.machine.levels)))


def _relaxed(workload: WorkloadInput, asked: dict[str, Any]) -> tuple[Question, list[tuple[str, ...]]]:
    """What `export` and `program` ask of the relaxation, and the loop orders that it has to keep to."""
    from optmap.api import question_of

    permutations = asked.pop("permutations") or ()
    question = question_of(workload, method=MOPT, **asked)
    return question, [order_of(each, question.workload) for each in permutations]
