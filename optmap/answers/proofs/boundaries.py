"""Lower bounds of a workload at every boundary of a machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from optmap.answers.proofs.mesh_bound import MeshBound
from optmap.answers.proofs.time_floor import TimeFloor, time_certificate
from optmap.base.errors import InputError
from optmap.base.shown import Concise, Shown
from optmap.bounds.chains import statements_alone
from optmap.bounds.explain import Explanation, explain
from optmap.bounds.hierarchy import boundary_assumptions, boundary_instances, fast_side_words, instance_words
from optmap.bounds.methods import bounds, methods_for
from optmap.bounds.result import Document, LowerBound
from optmap.machines.machine import Machine
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryBounds(Concise):
    """The bounds of one boundary, method by method."""

    between: tuple[str, str]
    """Names of the inner and the outer memory."""
    memory_words: int
    """Words on the fast side of one instance."""
    instances: int
    """Fast memories side by side, all with the same capacity."""
    assumptions: tuple[str, ...]
    """What all bounds take for granted about the hierarchy, one sentence each."""
    bounds: tuple[LowerBound, ...]
    """In the order of the registry, or as asked."""

    @property
    def busiest_words(self) -> int:
        """Words that the busiest instance moves, at least, by the strongest bound."""
        return instance_words(self.best, self.instances)

    @property
    def best(self) -> LowerBound:
        """The strongest; on a tie one with a certificate, and method `best` before others."""
        return max(self.bounds, key=strength)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundReport(Shown):
    """The bounds of a workload on a machine."""

    shown_as: ClassVar[str] = "bound"
    shown_first: ClassVar[tuple[str, ...]] = ("outermost.best.method", "outermost.best.total_words")

    workload: Workload
    machine: Machine
    boundaries: tuple[BoundaryBounds, ...]
    """Inner boundary first."""
    left_out: dict[str, str]
    """Methods that do not apply to the workload, each with the reason."""
    explanation: Explanation | None = None
    """How the strongest bound of the outermost boundary comes about, if asked for."""
    time: TimeFloor | None = None
    """The bound in time that follows, if asked for."""
    merit: MeshBound | None = None
    """What no mapping costs less than on a machine with meshes and prices, if asked for."""
    alone: dict[str, int] | None = None
    """Of a chain, words that each statement by itself moves at least at the outermost boundary."""

    @property
    def outermost(self) -> BoundaryBounds:
        """The boundary to the unbounded memory."""
        return self.boundaries[-1]

    @property
    def certificate(self) -> Document | None:
        """The document of the best certified bound at the outermost boundary, or of the objective asked for."""
        if self.merit is not None:
            return self.merit.certificate
        if self.time is not None:
            return time_certificate(self.time)
        certified = [bound for bound in self.outermost.bounds if bound.certificate is not None]
        return max(certified, key=strength).certificate if certified else None


def strength(bound: LowerBound) -> tuple[int, bool, bool]:
    """What orders bounds, from the weakest up."""
    return bound.total_words, bound.certificate is not None, bound.method == "best"


def bound_report(
    workload: Workload, machine: Machine, methods: Sequence[str] | None = None, *, explained: bool = False
) -> BoundReport:
    """Bounds by several methods at every boundary.

    **Chains in several memories side by side.** What one of P memories of M words makes another one may load. Take any
    run, its operations in the order of time, and one memory of P*M words that holds whatever one of them holds: every
    operation finds its words there, and what it loads one of them loads. No reduction is split, so that a word that is
    being made is in one of them. So all of them together load and store what the bound of P*M words says, at least.

    Args:
        workload: the computation.
        machine: gives the capacities.
        methods: names of bound methods; None takes all that apply.
        explained: whether the outermost boundary is explained.

    Raises:
        UnknownNameError: for an unknown method.
        InputError: for a method that does not apply, or a level of less than one word, or an inclusive one
            that holds fewer words than one inside it.
    """
    machine.check_inclusion(workload.word_bits)
    if explained and not workload.is_product:
        raise InputError(f"{workload.title}: the exponents of one statement are explained; leave out --explain")
    rows, largest = [], max(map(workload.weight, workload.accesses))
    for level, between in enumerate(machine.boundaries):
        memory = fast_side_words(machine, level, workload.word_bits, largest)
        if memory < 1:
            raise InputError(f"level {machine.levels[level].name} holds less than one word of {workload.title}")
        instances, together = boundary_instances(machine, level), not workload.is_product
        row = BoundaryBounds(
            between=between,
            memory_words=memory,
            instances=instances,
            assumptions=boundary_assumptions(machine, level, together=together),
            bounds=bounds(workload, memory * instances if together else memory, methods),
        )
        rows.append(row)
    reasons = (
        {name: method.applies(workload) for name, method in methods_for(workload).items()} if methods is None else {}
    )
    return BoundReport(
        workload=workload,
        machine=machine,
        boundaries=tuple(rows),
        left_out={name: reason for name, reason in reasons.items() if reason is not None},
        explanation=explain(workload, rows[-1].memory_words) if explained else None,
        alone=None if workload.is_product else statements_alone(workload, rows[-1].memory_words),
    )
