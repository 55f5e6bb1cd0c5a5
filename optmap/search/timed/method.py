"""`timed`: the mapping with the least predicted time."""

from __future__ import annotations

from optmap.base.errors import InfeasibleError
from optmap.count.timing.floor import Running
from optmap.count.timing.predict import TimeModel
from optmap.kernels.code_options import CodeOptions
from optmap.search.found import Found
from optmap.search.question import Question
from optmap.search.timed.ranking import rank

SPACE = (
    "register tiles around the vector kernel, evenly cut blocks and loop orders around them, by predicted time; "
    "plain loops: the mapping of method mopt"
)


def solve(question: Question) -> Found:
    """The mapping with the least predicted time, caches warm.

    Raises:
        InputError: for a machine without a core, or a workload that cannot be split among the threads.
        InfeasibleError: if no register tile fits.
    """
    model = TimeModel(
        workload=question.workload,
        machine=question.machine,
        options=CodeOptions(),
        running=Running(threads=question.cores),
    )
    candidates, late = rank(model, count=1, time_limit=question.time_limit, progress=question.progress)
    if not candidates:
        raise InfeasibleError(f"{question.workload.title}: no register tile of the vector kernel fits the core")
    best = candidates[0]
    plain = best.prediction.kernel == "plain"
    estimate = ("the arithmetic of plain loops is an estimate",) if plain else ()
    fixed = [level.name for level in question.machine.levels if level.microkernel is not None and not plain]
    own = tuple(f"register tiles follow from the core, not from the microkernel of {name}" for name in fixed)
    return Found(
        mapping=best.mapping,
        prediction=best.prediction,
        options=best.options,
        late=late,
        notes=("predicted for caches that are warm: called again and again on the same buffers", *estimate, *own),
        space=SPACE,
    )
