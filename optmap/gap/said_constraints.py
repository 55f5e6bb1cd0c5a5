"""The constraints that a solution document says were demanded of its mapping."""

from __future__ import annotations

from optmap.errors import InfeasibleError, InputError
from optmap.problem import Machine, Workload
from optmap.problem.constraint_texts import constraint_from
from optmap.problem.constraints import NO_CONSTRAINTS, Constraints
from optmap.problem.io.fields import Fields


def said_constraints(fields: Fields, workload: Workload, machine: Machine) -> Constraints:
    """What a document says was demanded; none if it does not say.

    Raises:
        InputError: naming file and field of what is no constraint, or not about this mapping.
    """
    if not fields.has("constraints"):
        return NO_CONSTRAINTS
    items = tuple(constraint_from(item.values, item.where) for item in fields.items("constraints"))
    found = Constraints(items=items)
    try:
        found.check(workload, machine)
    except (InputError, InfeasibleError) as error:
        raise InputError(f"{fields.at('constraints')}: {error}") from error
    return found
