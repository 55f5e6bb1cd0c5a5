"""Records of another model against optmap's counts: every number that differs, by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from optmap.base.shown import Shown
from optmap.base.values import nearest_float
from optmap.count.meshes.count import count_nest
from optmap.count.meshes.policy import NestPolicy
from optmap.count.meshes.results import MemoryCost, SpatialCost
from optmap.count.meshes.wires import is_quirk, priced_meshes
from optmap.count.policies import nest_policy
from optmap.interchange.factorflow_records import FlowLevel, FlowRecord
from optmap.interchange.records import ExpectedTensor, Record
from optmap.questions.policy import Footprint, Retention

TOLERANCE = Fraction(1, 10**9)
"""Relative distance within which two energies agree, and two latencies that are not rounded."""
ROUNDED = 1
"""Distance within which fills (of an instance) and cycles of Timeloop's records agree: it cuts off what it computes in
floats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """A number of a record that optmap counts differently."""

    record: str
    level: str
    """Empty for numbers of the whole machine."""
    tensor: str
    """Empty for numbers of the whole machine."""
    count: str
    """`reads`, `fills`, `updates`, `writes` (fills and updates together), `tile_words`, `occupancy_words`, `instances`,
    `energy_pj`, `wires_pj`, `operations`, `compute_cycles`, `cycles`, or `validity` for a mapping that breaks a rule.
    Timeloop's records count one instance, FactorFlow's all of them."""
    found: str
    expected: str

    def __str__(self) -> str:
        where = ", ".join(part for part in (f"record {self.record}", self.level, self.tensor) if part)
        return f"{where}: {self.count} found {self.found}, expected {self.expected}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conformance(Shown):
    """What comparing records found."""

    shown_as: ClassVar[str] = "conformance"
    counting: NestPolicy
    home: NestPolicy
    """Of the model that the records are of."""
    foreign: bool
    """Whether the records are another model's than the one that counted: then numbers are expected to differ."""
    records: int
    compared: int
    """Numbers that were compared."""
    mismatches: tuple[Mismatch, ...]
    marked: tuple[str, ...]
    """Records of which numbers of a walk are given; with `exact` those were compared in place of the model's."""
    left_out: tuple[str, ...]
    """Records whose energy or cycles were not compared, since they follow from numbers that are known to differ."""
    quirks: tuple[str, ...]
    """Records with wires that only Timeloop counts as they do: with `exact` their energies, and the energy altogether,
    were not compared."""
    gaps: tuple[str, ...]
    """Records with a tile that has gaps; they were compared as the other model takes them, gaps included."""

    @property
    def agree(self) -> bool:
        """Whether every number that was compared agrees."""
        return not self.mismatches


def compare_records(
    records: tuple[Record, ...] | tuple[FlowRecord, ...], counting: NestPolicy | None = None
) -> Conformance:
    """Count every record and compare it.

    Timeloop's records: with `timeloop` all numbers are compared with those of the record: counts and tiles, energy per
    tensor and altogether, operations and cycles. With `exact` the loops are walked; where the record gives the walk's
    number of a count, that one is expected. What follows from such a count is then not compared: the energy of that
    tensor in that level, the energy altogether, and cycles if a port of such a level has a limit. Tiles are taken as
    hulls in both, since the records have no others. Energies of wires and routers are compared where the record's mesh
    has a price; with `exact` not those of which Timeloop has a quirk, and then not the energy altogether.

    FactorFlow's records: reads, writes and fills, what tiles take of a capacity, instances, energy and cycles of every
    memory and altogether, each record with its own settings of drains, biases and overestimated subscripts.

    Records of one model counted as another counts are compared number by number, too, and are expected to differ.

    Args:
        records: as `read_records` reads them.
        counting: None for that of the records.
    """
    home = nest_policy(records[0].model)
    mode = counting or home
    walks = mode.retention is Retention.SLIDING
    mismatches: list[Mismatch] = []
    compared = 0
    marked, left_out, own, gaps = [], [], [], []
    for record in records:
        if isinstance(record, FlowRecord):
            found = _flow_compared(record, mode)
        else:
            cost = count_nest(record.nest, record.fabric, mode, charge_drains=False, hulls=True)
            walk = walks and _is_marked(record)
            quirks = _quirks(record) if walks else frozenset[tuple[str, str]]()
            found = _compared(record, cost, walk, quirks)
            marked += [record.name] if _is_marked(record) else []
            left_out += [record.name] if walk else []
            own += [record.name] if quirks else []
            gaps += [record.name] if _has_gaps(record) else []
        for mismatch in found:
            compared += 1
            mismatches += [mismatch] if isinstance(mismatch, Mismatch) else []
    return Conformance(
        counting=mode,
        home=home,
        foreign=mode != home and not (mode.walked and home.walked),
        records=len(records),
        compared=compared,
        mismatches=tuple(mismatches),
        marked=tuple(marked),
        left_out=tuple(left_out),
        quirks=tuple(own),
        gaps=tuple(gaps),
    )


def _is_marked(record: Record) -> bool:
    return any(tensor.marked for level in record.levels.values() for tensor in level.values())


def _quirks(record: Record) -> frozenset[tuple[str, str]]:
    """The (memory, tensor) of which the record's wires are counted in a way of Timeloop's own."""
    return frozenset(
        (record.fabric.memories[number].name, operand.name)
        for number in priced_meshes(record.fabric)
        for place, operand in enumerate(record.fabric.operands)
        if is_quirk(record.nest, number, place, output=operand.output)
    )


