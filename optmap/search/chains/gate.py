"""Gates: two products that share an operand, a function of both results element by element, and a product of that.

    G[m,f] = X[m,d]*W1[d,f]; U[m,f] = X[m,d]*W3[d,f]; A[m,f] = silu(G[m,f])*U[m,f]; Y[m,n] = A[m,f]*W2[f,n]

Each of the two products is a pair with the last one (see `pair`), so what can be said of a pair is said of these two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from optmap.base.errors import InputError
from optmap.search.chains.pair import PairOperand, ProductPair, ProductStep, is_plain, pair_of
from optmap.workloads.chain import TensorRole
from optmap.workloads.statement import Statement
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True)
class GateOperand:
    """An operand of a product of a gate."""

    operand: PairOperand
    side: int
    """Which dim of the intermediates it has: 0 for that of the shared operand."""
    size: int
    """Elements for one iteration of that dim."""

    @property
    def cost(self) -> int:
        """Words for one iteration of that dim."""
        return self.operand.words * self.size


@dataclass(frozen=True, slots=True)
class Gate:
    """Two products that share an operand, what is done with their results, and the product that reads that."""

    pairs: tuple[ProductPair, ProductPair]
    """Each of the two, with the last one; the side of the operand that they share first."""
    meeting: PairOperand
    """What is made of both results, where it goes through the slow memory."""
    between: tuple[str, ...]
    """Statements between the products, in order: functions in place, and what makes `meeting`."""

    @property
    def reader(self) -> ProductPair:
        """As a pair whose second product is the last one, with what that reads between them."""
        return replace(self.pairs[0], shared=self.meeting)

    @property
    def operands(self) -> tuple[GateOperand, ...]:
        """The shared one, those of either product alone, and those of the last product by sides."""
        (one, other), (_, last) = self.pairs[0].sides, self.pairs[1].sides
        depth, width = self.pairs[0].depth, self.pairs[0].width
        return (
            GateOperand(one.first, 0, depth),
            GateOperand(other.first, 1, depth),
            GateOperand(last.first, 1, depth),
            GateOperand(one.second, 0, width),
            GateOperand(other.second, 1, width),
        )

    @property
    def elements(self) -> int:
        """Of an intermediate, for one iteration of what goes through everything."""
        one, other = self.pairs[0].sides
        return one.extent * other.extent

    def least_room(self) -> int:
        """Words that every mapping needs."""
        one, two = (pair.shared.words for pair in self.pairs)
        shared, first, second, *last = (each.operand.words for each in self.operands)
        made = max(one + first, two + second) + shared
        return max(made, one + two + self.meeting.words, self.meeting.words + sum(last))


def gate_of(workload: Workload, *, stores: bool = True) -> Gate | None:
    """A chain as a gate; None if no statement is a function of two results element by element.

    Args:
        workload: the chain.
        stores: whether words that are stored count beside those that are loaded.

    Raises:
        InputError: for a chain with such a statement that is no gate, saying why.
    """
    meeting = next((each for each in workload.statements if _meets(workload, each)), None)
    if meeting is None:
        return None
    makers, between, last = _parts(workload, meeting)
    result = workload.stored_as[meeting.name]
    functions = tuple(each.name for each in between if each.name != result)
    pairs = [
        pair_of(workload, ProductStep(each, (*functions, result)), ProductStep(last, ()), stores=stores)
        for each in makers
    ]
    (shared,) = {access.name for access in makers[0].inputs} & {access.name for access in makers[1].inputs}
    pairs = [p if p.sides[0].first.name == shared else replace(p, sides=(p.sides[1], p.sides[0])) for p in pairs]
    return Gate(
        pairs=(pairs[0], pairs[1]),
        meeting=replace(pairs[0].shared, name=meeting.name, words=workload.weight(meeting.output)),
        between=tuple(each.name for each in between),
    )


def _parts(workload: Workload, meeting: Statement) -> tuple[list[Statement], list[Statement], Statement]:
    """Both products, what is done between the products, and the last one; refused where they are something else."""
    stored = workload.stored_as
    chains = [
        [each for each in workload.statements if stored[each.name] == stored[name]]
        for name in (*(access.name for access in meeting.inputs), meeting.name)
    ]
    firsts = [chain[0] for chain in chains]
    makers = [each for each in workload.statements if each in firsts[:2]]
    between = [each for each in workload.statements if any(each in chain for chain in chains) and each not in makers]
    behind = [each for each in workload.statements if each not in (*makers, *between)]
    _check_makers(makers, meeting)
    if len(behind) != 1 or behind[0] is not workload.statements[-1] or workload.outputs:
        raise InputError(
            f"{workload.title}: mappings of {meeting.name}, a function of {makers[0].name} and {makers[1].name}, are "
            "known where one product reads it and nothing else is made"
        )
    _check_reads(workload, makers, behind[0], stored[meeting.name])
    reads = (*meeting.inputs, *(access for access in behind[0].inputs if access.name == stored[meeting.name]))
    for each, access in zip(firsts, reads, strict=True):
        if tuple(map(str, each.output.axes)) != tuple(map(str, access.axes)):
            raise InputError(
                f"{access.name} is made as {each.output} and read as {access}; both need the same subscripts"
            )
    return makers, between, behind[0]


def _meets(workload: Workload, statement: Statement) -> bool:
    """Whether a statement is a function of the results of two others, element by element."""
    stored, roles = workload.stored_as, workload.roles
    return (
        len({stored[access.name] for access in statement.inputs}) == len(statement.inputs) == 2
        and all(roles[access.name] is TensorRole.INTERMEDIATE for access in statement.inputs)
        and not (statement.domain or statement.row or statement.reduction_dims)
    )


def _check_makers(makers: Sequence[Statement], meeting: Statement) -> None:
    """Refuse what are no two products with an operand in common, or results that are read in another way."""
    one, two = makers
    for each in makers:
        if not each.is_product or len(each.inputs) != 2:
            raise InputError(f"{each.name} is no product of two tensors, and {meeting.name} is made of its result")
    shared = {str(access) for access in one.inputs} & {str(access) for access in two.inputs}
    names = {access.name for access in one.inputs} & {access.name for access in two.inputs}
    if len(shared) != 1 or len(names) != 1:
        raise InputError(
            f"{one.name} and {two.name} must share one operand, read in the same way: mappings of {meeting.name}, "
            "which is made of both, are not known otherwise"
        )
    for access in (one.output, two.output, *meeting.inputs):
        if access.dims != meeting.output.dims or not is_plain(access):
            raise InputError(f"{access} has other dims than {meeting.output}; mappings of such gates are not known")


def _check_reads(workload: Workload, makers: Sequence[Statement], last: Statement, result: str) -> None:
    """Refuse a last statement that is no product of the result and an input, and operands that are read elsewhere."""
    names = [access.name for each in (*makers, last) for access in each.inputs]
    own, both = set(names) - {result}, f"{makers[0].name} and {makers[1].name}"
    if names.count(result) != 1 or len(own) != 4 or any(workload.roles[name] is not TensorRole.INPUT for name in own):
        raise InputError(
            f"{last.name} must read {result}, and what else {last.name}, {both} read must be inputs that no other "
            f"statement reads, but for the one that {both} share"
        )
    for each in (*makers, last):
        if not (each.is_product and all(map(is_plain, each.accesses))):
            raise InputError(f"{each} is no product of two tensors with a dim in every subscript")
