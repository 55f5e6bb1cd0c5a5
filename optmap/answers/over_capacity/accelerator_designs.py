"""Accelerators of a sweep side by side: energy, cycles and their product of all workloads together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from optmap.base.texts import size_text

if TYPE_CHECKING:
    import pandas as pd

VARIANTS = ("method", "objective", "counting", "tiles", "constraints")
"""Columns that tell apart several mappings of one machine; a name says the ones that differ."""
Key = tuple[str, str, int, tuple[str, ...]]
"""(machine, level, capacity in bytes, variant)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NestDesign:
    """An accelerator with a capacity, and the mappings of all workloads on it, each as often as it occurs."""

    group: str
    """Machine, and what sets the mappings apart from others."""
    level: str
    """Whose capacity it is."""
    capacity_bytes: int
    workloads: tuple[str, ...]
    """Those that are added up."""
    energy_pj: float
    cycles: int
    seconds: float
    """Time that the answers took."""

    @property
    def edp(self) -> float:
        """Energy times cycles of all workloads one after the other, in pJ*cycles."""
        return self.energy_pj * self.cycles


def design_names(designs: Sequence[NestDesign]) -> tuple[str, list[str]]:
    """What all designs have in common, and what sets each apart: numbers of the machine, its capacity if need be.

    Args:
        designs: of one sweep.
    """
    parts = [design.group.split(", ") for design in designs]
    common = [part for part in parts[0] if all(part in each for each in parts)] if len(parts) > 1 else []
    alone = len({design.group for design in designs}) == len(designs)
    names = []
    for design, each in zip(designs, parts, strict=True):
        own = [part for part in each if part not in common]
        names.append(", ".join([*own, *([] if alone else [f"{design.level} {size_text(design.capacity_bytes)}"])]))
    return ", ".join(common), names


@dataclass(frozen=True, slots=True, kw_only=True)
class NestMetric:
    """A number of an accelerator; smaller is better."""

    label: str
    """For an axis, with its unit."""
    value: Callable[[NestDesign], float]


NEST_METRICS = {
    "capacity_bytes": NestMetric(label="capacity", value=lambda design: design.capacity_bytes),
    "energy_pj": NestMetric(label="energy (pJ)", value=lambda design: design.energy_pj),
    "cycles": NestMetric(label="cycles", value=lambda design: design.cycles),
    "edp": NestMetric(label="energy times cycles (pJ*cycles)", value=lambda design: design.edp),
    "seconds": NestMetric(label="time to solve (s)", value=lambda design: design.seconds),
}
"""Metrics of a Pareto front of accelerators."""


def nest_designs(frame: pd.DataFrame, counts: Mapping[str, int] | None = None) -> tuple[NestDesign, ...]:
    """The accelerators in the rows of a sweep, in the order of the rows; none where no row is of one.

    Only workloads that every design maps are added up, each with its count; a mapping that does not fit maps
    nothing. Where a point was answered twice under one variant, the better mapping counts.

    Args:
        frame: what `read_sweep` returns, or a selection of its rows.
        counts: how often the workloads occur, others being left out; None for all, as the rows say.
    """
    if "energy_pj" not in frame.columns:
        return ()
    rows = frame[frame["energy_pj"].notna() & (frame["point"] != "none")].to_dict("records")
    rows = [row for row in rows if counts is None or row["workload"] in counts]
    named = [name for name in VARIANTS if len({row.get(name) for row in rows}) > 1]
    groups: dict[Key, dict[str, Mapping[Any, Any]]] = {}
    for row in rows:
        variant = tuple(f"{name} {row[name]}" if name == "tiles" else str(row[name]) for name in named if row[name])
        group = groups.setdefault((row["machine"], row["level"], int(row["capacity_bytes"]), variant), {})
        held = group.get(row["workload"])
        if held is None or row["cost"] < held["cost"]:
            group[row["workload"]] = row
    common = set.intersection(*(set(group) for group in groups.values())) if groups else set()
    if not common:
        return ()
    return tuple(
        _design(
            key, [(group[name], (counts or {}).get(name, group[name]["count"])) for name in group if name in common]
        )
        for key, group in groups.items()
    )


def _design(key: Key, rows: list[tuple[Mapping[Any, Any], int]]) -> NestDesign:
    machine, level, capacity, variant = key
    return NestDesign(
        group=f"{machine} ({', '.join(variant)})" if variant else machine,
        level=level,
        capacity_bytes=capacity,
        workloads=tuple(row["workload"] for row, _ in rows),
        energy_pj=sum(float(row["energy_pj"]) * int(count) for row, count in rows),
        cycles=sum(int(row["cycles"]) * int(count) for row, count in rows),
        seconds=sum(float(row["seconds"]) for row, _ in rows),
    )
