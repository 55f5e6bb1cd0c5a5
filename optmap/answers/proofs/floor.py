r"""What no schedule on an accelerator goes below: a floor of energy and cycles from data-movement bounds.

**Words that cross.** Let level c be the last one on the inside, and M(c) all elements that the instances of all
memories up to c hold together (of a double buffer the half that is worked on, as in every count here), plus one
per arithmetic unit and tensor that may pass all of them by. Consider the cycles one after another, S the set of
words that any instance inside holds. One memory of M(c) words that holds S at every cycle and does the operations of
a cycle one by one is a run that the bounds of `optmap.bounds`
speak of. It loads an input word only when an instance inside, which had it not, receives it, so at most as often as
memories outside read that word (a word that is multicast is read once for all). A result stays in it while any
instance holds a partial sum of it, and leaves it only when the last one hands its own out, which is an update outside:
the run stores it V times, loads it V - 1 times, and there are V updates or more. Hence with X the words
of inputs read outside for the inside and U the updates of results from there,

    loads of the run <= X + U - |results|,   so   X + U >= (loads of the bound, `assign`) + |results| = B(c).

Further, each tensor alone crosses at least once per word that is touched, and into the arithmetic
operations / (product of the meshes on the way) times: a mesh serves no more than all of its children by one access.
Only real words count: with padded dims there are more.

What energy and cycles follow from words that cross is in `optmap.bounds.mesh_least`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from optmap.answers.proofs.beside import bound_in_time
from optmap.base.clock import NO_LIMIT, Clock
from optmap.base.errors import ContradictionError, OptmapError
from optmap.bounds.mesh_least import least_of
from optmap.machines.accelerator import KeepRule
from optmap.machines.fabric import Fabric, Memory, SharedRoom
from optmap.questions.options import Merit
from optmap.search.floors import BoundaryCertificate, MeshFloor, TurnFloor
from optmap.search.result import Answer, NestAnswer
from optmap.workloads.workload import Semantics, Workload


def with_floor(result: NestAnswer, clock: Clock = NO_LIMIT) -> NestAnswer:
    """The result with the floor of every schedule on its machine.

    Raises:
        ContradictionError: if the exactly counted mapping is below it: one of the two is wrong.
    """
    floor, notes = floor_of(result.fabric, clock)
    refuse_below(result, floor)
    return replace(result.noting(*notes), floor=floor)


def refuse_below(answer: Answer[Any, Any], floor: MeshFloor | TurnFloor) -> None:
    """Refuse a mapping that costs less than a floor, in any merit.

    Args:
        answer: counted exactly, whatever its counting.
        floor: of its workload on its machine.

    Raises:
        ContradictionError: if the exactly counted mapping is below it: one of the two is wrong.
    """
    for merit in Merit:
        value, least = answer.exact_count.merit(merit), floor.merit(merit)
        if value < least:
            raise ContradictionError(
                f"{answer.workload.title} on {answer.machine.name}: the mapping has {float(value):.12g} {merit}, below "
                f"the floor of {float(least):.12g}: one of the two is wrong; please report workload and machine"
            )


def floor_of(fabric: Fabric, clock: Clock = NO_LIMIT) -> tuple[MeshFloor, tuple[str, ...]]:
    """The floor, and notes about boundaries that have no bound.

    Args:
        fabric: workload (its outputs start empty) and machine.
        clock: when boundaries further in get compulsory traffic alone, with a note.
    """
    crossings, notes = crossings_of(fabric, clock)
    least = least_of(fabric, {number: crossing.words for number, crossing in crossings.items()})
    floor = MeshFloor(
        energy_pj=least.energy_pj,
        cycles=least.cycles,
        port_cycles=least.port_cycles,
        certificates=tuple(crossings[number] for number in sorted(crossings)),
    )
    return floor, notes


def crossings_of(fabric: Fabric, clock: Clock = NO_LIMIT) -> tuple[dict[int, BoundaryCertificate], tuple[str, ...]]:
    """Proved bounds on the words that cross, by number of the memory inside, and notes about boundaries without one.

    Args:
        fabric: workload and machine.
        clock: when boundaries further in get compulsory traffic alone, with a note.
    """
    crossings: dict[int, BoundaryCertificate] = {}
    notes: list[str] = []
    for number in reversed(range(len(fabric.memories) - 1)):
        try:
            crossings[number] = _crossing(fabric, number, clock, notes)
        except ContradictionError:
            raise
        except OptmapError as error:
            notes.append(f"no floor inside {fabric.memories[number + 1].name}: {error}")
    return crossings, tuple(notes)


def even(workload: Workload) -> Workload:
    """The workload with elements of one size: words that cross are elements on an accelerator, whatever their bits."""
    plain = workload.with_accesses([replace(tensor, bits=8) for tensor in workload.tensors])
    return replace(plain, name="", count=1, semantics=Semantics.ASSIGN)


def inside_words(fabric: Fabric, number: int) -> int:
    """Words that the inside of a boundary holds or lets pass at a time, see the module.

    Args:
        fabric: the machine.
        number: of the outermost memory inside.
    """
    held = sum(
        fabric.instances(place) * sum(_room(memory, room) for room in memory.rooms)
        for place, memory in enumerate(fabric.memories[: number + 1])
    )
    passing = sum(
        all(memory.keeps[operand] is not KeepRule.KEPT for memory in fabric.memories[: number + 1])
        for operand in range(len(fabric.operands))
    )
    return held + passing * fabric.units


def _room(memory: Memory, room: SharedRoom) -> int:
    """Words that a part of a memory can hold; none if it refuses all tensors of the part."""
    own = zip(room.operands, room.weights, strict=True)
    weights = [weight for operand, weight in own if memory.keeps[operand] is not KeepRule.REFUSED]
    return int(room.capacity // min(weights)) if weights else 0


def _crossing(fabric: Fabric, number: int, clock: Clock, notes: list[str]) -> BoundaryCertificate:
    memory_words = inside_words(fabric, number)
    between = (fabric.memories[number].name, fabric.memories[number + 1].name)
    bound = bound_in_time(even(fabric.workload), memory_words, clock, between, notes)
    return BoundaryCertificate(
        between=between,
        memory_words=memory_words,
        words=bound.total_words,
        certificate=bound.certificate or {},
    )
