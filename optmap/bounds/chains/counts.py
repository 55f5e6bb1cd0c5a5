"""Words of a chain's inputs and outputs: each input word is loaded once, each output word stored once, at least."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from optmap.base.errors import LimitError
from optmap.bounds.compulsory import Count, output_count, tensor_counts
from optmap.workloads.chain import TensorRole
from optmap.workloads.domain import points
from optmap.workloads.statement import Statement
from optmap.workloads.workload import Semantics, TensorAccess, Workload

NOTHING = Count(elements=0)
"""Of what conditions may leave out and cannot be counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainCount:
    """Elements of a tensor that a chain touches, at least."""

    statement: int
    """Position of the statement in which they are counted."""
    count: Count
    """Parts name accesses of that statement, the output first."""


def starts_empty(workload: Workload, tensor: str) -> bool:
    """Whether the words of a tensor that is written are created, and not loaded, at their first touch."""
    return workload.semantics is Semantics.ASSIGN or workload.roles[tensor] is TensorRole.INTERMEDIATE


def loaded_tensors(workload: Workload) -> tuple[str, ...]:
    """Tensors that are in slow memory at the beginning: inputs, and outputs that are accumulated to."""
    kept = {TensorRole.INPUT} | ({TensorRole.OUTPUT} if workload.semantics is Semantics.ACCUMULATE else set())
    return tuple(name for name, role in workload.roles.items() if role in kept)


def stored_tensors(workload: Workload) -> tuple[str, ...]:
    """Tensors that are in slow memory at the end."""
    return tuple(name for name, role in workload.roles.items() if role is TensorRole.OUTPUT)


@lru_cache(maxsize=64)
def chain_counts(workload: Workload) -> Mapping[str, ChainCount]:
    """How much of every input and output a chain touches.

    An output is counted where it is written, an input in the statement that reads the most of it. Of a statement with
    conditions what has a dim per subscript is counted.
    """
    found: dict[str, ChainCount] = {}
    wanted, made = {*loaded_tensors(workload), *stored_tensors(workload)}, {each.name for each in workload.statements}
    for number, statement in enumerate(workload.statements):
        nest = workload.touched_alone(statement.name)
        counts = {**tensor_counts(nest), statement.name: output_count(nest)}
        for name in wanted.intersection(counts):
            if name in made and name != statement.name:
                continue
            count = _under_conditions(workload, statement, name) if statement.domain else counts[name]
            if name not in found or count.elements > found[name].count.elements:
                found[name] = ChainCount(statement=number, count=count)
    return MappingProxyType({name: found[name] for name in workload.roles if name in found})


def _under_conditions(workload: Workload, statement: Statement, name: str) -> Count:
    """Elements that the accesses of a tensor touch at the points that meet the conditions, at least."""
    found = NOTHING
    if statement.has_ranges:
        return found
    for access in statement.accesses:
        dims = [d for axis in access.axes for d in axis.dims]
        if access.name == name and len(set(dims)) == len(dims) and all(len(axis.dims) < 2 for axis in access.axes):
            with suppress(LimitError):
                touched = points(dims, statement.domain, workload.extents)
                found = max(found, Count(elements=touched), key=lambda each: each.elements)
    return found


def is_whole(workload: Workload, tensor: str) -> bool:
    """Whether every element of a tensor is there: it is an input, or its statement does some operation for each.

    Conditions and implicit padding may leave elements unwritten. Such an element takes no room, so that an operation
    that reads it has fewer words than its accesses.
    """
    for statement in workload.statements:
        if statement.name == tensor:
            touched = output_count(workload.touched_alone(tensor)).elements
            return not statement.domain and touched == statement.output.footprint(workload.extents)
    return True


def chain_words(workload: Workload) -> dict[str, int]:
    """Words of every input and output that are touched, at least."""
    weights = {access.name: workload.weight(access) for access in workload.accesses}
    return {name: weights[name] * each.count.elements for name, each in chain_counts(workload).items()}


def most_words(workload: Workload, access: TensorAccess) -> int:
    """Words that an access touches, at most."""
    return workload.weight(access) * access.footprint(workload.extents)
