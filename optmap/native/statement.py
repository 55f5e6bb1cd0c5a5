"""The workload that code is written for, and the machines that it is not."""

from __future__ import annotations

from optmap.base.errors import InputError
from optmap.base.names import choose
from optmap.machines.machine import Machine
from optmap.questions.form import form_on
from optmap.workloads.workload import Padding, Semantics, Workload


def as_computed(
    workload: Workload, *, padding: Padding | str | None = None, semantics: Semantics | str | None = None
) -> Workload:
    """A workload as code computes it: from nothing, on images without a rim of zeros.

    Args:
        workload: any.
        padding: `stored` or `implicit`; None for implicit wherever it is known which elements are real.
        semantics: `assign` or `accumulate`; None for assign.

    Raises:
        InputError: for another word, or `implicit` where the padding is not known.
    """
    if padding is not None:
        workload = workload.with_padding(choose("padding", padding, list(Padding)))
    elif any(statement.real_ranges for statement in workload.statements):
        workload = workload.with_padding(Padding.IMPLICIT)
    return workload.with_semantics(Semantics.ASSIGN if semantics is None else semantics)


def refuse_meshes(machine: Machine) -> None:
    """Refuse a machine whose operations are done by units in meshes, which run no C.

    Raises:
        InputError: naming it.
    """
    if form_on(machine).meshes:
        raise InputError(
            f"machine {machine.name} has {machine.units:,} units in meshes and no cores that run C; take a machine "
            "with caches and cores, such as one of optmap detect"
        )
