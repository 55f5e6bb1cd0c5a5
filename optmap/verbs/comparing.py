"""The verbs `compare`, `algorithms` and `randomized`: what methods and algorithms move, beside the bound."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, Unpack

from optmap.base.clock import INTERRUPTED, Clock, limited, stopping
from optmap.base.errors import ContradictionError, InfeasibleError, InputError, LimitError
from optmap.base.names import choose
from optmap.base.share import Share, Tell, part_of
from optmap.files.inputs import ExtentsInput, MemoryInput, WorkloadInput, capacities_of, machine_of, workload_of
from optmap.questions.form import form_on
from optmap.questions.option import Here, Opt, declared, refuse_elsewhere, taking, values_of
from optmap.search.options import (
    ConstraintsOption,
    CountingOption,
    EvaluationsOption,
    ExtentsOption,
    MachineOption,
    ObjectiveOption,
    PointsOption,
    ProgressOption,
    TimeLimitOption,
    WorkloadOptions,
    names,
)
from optmap.workloads.workload import Semantics

if TYPE_CHECKING:
    from optmap.answers.side_by_side.comparison import Comparison
    from optmap.answers.side_by_side.mappings import MappingComparison
    from optmap.baselines.randomized import RandomizedComparison
    from optmap.machines.machine import Machine
    from optmap.report.algorithms import AlgorithmComparison
    from optmap.search.result import Answer
    from optmap.workloads.workload import Workload

ELSEWHERE = "compare takes objective, counting and evaluations on accelerators only; leave them out"


class CompareOptions(WorkloadOptions, total=False):
    """Options of `compare`."""

    machine: Annotated[MachineOption, Here(detail="Compared at each of its boundaries.")]
    memory: Annotated[
        MemoryInput | Sequence[MemoryInput] | None,
        Opt(
            help="A capacity, or a range: 4KiB:4MiB.",
            detail="Instead of `machine`; several capacities, too.",
            metavar="SIZE[:SIZE]",
        ),
    ]
    points: PointsOption
    methods: Annotated[
        str | Sequence[str] | None,
        Opt(
            help="Mapping methods; all if left out.",
            detail="Keys of `METHODS`; one that cannot is left out with the reason.",
            read=names,
            metavar="A,B",
            names="methods",
        ),
    ]
    constraints: Annotated[ConstraintsOption, Here(detail="As for `solve`; methods that know none are left out.")]
    objective: Annotated[
        ObjectiveOption,
        Here(
            help="On accelerators: edp, energy, cycles or port-cycles.",
            detail="None for `edp`. Elsewhere each method minimises its own.",
            meshes=True,
            elsewhere=ELSEWHERE,
        ),
    ]
    counting: Annotated[CountingOption, Here(elsewhere=ELSEWHERE)]
    evaluations: Annotated[
        EvaluationsOption,
        Here(
            help="On accelerators: mappings that each of random and other searches may have judged.",
            detail="None for as many as each wants.",
            elsewhere=ELSEWHERE,
        ),
    ]
    time_limit: Annotated[TimeLimitOption, Here(help="Per solve.")]
    progress: ProgressOption


def compare_mappings(*solutions: Answer[Any, Any] | str | Path) -> MappingComparison:
    """Mappings of one workload side by side, each counted again: costs, words, and where the nests differ.

    Args:
        *solutions: two or more answers of `solve`, solution files, or files with a mapping tree, on any machines.

    Raises:
        InputError: if a file cannot be used, there are fewer than two, or they are of different workloads.
        LimitError: for a tree that has to be walked and is too large.
    """
    from optmap.answers.side_by_side.mappings import CountedMapping, compare_counted
    from optmap.report.answers.loading import saved_mapping
    from optmap.verbs.checking import evaluate

    counted = []
    for place, each in enumerate(solutions, 1):
        mapping = saved_mapping(each)
        name = str(each) if isinstance(each, str | Path) else f"mapping {place}"
        counted.append(CountedMapping(name=name, mapping=mapping, counted=evaluate(mapping)))
    return compare_counted(counted)


COMPARE = declared(CompareOptions)
"""The options of `compare`, by name."""


@taking(CompareOptions)
def compare(workload: WorkloadInput, **options: Unpack[CompareOptions]) -> Comparison:
    """Bound and mappings side by side, over capacities or over the boundaries of a machine.

    On an accelerator: energy, cycles and their product of the mapping of every method, beside the floor.

    Args:
        workload: as for `solve`.
        **options: as they are declared.

    Raises:
        InputError: for anything that cannot be accepted.
        ContradictionError: if a mapping moves fewer words than the bound allows.

    Examples:
        >>> product = optmap.workload("C[i,j] += A[i,k]*B[k,j]", "i=64,j=64,k=64")
        >>> both = optmap.compare(product, memory="256w", methods="mopt,iooub")
        >>> both.rows[0].bound_words, {name: row.loads_words for name, row in both.rows[0].found.items()}
        (37120, {'mopt': 40960, 'iooub': 38740})
    """
    from optmap.answers.side_by_side.comparison import Comparison, ComparisonRow, common_notes, comparison_rows
    from optmap.api import question_of
    from optmap.search.methods import METHODS

    asked = values_of(COMPARE, options)
    machine, memory, methods, progress = (asked.pop(name) for name in ("machine", "memory", "methods", "progress"))
    problem = workload_of(workload, asked.pop("extents"), asked["semantics"], asked.pop("padding"))
    for name in methods or ():
        choose("method", name, METHODS)
    if (machine is None) == (memory is None):
        raise InputError("give either a machine or a memory (a capacity or a range such as 4KiB:4MiB)")
    if machine is not None:
        targets = [machine_of(machine, None)]
    else:
        targets = [machine_of(None, each) for each in capacities_of(memory, asked["points"])]
    del asked["points"]
    refuse_elsewhere(COMPARE, targets[0], asked)
    chain = len(problem.statements) > 1  # of one statement those of chains are named among what cannot
    able = (name for name, method in METHODS.items() if method.suits(targets[0]) and (method.chains or not chain))
    chosen = methods or tuple(able)
    if not form_on(targets[0]).floors_apart:
        # constraints that none can meet are what each method is left out for
        question = question_of(problem, machine=targets[0], **{**asked, "constraints": None})
        asked["objective"] = question.objective.name
        results, left_out = _found(problem, targets[0], chosen, progress, asked)
        return Comparison(
            workload=question.workload,
            machine=question.machine,
            methods=chosen,
            asked=question,
            results=results,
            left_out=left_out,
            notes=common_notes(results),
        )
    rows, left_out, notes = list[ComparisonRow](), dict[str, str](), list[str]()
    for place, target in enumerate(targets):
        where = str(target.levels[-1].capacity)
        tell = part_of(progress, place, len(targets), f" at {where}", even=True)
        results, others = _found(problem, target, chosen, tell, asked)
        for name, why in others.items():
            left_out.setdefault(name, f"{where}: {why}")
        own = list[str]()
        with limited(Clock.after(asked["time_limit"]).ending()):
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


def _found(
    workload: Workload,
    machine: Machine,
    methods: Sequence[str],
    progress: Tell | None,
    asked: dict[str, Any],
) -> tuple[dict[str, Any], dict[str, str]]:
    """What methods find on a machine, and why the others find nothing."""
    from optmap.api import solve
    from optmap.search.methods import METHODS

    results, left_out = {}, {}
    for number, name in enumerate(methods):
        if progress is not None:
            progress(name, Share.counted(number, len(methods)))
        if stopping():
            left_out[name] = INTERRUPTED
            continue
        most = None if METHODS[name].explorer is None else asked["evaluations"]
        try:
            results[name] = solve(workload, machine=machine, method=name, **{**asked, "evaluations": most})
        except ContradictionError:
            raise
        except (InputError, InfeasibleError, LimitError) as error:
            left_out[name] = str(error)
    return results, left_out


class AlgorithmsOptions(TypedDict, total=False):
    """Options of `algorithms`."""

    points: PointsOption
    extents: ExtentsOption


@taking(AlgorithmsOptions)
def algorithms(
    workload: WorkloadInput, *, memory: MemoryInput | Sequence[MemoryInput], **options: Unpack[AlgorithmsOptions]
) -> AlgorithmComparison:
    """Words moved by ways to compute a convolution, as multiples of the bound.

    Args:
        workload: a convolution, as for `solve`.
        memory: a capacity, a range such as `4KiB:4MiB`, or several.
        **options: as they are declared.

    Raises:
        InputError: for anything that cannot be accepted.
    """
    from optmap.report.algorithms import algorithm_comparison

    asked = values_of(declared(AlgorithmsOptions), options)
    return algorithm_comparison(workload_of(workload, asked["extents"]), memory, asked["points"])


def randomized(
    extents: ExtentsInput,
    *,
    memory: MemoryInput,
    cost: Fraction | float | str,
    semantics: Semantics | str | None = None,
) -> RandomizedComparison:
    """What a product with a random matrix costs if the matrix is generated: bound, tiling, gap.

    `R[d,n] = S[d,m] * A[m,n]`, where an element of S comes into fast memory for a cost instead of a load.

    Args:
        extents: of d, m and n, as a mapping or as `d=1000,m=1000,n=500`.
        memory: capacity of the fast memory.
        cost: cost of generating an element of S, in loads: a number above 0, or `1/10`.
        semantics: `assign` (also if left out): results are created in fast memory; `accumulate`: they are loaded.

    Raises:
        InputError: for anything that cannot be accepted.
        InfeasibleError: for a memory below three words.

    Source: Dinh, chapter 5 (Theorem 22, Algorithm 10).
    """
    from optmap.baselines.randomized import EXPRESSION, compare_randomized

    return compare_randomized(workload_of(EXPRESSION, extents, semantics), memory, cost)
