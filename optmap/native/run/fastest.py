"""The mapping that is fastest by the model, and the code that is fastest on the machine at hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from optmap.base.errors import CheckError
from optmap.base.share import Tell
from optmap.kernels.code_options import CodeOptions
from optmap.machines.machine import Machine
from optmap.mappings.levels import Mapping
from optmap.native.code import Code, Ran
from optmap.native.run.mapped import proposed
from optmap.native.run.several import run_tasks
from optmap.native.run.tasks import RunTask
from optmap.native.statement import refuse_meshes
from optmap.workloads.workload import Workload


def fastest_code(
    workload: Workload,
    machine: Machine,
    options: CodeOptions,
    *,
    threads: int = 1,
    candidates: int = 5,
    seconds: float = 1.0,
    time_limit: float = 60.0,
    seed: int = 0,
    folder: Path | None = None,
    progress: Tell | None = None,
) -> Code:
    """Run the first mappings of the model, and take the code of the fastest; see `run_tasks` for the arguments.

    Raises:
        CheckError: if code of a mapping computes something else.
        InputError: for an accelerator, or threads that the machine has not.
        InfeasibleError: if there is no mapping.
        SolverUnavailableError: if there is no C compiler.
    """
    runs = run_tasks(
        [RunTask(workload=workload, machine=machine)],
        options,
        threads=threads,
        candidates=candidates,
        seconds=seconds,
        time_limit=time_limit,
        seed=seed,
        folder=folder,
        progress=progress,
    )
    (layer,) = runs.layers
    rate, timing = layer.gflops(layer.timing), layer.timing
    if runs.wrong or rate is None or timing is None:
        raise CheckError("\n".join(runs.wrong))
    ran = Ran(gflops=rate, seconds=timing.median, tried=len(layer.tried), by="this machine, caches warm")
    return replace(layer.chosen.code, ran=ran)


def predicted_mapping(
    workload: Workload,
    machine: Machine,
    options: CodeOptions,
    *,
    threads: int = 1,
    time_limit: float = 60.0,
    progress: Tell | None = None,
) -> Mapping:
    """The mapping that a search finds for a machine; nothing is run.

    Args:
        workload: as the code computes it.
        machine: levels, and the core if it is known.
        options: of the code.
        threads: that the work is split among.
        time_limit: seconds.
        progress: called with a text and the share of the time limit used.

    Raises:
        InputError: for an accelerator, or threads that the machine has not.
        InfeasibleError: if nothing fits.
    """
    refuse_meshes(machine)
    (found,) = proposed(workload, machine, options, threads=threads, count=1, time_limit=time_limit, progress=progress)
    return found.mapping
