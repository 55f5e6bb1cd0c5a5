"""The verb `compare`: what methods find beside the bound, over capacities or over the boundaries of a machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from optmap.api import solve
from optmap.base.clock import INTERRUPTED, Clock, limited, stopping
from optmap.base.errors import ContradictionError, InfeasibleError, InputError, LimitError
from optmap.base.names import choose
from optmap.base.values import TimeInput, seconds, whole_number
from optmap.files.inputs import (
    ExtentsInput,
    MachineInput,
    MemoryInput,
    WorkloadInput,
    capacities_of,
    machine_of,
    names_of,
    workload_of,
)
from optmap.mappings.constraint_texts import ConstraintsInput, constraints_of
from optmap.questions.objective import merit_objective
from optmap.search.methods import METHODS
from optmap.workloads.workload import Padding, Semantics

if TYPE_CHECKING:
    from optmap.answers.side_by_side.comparison import Comparison
    from optmap.machines.machine import Machine
    from optmap.search.question import Question
    from optmap.workloads.workload import Workload


def compare(
    workload: WorkloadInput,
    *,
    machine: MachineInput | None = None,
    memory: MemoryInput | Sequence[MemoryInput] | None = None,
    points: int = 9,
    extents: ExtentsInput | None = None,
    semantics: Semantics | str | None = None,
    padding: Padding | str | None = None,
    methods: str | Sequence[str] | None = None,
    constraints: ConstraintsInput | None = None,
    objective: str | None = None,
    counting: str | None = None,
    evaluations: int | None = None,
    time_limit: TimeInput = 60.0,
    progress: Callable[[str, float], None] | None = None,
) -> Comparison:
    """Bound and mappings side by side, over capacities or over the boundaries of a machine.

    On an accelerator: energy, cycles and their product of the mapping of every method, beside the floor.

    Args:
        workload: as for `solve`.
        machine: compares at each of its boundaries.
        memory: instead of `machine`, a capacity, a range such as `4KiB:4MiB`, or several capacities.
        points: how many capacities of a range, evenly on a logarithmic scale.
        extents: extent per dim, for an expression.
        semantics: `accumulate` or `assign`; None keeps the workload's own.
        padding: `stored` or `implicit`; None keeps the workload's own.
        methods: keys of `METHODS`; None takes all. A method that cannot is left out with the reason.
        constraints: as for `solve`; methods that know none are left out.
        objective: on an accelerator, what is minimised; None for `edp`. Elsewhere each method minimises its own.
        counting: on an accelerator, as for `solve`.
        evaluations: on an accelerator, mappings that each method which explores may have judged; None for as many as
            it wants.
        time_limit: seconds per solve, or a text such as `2min`.
        progress: called with a text and the share that is done.

    Raises:
        InputError: for anything that cannot be accepted.
        ContradictionError: if a mapping moves fewer words than the bound allows.
    """
    from optmap.answers.side_by_side.comparison import Comparison, ComparisonRow, common_notes, comparison_rows

    time_limit = seconds(time_limit, "time limit (--time-limit)")
    problem, demanded = workload_of(workload, extents, semantics, padding), constraints_of(constraints)
    asked = names_of(methods, "methods")
    for name in asked or ():
        choose("method", name, METHODS)
    if (machine is None) == (memory is None):
        raise InputError("give either a machine or a memory (a capacity or a range such as 4KiB:4MiB)")
    if machine is not None:
        targets = [machine_of(machine, None)]
    else:
        targets = [machine_of(None, each) for each in capacities_of(memory, points)]
    chosen = asked or tuple(name for name, method in METHODS.items() if method.suits(targets[0]))
    options: dict[str, Any] = {"constraints": demanded, "evaluations": evaluations, "time_limit": time_limit}
    alike = _asked_alike(problem, targets[0], semantics, objective, counting, **options)
    options["semantics"] = semantics
    if alike is not None:
        options |= {"objective": alike.objective.name, "counting": alike.counting.name}
        results, left_out = _found(problem, alike.machine, chosen, progress, **options)
        return Comparison(
            workload=alike.workload,
            machine=alike.machine,
            methods=chosen,
            asked=alike,
            results=results,
            left_out=left_out,
            notes=common_notes(results),
        )
    rows, left_out, notes = list[ComparisonRow](), dict[str, str](), list[str]()
    for place, target in enumerate(targets):
        where = str(target.levels[-1].capacity)
        tell = _part(progress, f" at {where}", place, len(targets))
        results, others = _found(problem, target, chosen, tell, **options)
        for name, why in others.items():
            left_out.setdefault(name, f"{where}: {why}")
        own = list[str]()
        with limited(Clock.after(time_limit).ending()):
            rows += comparison_rows(problem, target, results, own)
        notes += own if machine is not None else [f"{where}: {note}" for note in own]
    return Comparison(
        workload=problem,
        machine=targets[0] if machine is not None else None,
        methods=chosen,
        rows=tuple(rows),
        left_out=left_out,
        unit=targets[0].levels[-1].capacity.unit,
        notes=tuple(notes),
    )


def _asked_alike(
    workload: Workload,
    machine: Machine,
    semantics: Semantics | str | None,
    objective: str | None,
    counting: str | None,
    **options: Any,
) -> Question | None:
    """What all methods are asked on a machine with meshes and prices; None elsewhere, where each has its own objective.

    Raises:
        InputError: for an objective, a counting or evaluations elsewhere, or any that cannot be accepted.
    """
    from optmap.count.policies import nest_policy
    from optmap.search.question import Question, understood

    if not machine.meshed:
        if any(value is not None for value in (objective, counting, options["evaluations"])):
            raise InputError("compare takes objective, counting and evaluations on accelerators only; leave them out")
        return None
    goal, mode = merit_objective(objective), nest_policy(counting)
    if options["evaluations"] is not None:
        whole_number(options["evaluations"], "evaluations")
    solved, _ = understood(workload, machine, semantics)
    return Question(workload=solved, machine=machine, objective=goal, counting=mode, **options)


Progress = Callable[[str, float], None]


def _part(progress: Progress | None, where: str, place: int, parts: int) -> Progress | None:
    """Progress of one part of so many."""
    return None if progress is None else lambda text, share: progress(text + where, (place + share) / parts)


def _found(
    workload: Workload,
    machine: Machine,
    methods: Sequence[str],
    progress: Progress | None,
    *,
    evaluations: int | None,
    **options: Any,
) -> tuple[dict[str, Any], dict[str, str]]:
    """What methods find on a machine, and why the others find nothing."""
    results, left_out = {}, {}
    for number, name in enumerate(methods):
        if progress is not None:
            progress(name, number / len(methods))
        if stopping():
            left_out[name] = INTERRUPTED
            continue
        most = None if METHODS[name].explorer is None else evaluations
        try:
            results[name] = solve(workload, machine=machine, method=name, evaluations=most, **options)
        except ContradictionError:
            raise
        except (InputError, InfeasibleError, LimitError) as error:
            left_out[name] = str(error)
    return results, left_out
