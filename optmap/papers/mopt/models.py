"""MOpt, section 9: its own model, the slowest level's volume over its bandwidth, beside runs and simulated caches."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from optmap.count.levels.cost import evaluate_cost
from optmap.files import library
from optmap.machines.core import Core
from optmap.machines.machine import Machine
from optmap.mappings.levels import Mapping
from optmap.native.validate.ranks import TOPS, spearman, top_loss
from optmap.native.validate.validation import Drawn, draw_layer, measure_layer, simulate_layer
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
CHANCE = 0.447
"""Spearman's coefficient that 20 samples without any correlation exceed, up or down, once in 20 times."""
SAME = 0.1
"""Of volumes that differ by less, the order says nothing."""
UNRELATED = {"resnet18/R9": ("L1", "L3"), "mobilenet/M2d": ("L1", "L3")}
"""Levels whose counters the text finds unrelated to the predicted order."""
CONSTRAINING = {"yolo9000/Y5": ("L3",)}
"""Levels beside the registers that the model has constrain, and the counters follow."""
WAYS = {"L1": 8, "L2": 4, "L3": 12}
"""Of the i7-9700K's caches, with lines of 64 bytes: Intel's data sheet."""


def i7() -> Machine:
    """The library's i7-9700K with its core and the lines and ways of its caches; any microkernel."""
    machine = library.machine("i7-9700k")
    levels = [replace(level, microkernel=None) for level in machine.levels]
    levels = [replace(level, line_bytes=64, ways=WAYS[level.name]) if level.name in WAYS else level for level in levels]
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
    costs = [max(own.values()) for own in cycles]
    for level in UNRELATED.get(point, ()):
        found = spearman(costs, _simulated(drawn, level)) or 0.0
        yield claimed(
            f"{point}: Spearman's coefficient of predicted cost and simulated volume outside {level}",
            "no correlation",
            round(found, 2),
            holds=abs(found) < CHANCE,
            because=_why_related(costs, [own[level] for own in cycles], _simulated(drawn, level), level),
        )
    for level in CONSTRAINING.get(point, ()):
        found = spearman([own[level] for own in cycles], _simulated(drawn, level)) or 0.0
        yield claimed(
            f"{point}: Spearman's coefficient of predicted and simulated volumes outside {level}",
            "strong correlation",
            round(found, 2),
            holds=found >= STRONG,
        )
    yield unreachable(
        f"{point}: loads and stores of registers beside the predicted order",
        "strong correlation",
        why="counters of an i7-9700K; simulated caches are asked for lines",
    )


def _why_related(costs: list[float], volumes_of: list[float], counted: list[float], level: str) -> Reason:
    """Why samples may be in the order of the cost at a level that does not constrain."""
    within = spearman(costs, volumes_of) or 0.0
    if within > CHANCE:
        return Reason(
            text="samples differ in the microkernel, too, and in the model itself the cost and the volume outside "
            f"{level} rise together: {within:.2f}",
            tested=True,
        )
    spread = max(counted) / min(counted) - 1
    return Reason(
        text=f"the volumes that are in this order differ by {100 * spread:.1f} % at most", tested=spread < SAME
    )


def _simulated(drawn: Drawn, level: str) -> list[float]:
    """Words that cross the boundary outside a level in the simulated caches."""
    return [float(sample.simulated.words(level)) for sample, _ in drawn if sample.simulated is not None]


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 2)
