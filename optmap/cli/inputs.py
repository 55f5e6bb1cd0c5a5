"""Command-line text to problem types."""

from __future__ import annotations

from optmap.problem import Machine, Padding, Semantics, Workload
from optmap.problem.inputs import machine_of, workload_of


def resolve_workload(
    text: str, extents: str | None, semantics: Semantics | None, padding: Padding | None = None
) -> Workload:
    """The workload that a WORKLOAD argument with its options means.

    Extents given for a library name or a file replace those of the same dims.

    Raises:
        InputError: for anything that cannot be read; the message quotes it.
    """
    return workload_of(text, extents, semantics, padding)


def resolve_machine(machine: str | None, memory: str | None) -> Machine:
    """The machine that --machine or --memory means.

    Raises:
        InputError: if both or neither is given, or the text cannot be read.
    """
    return machine_of(machine, memory)
