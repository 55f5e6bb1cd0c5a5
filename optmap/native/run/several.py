"""Several workloads, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from optmap.base.errors import InputError
from optmap.base.share import Share, Tell
from optmap.kernels.code_options import CodeOptions
from optmap.native.run.layer import run_layer
from optmap.native.run.mapped import CodeMapping, as_given, proposed
from optmap.native.run.results import LayerRun, Runs
from optmap.native.run.tasks import RunTask
from optmap.native.statement import refuse_meshes
from optmap.native.toolchain.compiler import find_compiler


def run_tasks(
    tasks: Sequence[RunTask],
    options: CodeOptions,
    *,
    threads: int,
    candidates: int,
    seconds: float,
    time_limit: float,
    seed: int,
    folder: Path | None,
    progress: Tell | None = None,
) -> Runs:
    """Run every task; see `optmap.run` for what the options mean.

    Args:
        tasks: at least one, with a machine each and workloads as they are computed.
        options: of the code.
        threads: that share the work, where a task has no mapping.
        candidates: mappings per workload, at most.
        seconds: of measuring, per workload.
        time_limit: seconds for the search, per workload.
        seed: of the numbers.
        folder: of built objects.
        progress: called with a text and the share that is done.

    Raises:
        InputError: for an accelerator, or a mapping that does not belong to the machine.
        InfeasibleError: if there is no mapping.
        SolverUnavailableError: if there is no C compiler.
        CheckError: if it refuses the code.
    """
    layers: list[LayerRun] = []
    for number, task in enumerate(tasks):
        target = task.machine
        if target is None:
            raise InputError(f"{task.workload.title}: no machine to run on is said; take one of optmap detect")
        refuse_meshes(target)
        if progress is not None:
            progress(f"{task.workload.title}", Share.counted(number, len(tasks)))
        if task.mapping is not None:
            mappings: tuple[CodeMapping, ...] = (as_given(task.workload, target, task.mapping, options),)
        else:
            mappings = proposed(
                task.workload, target, options, threads=threads, count=candidates, time_limit=time_limit
            )
        layers.append(run_layer(task.workload, target, mappings, seconds=seconds, seed=seed, folder=folder))
    return Runs(
        machine=layers[0].machine,
        options=options,
        threads=max(layer.chosen.code.threads for layer in layers),
        layers=tuple(layers),
        compiler=find_compiler().version,
    )
