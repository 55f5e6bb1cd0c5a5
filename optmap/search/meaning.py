"""Options that mean something on some machines only, and what is said elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from optmap.base.errors import InputError
from optmap.machines.machine import Machine

SEARCHES = "--{option} is for searches on accelerators, which {machine} is not: leave it out"
NO_MEANING = "--{option} {value} has no meaning on the accelerator {machine}: "


@dataclass(frozen=True, slots=True)
class Meaning:
    """On which machines an option means something."""

    meshes: bool
    """Whether it does with meshes and prices; else without."""
    refused: str
    """What is said elsewhere; `{option}`, `{value}` and `{machine}` stand for those."""
    unset: object = None
    """The value that asks for nothing, beside None and what is false."""


MEANINGS: Mapping[str, Meaning] = {
    "confirm": Meaning(True, "--confirm is for method exact on accelerators, which {machine} is not: leave it out"),
    "set": Meaning(True, SEARCHES),
    "evaluations": Meaning(True, SEARCHES),
    "journal": Meaning(True, SEARCHES),
    "counting": Meaning(True, "--counting is for accelerators; {machine} has no fanouts and prices: leave it out"),
    "simulate": Meaning(False, "there is no simulation of accelerators; leave out --simulate"),
    "capacity": Meaning(
        False, NO_MEANING + "one tile has to fit into each of its memories; leave out --capacity", "tile"
    ),
    "integers": Meaning(False, NO_MEANING + "tiles are searched as whole factors; leave out --integers", "exact"),
    "cores": Meaning(False, NO_MEANING + "the machine says how many units there are; leave out --cores", 1),
    "innermost": Meaning(False, NO_MEANING + "its counts start at the arithmetic; leave out --innermost"),
    "solver": Meaning(False, NO_MEANING + "no relaxation is solved; leave out --solver"),
    "certificate": Meaning(False, NO_MEANING + "its files have proofs of their own; leave out --certificate", "bound"),
}
"""Options of `solve` and `evaluate` that do not mean something on every machine."""


def refuse_meaningless(machine: Machine, given: Mapping[str, object]) -> None:
    """Refuse options that mean nothing on a machine.

    Args:
        machine: with or without meshes and prices.
        given: values by the names of `MEANINGS`.

    Raises:
        InputError: naming the option and why.
    """
    for option, meaning in MEANINGS.items():
        value = given.get(option)
        if value and value != meaning.unset and meaning.meshes is not machine.meshed:
            raise InputError(meaning.refused.format(option=option, value=value, machine=machine.name))
