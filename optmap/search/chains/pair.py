"""Two products with an intermediate between them, as fused mappings see them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from optmap.base.errors import InputError
from optmap.workloads.statement import Statement
from optmap.workloads.workload import Semantics, Workload

Group = tuple[str, ...]
"""Dims that go through the same tensors."""


@dataclass(frozen=True, slots=True)
class PairOperand:
    """A tensor of one of the statements."""

    name: str
    words: int
    """Of one element."""
    updated: bool
    """Whether it is loaded and stored with every visit."""
    free: int
    """Visits that load nothing, as it starts empty: 0 or 1."""

    def moved(self, visits: int) -> int:
        """Words of one element that is visited so often."""
        return self.words * (2 * visits - self.free if self.updated else visits)


@dataclass(frozen=True, slots=True)
class Side:
    """What a dim of the intermediate subscripts beside it."""

    dim: str
    extent: int
    first: PairOperand
    """Of the statement that makes the intermediate; its other dims are those that are summed there."""
    second: PairOperand
    """Of the statement that reads it."""


@dataclass(frozen=True, slots=True)
class ProductPair:
    """A product whose result another product reads, element by element.

    Every dim of the intermediate goes through one operand of each statement, or through all of them.
    """

    makes: str
    """Name of the first statement."""
    uses: str
    """Name of the second one."""
    shared: PairOperand
    """The intermediate."""
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


def pair_of(workload: Workload) -> ProductPair:
    """A chain as a pair of products.

    Raises:
        InputError: saying why it is none.
    """
    statements = workload.statements
    if len(statements) != 2:
        raise InputError(
            f"{workload.title} has {len(statements)} statements; fused mappings are looked for of two products, "
            "one of which reads what the other makes: solve two neighbours, or leave out functions done in place"
        )
    one, other = statements
    for each in statements:
        plain = each.is_product and len(each.inputs) == 2 and not each.domain and each.row is None
        simple = all(
            len(axis.terms) == 1 and axis.terms[0][1] == 1 and not axis.offset and axis.real is None
            for access in each.accesses
            for axis in access.axes
        )
        distinct = len({access.name for access in each.accesses}) == 3
        if not (plain and simple and distinct):
            raise InputError(
                f"{each.name} is no product of two tensors with a dim in every subscript; fused mappings are looked "
                "for of two such products"
            )
    read = [access for access in other.inputs if access.name == one.name]
    if not read or workload.outputs:
        raise InputError(f"{other.name} must read {one.name}, and nothing else may: name no further output")
    if tuple(map(str, read[0].axes)) != tuple(map(str, one.output.axes)):
        raise InputError(f"{one.name} is made as {one.output} and read as {read[0]}; both need the same subscripts")
    return _pair(workload, one, other)


def _pair(workload: Workload, one: Statement, other: Statement) -> ProductPair:
    shared = one.output
    firsts = list(one.inputs)
    seconds = [other.output, *(access for access in other.inputs if access.name != one.name)]
    if {access.name for access in firsts} & {access.name for access in seconds}:
        raise InputError(f"{one.name} and {other.name} read the same tensor; fused mappings need operands of their own")
    groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for dim in (str(axis) for axis in shared.axes):
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
            f"the dims of {shared} go through the operands of {one.name} and {other.name} in another way than one dim "
            "of rows and one of columns do; fused mappings are not known for it"
        )
    extents = workload.extents

    def operand(name: str) -> PairOperand:
        access = next(access for access in workload.accesses if access.name == name)
        made = name == other.name
        empty = made and workload.semantics is Semantics.ASSIGN
        return PairOperand(name=name, words=workload.weight(access), updated=made, free=int(empty))

    def size(dims: Group) -> int:
        return prod(extents[d] for d in dims)

    batch = tuple(d for through in whole for d in groups[through])
    summed = tuple(d for d in one.dims if d not in shared.dims)
    beyond = tuple(d for d in other.dims if d not in shared.dims)
    sides = [
        Side(
            dim=groups[through][0],
            extent=extents[groups[through][0]],
            first=operand(through[0][0]),
            second=operand(through[1][0]),
        )
        for through in alone
    ]
    return ProductPair(
        makes=one.name,
        uses=other.name,
        shared=PairOperand(name=one.name, words=workload.weight(shared), updated=False, free=0),
        batch=batch,
        times=size(batch),
        sides=(sides[0], sides[1]),
        summed=summed,
        depth=size(summed),
        beyond=beyond,
        width=size(beyond),
    )
