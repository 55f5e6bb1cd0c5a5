"""Command-line text to problem types."""

from __future__ import annotations

from dataclasses import replace

from optmap.errors import InputError
from optmap.problem import Machine, Semantics, Workload, two_level
from optmap.problem.library import machine as load_machine
from optmap.problem.library import workload as load_workload
from optmap.problem.parser import parse_extents, parse_workload
from optmap.problem.sizes import parse_capacity


def is_file(text: str) -> bool:
    """Whether a name argument is meant as a YAML file, or as one entry of it."""
    return text.endswith((".yaml", ".yml")) or ".yaml/" in text or ".yml/" in text


def is_statement(text: str) -> bool:
    """Whether a WORKLOAD argument is a statement or einsum text rather than a name or a file."""
    if is_file(text):
        return False
    return "[" in text or "=" in text or "->" in text


def resolve_workload(text: str, extents: str | None, semantics: Semantics | None) -> Workload:
    """The workload that a WORKLOAD argument with its options means.

    Extents given for a library name or a file replace those of the same dims.

    Raises:
        InputError: for anything that cannot be read; the message quotes it.
    """
    if is_statement(text):
        if extents is None:
            raise InputError(f"{text!r} needs the extents of its dims; add --extents i=..,j=..")
        return parse_workload(text, parse_extents(extents), semantics=semantics)
    made = load_workload(text)
    if extents is not None:
        made = made.with_extents(**parse_extents(extents))
    return made if semantics is None else replace(made, semantics=semantics)


def resolve_machine(machine: str | None, memory: str | None) -> Machine:
    """The machine that --machine or --memory means.

    Raises:
        InputError: if both or neither is given, or the text cannot be read.
    """
    if (machine is None) == (memory is None):
        raise InputError("give either --machine NAME or --memory SIZE (such as --memory 8192w), and not both")
    if machine is not None:
        return load_machine(machine)
    return two_level(parse_capacity(memory or ""))
