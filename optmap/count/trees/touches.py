"""Operations of statements and the elements that they touch, one by one."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from optmap.base.errors import InputError
from optmap.count.tally import Budget
from optmap.mappings.tree import MappingTree
from optmap.workloads.access import Subscript, TensorAccess
from optmap.workloads.domain import Comparator
from optmap.workloads.statement import Statement

Operation = tuple[int, ...]
"""Iterations of the statement's dims, in their order."""
Element = tuple[str, tuple[int, ...]]
"""Name under which a tensor is stored, and subscripts."""

_COMPARE: Mapping[Comparator, Callable[[int, int], bool]] = {
    Comparator.AT_MOST: operator.le,
    Comparator.LESS: operator.lt,
    Comparator.AT_LEAST: operator.ge,
    Comparator.MORE: operator.gt,
    Comparator.EQUAL: operator.eq,
}


def element_text(element: Element) -> str:
    """An element as messages have it."""
    name, subscripts = element
    return f"{name}[{', '.join(map(str, subscripts))}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Touch:
    """One access of a statement."""

    access: TensorAccess
    stored: str
    """Name under which the tensor's elements are stored: functions done in place share it."""
    dims: tuple[str, ...]
    """Of the statement."""

    def subscripts(self, operation: Operation) -> tuple[int, ...]:
        """What an operation touches of the tensor."""
        point = dict(zip(self.dims, operation, strict=True))
        return tuple(_value(axis, point) for axis in self.access.axes)

    def element(self, operation: Operation) -> Element:
        """What an operation touches of what is stored."""
        return self.stored, self.subscripts(operation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """The operations of one statement."""

    statement: Statement
    output: Touch
    inputs: tuple[Touch, ...]
    """Tensors that it reads."""
    rows: tuple[Touch, ...]
    """Statistics of rows that it reads."""
    updates: tuple[Touch, ...]
    """Its output, and the statistic that its function of rows keeps."""

    @property
    def touches(self) -> tuple[Touch, ...]:
        """All accesses to tensors, output first."""
        return (self.output, *self.inputs)

    def among(self, ranges: Mapping[str, Sequence[int]], budget: Budget) -> Iterator[Operation]:
        """The operations with every dim in its range: those that meet the conditions and have no implicit padding.

        Args:
            ranges: iterations per dim; may have dims that the statement has not.
            budget: pays for every point.
        """
        dims = self.statement.dims
        budget.spend(prod(len(ranges[d]) for d in dims))
        yield from (each for each in product(*(ranges[d] for d in dims)) if self._is_done(each))

    def _is_done(self, operation: Operation) -> bool:
        point = dict(zip(self.statement.dims, operation, strict=True))
        meets = all(
            _COMPARE[each.relation](_value(each.left, point), _value(each.right, point))
            for each in self.statement.domain
        )
        return meets and all(
            axis.real is None or axis.real[0] <= _value(axis, point) <= axis.real[1]
            for touch in self.touches
            for axis in touch.access.axes
        )


def operations_of(tree: MappingTree) -> dict[str, Operations]:
    """The operations of every statement, by its output.

    Raises:
        InputError: for a function of rows whose statistic no Keep names, or of which it is not known how it is kept.
    """
    workload, kept = tree.workload, tree.kept
    if refused := kept.uncounted(tree.leaves):
        raise InputError(refused)
    found = {}
    for statement in workload.statements:
        output, *others = (
            Touch(access=access, stored=kept.stored_as[access.name], dims=statement.dims)
            for access in kept.touched[statement.name]
        )
        inputs, rows = others[: len(statement.inputs)], others[len(statement.inputs) :]
        own = [each for each in rows if each.stored in kept.made[statement.name]]
        found[statement.name] = Operations(
            statement=statement,
            output=output,
            inputs=tuple(inputs),
            rows=tuple(each for each in rows if each not in own),
            updates=(output, *own),
        )
    return found


def _value(side: Subscript, point: Mapping[str, int]) -> int:
    return side.offset + sum(c * point[d] for d, c in side.terms)
