"""Statements of a chain one by one, as machines with meshes and prices take them."""

from __future__ import annotations

from dataclasses import replace

from optmap.base.errors import InputError
from optmap.workloads.expression import product, reads
from optmap.workloads.statement import Statement, Update
from optmap.workloads.workload import Workload

UNCOUNTED = "not counted on machines with meshes: "
"""What is said of a mapping tree before what it has that is not counted there."""


def is_elementwise(statement: Statement) -> bool:
    """Whether a statement makes each element of one each of several tensors: an operation at each point."""
    plain = statement.update is Update.SUM and statement.row is None
    return plain and not statement.multiplies and not statement.reduction_dims and len(statement.inputs) > 1


def is_single(statement: Statement) -> bool:
    """Whether a statement has mappings of its own on machines with meshes and prices."""
    return statement.multiplies or is_elementwise(statement)


def product_alone(workload: Workload, name: str, left: dict[str, int] | None = None) -> Workload:
    """A statement that multiplies and adds up, as a workload of its own; numbers among the factors left out.

    A function of several tensors element by element moves what their product would, and takes an operation at each
    point as well. Conditions are left out: all points are done, and those that do not meet them change nothing.

    Args:
        workload: the chain.
        name: of the statement.
        left: iterations of its dims; None for all.

    Raises:
        InputError: for any other statement.
    """
    statement = workload.statement(name)
    if not is_single(statement):
        what = "is neither a sum of products nor a function of several tensors element by element"
        what = "has a function of rows that sums" if statement.row is not None else what
        raise InputError(
            f"{name} of {workload.title} {what}; such statements are not counted on machines with meshes and prices: "
            "leave it out, or take a machine without them"
        )
    return touched_alone(workload, name, left)


def touched_alone(workload: Workload, name: str, left: dict[str, int] | None = None) -> Workload:
    """A statement as the product of what it reads, for what is asked of its dims and tensors alone.

    Args:
        workload: the chain.
        name: of the statement.
        left: iterations of its dims; None for all.
    """
    statement = workload.statement(name)
    plain = product(len(statement.inputs))
    alone = replace(workload.alone(name), statements=(replace(statement, right=plain, domain=()),))
    return alone if left is None else alone.with_extents(**{d: left[d] for d in alone.dims})


def has_nest(workload: Workload, name: str) -> bool:
    """Whether a statement is mapped as a nest: not where elements are, one by one or row by row."""
    return not is_in_place(workload, name) and not is_of_rows(workload.statement(name))


def is_of_rows(statement: Statement) -> bool:
    """Whether a statement makes each element from a whole row, at every point of it: done where the row is."""
    plain = statement.update is Update.SUM
    return plain and statement.row is not None and not statement.reduction_dims


def row_reads(statement: Statement) -> tuple[int, ...]:
    """Numbers of the accesses, the output being the first one, from which a function of rows has its statistic."""
    return () if statement.row is None else tuple(dict.fromkeys(1 + number for number in reads(statement.row)))


def is_in_place(workload: Workload, name: str) -> bool:
    """Whether a statement is a function of elements that is done in place of what it reads."""
    one = workload.statement(name)
    stored = workload.stored_as
    return len(one.inputs) == 1 and one.row is None and stored[one.inputs[0].name] == stored[name]
