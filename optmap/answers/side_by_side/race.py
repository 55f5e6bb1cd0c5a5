"""Several searches on the same layers within the same budget, held against the proven optimum."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import exp, fsum, log
from typing import Any, ClassVar

from optmap.base.errors import ContradictionError
from optmap.base.shown import Concise, Shown
from optmap.count.meshes.policy import NestPolicy
from optmap.count.policies import nest_policy
from optmap.machines.machine import Machine
from optmap.questions.options import Merit
from optmap.search.curve import Improvement
from optmap.search.found import PERFECT
from optmap.solvers.status import Stop
from optmap.workloads.workload import Workload

FLOOR = "the floor of every schedule"
"""Who proves a bound where no search does."""
NEAR = Fraction(1, 100)
"""How close to the optimum a search is said to have arrived."""
ENDS = {"strategy": "nothing more to propose", "evaluations": "evaluations", "time": "time"}
"""Why a search that explores ended, in words."""
SAME = Fraction(1, 10**9)
"""Relative distance within which floating-point numbers of searches are the exact ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodRun(Concise):
    """What one method did on one layer."""

    method: str
    value: Fraction
    """Of the mapping that it handed in, counted again."""
    fits: bool
    """Whether the machine can run that mapping."""
    bound: Fraction
    """What it proved of all mappings in its space; 0 for nothing."""
    proved: bool
    """Whether nothing in its space is better."""
    floor: Fraction = Fraction(0)
    """What no schedule of the layer goes below, as its answer has it; 0 for none."""
    space: str
    """The mappings among which it looked, in words."""
    evaluations: int
    valid: int | None
    """Of the evaluations; None of a method that does not say."""
    seconds: float
    """Until it ended."""
    curve: tuple[Improvement, ...]
    """Every time that its best became better; of a method that does not say, its end alone."""
    traced: bool = True
    """Whether it says when it found what."""
    ended: str
    """Why it ended, in words."""

    @property
    def whole(self) -> bool:
        """Whether it looked among all mappings with perfect factors, as all bounds of a race must."""
        return self.space == PERFECT

    @property
    def valid_share(self) -> float | None:
        """Of the mappings that were judged, those that the machine can run."""
        return None if self.valid is None or not self.evaluations else self.valid / self.evaluations

    @property
    def best_at(self) -> Improvement | None:
        """When it found its best; None without a mapping that fits."""
        return self.curve[-1] if self.fits and self.curve else None


def run_from(document: Mapping[str, Any]) -> MethodRun:
    """What a method did, from the document of its answer (`optmap.accelerator-solution/1`)."""
    search, status = document["search"], document["status"]
    value, fits = Fraction(document["cost"]["exact"]), status["point"] != "none"
    curve = tuple(Improvement(*point) for point in search.get("curve", ()))
    end = Improvement(search["evaluations"], search["seconds"], float(value))
    return MethodRun(
        method=document["method"],
        value=value,
        fits=fits,
        bound=Fraction(search["bound"]),
        proved=search["proved"],
        floor=_floor(document),
        space=status["space"],
        evaluations=search["evaluations"],
        valid=search.get("valid"),
        seconds=search["seconds"],
        curve=curve or ((end,) if fits else ()),
        traced=bool(curve),
        ended=_ended(document) if fits else "its mapping does not fit",
    )


def _floor(document: Mapping[str, Any]) -> Fraction:
    """The floor of every schedule, where it is one under what the counting counts."""
    bounded = nest_policy(document["counting"]).bounded
    return Fraction(document["bound"]["exact"]) if bounded and document["bound"] else Fraction(0)


