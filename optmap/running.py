"""The verbs that meet the machine at hand: code that is emitted, compiled, run, measured and compared.

`optmap` offers them under its own name; the command line calls the same functions. Each reads its arguments and calls
`optmap.native`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from optmap.errors import InputError
from optmap.problem import Padding, Semantics
from optmap.problem.inputs import MachineInput, machine_of

if TYPE_CHECKING:
    from optmap.gap.nest_solution import SavedNest
    from optmap.gap.solution import SavedSolution
    from optmap.native.code import Code
    from optmap.native.host.detection import Host
    from optmap.native.run.kernel import Kernel
    from optmap.problem.code_options import CodeOptions
    from optmap.search.accelerators.result import AcceleratorResult
    from optmap.search.result import SolveResult


def detect(
    *, name: str = "host", quick: bool = False, progress: Callable[[str, float], None] = lambda text, fraction: None
) -> Host:
    """Describe the machine at hand: the system's tables of cores and caches, and what compiled probes measure.

    Args:
        name: of the machine.
        quick: about three seconds instead of about fifteen: fewer repetitions, and no stores.
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
    result: SolveResult | AcceleratorResult | SavedSolution | SavedNest | Code | str | Path,
    *,
    machine: MachineInput | None = None,
    options: CodeOptions | None = None,
    padding: Padding | str | None = None,
    semantics: Semantics | str | None = None,
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
        semantics: `accumulate`: outputs are added to; None for assign.
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
    from optmap.native.statement import as_computed
    from optmap.problem.values import file_path
    from optmap.report.loading import saved_solution
    from optmap.search.result import SolveResult

    place = None if folder is None else file_path(folder, "folder")
    if isinstance(result, Code):
        if any(each is not None for each in (machine, options, padding, semantics)):
            raise InputError("code is written already: machine, options, padding and semantics belong to emit")
        return compile_code(result, folder=place)
    saved = result if isinstance(result, SolveResult) else saved_solution(result)
    workload = as_computed(saved.workload, padding=padding, semantics=semantics)
    target = saved.machine if machine is None else machine_of(machine, None)
    return compile_code(emit_code(workload, saved.mapping, target, options), folder=place)
