"""The verbs that meet the machine at hand: it is detected, and code is emitted, compiled and run.

`optmap` offers them under its own name; the command line calls the same functions. Each reads its arguments and calls
`optmap.native`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optmap.base.errors import InputError
from optmap.base.names import choose
from optmap.base.values import TimeInput, file_path, whole_number
from optmap.base.values import seconds as seconds_of
from optmap.files.inputs import ExtentsInput, MachineInput, WorkloadInput, machine_of, needed_machine, workload_of
from optmap.kernels.code_options import ActivationLayout, CodeOptions, StoreKind, WeightPacking
from optmap.machines.machine import Machine
from optmap.mappings.levels import Mapping
from optmap.workloads.workload import Padding, Semantics, Workload

if TYPE_CHECKING:
    from optmap.answers.documents.solution import SavedSolution
    from optmap.native.code import Code
    from optmap.native.host.detection import Host
    from optmap.native.run.kernel import Kernel
    from optmap.native.run.results import Runs
    from optmap.native.run.tasks import TaskInput
    from optmap.search.result import Answer


def detect(
    *, name: str = "host", quick: bool = False, progress: Callable[[str, float], None] = lambda text, fraction: None
) -> Host:
    """Describe the machine at hand: the system's tables of cores and caches, and what compiled probes measure.

    Args:
        name: of the machine.
        quick: about three seconds instead of about twenty: fewer repetitions, and no stores.
        progress: told what is being measured and how much of everything is done.

    Returns:
        `.machine` is a machine as any other, `.save("host.yaml")` writes its file, `.figures` have the spreads,
        `.missing` says what is not known, without a compiler all that is measured.

    Raises:
        InputError: if neither a cache nor a vector register is known.
    """
    from optmap.native.host.detection import detect_host

    return detect_host(name=name, quick=quick, progress=progress)


def compile_result(
    result: Answer[Any, Any] | SavedSolution | Code | str | Path,
    *,
    machine: MachineInput | None = None,
    options: CodeOptions | None = None,
    padding: Padding | str | None = None,
    semantics: Semantics | str = Semantics.ASSIGN,
    folder: str | Path | None = None,
) -> Kernel:
    """A function on NumPy arrays that computes a workload as a mapping says.

    Code is written, built with the system's compiler (once: what was built is kept by digest of code, compiler and
    flags) and loaded. The function takes an array per tensor that is read, axes in the order of the subscripts:

        run = optmap.compile(optmap.solve("resnet18/R9", machine="host.yaml", objective="time"))
        out = run(image, weights)
        ready = run.pack("Ker", weights)  # once
        run(image, ready, out=out)

    Args:
        result: what `solve` returned, a solution or its file, or code of `emit`.
        machine: that the code is written for, with levels of the same names as in the mapping; the result's own if
            left out.
        options: layouts, packing, kind of store; all defaults if left out.
        padding: `stored`: images come with their rim; None for implicit: without, wherever it is known (a file of a
            mapping for stored padding does not know it).
        semantics: `accumulate`: outputs are added to; `assign`: they are computed from nothing.
        folder: where built objects are kept; `OPTMAP_BUILD_DIR` or a folder of the user's cache if left out.

    Returns:
        The function; see `optmap.native.Kernel` for what it takes, borrows and copies.

    Raises:
        InputError: for anything that cannot be accepted, a mapping on an accelerator included.
        SolverUnavailableError: if there is no C compiler, with what to install.
        CheckError: if it refuses the code.
    """
    from optmap.native.code import Code
    from optmap.native.emit.emit import emit_code
    from optmap.native.run.compiled import compile_code
    from optmap.native.run.tasks import runnable_mapping
    from optmap.report.answers.loading import saved_solution
    from optmap.search.result import Solved

    place = None if folder is None else file_path(folder, "folder")
    if isinstance(result, Code):
        if any(each is not None for each in (machine, options, padding)) or semantics != Semantics.ASSIGN:
            raise InputError("code is written already: machine, options, padding and semantics belong to emit")
        return compile_code(result, folder=place)
    saved = result if isinstance(result, Solved) else saved_solution(result)
    workload = computed(saved.workload, padding=padding, semantics=semantics)
    target = saved.machine if machine is None else machine_of(machine, None)
    return compile_code(emit_code(workload, runnable_mapping(saved), target, options), folder=place)


def emit(
    workload: WorkloadInput,
    *,
    machine: MachineInput | None = None,
    mapping: Mapping | Answer[Any, Any] | SavedSolution | str | Path | None = None,
    fastest: bool = False,
    candidates: int = 5,
    seconds: TimeInput = 1.0,
    extents: ExtentsInput | None = None,
    semantics: Semantics | str | None = None,
    padding: Padding | str | None = None,
    layout: ActivationLayout | str | None = None,
    weights: WeightPacking | str | None = None,
    stores: StoreKind | str | None = None,
    prefetch: bool | None = None,
    threads: int | None = None,
    time_limit: TimeInput = 60.0,
    folder: str | Path | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> Code:
    """C11 for a workload: the loops, orders and ragged tiles of a mapping around a microkernel.

    Args:
        workload: a workload, a library name, a YAML file, or an expression with `extents`; or a document that `run` or
            `bench` wrote (`run.json`, `run.json/NAME` of several): the fastest code in it, with all its choices.
        machine: a machine, a library name or a YAML file such as `detect` writes; with its `core` there is vector
            code. It may be left out if `mapping` is a solution, or the workload a document, which name their own.
        mapping: what `solve` returned, a solution file, a file with a mapping's levels, or a mapping; None to solve.
        fastest: run the first mappings of the model here, as `run` does, and take the one that is fastest.
        candidates: mappings that are run, at most.
        seconds: of measuring, if mappings are run.
        extents: extent per dim, for an expression.
        semantics: `assign` (None, too) computes outputs from nothing, `accumulate` adds to what is there.
        padding: `implicit` images have no rim, and operations on padding are not done; `stored` ones have it. None
            is implicit wherever it is known where padding is.
        layout: of images, inputs and outputs: `nchw`, `nhwc` (None, too) or `blocked`.
        weights: packed `ahead` (None, too), by a function of their own, or in every `call`.
        stores: `ordinary` (None, too), or `streaming` past the caches.
        prefetch: whether the code asks for the next tiles before it needs them; it does if left out.
        threads: that the mapping is to be split among; None for those of `mapping`, or one.
        time_limit: seconds for the search of a mapping.
        folder: where built objects are kept if mappings are run, as for `run`.
        progress: called with a text and the share of the time limit used.

    Returns:
        `.source` is C, `.main` a program that checks and times it, `.write("folder")` writes both, `.buffers` say what
        the functions take, `.ran` how fast it was if it was chosen so, `.notes` why no microkernel applies.

    Raises:
        InputError: for anything that cannot be accepted, as a mapping of something else, or one that splits a
            reduction.
        InfeasibleError: if there is no mapping.
        SolverUnavailableError: if mappings are to be run and there is no C compiler.
        CheckError: if code that is run computes something else.
    """
    from optmap.native import emit_code
    from optmap.native.run.fastest import fastest_code, predicted_mapping
    from optmap.native.run.saved import code_of_document, is_document

    if isinstance(workload, str | os.PathLike) and is_document(os.fspath(workload)):
        choices: dict[str, object] = {
            "--mapping": mapping,
            "--fastest": fastest or None,
            "--extents": extents,
            "--semantics": semantics,
            "--padding": padding,
            "--layout": layout,
            "--weights": weights,
            "--stores": stores,
            "--no-prefetch": prefetch,
        }
        _refuse_choices(os.fspath(workload), choices)
        target = None if machine is None else machine_of(machine, None)
        return code_of_document(
            os.fspath(workload), machine=target, threads=None if threads is None else whole_number(threads, "threads")
        )
    options = _options(
        layout or ActivationLayout.NHWC,
        weights or WeightPacking.AHEAD,
        stores or StoreKind.ORDINARY,
        prefetch is not False,
    )
    problem = computed(workload, extents=extents, semantics=semantics or Semantics.ASSIGN, padding=padding)
    limit = seconds_of(time_limit, "time limit (--time-limit)")
    split = 1 if threads is None else whole_number(threads, "threads")
    if fastest:
        if mapping is not None:
            raise InputError("--mapping says which mapping is written, --fastest looks for one: leave one of them out")
        return fastest_code(
            problem,
            needed_machine(machine),
            options,
            threads=split,
            candidates=whole_number(candidates, "candidates"),
            seconds=seconds_of(seconds, "seconds of measuring (--seconds)"),
            time_limit=limit,
            folder=None if folder is None else file_path(folder, "folder"),
            progress=progress,
        )
    if mapping is None:
        target = needed_machine(machine)
        found = predicted_mapping(problem, target, options, threads=split, time_limit=limit, progress=progress)
    else:
        target, found = _given(problem, machine, mapping, threads)
    code: Code = emit_code(problem, found, target, options)
    return code


def _refuse_choices(document: str, choices: dict[str, object]) -> None:
    """Refuse what a document of run code says itself; other choices would be other code than what ran.

    Raises:
        InputError: naming them.
    """
    given = [option for option, own in choices.items() if own is not None]
    if given:
        raise InputError(
            f"{document} says how the code that ran was made: leave out {', '.join(given)}, or emit the workload itself"
        )


def run(
    *workloads: TaskInput,
    machine: MachineInput | None = None,
    candidates: int = 5,
    threads: int = 1,
    extents: ExtentsInput | None = None,
    semantics: Semantics | str = Semantics.ASSIGN,
    padding: Padding | str | None = None,
    layout: ActivationLayout | str = ActivationLayout.NHWC,
    weights: WeightPacking | str = WeightPacking.AHEAD,
    stores: StoreKind | str = StoreKind.ORDINARY,
    prefetch: bool = True,
    seconds: TimeInput = 1.0,
    time_limit: TimeInput = 60.0,
    seed: int = 0,
    folder: str | Path | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> Runs:
    """Run workloads on the machine at hand: search, write code, build it, check what comes out, time it.

    The first `candidates` mappings of the model are run, and the fastest is kept. Every result is compared with a
    float64 reference: on real numbers within what the rounding of so many terms explains, on whole numbers exactly.

    Args:
        workloads: workloads, networks, solutions, or names, patterns (`resnet18/*`), files and statements for them.
            A solution is run in its own mapping.
        machine: a machine, a library name or a YAML file such as `detect` writes; if left out, that of a solution,
            else the machine at hand is detected first (quickly).
        candidates: mappings that are run per workload, at most.
        threads: that share the work; of a solution, those of its mapping.
        extents: extent per dim, for a statement.
        semantics: as for `emit`.
        padding: as for `emit`.
        layout: as for `emit`.
        weights: as for `emit`.
        stores: as for `emit`.
        prefetch: as for `emit`.
        seconds: of measuring, per workload.
        time_limit: seconds for the search, per workload.
        seed: of the numbers that are computed with.
        folder: where built objects are kept; `OPTMAP_BUILD_DIR` or a folder of the user's cache if left out.
        progress: called with a text and the share that is done.

    Returns:
        `.layers` with times, rates, predictions, floors and checks; `.wrong` says what is wrong, if anything is.

    Raises:
        InputError: for anything that cannot be accepted.
        InfeasibleError: if there is no mapping.
        SolverUnavailableError: if there is no C compiler, with what to install.
        CheckError: if it refuses the code.
    """
    from optmap.native.run.several import run_tasks
    from optmap.native.run.tasks import all_tasks
    from optmap.native.toolchain.compiler import find_compiler

    options = _options(layout, weights, stores, prefetch)
    tasks = [
        replace(task, workload=computed(task.workload, semantics=semantics, padding=padding))
        for task in all_tasks(workloads, extents)
    ]
    whole_number(threads, "threads")
    whole_number(candidates, "candidates")
    find_compiler()
    if machine is not None:
        tasks = [replace(task, machine=target) for target in (machine_of(machine, None),) for task in tasks]
    elif not all(task.machine for task in tasks):
        here = detect(quick=True).machine
        tasks = [task if task.machine else replace(task, machine=here) for task in tasks]
    return run_tasks(
        tasks,
        options,
        threads=threads,
        candidates=candidates,
        seconds=seconds_of(seconds, "seconds of measuring (--seconds)"),
        time_limit=seconds_of(time_limit, "time limit (--time-limit)"),
        seed=whole_number(seed, "seed", least=0),
        folder=None if folder is None else file_path(folder, "folder"),
        progress=progress,
    )


def _options(
    layout: ActivationLayout | str, weights: WeightPacking | str, stores: StoreKind | str, prefetch: bool
) -> CodeOptions:
    return CodeOptions(
        layout=ActivationLayout(choose("layout", layout, list(ActivationLayout))),
        weights=WeightPacking(choose("packing of weights", weights, list(WeightPacking))),
        stores=StoreKind(choose("kind of store", stores, list(StoreKind))),
        prefetch=prefetch,
    )


def computed(
    workload: WorkloadInput,
    *,
    extents: ExtentsInput | None = None,
    semantics: Semantics | str = Semantics.ASSIGN,
    padding: Padding | str | None = None,
) -> Workload:
    """A workload as code computes it: from nothing, and without a rim around images, unless the user says otherwise.

    Args:
        workload: what stands for it.
        extents: extent per dim, for an expression.
        semantics: of the code.
        padding: None for implicit wherever it is known where padding is.

    Raises:
        InputError: if it cannot be understood, or padding is to be implicit and it is not known where it is.
    """
    from optmap.native.statement import as_computed

    return as_computed(workload_of(workload, extents, semantics), padding=padding, semantics=semantics)


def _given(
    workload: Workload,
    machine: MachineInput | None,
    mapping: Mapping | Answer[Any, Any] | SavedSolution | str | Path,
    threads: int | None,
) -> tuple[Machine, Mapping]:
    """The machine and the mapping that a user names."""
    from optmap.native import threads_of

    own, found = _read(workload, machine, mapping)
    target = own if machine is None else machine_of(machine, None)
    if target is None:
        raise InputError("a mapping alone does not say its machine; give it (--machine)")
    found.check(workload, target)
    if threads is not None and whole_number(threads, "threads") != threads_of(found):
        raise InputError(
            f"the mapping is split among {threads_of(found)} threads, not {threads}; leave threads out, or solve for "
            "as many"
        )
    return target, found


def _read(
    workload: Workload, machine: MachineInput | None, mapping: Mapping | Answer[Any, Any] | SavedSolution | str | Path
) -> tuple[Machine | None, Mapping]:
    from optmap.answers.documents.solution import solution_from
    from optmap.files.kinds import expected
    from optmap.files.mappings import read_mapping
    from optmap.files.reading import read_json
    from optmap.native.run.tasks import runnable_mapping
    from optmap.search.result import Solved

    if isinstance(mapping, Mapping):
        return None, mapping
    if isinstance(mapping, Solved):
        return mapping.machine, runnable_mapping(mapping)
    target = None if machine is None else machine_of(machine, None)
    with expected(file_path(mapping, "mapping"), "a solution or a mapping", "solution", "mapping"):
        fields = read_json(file_path(mapping, "mapping"))
        if fields.has("schema"):
            solution = solution_from(fields)
            return solution.machine, runnable_mapping(solution)
        if target is None:
            raise InputError(f"{mapping}: a mapping alone does not say its machine; give it (--machine)")
        return None, read_mapping(fields, workload, target)
