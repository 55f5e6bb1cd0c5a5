"""Statistics of rows: what functions of rows keep of every row, as a tensor of its own.

`P[h,m,l] = softmax(S[h,m,l], l)` keeps the largest value and the sum of every row `h,m`: two elements. Points of that
statement update them, and whoever reads the rows needs them, as elements mean something by their row's statistic only.

A reader that sums along the rows may come before they are complete (`online`): what it has summed is rescaled when the
statistic changes, as long as a row function only multiplies or divides all elements of a row by something, whatever is
done in place after it lets such a factor through, and the reader adds up products of one row. Where that is not so, or
for `whole`, a row has to be complete before anything of it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from optmap.workloads.access import TensorAccess
from optmap.workloads.chain import TensorRole, roles
from optmap.workloads.expression import Apply, Expression, OperandSeries, Read, Statistic, dims_of, parts_of
from optmap.workloads.statement import Statement
from optmap.workloads.workload import Workload

ELEMENTS: Mapping[str, int] = {"softmax": 2, "layernorm": 2, "rmsnorm": 1}
"""What is kept of a row: its maximum and its sum, its mean and its sum of squared distances to it, its sum of squares;
in elements of the size of what the function makes."""
SCALES = ("softmax", "rmsnorm")
"""Functions of rows that multiply all elements of a row by one factor: what is summed of them can be rescaled."""
POSITIVE = ("relu", "abs", "scale")
"""Elementwise functions of which a positive factor can be taken out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowStatistic:
    """The statistic of the rows of one statement."""

    made_by: str
    """The statement with the function of rows: every point of it updates the statistic of its row."""
    access: TensorAccess
    """Of that statement to it: the subscripts of rows, an element being all that is kept of a row."""
    reads: Mapping[str, tuple[TensorAccess, ...]]
    """Per statement that reads the rows, its accesses to the statistic."""
    waits: str
    """Why a row has to be complete before anything of it is read; empty if it has not."""
    unknown: str
    """Why it is not known how a mapping keeps it; empty if it is."""

    @property
    def name(self) -> str:
        """What trees call it: no tensor has a name with a point in it."""
        return self.access.name


def row_statistics(workload: Workload) -> tuple[RowStatistic, ...]:
    """The statistics of rows of a workload, in the order of the statements."""
    return tuple(_statistic(workload, each, each.row) for each in workload.statements if each.row is not None)


def _statistic(workload: Workload, statement: Statement, row: Apply) -> RowStatistic:
    output = statement.output
    along = dims_of(row, statement.inputs)
    places = [n for n, axis in enumerate(output.axes) if along.intersection(axis.dims) - {row.dim}]
    name, bits = f"{output.name}.row", output.bits * ELEMENTS[row.function]
    readers, waits = _readers(workload, statement, row, places)

    def at(access: TensorAccess) -> TensorAccess:
        return TensorAccess(name=name, axes=tuple(access.axes[n] for n in places), bits=bits)

    unknown = ""
    if any(len(axis.terms) != 1 for axis in output.axes):
        unknown = f"{output} has subscripts of several dims, so that its rows have none of their own"
    elif not readers or roles(workload.statements, workload.outputs)[output.name] is TensorRole.OUTPUT:
        unknown = (
            f"{output.name} is an output: its elements would be visited once more when their rows are complete, which "
            "no leaf does; read it in a further statement"
        )
    return RowStatistic(
        made_by=statement.name,
        access=at(output),
        reads={name: tuple(map(at, some)) for name, some in readers.items()},
        waits=waits,
        unknown=unknown,
    )


def _readers(
    workload: Workload, statement: Statement, row: Apply, places: list[int]
) -> tuple[dict[str, tuple[TensorAccess, ...]], str]:
    """The statements that read rows, with their accesses, and why rows have to be complete before that."""
    online, why = _rescaling(workload, statement, row, places)
    if not why:
        return online, why
    return _reading(workload, statement.name), why


def _reading(workload: Workload, tensor: str) -> dict[str, tuple[TensorAccess, ...]]:
    """The statements that read a tensor, with their accesses to it."""
    found = {each.name: tuple(a for a in each.inputs if a.name == tensor) for each in workload.statements}
    return {name: some for name, some in found.items() if some}


def _rescaling(
    workload: Workload, statement: Statement, row: Apply, places: list[int]
) -> tuple[dict[str, tuple[TensorAccess, ...]], str]:
    """Those that read rows while they are incomplete; or why they cannot.

    Args:
        workload: the chain.
        statement: with the function of rows.
        row: the function.
        places: numbers of the subscripts that say which row.
    """
    name = statement.name
    place = next(n for n, axis in enumerate(statement.output.axes) if row.dim in axis.dims)
    if row.statistic is Statistic.WHOLE:
        return {}, f"{row.function} of {name} is of whole rows"
    if row.function not in SCALES:
        return {}, f"{row.function} takes a mean from every element, which sums of {name} cannot make up for later"
    if not _lets_through(statement.right, row):
        return {}, f"{name} is more than {row.function} times something"
    found: dict[str, tuple[TensorAccess, ...]] = {}
    known = roles(workload.statements, workload.outputs)
    open_ones = [name]
    while open_ones:
        tensor = open_ones.pop()
        if known[tensor] is TensorRole.OUTPUT:
            return {}, f"{tensor} is an output"
        for reader, accesses in _reading(workload, tensor).items():
            each = workload.statement(reader)
            found[reader] = (*found.get(reader, ()), *accesses)
            if each.keeps_places and _lets_through(each.right, Read(0)):
                open_ones.append(reader)
            elif not each.multiplies or len(accesses) > 1 or set(accesses[0].axes[place].dims) & each.output.dims:
                return {}, f"{reader} is no sum of products along the rows of {name}"
            elif {d for n in places for d in accesses[0].axes[n].dims} - each.output.dims:
                return {}, f"{reader} adds up products of several rows of {name}, each with a factor of its own"
            elif len(accesses[0].axes[place].terms) != 1:
                return {}, f"{reader} reads {accesses[0]}, whose rows it goes through in windows"
    return found, ""


def _lets_through(expression: Expression, part: Expression) -> bool:
    """Whether a positive factor of a part of an expression is one of all of it."""
    if expression == part:
        return True
    if isinstance(expression, Apply) and expression.function in POSITIVE:
        first, *others = expression.arguments
        return _lets_through(first, part) and not any(_has(other, part) for other in others)
    if isinstance(expression, OperandSeries) and not expression.is_sum:
        having = [each for each in expression.operands if _has(each, part)]
        divided = any(sign == "/" and _has(each, part) for sign, each in expression.rest)
        return len(having) == 1 and not divided and _lets_through(having[0], part)
    return False


def _has(expression: Expression, part: Expression) -> bool:
    return expression == part or any(_has(each, part) for each in parts_of(expression))