def _has_gaps(record: Record) -> bool:
    exact, hulls = (count_nest(record.nest, record.fabric, hulls=hulls) for hulls in (False, True))
    return any(
        one.occupancy_words != other.occupancy_words for one, other in zip(exact.memories, hulls.memories, strict=True)
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a number of a record stands."""

    record: str
    level: str = ""
    tensor: str = ""

    def number(self, count: str, found: Fraction | int, expected: int, within: int = 0) -> Mismatch | None:
        """Compare a count."""
        if -within <= found - expected <= within:
            return None
        exact = Fraction(found)
        text = f"{exact.numerator:,}" if exact.denominator == 1 else f"{nearest_float(exact):,}"
        return self.differs(count, text, f"{expected:,}")

    def amount(self, count: str, found: Fraction, expected: Fraction) -> Mismatch | None:
        """Compare an energy, or cycles that are not rounded."""
        if abs(found - expected) <= TOLERANCE * expected:
            return None
        return self.differs(count, repr(nearest_float(found)), repr(nearest_float(expected)))

    def differs(self, count: str, found: str, expected: str) -> Mismatch:
        """The mismatch of two texts."""
        return Mismatch(
            record=self.record, level=self.level, tensor=self.tensor, count=count, found=found, expected=expected
        )


def _compared(
    record: Record, cost: SpatialCost, walk: bool, quirks: frozenset[tuple[str, str]]
) -> Iterator[Mismatch | None]:
    """A mismatch or None for every number of a record that is compared.

    Args:
        record: what is expected.
        cost: what was counted.
        walk: whether the record's numbers of a walk take the place of the model's.
        quirks: the (memory, tensor) whose wires are not compared.
    """
    limited = False
    for memory in cost.memories:
        for name, expected in record.levels[memory.name].items():
            yield from _tensor(_Place(record.name, memory.name, name), memory, expected, walk)
            limited = limited or bool(walk and expected.marked and memory.ports)
        for name, energy in record.wires.get(memory.name, {}).items():
            if (memory.name, name) not in quirks:
                yield _Place(record.name, memory.name, name).amount(
                    "wires_pj", memory.wires_pj.get(name, Fraction(0)), energy
                )
    whole = _Place(record.name)
    yield whole.number("operations", cost.operations, record.operations)
    yield whole.number("compute_cycles", cost.compute_cycles, record.compute_cycles)
    if not limited:
        yield whole.number("cycles", cost.cycles, record.cycles, ROUNDED)
    if not walk and not quirks:
        yield whole.amount("energy_pj", cost.energy_pj, record.energy_pj)
    yield whole.differs("validity", "; ".join(cost.broken), "a valid mapping") if cost.broken else None


def _tensor(place: _Place, memory: MemoryCost, expected: ExpectedTensor, walk: bool) -> Iterator[Mismatch | None]:
    own = next((accesses for accesses in memory.accesses if accesses.operand == place.tensor), None)
    marked = expected.marked if walk else {}
    for kind, words in expected.accesses.items():
        found = Fraction(getattr(own, kind) if own else 0, memory.instances)
        yield place.number(kind, found, marked.get(kind, words), ROUNDED if kind == "fills" else 0)
    yield place.number("tile_words", own.tile_words if own else 0, expected.tile_words)
    if own:
        yield place.number("instances", memory.instances, expected.instances)
    if not marked:
        yield place.amount("energy_pj", own.energy_pj if own else Fraction(0), expected.energy_pj)


def _flow_compared(record: FlowRecord, counting: NestPolicy) -> Iterator[Mismatch | None]:
    """The same for a record of FactorFlow."""
    hulls = None if counting.footprint is Footprint.HULL else record.hulls
    cost = count_nest(
        record.nest, record.fabric, counting, charge_drains=record.charge_drains, hulls=hulls, bias=record.bias
    )
    ready = Fraction(cost.compute_cycles)
    for memory in cost.memories:
        ready = max((ready, *(port.cycles for port in memory.ports)))
        yield from _flow_level(record, memory, record.levels[memory.name], ready)
    whole = _Place(record.name)
    yield whole.number("operations", cost.operations, record.operations)
    yield whole.amount("cycles", cost.latency, record.latency)
    yield whole.amount("energy_pj", cost.energy_pj, record.energy_pj)
    yield whole.differs("validity", "; ".join(cost.broken), "a valid mapping") if cost.broken else None


def _flow_level(
    record: FlowRecord, memory: MemoryCost, expected: FlowLevel, ready: Fraction
) -> Iterator[Mismatch | None]:
    """A memory of such a record; `ready` is when it and all inside it are done."""
    output = record.fabric.operands[0].name
    for name, tensor in expected.tensors.items():
        own = next((accesses for accesses in memory.accesses if accesses.operand == name), None)
        place = _Place(record.name, memory.name, name)
        yield place.number("reads", own.reads if own else 0, tensor.reads)
        yield place.number("writes", own.fills + own.updates if own else 0, tensor.writes)
        if name == output:
            yield place.number("fills", own.fills if own else 0, expected.output_fills)
    place = _Place(record.name, memory.name)
    yield place.number("instances", memory.instances, expected.instances)
    yield place.number("occupancy_words", memory.occupancy_words, expected.footprint)
    yield place.amount("energy_pj", memory.energy_pj, expected.energy_pj)
    yield place.amount("cycles", ready, expected.latency)
