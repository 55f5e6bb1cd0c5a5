"""The proved bound in time, part by part: multiply-adds at the peak, and what must be read over every link."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from optmap.base.texts import plain, ratio_text
from optmap.bounds.certificate import digest
from optmap.bounds.hierarchy import instance_words
from optmap.bounds.result import Document, LowerBound
from optmap.count.timing.floor import Running, TimePart, check_threads, instances_used, link, roof
from optmap.files.machines import machine_document
from optmap.files.workloads import workload_document
from optmap.machines.machine import Machine
from optmap.search.floors import BoundaryCertificate
from optmap.workloads.workload import Workload

SCHEMA = "optmap.time-bound/1"
ONE_CORE = (
    "every output element is computed by the threads of one instance: no reduction is split among instances of a memory"
)
"""What the words of the busiest of several instances take for granted."""
WARM = "caches may begin full of what is needed; links carry both directions at once, so that only loads count"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeFloor:
    """A time that no code goes below: the largest of its parts."""

    workload: Workload
    machine: Machine
    running: Running
    """Threads, and what caches hold when a call begins."""
    parts: tuple[TimePart, ...]
    """Multiply-adds first, then links, inner first; without those whose words are not known."""
    proofs: tuple[BoundaryCertificate, ...]
    """Of the links, in the same order."""
    notes: tuple[str, ...] = ()
    """Links that are left out, each with the reason."""

    @property
    def largest(self) -> TimePart:
        """What the bound is; on a tie the first."""
        return max(self.parts, key=lambda part: part.cycles)

    @property
    def cycles(self) -> Fraction:
        """No code takes fewer."""
        cycles: Fraction = self.largest.cycles
        return cycles

    def seconds(self, cycles: Fraction) -> float | None:
        """Of cycles; None if the machine has no clock."""
        return None if self.machine.clock_hz is None else float(cycles / self.machine.clock_hz)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is taken for granted, one sentence each."""
        return (WARM, ONE_CORE) if any(proof.instances > 1 for proof in self.proofs) else (WARM,)


def time_floor(
    workload: Workload,
    machine: Machine,
    running: Running,
    bounds: dict[int, LowerBound],
    notes: tuple[str, ...] = (),
) -> TimeFloor:
    """The bound in time that follows from bounds on words.

    Args:
        workload: what is computed.
        machine: peak, capacities and bandwidths.
        running: threads and caches.
        bounds: certified, by level, of a memory with the words on the fast side of its boundary (`fast_side_words`).
        notes: why others are not there.

    Raises:
        InputError: for a machine without a core, or with fewer cores than threads.
        LimitError: if padding ties so many dims together that the operations done cannot be counted.
    """
    check_threads(machine, running.threads)
    parts, proofs = [roof(workload, machine, running)], []
    for level, bound in sorted(bounds.items()):
        instances = instances_used(machine, level, running.threads)
        words = instance_words(bound, instances, loads_only=True)
        parts.append(link(workload, machine, level, words, running))
        proof = BoundaryCertificate(
            between=machine.boundaries[level], instances=instances, words=words, certificate=bound.certificate or {}
        )
        proofs.append(proof)
    return TimeFloor(
        workload=workload, machine=machine, running=running, parts=tuple(parts), proofs=tuple(proofs), notes=notes
    )


def part_documents(floor: TimeFloor) -> list[Document]:
    """The parts for documents; rates are exact, as `3/2`."""
    return [
        {
            "part": part.name,
            "amount": part.amount,
            "held": part.held,
            "per_cycle": ratio_text(part.per_cycle),
            "cycles": plain(part.cycles),
            "seconds": floor.seconds(part.cycles),
        }
        for part in floor.parts
    ]


def time_certificate(floor: TimeFloor) -> Document:
    """The document that `optmap check` verifies: every link with the certificate of its words, and the arithmetic."""
    document: Document = {
        "schema": SCHEMA,
        "workload": workload_document(floor.workload),
        "word_bits": floor.workload.word_bits,
        "machine": machine_document(floor.machine),
        "threads": floor.running.threads,
        "caches": floor.running.caches.value,
        "parts": part_documents(floor),
        "certificates": [
            {
                "between": list(proof.between),
                "instances": proof.instances,
                "words": proof.words,
                "certificate": proof.certificate,
            }
            for proof in floor.proofs
        ],
        "bound": {"value": plain(floor.cycles), "unit": "cycles", "part": floor.largest.name, "method": "best"},
        "notes": list(floor.notes),
    }
    return {**document, "digest": digest(document)}
