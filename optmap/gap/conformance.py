"""Records of another model against optmap's counts: every number that differs, by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from optmap.evaluate.spatial.count import count_nest
from optmap.evaluate.spatial.results import MemoryCost, SpatialCost
from optmap.interchange.records import ExpectedTensor, Record
from optmap.problem.options import Counting
from optmap.shown import Form, Shown

ENERGY_TOLERANCE = Fraction(1, 10**9)
"""Relative distance within which two energies agree."""
ROUNDED = ("fills", "cycles")
"""Counts that agree within one (of an instance): the other model cuts off what it computes in floats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """A number of a record that optmap counts differently."""

    record: str
    level: str
    """Empty for numbers of the whole machine."""
    tensor: str
    """Empty for numbers of the whole machine."""
    count: str
    """`reads`, `fills`, `updates` (of one instance), `tile_words`, `instances`, `energy_pj`, `operations`,
    `compute_cycles`, `cycles`, or `validity` for a mapping that breaks a rule."""
    found: str
    expected: str

    def __str__(self) -> str:
        where = ", ".join(part for part in (f"record {self.record}", self.level, self.tensor) if part)
        return f"{where}: {self.count} found {self.found}, expected {self.expected}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conformance(Shown):
    """What comparing records found."""

    shown_as: ClassVar[Form] = Form(
        table="report.conformance:conformance_table", document="report.conformance:conformance_document"
    )
    counting: Counting
    records: int
    compared: int
    """Numbers that were compared."""
    mismatches: tuple[Mismatch, ...]
    marked: tuple[str, ...]
    """Records of which numbers of a walk are given; with `exact` those were compared in place of the model's."""
    left_out: tuple[str, ...]
    """Records whose energy or cycles were not compared, since they follow from numbers that are known to differ."""
    gaps: tuple[str, ...]
    """Records with a tile that has gaps; they were compared as the other model takes them, gaps included."""

    @property
    def agree(self) -> bool:
        """Whether every number that was compared agrees."""
        return not self.mismatches


def compare_records(records: tuple[Record, ...], counting: Counting = Counting.TIMELOOP) -> Conformance:
    """Count every record and compare it.

    With `timeloop` all numbers are compared with those of the record: counts and tiles, energy per tensor and
    altogether, operations and cycles. With `exact` the loops are walked; where the record gives the walk's
    number of a count, that one is expected. What follows from such a count is then not compared: the energy of that
    tensor in that level, the energy altogether, and cycles if a port of such a level has a limit. Tiles are taken as
    hulls in both, since the records have no others.

    Args:
        records: as `read_records` reads them.
        counting: `timeloop` or `exact`.
    """
    mismatches: list[Mismatch] = []
    compared = 0
    marked, left_out, gaps = [], [], []
    for record in records:
        cost = count_nest(record.nest, record.fabric, counting, hulls=True)
        walk = counting is Counting.EXACT and _is_marked(record)
        for mismatch in _compared(record, cost, walk):
            compared += 1
            mismatches += [mismatch] if isinstance(mismatch, Mismatch) else []
        marked += [record.name] if _is_marked(record) else []
        left_out += [record.name] if walk else []
        gaps += [record.name] if _has_gaps(record, cost) else []
    return Conformance(
        counting=counting,
        records=len(records),
        compared=compared,
        mismatches=tuple(mismatches),
        marked=tuple(marked),
        left_out=tuple(left_out),
        gaps=tuple(gaps),
    )


def _is_marked(record: Record) -> bool:
    return any(tensor.marked for level in record.levels.values() for tensor in level.values())


def _has_gaps(record: Record, hulls: SpatialCost) -> bool:
    exact = count_nest(record.nest, record.fabric, hulls=False)
    return any(
        one.occupancy_words != other.occupancy_words for one, other in zip(exact.memories, hulls.memories, strict=True)
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a number of a record stands."""

    record: str
    level: str = ""
    tensor: str = ""

    def number(self, count: str, found: Fraction | int, expected: int) -> Mismatch | None:
        """Compare a count."""
        within = 1 if count in ROUNDED else 0
        if -within <= found - expected <= within:
            return None
        exact = Fraction(found)
        text = f"{exact.numerator:,}" if exact.denominator == 1 else f"{float(exact):,}"
        return self.differs(count, text, f"{expected:,}")

    def energy(self, found: Fraction, expected: Fraction) -> Mismatch | None:
        """Compare an energy."""
        if abs(found - expected) <= ENERGY_TOLERANCE * expected:
            return None
        return self.differs("energy_pj", repr(float(found)), repr(float(expected)))

    def differs(self, count: str, found: str, expected: str) -> Mismatch:
        """The mismatch of two texts."""
        return Mismatch(
            record=self.record, level=self.level, tensor=self.tensor, count=count, found=found, expected=expected
        )


def _compared(record: Record, cost: SpatialCost, walk: bool) -> Iterator[Mismatch | None]:
    """A mismatch or None for every number of a record that is compared.

    Args:
        record: what is expected.
        cost: what was counted.
        walk: whether the record's numbers of a walk take the place of the model's.
    """
    limited = False
    for memory in cost.memories:
        for name, expected in record.levels[memory.name].items():
            yield from _tensor(_Place(record.name, memory.name, name), memory, expected, walk)
            limited = limited or bool(walk and expected.marked and memory.ports)
    whole = _Place(record.name)
    yield whole.number("operations", cost.operations, record.operations)
    yield whole.number("compute_cycles", cost.compute_cycles, record.compute_cycles)
    if not limited:
        yield whole.number("cycles", cost.cycles, record.cycles)
    if not walk:
        yield whole.energy(cost.energy_pj, record.energy_pj)
    yield whole.differs("validity", "; ".join(cost.broken), "a valid mapping") if cost.broken else None


def _tensor(place: _Place, memory: MemoryCost, expected: ExpectedTensor, walk: bool) -> Iterator[Mismatch | None]:
    own = next((accesses for accesses in memory.accesses if accesses.operand == place.tensor), None)
    marked = expected.marked if walk else {}
    for kind, words in expected.accesses.items():
        found = Fraction(getattr(own, kind) if own else 0, memory.instances)
        yield place.number(kind, found, marked.get(kind, words))
    yield place.number("tile_words", own.tile_words if own else 0, expected.tile_words)
    if own:
        yield place.number("instances", memory.instances, expected.instances)
    if not marked:
        yield place.energy(own.energy_pj if own else Fraction(0), expected.energy_pj)
