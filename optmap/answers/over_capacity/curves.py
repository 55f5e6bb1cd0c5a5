"""The rows of a sweep as curves over capacity: what pictures, sums and sizing start from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import TYPE_CHECKING, Any

from optmap.base.errors import InputError
from optmap.base.texts import natural, several
from optmap.questions.objective import OBJECTIVES

if TYPE_CHECKING:
    import pandas as pd

BOUND = "bound"
VARIANTS = ("method", "tiles", "capacity_rule", "objective", "cores", "constraints")
"""Columns that tell apart several mappings of one point; a label names the ones that differ."""
NEEDED = (
    "workload",
    "machine",
    "level",
    "capacity_bytes",
    "word_bits",
    "method",
    "semantics",
    "count",
    "operations",
    "compulsory_words",
    "traffic_words",
    "bound_words",
    "exact",
    "bound",
    "gap",
    "traffic_gap",
    "seconds",
)
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacitySample:
    """A mapping at one capacity."""

    capacity_bytes: int
    traffic_words: int
    """Exact loads and stores across the outer boundary of the level, in words of the panel."""
    exact: float
    """What the mapping minimises, of the whole nest: cycles, or words on a two-level machine."""
    bound: float | None
    """Proved lower bound on `exact`."""
    gap: float | None
    """exact / bound - 1: of what the mapping minimises."""
    traffic_gap: float | None
    """Traffic over its bound, minus one: of the words across the outer boundary of the level."""
    seconds: float
    """Time the answer took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodCurve:
    """The mappings of one method over capacity, ascending."""

    label: str
    """The method, and what sets it apart from others of the same panel."""
    samples: tuple[CapacitySample, ...]

    def best_below(self, capacity_bytes: int) -> CapacitySample | None:
        """The sample of least traffic whose capacity is not above: its mapping fits here too."""
        fitting = [sample for sample in self.samples if sample.capacity_bytes <= capacity_bytes]
        return min(fitting, key=lambda sample: sample.traffic_words, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Everything that a sweep knows of one workload at one level of one machine."""

    workload: str
    machine: str
    level: str
    semantics: str
    word_bits: int
    """Bits of one word, the unit of all words here."""
    count: int
    """How often the workload occurs in its network; the numbers are those of one occurrence."""
    operations: int
    """Multiply-accumulates of one occurrence."""
    compulsory_words: int
    """Loads and stores that no memory can save."""
    bounds: tuple[tuple[int, int], ...]
    """(capacity in bytes, proved words) pairs, ascending."""
    series: tuple[MethodCurve, ...]

    @property
    def place(self) -> str:
        """Machine and level, for titles."""
        return "two-level machine" if self.machine == "two-level" else f"{self.machine}, {self.level}"

    def in_words_of(self, word_bits: int) -> Panel:
        """The same numbers counted in smaller words.

        Args:
            word_bits: size of the new word; it divides the old one.
        """
        times = self.word_bits // word_bits
        if times == 1:
            return self
        return replace(
            self,
            word_bits=word_bits,
            compulsory_words=times * self.compulsory_words,
            bounds=tuple((held, times * words) for held, words in self.bounds),
            series=tuple(
                replace(line, samples=tuple(replace(s, traffic_words=times * s.traffic_words) for s in line.samples))
                for line in self.series
            ),
        )

    def bound_at(self, capacity_bytes: int) -> int:
        """The strongest bound that holds for a capacity: any for at least as much memory does."""
        return max((words for held, words in self.bounds if held >= capacity_bytes), default=self.compulsory_words)


def panels(frame: pd.DataFrame) -> tuple[Panel, ...]:
    """The curves in the rows of a sweep, in natural order of workloads within machine and level.

    Rows without an answer are left out. Where a point was answered twice under one label, the
    mapping with less traffic counts.

    Args:
        frame: what `read_sweep` returns, or a selection of its rows.

    Raises:
        InputError: if a column is missing or no row holds an answer.
    """
    missing = [name for name in NEEDED if name not in frame.columns]
    if missing:
        raise InputError(f"not the rows of a sweep: column {', '.join(missing)} is missing; use read_sweep")
    records = [_plain(record) for record in frame.to_dict("records")]
    groups: dict[tuple[str, str, str, str], list[Record]] = {}
    for record in records:
        if record["compulsory_words"] is not None:
            key = (record["machine"], record["level"], record["workload"], record["semantics"])
            groups.setdefault(key, []).append(record)
    if not groups:
        raise InputError("no row of the sweep holds an answer yet; run the sweep first, or look at its column error")
    named = _named([record for record in records if record["traffic_words"] is not None])
    made = [_panel(group, named) for group in groups.values()]
    return tuple(sorted(made, key=lambda panel: (panel.machine, panel.level, natural(panel.workload), panel.semantics)))


def _plain(record: Mapping[Any, Any]) -> Record:
    """Missing numbers (NaN, <NA>) as None."""
    return {str(key): None if _is_missing(value) else value for key, value in record.items()}


def _is_missing(value: object) -> bool:
    return type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and math.isnan(value))


def _named(records: Sequence[Record]) -> tuple[str, ...]:
    """The columns that labels name: those that differ anywhere, so that a sum never mixes two of them."""
    return tuple(name for name in VARIANTS if name == "method" or len({record.get(name) for record in records}) > 1)


def _panel(records: Sequence[Record], named: Sequence[str]) -> Panel:
    first = records[0]
    bounds: dict[int, int] = {}
    for record in records:
        if record["bound_words"] is not None:
            held = math.floor(record["capacity_bytes"])  # a bound for more memory holds for less
            bounds[held] = max(bounds.get(held, 0), int(record["bound_words"]))
    return Panel(
        workload=first["workload"],
        machine=first["machine"],
        level=first["level"],
        semantics=first["semantics"],
        word_bits=int(first["word_bits"]),
        count=int(first["count"]),
        operations=int(first["operations"]),
        compulsory_words=int(first["compulsory_words"]),
        bounds=tuple(sorted(bounds.items())),
        series=_series([record for record in records if record["traffic_words"] is not None], named),
    )


def _series(records: Sequence[Record], named: Sequence[str]) -> tuple[MethodCurve, ...]:
    lines: dict[str, dict[int, CapacitySample]] = {}
    for record in records:
        said = named if _both(record.get("objective")) else dict.fromkeys((*named, "objective"))
        label = ", ".join(_variant(name, record[name]) for name in said)
        sample = CapacitySample(
            capacity_bytes=math.ceil(record["capacity_bytes"]),  # a mapping for less memory runs in more
            traffic_words=int(record["traffic_words"]),
            exact=float("nan") if record["exact"] is None else float(record["exact"]),
            bound=record["bound"],
            gap=record["gap"],
            traffic_gap=record["traffic_gap"],
            seconds=float(record["seconds"] or 0.0),
        )
        line = lines.setdefault(label, {})
        held = line.get(sample.capacity_bytes)
        if held is None or sample.traffic_words < held.traffic_words:
            line[sample.capacity_bytes] = sample
    return tuple(
        MethodCurve(label=label, samples=tuple(line[key] for key in sorted(line)))
        for label, line in sorted(lines.items())
    )


def _both(objective: object) -> bool:
    """Whether an objective counts loads and stores, as curves of traffic do; a label says where one does not."""
    known = OBJECTIVES.get(str(objective))
    return known is None or known.stores


def _variant(name: str, value: object) -> str:
    texts: dict[str, Callable[[object], str]] = {
        "tiles": lambda value: f"tiles {value}",
        "capacity_rule": lambda value: f"capacity {value}",
        "objective": lambda value: str(value) if _both(value) else f"minimises {value}",
        "cores": lambda value: several(int(str(value)), "core"),
        "constraints": lambda value: f"with {value}" if value else "without constraints",
    }
    return texts.get(name, str)(value)


def summed(parts: Iterable[tuple[Panel, int]], name: str) -> Panel | None:
    """Several workloads on one machine as one panel: the sum of what they move, each with its count.

    Words of several sizes are counted in their greatest common divisor first.

    Curves of different capacities are put together soundly: a mapping for less memory runs in more,
    so the least traffic up to a capacity counts; a bound for more memory holds for less.

    Args:
        parts: (panel, count) pairs of one machine and level.
        name: what the sum is called.

    Returns:
        The sum, or None of nothing.

    Raises:
        InputError: if machines, levels or semantics differ.
    """
    parts = list(parts)
    if not parts:
        return None
    word = gcd(*(panel.word_bits for panel, _ in parts))
    parts = [(panel.in_words_of(word), count) for panel, count in parts]
    first = parts[0][0]
    places = {(panel.machine, panel.level, panel.semantics) for panel, _ in parts}
    if len(places) > 1:
        raise InputError(f"{name}: rows of several machines, levels or semantics cannot be added: {sorted(places)}")
    common = set.intersection(*({series.label for series in panel.series} for panel, _ in parts))
    held = sorted({capacity for panel, _ in parts for capacity, _ in panel.bounds})
    return Panel(
        workload=name,
        machine=first.machine,
        level=first.level,
        semantics=first.semantics,
        word_bits=word,
        count=1,
        operations=sum(panel.operations * count for panel, count in parts),
        compulsory_words=sum(panel.compulsory_words * count for panel, count in parts),
        bounds=tuple((size, sum(panel.bound_at(size) * count for panel, count in parts)) for size in held),
        series=tuple(_summed_series(parts, label) for label in sorted(common)),
    )


def _summed_series(parts: Sequence[tuple[Panel, int]], label: str) -> MethodCurve:
    lines = [(next(line for line in panel.series if line.label == label), panel, count) for panel, count in parts]
    held = sorted({sample.capacity_bytes for line, _, _ in lines for sample in line.samples})
    samples = []
    for size in held:
        chosen = [(line.best_below(size), panel, count) for line, panel, count in lines]
        found = [(sample, panel, count) for sample, panel, count in chosen if sample is not None]
        if len(found) < len(lines):
            continue
        traffic = sum(sample.traffic_words * count for sample, _, count in found)
        bound = sum(panel.bound_at(size) * count for _, panel, count in found)
        samples.append(
            CapacitySample(
                capacity_bytes=size,
                traffic_words=traffic,
                exact=sum(sample.exact * count for sample, _, count in found),
                # The bound of a smaller memory is none for this one.
                bound=_sum_of(
                    [sample.bound if sample.capacity_bytes == size else None for sample, _, _ in found],
                    [count for _, _, count in found],
                ),
                gap=None,
                traffic_gap=traffic / bound - 1 if bound else None,
                seconds=sum(sample.seconds for sample, _, _ in found),
            )
        )
    return MethodCurve(label=label, samples=tuple(_with_gap(sample) for sample in samples))


def _sum_of(values: Sequence[float | None], counts: Sequence[int]) -> float | None:
    """The weighted sum, or None if one is missing."""
    known = [value for value in values if value is not None]
    return sum(a * b for a, b in zip(known, counts, strict=True)) if len(known) == len(values) else None


def _with_gap(sample: CapacitySample) -> CapacitySample:
    return replace(sample, gap=sample.exact / sample.bound - 1 if sample.bound else None)


def best_and_bound(panel: Panel) -> tuple[list[int], list[int], list[int]]:
    """Where both are known: capacities in bytes, the proved words, and the least words of any method."""
    if not panel.bounds or not panel.series:
        return [], [], []
    held = sorted({sample.capacity_bytes for series in panel.series for sample in series.samples})
    known = [size for size in held if panel.bounds[0][0] <= size <= panel.bounds[-1][0]]
    least = [
        min(sample.traffic_words for series in panel.series if (sample := series.best_below(size)) is not None)
        for size in known
    ]
    return known, [panel.bound_at(size) for size in known], least
