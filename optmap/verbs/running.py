"""The verbs that meet the machine at hand: `detect` describes it, `run` computes workloads on it.

`optmap` offers them under its own name; the command line calls the same functions. Each reads its arguments and calls
`optmap.native`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Unpack

from optmap.base.share import Tell, unheard
from optmap.files.inputs import machine_of
from optmap.kernels.code_options import StoreKind, WeightPacking
from optmap.questions.option import Here, Opt, declared, taking, values_of
from optmap.search.options import SeedOption, TimeLimitOption
from optmap.verbs.emitting import (
    CHOICES,
    BuiltOptions,
    CandidatesOption,
    LayoutOption,
    SecondsOption,
    code_options,
    computed,
)
from optmap.workloads.workload import Semantics

if TYPE_CHECKING:
    from optmap.native.host.detection import Host
    from optmap.native.run.results import Runs
    from optmap.native.run.tasks import TaskInput


def detect(*, name: str = "host", quick: bool = False, progress: Tell = unheard) -> Host:
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


class RunOptions(BuiltOptions, total=False):
    """Options of `run`."""

    candidates: CandidatesOption
    threads: Annotated[
        int,
        Opt(help="Threads that share the work.", detail="Of a solution, those of its mapping.", default=1, least=1),
    ]
    semantics: Annotated[
        Semantics | str,
        Opt(help="Whether outputs are computed from nothing or added to.", default=Semantics.ASSIGN, choices=Semantics),
    ]
    layout: LayoutOption
    weights: Annotated[
        WeightPacking | str,
        Opt(
            help="Packed before the time is taken, or in every call.",
            default=WeightPacking.AHEAD,
            choices=WeightPacking,
        ),
    ]
    stores: Annotated[
        StoreKind | str,
        Opt(help="Of outputs: through the caches, or past them.", default=StoreKind.ORDINARY, choices=StoreKind),
    ]
    seconds: SecondsOption
    time_limit: Annotated[TimeLimitOption, Here(help="Stop the search per workload after this time.")]
    seed: Annotated[SeedOption, Here(help="Of the numbers that are computed with.")]


@taking(RunOptions)
def run(*workloads: TaskInput, **options: Unpack[RunOptions]) -> Runs:
    """Run workloads on the machine at hand: search, write code, build it, check what comes out, time it.

    The first `candidates` mappings of the model are run, and the fastest is kept. Every result is compared with a
    float64 reference: on real numbers within what the rounding of so many terms explains, on whole numbers exactly.

    Args:
        workloads: workloads, networks, solutions, or names, patterns (`resnet18/*`), files and statements for them.
            A solution is run in its own mapping.
        **options: as they are declared. The machine, if it is left out, is that of a solution, else the one at hand,
            which is detected first (quickly).

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

    asked = values_of(declared(RunOptions), options)
    semantics, padding, machine = (asked.pop(name) for name in ("semantics", "padding", "machine"))
    tasks = [
        replace(task, workload=computed(task.workload, semantics=semantics, padding=padding))
        for task in all_tasks(workloads, asked.pop("extents"))
    ]
    find_compiler()
    if machine is not None:
        tasks = [replace(task, machine=target) for target in (machine_of(machine, None),) for task in tasks]
    elif not all(task.machine for task in tasks):
        here = detect(quick=True).machine
        tasks = [task if task.machine else replace(task, machine=here) for task in tasks]
    chosen = code_options(asked)
    return run_tasks(tasks, chosen, **{name: value for name, value in asked.items() if name not in CHOICES})
