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
from optmap.symbolic.numbers import divisors_of

NEAR = 16
"""Values next to one that cannot be met which are tried in its place."""


def refuse_hopeless(request: Question) -> None:
    """Refuse what no mapping of the machine can meet, before anything is searched.

    Raises:
        InfeasibleError: with the reason, and what would do.
    """
    if not _met(request, request.constraints):
        raise no_mapping(request)


def no_mapping(request: Question) -> InfeasibleError:
    """The error of a request that no mapping meets, with the reason."""
    workload, machine = request.workload, request.machine
    if request.constraints and _met(request, NO_CONSTRAINTS):
        return InfeasibleError(_conflict(request))
    why = reason(fabric_of(workload, machine), request.counting)
    return InfeasibleError(f"no mapping of {workload.title} onto {machine.name} is valid: {why}")


def _met(request: Question, constraints: Constraints) -> bool:
    """Whether some mapping meets constraints, or may do so."""
    try:
        return any(_known(fabric, request.counting) for fabric in _fabrics(request, constraints))
    except InfeasibleError:
        return False


def _fabrics(request: Question, constraints: Constraints) -> Iterator[Fabric]:
    """The fabric that is asked for, and those with padded dims if these are looked at, too."""
    workload, machine = request.workload, request.machine
    yield demanded(fabric_of(workload, machine), constraints)
    if request.tiles is TileRule.PADDED:
        for padded in paddings(workload.extents, constraints):
            yield demanded(fabric_of(workload.with_extents(**padded), machine), constraints)


def _known(fabric: Fabric, counting: Policy) -> bool:
    """Whether a fabric has a mapping, or may have one."""
    try:
        return chain_of(fabric, counting) is not None
    except LimitError:
        return True


def _conflict(request: Question) -> str:
    """Which constraints cannot be met, why, and what would do."""
    guilty = request.constraints
    for item in request.constraints.items:
        if not _met(request, guilty.without(item)):
            guilty = guilty.without(item)
    changes = [change for change in (_change(request, guilty, item) for item in guilty.items) if change]
    helps = f"; {' or '.join(changes)} would do" if changes else ""
    others = " with the other constraints as they are" if changes and len(request.constraints.items) > 1 else ""
    several = len(guilty.items) > 1
    subject, together = ("constraints", " together") if several else ("constraint", "")
    return (
        f"{subject} {guilty.text} cannot be met{together} on {request.machine.name}: "
        f"{_why(request, guilty)}{helps}{others}"
    )


def _why(request: Question, guilty: Constraints) -> str:
    """What stands in the way of constraints without which, all of them or any one, there is a mapping."""
    fabric = demanded(fabric_of(request.workload, request.machine), guilty)
    for dim in sorted(fabric.demanded):
        if not shares_of(fabric, dim):
            padded = "" if request.tiles is TileRule.PADDED else ", and no dim is padded"
            return f"no factors of {fabric.dims[dim]}={fabric.extents[dim]} make up what is asked for{padded}"
    short = short_rooms(fabric, request.counting)
    return "; or ".join(short) or "no split of the dims among loops and meshes is left"


def _change(request: Question, guilty: Constraints, item: Constraint) -> str | None:
    """The nearest form of a constraint with which all others can be met; None if none was found."""
    if not isinstance(item, TileConstraint | SplitConstraint):
        return None
    for value in islice(_near(item, request.workload.extents[item.dim]), NEAR):
        changed = replace(item, value=value)
        items = tuple(changed if each == item else each for each in request.constraints.items)
        if not request.clock.late and _met(request, Constraints(items=items)):
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
