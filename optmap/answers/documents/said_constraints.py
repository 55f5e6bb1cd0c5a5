"""The constraints that a solution document says were demanded of its mapping."""

from __future__ import annotations

from optmap.base.errors import InfeasibleError, InputError
from optmap.files.fields import Fields
from optmap.machines.machine import Machine
from optmap.mappings.constraint_texts import constraint_from
from optmap.mappings.constraints import NO_CONSTRAINTS, Constraints
from optmap.workloads.workload import Workload


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
        found.refuse_foreign(workload, machine)
    except (InputError, InfeasibleError) as error:
        raise InputError(f"{fields.at('constraints')}: {error}") from error
    return found
