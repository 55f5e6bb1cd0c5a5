"""Workloads without a vector kernel: the mapping that moves least, with an estimate of its arithmetic."""

from __future__ import annotations

from dataclasses import replace

from optmap.base.errors import InfeasibleError
from optmap.base.share import Tell
from optmap.count.timing.predict import TimeModel
from optmap.search.papers.bottleneck import MOPT
from optmap.search.question import Question
from optmap.search.timed.candidate import TimedCandidate


def plain_candidate(model: TimeModel, time_limit: float, progress: Tell | None = None) -> tuple[TimedCandidate, bool]:
    """The mapping of method `mopt`, timed, and whether its search was cut short.

    Where a microkernel of the machine leaves no mapping, it is one without it.

    Args:
        model: what it is timed with.
        time_limit: seconds for the search.
        progress: called with a text and the share of the time limit used.

    Raises:
        InfeasibleError: if nothing fits.
        InputError: for a machine that cannot share the work among the threads.
    """
    question = Question(
        workload=model.workload,
        machine=model.machine,
        cores=model.running.threads,
        time_limit=time_limit,
        progress=progress,
    )
    try:
        found = MOPT.run(question)
    except InfeasibleError:
        # A microkernel, which is no part of plain loops, may leave no room to share the work.
        levels = tuple(replace(level, microkernel=None) for level in model.machine.levels)
        found = MOPT.run(replace(question, machine=replace(model.machine, levels=levels)))
    mapping = found.mapping
    model = replace(model, running=replace(model.running, threads=mapping.ways))
    candidate = TimedCandidate(mapping=mapping, options=model.options, prediction=model.predict(mapping))
    return candidate, found.stop.cut_short
