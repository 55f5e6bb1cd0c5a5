"""Programs of mappings on accelerators, for export: the allocation program, and CoSA's."""

from __future__ import annotations

from math import floor, log10

from optmap.base.errors import InputError
from optmap.base.names import choose
from optmap.count.meshes.count import NEST_EXACT
from optmap.count.policies import nest_policies
from optmap.machines.fabric import fabric_of
from optmap.machines.machine import Machine
from optmap.programs.allocation import Allocation
from optmap.programs.cosa import Cosa
from optmap.programs.export import export_program
from optmap.questions.objective import merit_objective
from optmap.questions.options import Merit
from optmap.report.answers.programs import Exported, Format
from optmap.search.allocation.allocation import root_bound
from optmap.search.question import understood
from optmap.workloads.workload import Semantics, Workload

METHODS = ("allocation", "cosa")
"""Methods on accelerators that solve a program."""
ABOVE = 4
"""The objective is written relative to so many times the linear relaxation, which the best mapping rarely exceeds."""


def exported_allocation(
    workload: Workload,
    machine: Machine,
    form: Format,
    *,
    method: str | None = None,
    objective: str | None = None,
    counting: str | None = None,
    semantics: Semantics | str | None = None,
) -> tuple[Exported, ...]:
    """The program of a workload on an accelerator, as text.

    Args:
        workload: what is mapped; its outputs start empty.
        machine: an accelerator.
        form: of the text.
        method: one of `METHODS`; None for `allocation`.
        objective: a key of `MERITS`; None for `edp`.
        counting: a policy that follows tiles through all loops; None for `exact`.
        semantics: what the user asked for.

    Raises:
        InputError: for what does not go together.
        InfeasibleError: if the program has no point.
    """
    way = choose("method", method or METHODS[0], METHODS)
    fabric = fabric_of(understood(workload, machine, semantics)[0], machine)
    if way == "cosa":
        if objective is not None or counting is not None:
            raise InputError("CoSA's program has an objective and counts of its own; leave out --objective, --counting")
        program = Cosa(fabric=fabric).program()
    else:
        merit = Merit(merit_objective(objective).name)
        known = {name: policy for name, policy in nest_policies().items() if policy.walked}
        rule = known[choose("counting", counting or NEST_EXACT.name, known)]
        reference = _rounded(ABOVE * root_bound(fabric, merit=merit, counting=rule))
        program = Allocation(fabric=fabric, merit=merit, counting=rule, reference=reference).program()
    return (Exported(program=program, content=export_program(program, form.value)),)


def _rounded(number: float) -> float:
    """Two digits: the same on every computer."""
    digits = 10.0 ** (floor(log10(number)) - 1) if number > 0 else 1.0
    return max(round(number / digits), 1) * digits
