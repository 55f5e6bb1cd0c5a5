"""One workload: mappings, code, objects, right or wrong, and fast or slow."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from optmap.answers.proofs.beside import proved_floor
from optmap.answers.proofs.time_floor import TimeFloor
from optmap.base.clock import Clock
from optmap.count.timing.floor import Running
from optmap.count.timing.results import Prediction
from optmap.machines.machine import Machine
from optmap.native.code import Buffer
from optmap.native.emit.emit import emit_code
from optmap.native.run.clocking import Ready, Timing, timings
from optmap.native.run.compiled import compile_code
from optmap.native.run.kernel import Kernel, Packed
from optmap.native.run.layouts import Array, dtype_of, empty, stored_shape
from optmap.native.run.mapped import CodeMapping
from optmap.native.run.reference import terms
from optmap.native.run.results import LayerRun, Tried
from optmap.native.run.verdict import Trial, Verdict, judge, trials_of
from optmap.workloads.workload import Workload

FLOOR_SECONDS = 5.0
"""Time for the bounds of one workload."""
CHOOSING = 0.5
"""Share of the time in which the fastest is chosen; it is measured anew in the rest, or it would look too fast."""


def run_layer(
    workload: Workload,
    machine: Machine,
    mappings: Sequence[CodeMapping],
    *,
    seconds: float = 1.0,
    seed: int = 0,
    folder: Path | None = None,
) -> LayerRun:
    """Write, build, check and time the code of some mappings of one workload.

    Args:
        workload: as the code computes it.
        machine: that the mappings are of.
        mappings: at least one, the best prediction first.
        seconds: of measuring, for all together.
        seed: of the numbers that are computed with.
        folder: where built objects are kept; `build_folder()` if left out.

    Raises:
        InputError: if code cannot be written for a mapping.
        SolverUnavailableError: if there is no compiler.
        CheckError: if it refuses code.
        LimitError: for sums of so many terms that rounding cannot be told from errors.
    """
    codes = [emit_code(workload, each.mapping, machine, each.options) for each in mappings]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        kernels = list(pool.map(lambda code: compile_code(code, folder=folder), codes))
    trials = trials_of(workload, codes[0].buffers, seed)
    verdicts = [verdict_of(kernel, trials) for kernel in kernels]
    right = [place for place, verdict in enumerate(verdicts) if not verdict.wrong]
    ready = ready_for(kernels, trials[0].inputs)
    only = seconds if len(right) == 1 else seconds * CHOOSING
    found = dict(zip(right, timings([ready[place] for place in right], only), strict=True)) if right else {}
    best = min(found, key=lambda place: found[place].low, default=None)
    again: dict[int, Timing] = dict(found)
    if len(right) > 1 and best is not None:
        last = list(dict.fromkeys((0, best))) if 0 in found else [best]
        again |= zip(last, timings([ready[place] for place in last], seconds * (1 - CHOOSING)), strict=True)
    return LayerRun(
        workload=workload,
        machine=machine,
        tried=tuple(
            Tried(mapped=mapped, code=code, verdict=verdict, timing=found.get(place))
            for place, (mapped, code, verdict) in enumerate(zip(mappings, codes, verdicts, strict=True))
        ),
        best=best,
        timing=None if best is None else again[best],
        first_timing=again.get(0),
        floor=floor_of(workload, machine, mappings[0].prediction),
    )


def floor_of(workload: Workload, machine: Machine, prediction: Prediction | None) -> TimeFloor | None:
    """The proved bound on the time of any code that runs as a prediction says; None without one."""
    if prediction is None:
        return None
    running = Running(threads=prediction.threads, caches=prediction.caches)
    return proved_floor(workload, machine, running, clock=Clock(time.monotonic() + FLOOR_SECONDS))


def verdict_of(kernel: Kernel, trials: tuple[Trial, ...]) -> Verdict:
    """Call a kernel on the inputs of every trial, and compare."""
    outputs = tuple(
        kernel(*trial.inputs.values(), out=None if trial.start is None else trial.start.copy()) for trial in trials
    )
    return judge(trials, outputs, terms(kernel.code.workload))


def ready_for(kernels: Sequence[Kernel], given: Mapping[str, Array]) -> list[Ready]:
    """Kernels with memory in the order that each wants; those that want the same have the same memory.

    Args:
        kernels: of one workload.
        given: its inputs by name of tensor, under the statement's subscripts.
    """
    packed: dict[tuple[Buffer, ...], Packed] = {}
    outputs: dict[Buffer, Array] = {}
    found = []
    for kernel in kernels:
        inputs = {}
        for name, array in given.items():
            key = tuple(buffer for buffer in kernel.code.buffers[1:] if buffer.tensor == name)
            if key not in packed:
                packed[key] = kernel.pack(name, array)
            inputs[name] = packed[key]
        target = kernel.code.buffers[0]
        if target not in outputs:
            outputs[target] = empty(stored_shape(target), dtype_of(target))
            outputs[target][...] = 0
        memories = (outputs[target], *kernel.in_order(inputs))
        found.append(Ready(kernel=kernel, memories=memories, call=kernel.bound(*memories)))
    return found
