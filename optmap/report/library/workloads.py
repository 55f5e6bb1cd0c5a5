"""Everything about a workload as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from optmap.base.errors import LimitError
from optmap.report.merged import names_text
from optmap.report.tables import grid, pairs, workload_lines
from optmap.workloads.access import TensorAccess
from optmap.workloads.chain import TensorRole
from optmap.workloads.statement import Statement
from optmap.workloads.workload import Workload

TENSORS = ("tensor", "role", "bytes", "elements", "words")


def workload_table(workload: Workload) -> str:
    """Everything about a workload: statements, extents, tensors and operations."""
    rows = [*workload_lines(workload), ("semantics", workload.semantics.value)]
    if workload.is_product:
        rows.append(("reductions", " ".join(workload.reduction_dims) or "none"))
        rows.append(("operations", f"{workload.operations:,} multiply-accumulates"))
        tables = [_tensors(workload, workload.tensors)]
    else:
        rows += _chain_lines(workload)
        tables = [_statements(workload), _chain_tensors(workload)]
    if workload.count > 1:
        rows.append(("count", f"{workload.count:,} times in its network"))
    if len(workload.names) > 1:
        rows.append(("names", names_text(workload.names)))
    return "\n\n".join((pairs(rows), *tables))


def _cells(workload: Workload, access: TensorAccess, role: str) -> tuple[str, ...]:
    """An access and what it touches over all iterations."""
    elements = access.footprint(workload.extents)
    return str(access), role, f"{access.bytes:,}", f"{elements:,}", f"{elements * workload.weight(access):,}"


def _tensors(workload: Workload, accesses: Iterable[TensorAccess]) -> str:
    rows = [_cells(workload, access, "input" if number else "output") for number, access in enumerate(accesses)]
    return grid(TENSORS, "<<>>>", rows)


def _chain_lines(workload: Workload) -> list[tuple[str, str]]:
    """Outputs, tensors that are one with another, and operations."""
    outputs = [name for name, role in workload.roles.items() if role is TensorRole.OUTPUT]
    joined = [f"{name} is {place}" for name, place in workload.stored_as.items() if name != place]
    rows = [("outputs", " ".join(outputs))]
    if joined:
        rows.append(("in place", ", ".join(joined)))
    return [*rows, ("operations", _counted(lambda: workload.operations))]


def _counted(count: Callable[[], int]) -> str:
    """A number of points, as far as conditions can be counted."""
    try:
        return f"{count():,}"
    except LimitError:
        return "too many to count"


def _statements(workload: Workload) -> str:
    """What every statement does: a row function with when its statistic is known."""
    rows = [
        (
            each.name,
            _kind(each),
            " ".join(each.reduction_dims) or "none",
            _counted(partial(each.points, workload.extents)),
        )
        for each in workload.statements
    ]
    return grid(("statement", "kind", "reductions", "operations"), "<<<>", rows)


def _kind(statement: Statement) -> str:
    if statement.row is not None:
        return f"{statement.row.function} along {statement.row.dim}, {statement.row.statistic}"
    if statement.reduction_dims:
        return {"+=": "sum of products", "max=": "maximum", "min=": "minimum"}[statement.update]
    return "product" if statement.is_product else "elementwise"


def _chain_tensors(workload: Workload) -> str:
    roles = workload.roles
    rows = [
        (each.name, *_cells(workload, access, roles[access.name]))
        for each in workload.statements
        for access in each.accesses
    ]
    return grid(("statement", *TENSORS), "<<<>>>", rows)
