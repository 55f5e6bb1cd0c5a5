"""Mappings that are worth running: those that a user gives, or the first of the model."""

from __future__ import annotations

from dataclasses import dataclass

from optmap.base.share import Tell
from optmap.count.timing import Prediction, predict
from optmap.kernels.code_options import CodeOptions
from optmap.machines.machine import Machine
from optmap.mappings.levels import Mapping
from optmap.search.papers.bottleneck import MOPT
from optmap.search.question import Question
from optmap.search.timed import ranked
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeMapping:
    """A mapping with the choices of its code, and what is predicted for it."""

    mapping: Mapping
    options: CodeOptions
    prediction: Prediction | None
    """None on a machine that does not say what a core computes with."""


def as_given(
    workload: Workload, machine: Machine, mapping: Mapping, options: CodeOptions, threads: int = 1
) -> CodeMapping:
    """A mapping that there is.

    Raises:
        InputError: if it does not belong to workload and machine.
    """
    mapping.check(workload, machine)
    found = None if machine.core is None else predict(workload, machine, mapping, options, threads=threads)
    return CodeMapping(mapping=mapping, options=options, prediction=found)


def proposed(
    workload: Workload,
    machine: Machine,
    options: CodeOptions,
    *,
    threads: int = 1,
    count: int = 5,
    time_limit: float = 60.0,
    progress: Tell | None = None,
) -> tuple[CodeMapping, ...]:
    """The first mappings of the model of time; where nothing is known of a core, the one that moves least (`mopt`).

    Args:
        workload: as the code computes it.
        machine: with caches.
        options: of the code.
        threads: that share the work.
        count: of mappings, at most.
        time_limit: seconds.
        progress: called with a text and the share of the time limit used.

    Raises:
        InputError: for threads that the machine has not.
        InfeasibleError: if nothing fits.
    """
    if machine.core is None:
        question = Question(workload=workload, machine=machine, cores=threads, time_limit=time_limit, progress=progress)
        return (as_given(workload, machine, MOPT.run(question).mapping, options),)
    found = ranked(workload, machine, options, threads=threads, count=count, time_limit=time_limit, progress=progress)
    return tuple(CodeMapping(mapping=c.mapping, options=c.options, prediction=c.prediction) for c in found)
