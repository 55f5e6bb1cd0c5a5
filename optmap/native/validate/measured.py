"""Sampled mappings as code on this machine: built side by side, checked, timed in turns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from optmap.base.share import Tell, unheard
from optmap.kernels.code_options import CodeOptions
from optmap.machines.machine import Machine
from optmap.mappings.levels import Mapping
from optmap.native.code import Code
from optmap.native.emit.emit import emit_code
from optmap.native.run.clocking import Ready
from optmap.native.run.compiled import compile_code
from optmap.native.run.kernel import Kernel
from optmap.native.run.layer import ready_for
from optmap.native.run.layouts import stored, view_of
from optmap.native.run.reference import terms
from optmap.native.run.turns import in_turns, pinned, roused, warm_sampler
from optmap.native.run.verdict import judge, trials_of
from optmap.workloads.workload import Workload

CHECKED = 2**16
"""Outputs of every sample that are compared with the reference; the same ones of all."""


def emit_samples(
    workload: Workload, machine: Machine, mappings: Sequence[Mapping], options: CodeOptions
) -> tuple[Code, ...]:
    """Code per mapping; arguments and errors as for `emit_code`."""
    return tuple(emit_code(workload, mapping, machine, options) for mapping in mappings)


def build_samples(codes: Sequence[Code], *, folder: Path | None = None, progress: Tell = unheard) -> tuple[Kernel, ...]:
    """Compile codes, as many at a time as there are processors.

    Args:
        codes: what is compiled.
        folder: where built objects are kept.
        progress: told the share that is built.

    Raises:
        SolverUnavailableError: if there is no compiler.
        CheckError: if it refuses a code.
        InputError: for a folder that cannot be written to.
    """
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        jobs = [pool.submit(compile_code, code, folder=folder) for code in codes]
        kernels = []
        for number, job in enumerate(jobs):
            progress("compiling", number / len(jobs))
            kernels.append(job.result())
    return tuple(kernels)


def ready_samples(workload: Workload, kernels: Sequence[Kernel], *, seed: int = 0) -> list[Ready]:
    """Check every kernel against the reference, and lay out operands to time them with.

    Args:
        workload: what they compute.
        kernels: of its samples.
        seed: of the numbers that they are checked with.

    Raises:
        CheckError: if an output is wrong: of which sample, and where.
    """
    found: list[Ready] = []
    for trial in trials_of(workload, kernels[0].code.buffers, seed, most=CHECKED):
        found = ready_for(kernels, trial.inputs)
        for number, sample in enumerate(found):
            kernel, out = sample.kernel, sample.kernel.code.buffers[0]
            # samples share memory: what one leaves out, another may have written
            sample.memories[0][...] = np.nan if trial.start is None else stored(out, trial.start)
            kernel.call(*sample.memories)
            verdict = judge((trial,), (view_of(out, sample.memories[0]),), terms(workload))
            verdict.demand(f"{workload.title}, sample {number} of {len(found)}")
    return found


def time_samples(
    samples: Sequence[Ready], *, rounds: int = 5, progress: Tell = unheard
) -> tuple[tuple[float, ...], ...]:
    """Time samples in turns, warm, so that what the machine does meets them all.

    Args:
        samples: ready to be called.
        rounds: measurements of each that count.
        progress: told the share that is done.

    Returns:
        Seconds of a call per sample and round; `polished` makes one number of each sample's.
    """
    with pinned(1):
        samplers = [warm_sampler(each.call, roused(each.call, seconds=0.0)) for each in samples]
        return in_turns(samplers, rounds=rounds, told=lambda number: progress("timing", number / rounds))
