"""Two-level bounds at the boundaries of a hierarchy."""

from __future__ import annotations

from math import prod

from optmap.bounds.result import LowerBound
from optmap.machines.machine import Machine
from optmap.workloads.workload import Workload

INCLUSIVE = "a level outside others holds a copy of what they hold: only its own capacity counts"
TOTAL = "the capacities of all levels on the fast side count together"
SUMMED = "words of all instances together: a word that reaches several of them counts for each (no multicast)"
INSTANCES = "every output element is computed by one of the instances: no reduction is split among them"
TOGETHER = "all instances count as one memory of their capacities together, as one may load what another makes"


def boundary_instances(machine: Machine, level: int) -> int:
    """Fast memories side by side at the boundary outside a level: the fanouts and meshes further out, multiplied."""
    return machine.units // prod(each.fanout for each in machine.levels[: level + 1])


def boundary_assumptions(machine: Machine, level: int, *, together: bool = False) -> tuple[str, ...]:
    """What the bounds at the boundary outside a level take for granted, one sentence each.

    Args:
        machine: the hierarchy.
        level: index of the level inside the boundary.
        together: whether instances count as one memory.
    """
    lines = []
    if level:
        lines.append(INCLUSIVE if machine.levels[level].inclusive else TOTAL)
    if boundary_instances(machine, level) > 1:
        lines += [TOGETHER if together else SUMMED, INSTANCES]
    return tuple(lines)


def fast_side_words(machine: Machine, level: int, word_bits: int, largest: int = 1) -> int:
    """Words that the fast side of the boundary outside a level can hold at the same time.

    An inclusive level holds a copy of everything inside it, so its own capacity is all there is.
    Otherwise the words of the levels inside count as well (of all children that it feeds).

    Args:
        machine: the hierarchy.
        level: index of the level inside the boundary.
        word_bits: size of one word (`Workload.word_bits`).
        largest: words of the largest element, which an entry of an accelerator may hold.
    """
    here = machine.levels[level]
    own = here.most_words(word_bits, largest)
    if level == 0 or here.inclusive:
        return own
    return own + here.fanout * fast_side_words(machine, level - 1, word_bits, largest)


def separating_dims(workload: Workload) -> frozenset[str]:
    """Dims whose parts share no output element: those that are a subscript of the output on their own."""
    return frozenset(axis.dims[0] for axis in workload.output.axes if len(axis.terms) == 1)


def instance_words(bound: LowerBound, instances: int, *, loads_only: bool = False) -> int:
    """Words that the busiest of several private memories must move: the P-th part, rounded up.

    **Proof.** Let P cold memories of M words each run a part of the operations, every output element
    in one part. One cold memory of M words can run the parts in turn, dropping everything between
    two of them: each part loads and stores there exactly what it did in its own memory, because it
    begins with an empty memory and with all its words in slow memory. Words of another part's
    results are never needed: the output is not read, so operations of a part touch inputs and its own
    outputs. An output element is in one part, so under `assign` it is created once, by its part, and
    under `accumulate` its first touch loads it there: the run is one that the bound speaks of (some
    parts may be empty). So the loads of all parts together are at least `loads_words`, and
    loads and stores together at least `total_words`; the busiest memory moves at least the P-th
    part of it. Where a reduction is split this fails: each part would create partial sums of its own.
    A word multicast to several memories counts for each.

    Args:
        bound: of one memory of the same size.
        instances: P, memories that share the work; no reduction is split among them.
        loads_only: leave the stores out.
    """
    return -(-(bound.loads_words if loads_only else bound.total_words) // instances)
