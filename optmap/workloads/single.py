"""Statements of a chain one by one, as machines with meshes and prices take them."""

from __future__ import annotations

from dataclasses import replace

from optmap.base.errors import InputError
from optmap.workloads.expression import product
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
    once = len({access.name for access in statement.accesses}) == len(statement.accesses)
    return (statement.multiplies or is_elementwise(statement)) and not statement.domain and once


def product_alone(workload: Workload, name: str, left: dict[str, int] | None = None) -> Workload:
    """A statement that multiplies and adds up, as a workload of its own; numbers among the factors left out.

    A function of several tensors element by element moves what their product would, and takes an operation at each
    point as well.

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
        what = "reads a tensor twice" if is_elementwise(statement) or statement.multiplies else what
        what = "has a function of rows" if statement.row is not None else what
        what = "has a condition" if statement.domain else what
        raise InputError(
            f"{name} of {workload.title} {what}; such statements are not counted on machines with meshes and prices: "
            "leave it out, or take a machine without them"
        )
    alone = workload.alone(name)
    plain = replace(alone, statements=(replace(statement, right=product(len(statement.inputs))),))
    return plain if left is None else plain.with_extents(**{d: left[d] for d in plain.dims})


def is_in_place(workload: Workload, name: str) -> bool:
    """Whether a statement is a function of elements that is done in place of what it reads."""
    one = workload.statement(name)
    stored = workload.stored_as
    return len(one.inputs) == 1 and one.row is None and not one.domain and stored[one.inputs[0].name] == stored[name]
