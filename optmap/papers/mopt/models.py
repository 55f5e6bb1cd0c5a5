"""MOpt, section 9: its own model, the slowest level's volume over its bandwidth, beside runs and simulated caches."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from optmap.count.levels.cost import evaluate_cost
from optmap.count.timing import Prediction
from optmap.files import library
from optmap.machines.core import Core
from optmap.machines.machine import Machine
from optmap.mappings.levels import Mapping
from optmap.native.validate.ranks import TOPS, spearman, top_loss
from optmap.native.validate.validation import draw_layer, measure_layer, simulate_layer
from optmap.papers.items import Collected, Rows
from optmap.papers.rows import Reason, claimed, unreachable
from optmap.verbs.running import detect
from optmap.workloads.workload import Workload

MODELS = Collected()
LAYERS = ("resnet18/R9", "mobilenet/M2d", "yolo9000/Y5")
"""Of Figure 6; M2 as the published code runs it, a dense convolution."""
TIMED, SIMULATED = 30, 20
"""Samples; the paper has about 100."""
STRONG = 0.7
"""Spearman's coefficient that counts as a strong correlation."""
WAYS = {"L1": 8, "L2": 4, "L3": 12}
"""Of the i7-9700K's caches, with lines of 64 bytes: Intel's data sheet."""


def i7() -> Machine:
    """The library's i7-9700K with its core and the lines and ways of its caches; any microkernel."""
    machine = library.machine("i7-9700k")
    levels = [
        replace(level, microkernel=None, **({"line_bytes": 64, "ways": WAYS[level.name]} if level.name in WAYS else {}))
        for level in machine.levels
    ]
    core = Core(vector_bytes=32, registers=16, fma_ports=2, fma_latency=5, load_ports=2)
    return replace(machine, levels=tuple(levels), core=core)


def volumes(workload: Workload, machine: Machine, mapping: Mapping) -> dict[str, float]:
    """Cycles of every level in MOpt's model; the largest is the cost."""
    return {level.level: float(level.cycles) for level in evaluate_cost(workload, machine, mapping).levels}


@MODELS.item("Figure 5", "Loss of performance of the predicted best", where="section 9", points=LAYERS, long=True)
def figure_5(point: str) -> Rows:
    """Samples that are drawn from all that fit, run and timed on the machine at hand, ranked by MOpt's model."""
    machine, workload = detect(quick=True).machine, library.workload(point)
    drawn = measure_layer(draw_layer(workload, machine, count=TIMED), rounds=3)
    costs = [max(volumes(workload, machine, sample.mapping).values()) for sample, _ in drawn]
    seconds = [sample.seconds or 0.0 for sample, _ in drawn]
    for count, printed in zip(TOPS, ("below 4.5", "below 4.5", "below 4.5"), strict=True):
        yield unreachable(
            f"{point}: percent of the best sample's speed that the {count} predicted best lose",
            printed,
            ours=round(100 * top_loss(costs, seconds, count), 1),
            why="measured on an i7-9700K with the authors' assembly; ours on the machine at hand, with code of optmap",
            measured=True,
        )
    yield unreachable(
        f"{point}: Spearman's coefficient of predicted and measured times",
        "strong correlation",
        ours=_rounded(spearman(costs, seconds)),
        why="a plot of the i7-9700K; ours on the machine at hand",
        measured=True,
    )


@MODELS.item("Figure 6", "Predicted order beside hardware counters", where="section 9", points=LAYERS, long=True)
def figure_6(point: str) -> Rows:
    """The i7-9700K's caches simulated, with sets, ways and lines, in place of its counters."""
    machine, workload = i7(), library.workload(point)
    drawn = simulate_layer(draw_layer(workload, machine, count=SIMULATED), machine)
    cycles = [volumes(workload, machine, sample.mapping) for sample, _ in drawn]
    slowest = Counter(max(own, key=lambda level: own[level]) for own in cycles).most_common(1)[0]
    yield claimed(
        f"{point}: level that constrains most of {len(drawn)} samples",
        "registers",
        f"{slowest[0]}, {slowest[1]} samples",
        holds=slowest[0] == machine.levels[0].name,
    )
    for level in machine.levels[1:]:
        counted = [float(sample.simulated.words(level.name)) for sample, _ in drawn if sample.simulated is not None]
        own = spearman([each[level.name] for each in cycles], counted)
        if own is None:
            continue
        timed = spearman([_moved(sample.prediction, level.name) for sample, _ in drawn], counted)
        yield claimed(
            f"{point}: Spearman's coefficient of predicted and simulated volumes outside {level.name}",
            "strong correlation",
            _rounded(own),
            holds=own >= STRONG,
            because=Reason(
                text=f"one tile of every tensor is taken to stay; caches drop what was used least recently, and with "
                f"lines and that counted the coefficient is {_rounded(timed)}",
                tested=timed is not None and timed > own,
            ),
        )
    yield unreachable(
        f"{point}: loads and stores of registers beside the predicted order",
        "strong correlation",
        why="counters of an i7-9700K; simulated caches are asked for lines",
    )


def _moved(prediction: Prediction, level: str) -> float:
    """Bytes that the time model lets cross the boundary outside a level."""
    return next(row.moved_bytes for row in prediction.boundaries if row.between[0] == level)


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 2)
