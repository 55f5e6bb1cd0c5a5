"""Designs side by side: what a capacity costs and what it saves, and the front of those that nothing beats."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from optmap.answers.over_capacity.curves import CapacitySample, Panel
from optmap.base.errors import InputError
from optmap.base.names import choose


def pareto_designs(totals: Sequence[Panel], x: str, y: str) -> list[tuple[str, float, float]]:
    """(what it is, x, y) of every design that has both numbers.

    Raises:
        UnknownNameError: for a metric that is none.
        InputError: if there is none.
    """
    for name in (x, y):
        choose("metric", name, METRICS)
    several = len({series.label for panel in totals for series in panel.series}) > 1
    found = [
        (
            f"{panel.place}{f' ({series.label})' if several else ''}",
            float(METRICS[x].value(panel, sample)),
            float(METRICS[y].value(panel, sample)),
        )
        for panel in totals
        for series in panel.series
        for sample in series.samples
    ]
    found = [design for design in found if math.isfinite(design[1]) and math.isfinite(design[2])]
    if not found:
        raise InputError(f"no machine of the sweep has mappings of all workloads with {x} and {y}")
    return found


def pareto_front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no other point beats in one number without losing in the other, by x."""
    front: list[tuple[float, float]] = []
    for point in sorted(set(points)):
        if not front or point[1] < front[-1][1]:
            front.append(point)
    return front


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A number of a design: of a machine with one capacity, for all workloads together."""

    label: str
    """For an axis, with its unit."""
    value: Callable[[Panel, CapacitySample], float]


def _percent(gap: float | None) -> float:
    return math.nan if gap is None else 100 * max(gap, 0.0)


METRICS = {
    "capacity_bytes": Metric(label="capacity", value=lambda _, sample: sample.capacity_bytes),
    "traffic_bytes": Metric(
        label="traffic (bytes)", value=lambda panel, sample: sample.traffic_words * panel.word_bits / 8
    ),
    "traffic_words": Metric(label="traffic (words)", value=lambda _, sample: sample.traffic_words),
    "exact": Metric(label="traffic / bandwidth (cycles)", value=lambda _, sample: sample.exact),
    "gap": Metric(label="gap of the objective (%)", value=lambda _, sample: _percent(sample.gap)),
    "traffic_gap": Metric(label="gap of the traffic (%)", value=lambda _, sample: _percent(sample.traffic_gap)),
    "seconds": Metric(label="time to solve (s)", value=lambda _, sample: sample.seconds),
}
"""Metrics of a Pareto front; smaller is better for all of them."""
