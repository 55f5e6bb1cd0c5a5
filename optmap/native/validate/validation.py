"""The model against simulated caches and the clock, layer by layer (MOpt section 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import ClassVar

from optmap.base.errors import InputError
from optmap.base.share import Tell, part_of, unheard
from optmap.base.shown import Shown
from optmap.count.timing import Prediction, predict
from optmap.kernels.code_options import CodeOptions
from optmap.kernels.kernel_roles import KernelKind
from optmap.machines.machine import Machine
from optmap.mappings.levels import Mapping
from optmap.native.code import Code
from optmap.native.toolchain.compiler import find_compiler
from optmap.native.validate.caches import CacheTraffic, caches_of, simulate_caches
from optmap.native.validate.measured import build_samples, emit_samples, ready_samples, time_samples
from optmap.native.validate.models import BOTTLENECK, TIME, BottleneckCost, bottleneck_cost, models_of
from optmap.native.validate.ranks import TOPS, crossed_loss, kendall, polished, spearman, top_loss
from optmap.native.validate.samples import sample_mappings
from optmap.workloads.workload import Workload

PREDICTED, MEASURED = "predicted time", "measured time"
"""What samples are ranked by, beside `predicted L1 - L2` and `simulated L1 - L2`: what crosses a boundary."""
PREDICTIONS = {TIME: PREDICTED, BOTTLENECK: "predicted bottleneck"}
"""What a model's predictions are called, in all."""
AT_BOUNDARY = {TIME: "predicted", BOTTLENECK: "counted"}
"""Likewise what it lets cross a boundary: `counted L1 - L2`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatedMapping:
    """One mapping, and what is said of it."""

    mapping: Mapping
    kernel: KernelKind
    prediction: Prediction
    bottleneck: BottleneckCost | None = None
    """None if MOpt's model was not asked for."""
    simulated: CacheTraffic | None = None
    """None if caches were not simulated."""
    seconds: float | None = None
    """Of one call (`polished`); None if nothing was run."""
    rounds: tuple[float, ...] = ()
    """Seconds of one call in every round; () if nothing was run."""

    @property
    def cycles(self) -> float:
        """Predicted."""
        return self.prediction.cycles


