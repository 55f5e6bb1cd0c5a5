"""Products of a chain, and neighbours with the intermediate between them, as fused mappings see them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from optmap.base.errors import InputError
from optmap.workloads.access import TensorAccess
from optmap.workloads.chain import TensorRole
from optmap.workloads.row_statistics import row_statistics
from optmap.workloads.statement import Statement
from optmap.workloads.workload import Semantics, Workload

V = TypeVar("V", int, NDArray[np.int64])
"""How often: a number or an array of numbers."""
Group = tuple[str, ...]
"""Dims that go through the same tensors."""


@dataclass(frozen=True, slots=True)
class ProductStep:
    """A product of a chain."""

    product: Statement
    functions: tuple[str, ...]
    """What is done to its result in place, in order: names of statements."""

    @property
    def result(self) -> str:
        """The tensor that others read."""
        return self.functions[-1] if self.functions else self.product.name


@dataclass(frozen=True, slots=True)
class PairOperand:
    """A tensor of one of the statements."""

    name: str
    words: int
    """Of one element; 0 of what stays in the fast memory anyway: it takes no room of its own and moves nothing."""
    moves: int
    """How often a word crosses with every visit: 2 where it is loaded and stored, and both count."""
    free: int
    """Of these, once: 1 where the first visit loads nothing, as it starts empty."""

    def moved(self, visits: V) -> V:
        """Words of one element that is visited so often; of arrays one by one."""
        return (visits * self.moves - self.free) * self.words


@dataclass(frozen=True, slots=True)
class Side:
    """What a dim of the intermediate subscripts beside it."""

    dim: str
    extent: int
    first: PairOperand
    """Of the statement that makes the intermediate; its other dims are those that are summed there."""
    second: PairOperand
    """Of the statement that reads it."""
    cut: bool = False
    """Whether loops outside of the pair cut it: then no part of it stays for good."""


@dataclass(frozen=True, slots=True)
class PairRows:
    """The statistic that a function in place between two products keeps of the rows of their intermediate."""

    name: str
    side: int
    """Number of the side whose dim the rows have; they go along the dim of the other one."""
    words: int
    """Of a row."""
    stores: bool
    """Whether words that are stored count beside those that are loaded."""

    @property
    def both(self) -> PairOperand:
        """It, where rows are made and read together: the first visit loads nothing, and the last one stores nothing."""
        return PairOperand(name=self.name, words=self.words, moves=1 + self.stores, free=1 + self.stores)

    @property
    def made(self) -> PairOperand:
        """It, where rows are made that are read later."""
        return PairOperand(name=self.name, words=self.words, moves=1 + self.stores, free=1)

    @property
    def read(self) -> PairOperand:
        """It, where rows are read that were made before."""
        return PairOperand(name=self.name, words=self.words, moves=1, free=0)


@dataclass(frozen=True, slots=True)
class ProductPair:
    """A product whose result another product reads, element by element.

    Every dim of the intermediate goes through one operand of each statement, or through all of them.
    """

    makes: str
    """Name of the first statement."""
    functions: tuple[str, ...]
    """Statements that are done in place in between."""
    uses: str
    """Name of the second one."""
    shared: PairOperand
    """The intermediate, where it goes through the slow memory: stored by the first statement."""
    batch: Group
    """Dims of everything."""
    times: int
    """Iterations of these."""
    sides: tuple[Side, Side]
    summed: Group
    """Dims of the first statement that the intermediate has not."""
    depth: int
    """Iterations of these."""
    beyond: Group
    """Dims of the second statement that the intermediate has not."""
    width: int
    """Iterations of these."""
    rows: PairRows | None = None
    """If a function of rows is done in place in between."""


def steps_of(workload: Workload) -> tuple[ProductStep, ...]:
    """The products of a chain, each of which reads the result of the one before.

    Raises:
        InputError: saying why it is no such chain.
    """
    steps: list[ProductStep] = []
    stored = workload.stored_as
    for each in workload.statements:
        read = each.inputs[0].name
        if steps and read == steps[-1].result and stored[read] == stored[each.name] and not each.domain:
            steps[-1] = ProductStep(steps[-1].product, (*steps[-1].functions, each.name))
            continue
        _check_product(each)
        if steps:
            _check_link(steps[-1], each)
        steps.append(ProductStep(each, ()))
    if len(steps) < 2 or steps[-1].functions:
        what = f"ends with {steps[-1].result}, done in place," if len(steps) > 1 else "is one product: it"
        raise InputError(
            f"{workload.title} {what} and fused mappings are looked for of products, each of which reads what the one "
            "before makes"
        )
    if workload.outputs:
        raise InputError(f"{workload.outputs[0]} is a further output; fused mappings have no place for it")
    names = [access.name for each in workload.statements for access in each.inputs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"{twice} is read by two statements; fused mappings need operands of their own: no same tensor"
        )
    for statistic in row_statistics(workload):
        if any(each.domain for each in workload.statements):
            raise InputError(
                f"{statistic.made_by} is made by a function of rows, and there are conditions; fused mappings are not "
                "known of both"
            )
        why = statistic.unknown or statistic.waits
        if why:
            raise InputError(
                f"{statistic.made_by} is made by a function of rows that have to be complete before they are read: "
                f"{why}; fused mappings go over parts of rows"
            )
    return tuple(steps)


def refuse_rows(workload: Workload, where: str, instead: str) -> None:
    """Refuse functions of rows where mappings of chains with them are not looked for.

    Args:
        workload: the chain.
        where: of what mappings are not known.
        instead: what to do.

    Raises:
        InputError: naming the statement.
    """
    for each in row_statistics(workload):
        raise InputError(
            f"{each.made_by} is made by a function of rows; {where} mappings that keep the statistic of rows are not "
            f"looked for: {instead}"
        )


def _check_product(statement: Statement) -> None:
    """Refuse what is no product of two tensors with plain subscripts."""
    plain = statement.multiplies and len(statement.inputs) == 2 and not statement.domain
    distinct = len({access.name for access in statement.accesses}) == 3
    if not (plain and distinct and is_plain(statement.output)):
        raise InputError(
            f"{statement.name} is no product of two tensors with a dim in every subscript; fused mappings are looked "
            "for of such products, and of functions in place between them"
        )


def is_plain(access: TensorAccess) -> bool:
    """Whether every subscript is a dim of its own, and no padding is left out."""
    return all(
        len(axis.terms) == 1 and axis.terms[0][1] == 1 and not axis.offset and axis.real is None for axis in access.axes
    )


def _check_link(before: ProductStep, statement: Statement) -> None:
    """Refuse a product that does not read the result of the one before, as it is made."""
    read = [access for access in statement.inputs if access.name == before.result]
    if not read:
        raise InputError(
            f"{statement.name} must read {before.result}: fused mappings are known of products that each read what "
            "the one before makes, and of gates, where one reads a function of two results, element by element"
        )
    if tuple(map(str, read[0].axes)) != tuple(map(str, before.product.output.axes)):
        raise InputError(
            f"{before.result} is made as {before.product.output} and read as {read[0]}; both need the same subscripts"
        )


@lru_cache(maxsize=256)
def pair_of(
    workload: Workload,
    one: ProductStep,
    other: ProductStep,
    *,
    stores: bool = True,
    inside: tuple[str, ...] = (),
    cut: str | None = None,
) -> ProductPair:
    """Two neighbours as a pair.

    Args:
        workload: the chain.
        one: a product of it.
        other: the next one.
        stores: whether words that are stored count beside those that are loaded.
        inside: results of products that stay in the fast memory, given to the first or made by the second.
        cut: a dim that loops outside of the pair cut.

    Raises:
        InputError: saying why they are no pair.
    """
    for access in (*one.product.inputs, *other.product.inputs):
        if not is_plain(access):
            raise InputError(f"{access} has other subscripts than dims; fused mappings of such products are not known")
    shared = one.product.output
    firsts = list(one.product.inputs)
    seconds = [other.product.output, *(access for access in other.product.inputs if access.name != one.result)]
    dims = [str(axis) for axis in shared.axes]
    groups: dict[tuple[Group, Group], list[str]] = {}
    for dim in dims:
        through = (
            tuple(access.name for access in firsts if dim in access.dims),
            tuple(access.name for access in seconds if dim in access.dims),
        )
        groups.setdefault(through, []).append(dim)
    alone = [through for through in groups if len(through[0]) == len(through[1]) == 1]
    whole = [through for through in groups if len(through[0]) == len(through[1]) == 2]
    apart = len(alone) == 2 and alone[0][0] != alone[1][0] and alone[0][1] != alone[1][1]
    single = all(len(groups[through]) == 1 for through in alone)
    if len(alone) + len(whole) != len(groups) or not apart or not single:
        raise InputError(
            f"the dims of {shared} go through the operands of {one.product.name} and {other.product.name} in another "
            "way than one dim of rows and one of columns do; fused mappings are not known for it"
        )
    _check_sums(one, firsts, shared.dims)
    _check_sums(other, seconds, shared.dims)
    extents = workload.extents

    def operand(name: str) -> PairOperand:
        made = name == other.product.name
        starts = made and (workload.semantics is Semantics.ASSIGN or workload.roles[name] is TensorRole.INTERMEDIATE)
        words = 0 if name in inside or (made and other.result in inside) else _weight(workload, name)
        return PairOperand(name=name, words=words, moves=1 + stores if made else 1, free=int(starts))

    def size(some: Sequence[str]) -> int:
        return prod(extents[d] for d in some)

    batch = tuple(d for through in whole for d in groups[through])
    summed = tuple(d for d in one.product.dims if d not in shared.dims)
    beyond = tuple(d for d in other.product.dims if d not in shared.dims)
    sides = [
        Side(
            dim=groups[through][0],
            extent=extents[groups[through][0]],
            first=operand(through[0][0]),
            second=operand(through[1][0]),
            cut=groups[through][0] == cut,
        )
        for through in alone
    ]
    numbers = {side.dim: number for number, side in enumerate(sides)}
    statistic = next((each for each in row_statistics(workload) if each.made_by in one.functions), None)
    rows = None
    if statistic is not None:
        (number,) = (numbers[d] for d in statistic.access.dims if d in numbers)
        words = workload.weight(statistic.access)
        rows = PairRows(name=statistic.name, side=number, words=words, stores=stores)
    return ProductPair(
        rows=rows,
        makes=one.product.name,
        functions=one.functions,
        uses=other.product.name,
        shared=PairOperand(name=shared.name, words=workload.weight(shared), moves=1 + stores, free=1),
        batch=batch,
        times=size(batch),
        sides=(sides[0], sides[1]),
        summed=summed,
        depth=size(summed),
        beyond=beyond,
        width=size(beyond),
    )


def _check_sums(step: ProductStep, operands: Sequence[TensorAccess], shared: Collection[str]) -> None:
    """Refuse a dim of one operand only."""
    for dim in step.product.dims:
        having = [access.name for access in operands if dim in access.dims]
        if dim not in shared and len(having) == 1:
            raise InputError(
                f"{dim} subscripts {having[0]} only; fused mappings need every dim that {step.product.name} does not "
                "share with its neighbour in both of its other tensors"
            )


def _weight(workload: Workload, name: str) -> int:
    return workload.weight(next(access for access in workload.accesses if access.name == name))
