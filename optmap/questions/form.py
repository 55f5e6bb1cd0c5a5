"""What can be asked about the mappings of a machine, by the form in which they are handed in there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from optmap.base.errors import UnknownNameError
from optmap.base.names import choose
from optmap.base.texts import several
from optmap.machines.form import FormName
from optmap.machines.machine import Machine
from optmap.questions.objective import MERITS, OBJECTIVES, Objective


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingForm:
    """A form in which mappings are handed in, and what it makes of a question."""

    name: FormName
    machines: str
    """Those that have it, in words."""
    noun: Callable[[Machine], str]
    """What one of them is to whoever maps onto it, in words."""
    objectives: Mapping[str, Objective]
    """What can be minimised, by name."""
    meshes: bool
    """Whether there are meshes and prices: what routes and options are declared for."""
    empties_outputs: bool
    """Whether outputs start empty whatever a statement says."""
    floors_apart: bool
    """Whether floors are answers of their own, per boundary and capacity; else every mapping brings its own along."""


def _levels(machine: Machine) -> str:
    return several(len(machine.levels), "level")


def _accelerator(machine: Machine) -> str:
    return f"the accelerator {machine.name}"


FORMS: dict[FormName, MappingForm] = {
    each.name: each
    for each in (
        MappingForm(
            name=FormName.TILES,
            machines="machines without fanouts and prices",
            noun=_levels,
            objectives=OBJECTIVES,
            meshes=False,
            empties_outputs=False,
            floors_apart=True,
        ),
        MappingForm(
            name=FormName.NEST,
            machines="accelerators, machines with fanouts and prices",
            noun=_accelerator,
            objectives=MERITS,
            meshes=True,
            empties_outputs=True,
            floors_apart=False,
        ),
    )
}


def form_on(machine: Machine) -> MappingForm:
    """The form of mappings on a machine."""
    return FORMS[machine.form]


def objectives_on(machine: Machine) -> Mapping[str, Objective]:
    """The objectives that mean something on a machine, by name."""
    return form_on(machine).objectives


def objective_on(name: str, machine: Machine) -> Objective:
    """The objective of a name on a machine.

    Raises:
        UnknownNameError: listing those that mean something there; of others it says on which machines they do.
    """
    form = form_on(machine)
    for other in FORMS.values():
        if name in other.objectives and name not in form.objectives:
            known = ", ".join(form.objectives)
            raise UnknownNameError(
                f"unknown objective {name!r}; known are {known}; {name!r} is an objective of {other.machines}"
            )
    return form.objectives[choose("objective", name, form.objectives)]


def alike(name: str, machine: Machine) -> tuple[str, ...]:
    """An objective and those that are the same number on a machine; none if it is not defined on it.

    Of one memory there is nothing to combine: `bottleneck`, `sum` and `traffic` are one number; on accelerators
    `port-cycles` and `traffic` are.

    Args:
        name: a key of `objectives_on` the machine.
        machine: its number of levels decides.
    """
    known = objectives_on(machine)
    asked = known[name]
    if asked.merit is None and len(machine.levels) > 1:
        return () if asked.one_memory else (name,)
    return (name, *(other.name for other in known.values() if other.name != name and _same(other, asked)))


def _same(one: Objective, two: Objective) -> bool:
    """Whether two objectives are the same number where they are of the whole mapping, or there is one level."""
    if one.merit is not None:
        return one.merit is two.merit
    counted = [sorted(term.quantity.name for term in each.terms) for each in (one, two)]
    return one.stores == two.stores and one.timed == two.timed and counted[0] == counted[1]
