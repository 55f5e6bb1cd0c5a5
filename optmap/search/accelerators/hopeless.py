"""What no mapping on an accelerator can meet: whether there is one at all, whose fault it is, and what would do.

Where the machine alone has mappings and a user's constraints leave none, constraints are named of which none can be
left out of the list, and for each the nearest value with which all others can be met.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from optmap.base.errors import InfeasibleError, LimitError
from optmap.machines.fabric import Fabric, fabric_of
from optmap.machines.relations import Relation
from optmap.mappings.constraints import NO_CONSTRAINTS, Constraint, Constraints, SplitConstraint, TileConstraint
from optmap.mappings.demanded import demanded
from optmap.questions.options import TileRule
from optmap.questions.policy import Policy
from optmap.search.accelerators.feasible import chain_of
from optmap.search.accelerators.infeasible import reason, short_rooms
from optmap.search.accelerators.paddings import paddings
from optmap.search.accelerators.shares import shares_of
from optmap.search.question import Question
from optmap.search.space.conflict import blame, guilty_of
from optmap.symbolic.numbers import divisors_of

NEAR = 16
"""Values next to one that cannot be met which are tried in its place."""


def refuse_hopeless(question: Question) -> None:
    """Refuse what no mapping of the machine can meet, before anything is searched.

    Raises:
        InfeasibleError: with the reason, and what would do.
    """
    if not _met(question, question.constraints):
        raise no_mapping(question)


def no_mapping(question: Question) -> InfeasibleError:
    """The error of a question that no mapping meets, with the reason."""
    workload, machine = question.workload, question.machine
    if question.constraints and _met(question, NO_CONSTRAINTS):
        return InfeasibleError(_conflict(question))
    why = reason(fabric_of(workload, machine), question.counting)
    return InfeasibleError(f"no mapping of {workload.title} onto {machine.name} is valid: {why}")


def _met(question: Question, constraints: Constraints) -> bool:
    """Whether some mapping meets constraints, or may do so."""
    try:
        return any(_known(fabric, question.counting) for fabric in _fabrics(question, constraints))
    except InfeasibleError:
        return False


def _fabrics(question: Question, constraints: Constraints) -> Iterator[Fabric]:
    """The fabric that is asked for, and those with padded dims if these are looked at, too."""
    workload, machine = question.workload, question.machine
    yield demanded(fabric_of(workload, machine), constraints)
    if question.tiles is TileRule.PADDED:
        for padded in paddings(workload.extents, constraints):
            yield demanded(fabric_of(workload.with_extents(**padded), machine), constraints)


def _known(fabric: Fabric, counting: Policy) -> bool:
    """Whether a fabric has a mapping, or may have one."""
    try:
        return chain_of(fabric, counting) is not None
    except LimitError:
        return True


def _conflict(question: Question) -> str:
    """Which constraints cannot be met, why, and what would do."""
    guilty = guilty_of(question.constraints, lambda some: _met(question, some))
    why = f" on {question.machine.name}: {_why(question, guilty)}"
    return blame(question.constraints, guilty, why, lambda item: _change(question, item))


def _why(question: Question, guilty: Constraints) -> str:
    """What stands in the way of constraints without which, all of them or any one, there is a mapping."""
    fabric = demanded(fabric_of(question.workload, question.machine), guilty)
    for dim in sorted(fabric.demanded):
        if not shares_of(fabric, dim):
            padded = "" if question.tiles is TileRule.PADDED else ", and no dim is padded"
            return f"no factors of {fabric.dims[dim]}={fabric.extents[dim]} make up what is asked for{padded}"
    short = short_rooms(fabric, question.counting)
    return "; or ".join(short) or "no split of the dims among loops and meshes is left"


def _change(question: Question, item: Constraint) -> str | None:
    """The nearest form of a constraint with which all others can be met; None if none was found."""
    if not isinstance(item, TileConstraint | SplitConstraint):
        return None
    for value in islice(_near(item, question.workload.extents[item.dim]), NEAR):
        changed = replace(item, value=value)
        items = tuple(changed if each == item else each for each in question.constraints.items)
        if not question.clock.late and _met(question, Constraints(items=items)):
            return changed.text
    return None


def _near(item: TileConstraint | SplitConstraint, extent: int) -> Iterator[int]:
    """Values that a constraint may have instead, those next to its own first; what changes nothing left out."""
    values = [value for value in divisors_of(extent) if value != item.value]
    match item.relation:
        case Relation.AT_MOST:
            values = [value for value in values if value > item.value]
        case Relation.AT_LEAST:
            values = [value for value in values if 1 < value < item.value]
        case Relation.MULTIPLE:
            values = [value for value in values if value > 1]
    yield from sorted(values, key=lambda value: (max(value, item.value) / min(value, item.value), value))
