"""Sizing: the cheapest capacity at which the traffic comes near what no memory can save."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from optmap.answers.over_capacity.curves import MethodCurve, Panel
from optmap.base.errors import InputError
from optmap.base.texts import size_text

TARGETS = (2.0, 1.1, 1.01)
"""Multiples of the compulsory traffic that are asked for unless others are given."""


NO_MORE = 0.01
"""A larger cache has stopped paying when all of them together save less than this share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    """From which capacity on a workload moves at most a multiple of its compulsory traffic."""

    workload: str
    machine: str
    level: str
    method: str
    """Label of the mappings."""
    target: float
    """Allowed traffic as a multiple of the compulsory one."""
    reached_bytes: int | None
    """Smallest capacity of the sweep with a mapping that reaches the target; None if none does."""
    missed_bytes: int | None
    """Largest smaller capacity of the sweep, whose mapping does not; None if there is none."""
    refuted_bytes: int | None
    """Largest capacity of the sweep at which the bound proves that no schedule reaches it; None if at none."""
    best: float
    """Least traffic of the whole sweep as a multiple of the compulsory one."""

    @property
    def text(self) -> str:
        """The answer as a sentence."""
        goal = f"{self.target:g}x of compulsory traffic"
        if self.reached_bytes is None:
            start = f"{self.workload} does not reach {goal} (best: {self.best:.4g}x)"
        else:
            start = f"{self.workload} reaches {goal} from {size_text(self.reached_bytes)} on"
        if self.missed_bytes is not None and self.reached_bytes is not None:
            start += f", not yet at {size_text(self.missed_bytes)}"
        proved = f"; proved out of reach up to {size_text(self.refuted_bytes)}" if self.refuted_bytes else ""
        return f"{start}{proved}"


def sizing(panels: Iterable[Panel], targets: Sequence[float] = TARGETS) -> tuple[Sizing, ...]:
    """The cheapest capacity per workload, method and target.

    A mapping for less memory runs in more, so what one capacity reaches every larger one reaches.

    Args:
        panels: curves of a sweep.
        targets: multiples of the compulsory traffic, each at least 1.

    Raises:
        InputError: for a target below 1 or one that is no number.
    """
    for target in targets:
        if not 1 <= target < math.inf:
            raise InputError(f"target {target} is not possible; give a multiple of the compulsory traffic, 1 or more")
    return tuple(
        _answer(panel, series, target)
        for panel in panels
        for series in panel.series
        if series.samples
        for target in sorted(set(targets), reverse=True)
    )


def _answer(panel: Panel, series: MethodCurve, target: float) -> Sizing:
    allowed = target * panel.compulsory_words
    reached = next((sample.capacity_bytes for sample in series.samples if sample.traffic_words <= allowed), None)
    missed = [s.capacity_bytes for s in series.samples if reached is None or s.capacity_bytes < reached]
    refuted = [held for held, words in panel.bounds if words > allowed]
    return Sizing(
        workload=panel.workload,
        machine=panel.machine,
        level=panel.level,
        method=series.label,
        target=target,
        reached_bytes=reached,
        missed_bytes=max(missed, default=None),
        refuted_bytes=max(refuted, default=None),
        best=min(sample.traffic_words for sample in series.samples) / panel.compulsory_words,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Saturation:
    """Where a larger cache stops paying."""

    workload: str
    method: str
    capacity_bytes: int
    """Smallest capacity from which all larger ones of the sweep save less than `NO_MORE` of the traffic."""
    traffic_words: int
    """Traffic there."""
    at_end: bool
    """Whether that is the largest capacity of the sweep: a still larger cache may pay."""
    left: float
    """Share of that traffic that no cache can save: compulsory over traffic."""

    @property
    def text(self) -> str:
        """The answer as a sentence."""
        size = size_text(self.capacity_bytes)
        if self.at_end and self.left < 1 - NO_MORE:
            return f"{self.workload}: larger caches pay up to {size}, the largest of the sweep"
        return (
            f"{self.workload}: from {size} on a larger cache saves less than {100 * NO_MORE:g} % "
            f"({100 * self.left:.1f} % of the traffic there is compulsory)"
        )


def saturation(panel: Panel, series: MethodCurve) -> Saturation | None:
    """Where a larger cache stops paying, on one curve; None for a curve of one capacity or none.

    Args:
        panel: the workload or the sum of a network.
        series: one of its curves.
    """
    if len(series.samples) < 2:
        return None
    least = min(sample.traffic_words for sample in series.samples)
    found = next(sample for sample in series.samples if sample.traffic_words <= (1 + NO_MORE) * least)
    return Saturation(
        workload=panel.workload,
        method=series.label,
        capacity_bytes=found.capacity_bytes,
        traffic_words=found.traffic_words,
        at_end=found is series.samples[-1],
        left=panel.compulsory_words / found.traffic_words,
    )