def _ended(document: Mapping[str, Any]) -> str:
    """Why a method with a mapping that fits ended, in words."""
    if document["search"]["proved"]:
        return "proved"
    if document["status"]["stop"] == Stop.TIME_LIMIT.value:
        return "time"
    if document["status"]["stop"] == Stop.INTERRUPTED.value:
        return "interrupted"
    return ENDS.get(document["search"].get("ended"), ENDS["strategy"])


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerRace(Concise):
    """All methods on one layer.

    Raises:
        ContradictionError: if a mapping is better than what a search proved to be least.
    """

    workload: Workload
    runs: dict[str, MethodRun]
    """Of the methods that handed in a mapping."""
    left_out: dict[str, str]
    """Methods without one, each with the reason."""

    def __post_init__(self) -> None:
        for run in self.runs.values():
            if run.fits and run.value < self.bound * (1 - SAME):
                raise ContradictionError(
                    f"{self.workload.title}: {run.method} found {float(run.value):.12g}, {self.prover} proved that "
                    f"nothing is below {float(self.bound):.12g}: one of the two is wrong; please report the layer"
                )

    @property
    def _bounds(self) -> Iterator[tuple[Fraction, str]]:
        for run in self.runs.values():
            yield (run.bound, run.method) if run.whole else (Fraction(0), "")
        yield from ((run.floor, FLOOR) for run in self.runs.values())

    @property
    def bound(self) -> Fraction:
        """The most that was proved of all mappings with perfect factors; 0 for nothing."""
        return max((bound for bound, _ in self._bounds), default=Fraction(0))

    @property
    def prover(self) -> str:
        """Who proved the bound: a method, or the floor of every schedule; empty for nobody."""
        return next((prover for bound, prover in self._bounds if 0 < bound == self.bound), "")

    @property
    def best(self) -> Fraction | None:
        """The least that was found; None without a mapping that fits."""
        return min((run.value for run in self.runs.values() if run.fits), default=None)

    @property
    def proved(self) -> bool:
        """Whether the bound is the optimum: somebody found it, or was proved right by somebody."""
        return self.best is not None and self.bound > 0 and self.best <= self.bound * (1 + SAME)

    def over(self, method: str) -> Fraction | None:
        """What a method found as a multiple of the bound; None without a mapping that fits, or a bound."""
        run = self.runs.get(method)
        return None if run is None or not run.fits or not self.bound else run.value / self.bound

    def near(self, method: str) -> Improvement | None:
        """When a method was first within a hundredth of the bound, so of the optimum; None for never."""
        run = self.runs.get(method)
        if run is None or not run.fits or not self.bound:
            return None
        limit = float(self.bound * (1 + NEAR) * (1 + SAME))
        return next((point for point in run.curve if point.value <= limit), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A method over all layers; means are geometric, over the layers that have the number."""

    method: str
    layers: int
    """On which it has a mapping that fits."""
    over: float | None
    """Multiples of the bound."""
    evaluations: float | None
    valid_share: float | None
    seconds: float | None
    seconds_to_best: float | None
    near: int
    """Layers on which it came within a hundredth of the bound."""
    seconds_to_near: float | None
    """Of those layers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Race(Shown):
    """Methods on layers of one accelerator, each within the same budget."""

    shown_as: ClassVar[str] = "race"

    machine: Machine
    objective: str
    """A key of `MERITS`."""
    counting: NestPolicy
    methods: tuple[str, ...]
    layers: tuple[LayerRace, ...]
    budget: float
    """Seconds that each method had for each layer."""
    proof: float | None = None
    """Seconds that `exact` had instead, to prove the optimum; None for the same."""
    evaluations: int | None
    """Mappings that each method which explores could have judged; None for any number."""
    seed: int
    side_by_side: int | None
    """Searches that ran at the same time, at most; None where a cluster decided."""
    reused: int = 0
    """Runs of an earlier race in the same folder."""
    interrupted: bool = False
    """Whether somebody asked to stop: searches that had begun have the best until then."""

    @property
    def unit(self) -> str:
        """What the objective is measured in."""
        return Merit(self.objective).unit

    @property
    def means(self) -> tuple[Mean, ...]:
        """Of every method that has a mapping on some layer, in the order of the race."""
        return tuple(self._mean(name) for name in self.methods if any(name in layer.runs for layer in self.layers))

    def _mean(self, method: str) -> Mean:
        runs = [layer.runs[method] for layer in self.layers if method in layer.runs]
        fitting = [run for run in runs if run.fits]
        near = [found for layer in self.layers if (found := layer.near(method)) is not None]
        return Mean(
            method=method,
            layers=len(fitting),
            over=geometric(float(over) for layer in self.layers if (over := layer.over(method)) is not None),
            evaluations=geometric(run.evaluations for run in runs),
            valid_share=geometric(share for run in runs if (share := run.valid_share) is not None),
            seconds=geometric(run.seconds for run in runs),
            seconds_to_best=geometric(run.best_at.seconds for run in fitting if run.best_at is not None),
            near=len(near),
            seconds_to_near=geometric(point.seconds for point in near),
        )


def geometric(values: Iterable[float]) -> float | None:
    """The geometric mean; None of no numbers, 0 if one is 0."""
    found = list(values)
    if not found:
        return None
    return exp(fsum(log(value) for value in found) / len(found)) if all(found) else 0.0


def curve_of(layer: LayerRace, method: str) -> Iterator[Improvement]:
    """The curve of a method on a layer up to its end, in multiples of the bound where there is one."""
    run = layer.runs[method]
    scale = float(layer.bound) or 1.0
    for point in run.curve:
        yield Improvement(point.evaluations, point.seconds, point.value / scale)
    if run.fits:
        last = run.curve[-1]
        end = Improvement(max(run.evaluations, last.evaluations), max(run.seconds, last.seconds), last.value / scale)
        if end != last:
            yield end
