"""Programs: a mathematical program, what it is, and the way back from its variables."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from optmap.base.errors import InputError


class Form(StrEnum):
    """What a solver must be able to handle."""

    LP = "lp"
    """Linear objective and constraints, real variables."""
    MILP = "milp"
    """Linear, some variables integer."""
    NLP = "nlp"
    """Smooth nonlinear, real variables."""


class Sense(StrEnum):
    """Direction of the objective."""

    MINIMIZE = "minimize"
    MAXIMIZE = "maximize"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """One variable of a program, in the program's own terms."""

    name: str
    """Name in the Pyomo model, such as `t[k]`."""
    quantity: str
    """Name of the quantity that `read_back` returns, such as `T[k]`."""
    lower: float
    """Lower bound of the variable itself."""
    upper: float
    """Upper bound of the variable itself; infinite only where the constraints bound it."""
    log: bool = False
    """Whether the variable is the natural logarithm of the quantity."""
    integer: bool = False
    """Whether only whole numbers are allowed."""
    unit: str = ""
    """Unit of the quantity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A mathematical program that can be printed, exported, changed, solved and read back.

    `pyomo()` builds a new `ConcreteModel` each time: change it as you like.
    """

    name: str
    form: Form
    convex: bool
    """Whether every local optimum is proved global: linear, or convex in the program's variables."""
    geometric: bool = False
    """Whether it is convex once every variable is replaced by its logarithm (or already is)."""
    sense: Sense
    variables: tuple[Variable, ...]
    """In the order of the model."""
    build: Callable[[], Any]
    """Makes the Pyomo `ConcreteModel`; its only active objective is the program's."""
    objective_unit: str = ""
    """Unit of the objective once logarithms are undone."""
    objective_log: bool = False
    """Whether the model's objective is the logarithm of the objective."""
    objective_offset: float = 0.0
    """Constant to add to the model's objective (after undoing the logarithm)."""
    fixed: tuple[tuple[str, float], ...] = ()
    """Quantities that are parameters here, so that `read_back` is complete."""
    notes: tuple[str, ...] = ()
    """Where the model is an estimate rather than exact, in words."""

    def pyomo(self) -> Any:
        """A new Pyomo `ConcreteModel` of the program."""
        return self.build()

    def read_back(self, values: Mapping[str, float]) -> dict[str, float]:
        """Quantities from variable values: the only place that undoes a logarithm.

        Args:
            values: value per variable name, as a `Solution` has them.

        Returns:
            Value per quantity, parameters included. Whole-number quantities are rounded if they
            are within 1e-6 of a whole number.

        Raises:
            InputError: if a variable is missing or an integer variable is not whole.
        """
        missing = [v.name for v in self.variables if v.name not in values]
        if missing:
            raise InputError(f"program {self.name}: no value for {', '.join(missing)}")
        found = dict(self.fixed)
        for variable in self.variables:
            value = float(values[variable.name])
            if variable.integer:
                whole = round(value)
                if abs(value - whole) > 1e-6:
                    raise InputError(f"program {self.name}: {variable.name} = {value} must be a whole number")
                value = float(whole)
            found[variable.quantity] = math.exp(value) if variable.log else value
        return found

    def objective_value(self, value: float) -> float:
        """The objective in `objective_unit` from the value of the model's objective."""
        return (math.exp(value) if self.objective_log else value) + self.objective_offset
