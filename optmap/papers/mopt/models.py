"""MOpt, section 9: its own model, the slowest level's volume over its bandwidth, beside runs and simulated caches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from optmap.files import library
from optmap.machines.machine import Machine
from optmap.native.validate.models import BOTTLENECK
from optmap.native.validate.ranks import TOPS, spearman
from optmap.native.validate.validation import (
    AT_BOUNDARY,
    MEASURED,
    PREDICTIONS,
    LayerValidation,
    draw_layer,
    rank_layer,
    simulate_layer,
)
from optmap.papers.items import Amounts, Collected, Rows
from optmap.papers.mopt.results import DENSE_LAYERS
from optmap.papers.rows import ClaimRow, PointAmount, Reason, claimed, held, unreachable
from optmap.verbs.measuring import validate
from optmap.verbs.running import detect

MODELS = Collected()
LAYERS = ("resnet18/R9", "mobilenet/M2d", "yolo9000/Y5")
"""Of Figure 6; M2 as the published code runs it, a dense convolution."""
TIMED, SIMULATED = 30, 20
"""Samples; the paper has about 100."""
ROUNDS = 4
"""In which samples are timed; the best are chosen by half of them where luck is to play no part."""
LOST, CROSSED = "the best of all rounds", "the best chosen by other rounds"
BELOW = {4.5: 32, 3.0: 30}
"""Operators whose loss is below so many percent, as printed."""
ELSEWHERE = "measured on an i7-9700K with the authors' assembly; ours on the machine at hand, with code of optmap"
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
RANKED = PREDICTIONS[BOTTLENECK]
"""By the cost of MOpt's model."""


def i7() -> Machine:
    """The library's i7-9700K; any microkernel."""
    machine = library.machine("i7-9700k")
    return replace(machine, levels=tuple(replace(level, microkernel=None) for level in machine.levels))


@MODELS.item("Section 9", "Loss of performance over all operators", where="section 9")
def all_operators() -> Rows:
    """As printed; what the operators that were run here lose is in Figure 5."""
    for percent, count in BELOW.items():
        yield unreachable(_below(percent), count, why=f"{ELSEWHERE}, in Figure 5")
    most = max(BELOW)
    title = "percent of the best sample's speed that the best predicted has at least, 100 less the printed loss"
    yield held(title, 95.5, 100 - most)


def _below(percent: float) -> str:
    return f"operators of {len(DENSE_LAYERS)} where the best predicted sample loses less than {percent} %"


def _over_operators(amounts: Amounts) -> Iterator[ClaimRow]:
    """In how many operators the best predicted sample loses little, on the machine at hand."""
    for percent, count in BELOW.items():
        for name in (LOST, CROSSED):
            below = sum(100 * own[name] < percent for own in amounts.values())
            title = f"here, {name}: {_below(percent)}"
            yield unreachable(title, count, ours=below, why=ELSEWHERE, measured=True)


@MODELS.item(
    "Figure 5",
    "Loss of performance of the predicted best",
    where="section 9",
    points=DENSE_LAYERS,
    total="all operators",
    totals=_over_operators,
    long=True,
)
def figure_5(point: str) -> Rows:
    """Samples that are drawn from all that fit, run and timed on the machine at hand, ranked by MOpt's model."""
    machine = detect(quick=True).machine
    validation = validate(point, machine=machine, samples=TIMED, rounds=ROUNDS, simulate=False, models=BOTTLENECK)
    ranking = validation.layers[0].ranking(RANKED, MEASURED)
    losses = () if ranking is None else ranking.losses
    for count, loss in zip(TOPS, losses, strict=False):
        yield unreachable(
            f"{point}: percent of the best sample's speed that the {count} predicted best lose",
            "below 4.5",
            ours=round(100 * loss, 1),
            why=ELSEWHERE,
            measured=True,
        )
    if ranking is not None:
        yield PointAmount(name=LOST, value=ranking.losses[0])
        yield PointAmount(name=CROSSED, value=ranking.crossed[0])
    yield unreachable(
        f"{point}: Spearman's coefficient of predicted and measured times",
        "strong correlation",
        ours=None if ranking is None else _rounded(ranking.spearman),
        why="a plot of the i7-9700K; ours on the machine at hand",
        measured=True,
    )


@MODELS.item("Figure 6", "Predicted order beside hardware counters", where="section 9", points=LAYERS, long=True)
def figure_6(point: str) -> Rows:
    """The i7-9700K's caches simulated, with sets, ways and lines, in place of its counters."""
    machine, workload = i7(), library.workload(point)
    drawn = simulate_layer(draw_layer(workload, machine, count=SIMULATED, models=(BOTTLENECK,)), machine)
    layer = rank_layer(workload, [sample for sample, _ in drawn], machine, models=(BOTTLENECK,))
    slowest = Counter(own.bottleneck.level for own in layer.samples if own.bottleneck is not None).most_common(1)[0]
    yield claimed(
        f"{point}: level that constrains most of {len(drawn)} samples",
        "registers",
        f"{slowest[0]}, {slowest[1]} samples",
        holds=slowest[0] == machine.levels[0].name,
    )
    for level in UNRELATED.get(point, ()):
        found = _coefficient(layer, machine, RANKED, level)
        yield claimed(
            f"{point}: Spearman's coefficient of predicted cost and simulated volume outside {level}",
            "no correlation",
            round(found, 2),
            holds=abs(found) < CHANCE,
            because=_why_related(layer, level),
        )
    for level in CONSTRAINING.get(point, ()):
        found = _coefficient(layer, machine, f"{AT_BOUNDARY[BOTTLENECK]} {_outside(machine, level)}", level)
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


def _outside(machine: Machine, level: str) -> str:
    """The boundary outside a level."""
    return f"{level} - {dict(machine.boundaries)[level]}"


def _coefficient(layer: LayerValidation, machine: Machine, by: str, level: str) -> float:
    """Spearman's, of something and the simulated volume outside a level; 0 where one of them does not vary."""
    ranking = layer.ranking(by, f"simulated {_outside(machine, level)}")
    return 0.0 if ranking is None else ranking.spearman or 0.0


def _why_related(layer: LayerValidation, level: str) -> Reason:
    """Why samples may be in the order of the cost at a level that does not constrain."""
    costs = [own.bottleneck for own in layer.samples if own.bottleneck is not None]
    counted = [float(own.simulated.words(level)) for own in layer.samples if own.simulated is not None]
    within = spearman([own.value for own in costs], [own.cycles[level] for own in costs]) or 0.0
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


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 2)
