"""What several statements say together: who writes and reads a tensor, and what they must agree on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from optmap.base.errors import InputError, StatementError
from optmap.workloads.access import TensorAccess
from optmap.workloads.statement import Statement


class TensorRole(StrEnum):
    """What a tensor is to a workload, by who writes and reads it."""

    INPUT = "input"
    """No statement writes it."""
    OUTPUT = "output"
    """A statement writes it, and none reads it or it is named as an output."""
    INTERMEDIATE = "intermediate"
    """One statement writes it and others read it; it need never leave the fast memory."""


def roles(statements: Sequence[Statement], outputs: Iterable[str]) -> dict[str, TensorRole]:
    """The role of every tensor, in the order in which the statements name them, output first.

    Args:
        statements: producers first.
        outputs: tensors named as outputs although they are read.
    """
    names = dict.fromkeys(access.name for statement in statements for access in statement.accesses)
    made = {statement.name for statement in statements}
    read = {access.name for statement in statements for access in statement.inputs} - set(outputs)
    return {
        name: TensorRole.INPUT if name not in made else TensorRole.INTERMEDIATE if name in read else TensorRole.OUTPUT
        for name in names
    }


def stored_as(statements: Sequence[Statement], known: Mapping[str, TensorRole], *, empty: bool) -> dict[str, str]:
    """The tensor whose elements hold each tensor's: its own, or the one that an elementwise function makes of it.

    A statement that makes one element of another at the same subscripts is done in place if nothing else reads what it
    reads, and that is no input or output of the workload, whose elements have to stay as they are.

    Args:
        statements: producers first.
        known: the role per tensor.
        empty: whether outputs start empty; one that has values that are added to cannot take those of another tensor.

    Returns:
        Per tensor the name of the last tensor made in place of it.
    """
    reads = [access.name for statement in statements for access in statement.inputs]
    held = {name: name for name in known}
    for statement in reversed(statements):
        if statement.keeps_places and (empty or known[statement.name] is not TensorRole.OUTPUT):
            name = statement.inputs[0].name
            if known[name] is TensorRole.INTERMEDIATE and reads.count(name) == 1:
                held[name] = held[statement.name]
    return held


def check_statements(statements: Sequence[Statement], outputs: Sequence[str], extents: Mapping[str, int]) -> None:
    """Refuse statements that mean nothing together.

    Args:
        statements: each of which may stand alone.
        outputs: tensors named as outputs although they are read.
        extents: iterations per dim.

    Raises:
        InputError: for a tensor that two statements write, or whose accesses differ in element size or number of
            subscripts; one that is read before it is written, or in a circle; an element that is read and never
            written; a named output that is none.
    """
    writers = _writers(statements)
    _check_order(statements, writers)
    firsts: dict[str, TensorAccess] = {}
    for access in (access for statement in statements for access in statement.accesses):
        first = firsts.setdefault(access.name, access)
        if len(first.axes) != len(access.axes):
            raise StatementError(
                f"{access.name} has {len(first.axes)} subscripts in {first}, but not in {access}", access
            )
        if first.bits != access.bits:
            raise StatementError(
                f"{access.name} has elements of {first.bits} and of {access.bits} bits; give one", access
            )
    for statement in statements:
        for access in statement.inputs:
            if access.name in writers:
                _check_written(statements[writers[access.name]].output, access, extents)
    known = roles(statements, ())
    for number, name in enumerate(outputs):
        if name in outputs[:number] or known.get(name) is not TensorRole.INTERMEDIATE:
            raise InputError(f"outputs: {_no_output(name, outputs[:number], known)}")


def _no_output(name: str, before: Sequence[str], known: Mapping[str, TensorRole]) -> str:
    """Why a tensor cannot be named as an output in addition."""
    if name in before:
        return f"{name} is named twice"
    if name not in known:
        return f"no tensor {name}; tensors are {', '.join(known)}"
    return f"{name} is an {known[name]} by itself; name what is written and read, or nothing"


def _writers(statements: Sequence[Statement]) -> dict[str, int]:
    """Position of the statement that writes each tensor that is written."""
    writers: dict[str, int] = {}
    for number, statement in enumerate(statements):
        if writers.setdefault(statement.name, number) != number:
            raise StatementError(
                f"{statement.name} is written by two statements; write the second result to a tensor of its own",
                statement,
            )
    return writers


def _check_order(statements: Sequence[Statement], writers: Mapping[str, int]) -> None:
    """Refuse a tensor that is read before the statement that writes it."""
    for number, statement in enumerate(statements):
        for access in statement.inputs:
            later = writers.get(access.name, -1)
            if later <= number:
                continue
            if _needs(statements, writers, later, number):
                raise StatementError(
                    f"{statement.name} and {access.name} are each made from the other: a circle has no first statement",
                    access,
                )
            raise StatementError(
                f"{access.name} is read here and written later; put the statement that writes it first", access
            )


def _needs(statements: Sequence[Statement], writers: Mapping[str, int], start: int, wanted: int) -> bool:
    """Whether one statement reads, directly or through others, what another one writes."""
    open_ones, seen = [start], {start}
    while open_ones:
        for access in statements[open_ones.pop()].inputs:
            number = writers.get(access.name)
            if number is not None and number not in seen:
                seen.add(number)
                open_ones.append(number)
    return wanted in seen


def _check_written(output: TensorAccess, access: TensorAccess, extents: Mapping[str, int]) -> None:
    """Refuse an access to elements that the statement that writes the tensor does not reach.

    Conditions of the two statements are left out: an element that a mask leaves out is empty.
    """
    if sum(len(axis.dims) for axis in output.axes) != len(output.dims):
        raise StatementError(
            f"{output} is written along a diagonal, as a dim has two subscripts; read elements might not exist", access
        )
    for number, (made, read) in enumerate(zip(output.axes, access.axes, strict=True), 1):
        same = (sorted(made.terms), made.offset, made.real) == (sorted(read.terms), read.offset, read.real)
        if same:
            continue
        if made.count(extents) != made.span(extents):
            raise StatementError(f"{output} is written with gaps along subscript {number}; {access} reads them", access)
        (first, last), (low, high) = made.reach(extents), read.reach(extents)
        if low < first or high > last:
            raise StatementError(
                f"{access} reads {low} to {high} along subscript {number}, but {output} is written from {first} to "
                f"{last} there",
                access,
            )