@dataclass(frozen=True, slots=True, kw_only=True)
class RankAgreement:
    """How one number per sample ranks the samples by another."""

    by: str
    """What ranks: the predicted time, or simulated words at a boundary."""
    of: str
    """What is ranked: the measured time, or simulated words."""
    samples: int
    spearman: float | None
    """None where one of the two is the same for all samples."""
    kendall: float | None
    losses: tuple[float, ...]
    """Per entry of `TOPS` the share of performance that is lost; () unless times are ranked."""
    crossed: tuple[float, ...] = ()
    """The same with the best chosen by other rounds (`crossed_loss`); () unless there are two rounds of times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerValidation:
    """The samples of one workload."""

    workload: Workload
    samples: tuple[ValidatedMapping, ...]
    rankings: tuple[RankAgreement, ...]
    """Predicted against measured time first, if there was a clock; then what is simulated."""

    @property
    def in_order(self) -> tuple[ValidatedMapping, ...]:
        """Best predicted first."""
        return tuple(sorted(self.samples, key=lambda sample: sample.cycles))

    def gflops(self, sample: ValidatedMapping) -> float | None:
        """Measured billions of additions and multiplications per second, those on padding counted; None if not run."""
        return None if sample.seconds is None else 2e-9 * self.workload.operations / sample.seconds

    def ranking(self, by: str, of: str) -> RankAgreement | None:
        """The one with these names; None if it was not made."""
        return next((each for each in self.rankings if (each.by, each.of) == (by, of)), None)


@dataclass(frozen=True, kw_only=True)
class Validation(Shown):
    """The model held against samples of several workloads on one machine."""

    shown_as: ClassVar[str] = "validation"

    machine: Machine
    options: CodeOptions
    layers: tuple[LayerValidation, ...]
    wanted: int
    """Samples per layer that were asked for."""
    rounds: int
    """In which each was timed."""
    seed: int
    models: tuple[str, ...] = (TIME,)
    """That are held against measurements."""

    def medians(self, by: str, of: str) -> RankAgreement | None:
        """Medians over layers, of those where there is something to rank; None if there is none."""
        rows = [row for layer in self.layers if (row := layer.ranking(by, of)) is not None]
        if not rows:
            return None
        return RankAgreement(
            by=by,
            of=of,
            samples=sum(row.samples for row in rows),
            spearman=_median([row.spearman for row in rows]),
            kendall=_median([row.kendall for row in rows]),
            losses=tuple(median(each) for each in zip(*(row.losses for row in rows), strict=True)),
            crossed=tuple(median(each) for each in zip(*(row.crossed for row in rows), strict=True)),
        )

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """What was ranked by what in some layer."""
        return tuple(dict.fromkeys((row.by, row.of) for layer in self.layers for row in layer.rankings))


def validate_layers(
    workloads: Sequence[Workload],
    machine: Machine,
    *,
    samples: int = 100,
    seed: int = 0,
    simulated: bool = True,
    rounds: int = 5,
    models: tuple[str, ...] = (TIME,),
    options: CodeOptions | None = None,
    folder: Path | None = None,
    progress: Tell = unheard,
) -> Validation:
    """Hold models against simulated caches and the clock; see `optmap.validate`.

    Raises:
        InputError: for a machine without a core or without caches, or samples or rounds below one.
        LimitError: if no tiling of a workload fits.
        SolverUnavailableError: if there is no compiler.
        CheckError: if the code of a sample computes something else.
    """
    if rounds < 1:
        raise InputError(f"{rounds} rounds; at least one is needed")
    models = models_of(models)
    find_compiler()  # or it would be missed only once tilings are drawn
    chosen = options or CodeOptions()
    layers = []
    for number, workload in enumerate(workloads):
        told = part_of(progress, number, len(workloads), f" of {workload.title}")
        drawn = draw_layer(workload, machine, count=samples, seed=seed, models=models, options=chosen)
        if simulated:
            drawn = simulate_layer(drawn, machine, progress=told)
        drawn = measure_layer(drawn, rounds=rounds, seed=seed, folder=folder, progress=told)
        layers.append(rank_layer(workload, [sample for sample, _ in drawn], machine, models=models))
    return Validation(
        machine=machine,
        options=chosen,
        layers=tuple(layers),
        wanted=samples,
        rounds=rounds,
        seed=seed,
        models=models,
    )


Drawn = Sequence[tuple[ValidatedMapping, Code]]
"""Samples with their code."""


def draw_layer(
    workload: Workload,
    machine: Machine,
    *,
    count: int,
    seed: int = 0,
    models: tuple[str, ...] = (TIME,),
    options: CodeOptions | None = None,
) -> list[tuple[ValidatedMapping, Code]]:
    """Samples of a workload with what models predict and their code; errors as for `validate_layers`."""
    chosen = options or CodeOptions()
    mappings = sample_mappings(workload, machine, count, seed=seed)
    codes = emit_samples(workload, machine, mappings, chosen)
    return [
        (
            ValidatedMapping(
                mapping=mapping,
                kernel=code.kernel,
                prediction=predict(workload, machine, mapping, chosen),
                bottleneck=bottleneck_cost(workload, machine, mapping) if BOTTLENECK in models else None,
            ),
            code,
        )
        for mapping, code in zip(mappings, codes, strict=True)
    ]


def simulate_layer(drawn: Drawn, machine: Machine, *, progress: Tell = unheard) -> list[tuple[ValidatedMapping, Code]]:
    """The samples with the traffic of the machine's caches under their loops, in the layouts of their code."""
    found = []
    for number, (sample, code) in enumerate(drawn):
        progress("simulating caches", number / len(drawn))
        held = code.kernel is not KernelKind.PLAIN
        traffic = simulate_caches(code.workload, machine, code.mapping, code.buffers, registers=held)
        found.append((replace(sample, simulated=traffic), code))
    return found


