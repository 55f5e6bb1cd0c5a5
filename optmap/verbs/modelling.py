"""The verbs `export` and `program`: the mathematical program of a workload, as text and to work with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from optmap.base.errors import InputError
from optmap.base.names import choose
from optmap.base.values import TimeInput, seconds
from optmap.files.inputs import ExtentsInput, MachineInput, MemoryInput, WorkloadInput, machine_of, workload_of
from optmap.machines.machine import CapacityRule
from optmap.verbs.deriving import order_of
from optmap.workloads.workload import Semantics

if TYPE_CHECKING:
    from optmap.answers.proofs.program import ProvedProgram
    from optmap.report.answers.programs import Exported
    from optmap.search.question import Question


def export(
    workload: WorkloadInput,
    *,
    machine: MachineInput | None = None,
    memory: MemoryInput | None = None,
    format: str = "text",
    program: str = "best",
    method: str | None = None,
    objective: str | None = None,
    counting: str | None = None,
    permutations: Sequence[str | Sequence[str]] = (),
    capacity: str = "tile",
    extents: ExtentsInput | None = None,
    semantics: Semantics | str | None = None,
    time_limit: TimeInput = 60.0,
    path: str | Path | None = None,
) -> str:
    """The mathematical program of a workload as text.

    Args:
        workload: as for `solve`.
        machine: capacities and bandwidths.
        memory: instead of `machine`, a two-level one.
        format: `lp`, `mps`, `nl`, `text` or `latex`.
        program: `best` (the one that attains the proved relaxation), `classes` (that of every class
            of loop orders) or `paper` (as MOpt prints it, every size free, not solved).
        method: on accelerators, `allocation` (None, too) or `cosa`: whose program.
        objective: of `allocation`: `edp` (None, too), `energy`, `cycles` or `port-cycles`.
        counting: of `allocation`: `exact` (None, too) or `timeloop`.
        permutations: one loop order for all levels or one per level, inner first; none for a free choice.
        capacity: `tile` or `safe`.
        extents: extent per dim, for a statement.
        semantics: `accumulate` or `assign`; None keeps the workload's own.
        time_limit: seconds for the relaxation, or a text such as `2min`.
        path: written there as well.

    Raises:
        InputError: for anything that cannot be accepted.
        InfeasibleError: if not even the smallest tiles fit.
        LimitError: if the time is over before a program is solved.
    """
    from optmap.base.writing import write_text

    found = programs_of(
        workload,
        machine=machine,
        memory=memory,
        format=format,
        program=program,
        method=method,
        objective=objective,
        counting=counting,
        permutations=permutations,
        capacity=capacity,
        extents=extents,
        semantics=semantics,
        time_limit=time_limit,
    )
    content = "\n".join(each.content for each in found)
    if path is not None:
        write_text(Path(path), content)
    return content


def programs_of(
    workload: WorkloadInput,
    *,
    machine: MachineInput | None,
    memory: MemoryInput | None,
    format: str,
    program: str,
    method: str | None,
    objective: str | None,
    counting: str | None,
    permutations: Sequence[str | Sequence[str]],
    capacity: str,
    extents: ExtentsInput | None,
    semantics: Semantics | str | None,
    time_limit: TimeInput,
) -> tuple[Exported, ...]:
    """The programs of `export`; arguments as its own.

    Raises:
        InputError: for anything that cannot be accepted.
        InfeasibleError: if not even the smallest tiles fit.
        LimitError: if the time is over before a program is solved.
    """
    from optmap.report.answers.programs import Format, Which, exported

    form = Format(choose("format", format, list(Format)))
    which = Which(choose("program", program, list(Which)))
    target = machine_of(machine, memory)
    if target.meshed:
        from optmap.report.answers.accelerator_programs import exported_allocation

        if permutations or which is not Which.BEST or capacity != CapacityRule.TILE:
            raise InputError(
                "on an accelerator leave out --permutation, --program and --capacity: there is one program"
            )
        return exported_allocation(
            workload_of(workload, extents),
            target,
            form,
            method=method,
            objective=objective,
            counting=counting,
            semantics=semantics,
        )
    if method is not None or objective is not None or counting is not None:
        raise InputError("--method, --objective and --counting choose programs of accelerators; leave them out")
    question = program_question(
        workload,
        machine=machine,
        memory=memory,
        capacity=capacity,
        extents=extents,
        semantics=semantics,
        time_limit=time_limit,
    )
    orders = [order_of(each, question.workload) for each in permutations]
    return exported(question, form, which, orders)


def program(
    workload: WorkloadInput,
    *,
    machine: MachineInput | None = None,
    memory: MemoryInput | None = None,
    permutations: Sequence[str | Sequence[str]] = (),
    capacity: str = "tile",
    solver: str | None = None,
    extents: ExtentsInput | None = None,
    semantics: Semantics | str | None = None,
    time_limit: TimeInput = 60.0,
) -> ProvedProgram:
    """The convex program that attains the proved relaxation, to be changed, solved and read back.

    `.pyomo()` is a Pyomo model of it: variables `t[level,dim]` (logarithms of tile sizes),
    expressions `T[level,dim]`. Add constraints, solve it with `.solve(model)` (Ipopt) or any solver
    of Pyomo's, and `.read_back(model)` makes whole tiles of the point, checked and counted exactly.

    Args:
        workload: as for `solve`.
        machine: capacities and bandwidths.
        memory: instead of `machine`, a two-level one.
        permutations: one loop order for all levels or one per level, inner first; none for a free choice.
        capacity: `tile` or `safe`.
        solver: of the relaxation, `batch` or `ipopt`; None takes the one of `solvers.cfg`.
        extents: extent per dim, for a statement.
        semantics: `accumulate` or `assign`; None keeps the workload's own.
        time_limit: seconds for the relaxation, or a text such as `2min`.

    Raises:
        InputError: for anything that cannot be accepted.
        InfeasibleError: if not even the smallest tiles fit.
        LimitError: if the time is over before a program is solved.
    """
    from optmap.answers.proofs.program import proved_program
    from optmap.report.answers.programs import per_level

    question = program_question(
        workload,
        machine=machine,
        memory=memory,
        capacity=capacity,
        extents=extents,
        semantics=semantics,
        time_limit=time_limit,
        solver=solver,
    )
    orders = [order_of(each, question.workload) for each in permutations]
    return proved_program(question, per_level(orders, len(question.machine.levels)))


def program_question(
    workload: WorkloadInput,
    *,
    machine: MachineInput | None,
    memory: MemoryInput | None,
    capacity: str,
    extents: ExtentsInput | None,
    semantics: Semantics | str | None,
    time_limit: TimeInput,
    solver: str | None = None,
) -> Question:
    """What `export` and `program` ask of the relaxation; arguments as theirs.

    Raises:
        InputError: for anything that cannot be accepted.
    """
    from optmap.search.question import Question
    from optmap.solvers.config import relaxation_solver

    return Question(
        workload=workload_of(workload, extents, semantics),
        machine=machine_of(machine, memory),
        capacity=CapacityRule(choose("capacity", capacity, list(CapacityRule))),
        solver=relaxation_solver(solver),
        time_limit=seconds(time_limit, "time limit (--time-limit)"),
    )