def measure_layer(
    drawn: Drawn,
    *,
    rounds: int = 5,
    seed: int = 0,
    folder: Path | None = None,
    progress: Tell = unheard,
) -> list[tuple[ValidatedMapping, Code]]:
    """The samples with their measured time, every one checked before; errors as for `validate_layers`."""
    kernels = build_samples([code for _, code in drawn], folder=folder, progress=progress)
    ready = ready_samples(drawn[0][1].workload, kernels, seed=seed)
    timed = time_samples(ready, rounds=rounds, progress=progress)
    return [
        (replace(sample, seconds=seconds, rounds=times), code)
        for (sample, code), seconds, times in zip(drawn, polished(timed), timed, strict=True)
    ]


def rank_layer(
    workload: Workload, samples: Sequence[ValidatedMapping], machine: Machine, *, models: tuple[str, ...] = (TIME,)
) -> LayerValidation:
    """Rank what models predict against measured time, and their parts against simulated traffic.

    Args:
        workload: that all samples compute.
        samples: either all or none measured, either all or none simulated; with what the models predict.
        machine: names the caches.
        models: by name.
    """
    kept = [sample for sample in samples if sample.prediction.feasible]
    rankings = []
    times = [sample.seconds for sample in kept if sample.seconds is not None]
    rounds = [sample.rounds for sample in kept]
    totals = {PREDICTIONS[model]: [_predicted(sample, model) for sample in kept] for model in models}
    if times:
        rankings += [_timed(name, costs, times, rounds) for name, costs in totals.items()]
    for level in caches_of(machine):
        words = [float(sample.simulated.words(level.name)) for sample in kept if sample.simulated is not None]
        if not words:
            continue
        boundary = f"{level.name} - {dict(machine.boundaries)[level.name]}"
        name = f"simulated {boundary}"
        for model in models:
            moved = [_moved(sample, model, level.name) for sample in kept]
            rankings.append(_ranking(f"{AT_BOUNDARY[model]} {boundary}", name, moved, words))
        if BOTTLENECK in models:  # MOpt's Figure 6: counters in the order of the cost
            rankings.append(_ranking(PREDICTIONS[BOTTLENECK], name, totals[PREDICTIONS[BOTTLENECK]], words))
        if times:
            rankings.append(_timed(name, words, times, rounds))
    return LayerValidation(workload=workload, samples=tuple(samples), rankings=tuple(rankings))


def _predicted(sample: ValidatedMapping, model: str) -> float:
    """Cycles in all."""
    if model == TIME:
        return sample.cycles
    return _counted(sample).value


def _moved(sample: ValidatedMapping, model: str, level: str) -> float:
    """Bytes, or words of the bottleneck's model, that a prediction lets cross the boundary outside a level."""
    if model == TIME:
        return next(row.moved_bytes for row in sample.prediction.boundaries if row.between[0] == level)
    return float(_counted(sample).words[level])


def _counted(sample: ValidatedMapping) -> BottleneckCost:
    if sample.bottleneck is None:
        raise InputError("a sample has no bottleneck; draw samples with that model")
    return sample.bottleneck


def _ranking(by: str, of: str, first: Sequence[float], second: Sequence[float]) -> RankAgreement:
    correlations = spearman(first, second), kendall(first, second)
    return RankAgreement(by=by, of=of, samples=len(first), spearman=correlations[0], kendall=correlations[1], losses=())


def _timed(by: str, first: Sequence[float], times: Sequence[float], rounds: Sequence[Sequence[float]]) -> RankAgreement:
    """The ranking of measured times, with what is lost."""
    crossed = (crossed_loss(first, rounds, count) for count in TOPS)
    return replace(
        _ranking(by, MEASURED, first, times),
        losses=tuple(top_loss(first, times, count) for count in TOPS),
        crossed=tuple(loss for loss in crossed if loss is not None),
    )


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
