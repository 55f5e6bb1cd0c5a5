"""What a sweep is asked to do: workloads, machines or capacities, methods, options."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Unpack

from optmap.base.errors import InfeasibleError, InputError
from optmap.base.names import choose
from optmap.count.policies import nest_policies
from optmap.machines.machine import Machine, two_level
from optmap.questions.form import form_on
from optmap.questions.objective import every_objective
from optmap.questions.option import Opt, declared, values_of
from optmap.search.methods import METHODS, usual_methods
from optmap.search.options import SharedOptions
from optmap.sweeps.method_settings import SettingsInput, method_of, method_settings
from optmap.workloads.amounts import Capacity
from optmap.workloads.workload import Workload

BOUND = "bound"
"""The method that proves a lower bound instead of finding a mapping."""
METRICS = ("gap", "traffic", "bound")
"""What a refinement can look at."""
SCALES = ("log", "linear")
MOST_POINTS = 1_000_000
"""Largest number of points of one sweep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """Capacities of one level, ascending."""

    first: Capacity
    last: Capacity
    """Same unit as `first`, not smaller."""
    points: int = 17
    scale: str = "log"
    """`log` or `linear` spacing."""
    level: str = ""
    """Level of the machines that gets these capacities; empty for the only one."""
    values: tuple[Capacity, ...] = ()
    """The capacities one by one, instead of a range."""

    def __post_init__(self) -> None:
        choose("scale", self.scale, SCALES, where="capacities")
        if self.points < 1:
            raise InputError(f"capacities: points is {self.points}; use 1 or more")
        if len({self.first.unit, self.last.unit, *(value.unit for value in self.values)}) > 1:
            raise InputError("capacities: words and bytes are mixed; write all of them in words or all in bytes")
        if self.first.amount > self.last.amount:
            raise InputError("capacities: from is larger than to; swap them")

    @property
    def size(self) -> int:
        """Number of capacities, at most; neighbours that round to the same amount count once."""
        return len(self.values) if self.values else self.points

    def amounts(self) -> tuple[int, ...]:
        """The capacities in their unit, ascending, each once."""
        if self.values:
            return tuple(sorted({value.amount for value in self.values}))
        low, high, steps = self.first.amount, self.last.amount, self.points - 1
        if not steps:
            return (low,)
        if self.scale == "log":
            inner = [round(low * math.exp(math.log(high / low) * i / steps)) for i in range(1, steps)]
        else:
            inner = [round(low + (high - low) * i / steps) for i in range(1, steps)]
        return tuple(sorted({low, high, *(min(max(value, low), high) for value in inner)}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Refine:
    """Add capacities between neighbours whose curves differ."""

    metric: str = "gap"
    """`gap`, `traffic` or `bound`."""
    tolerance: float = 0.01
    """Neighbours closer than this need nothing between them; relative for traffic and bound."""
    most_points: int = 257
    """Largest number of capacities of one curve."""

    def __post_init__(self) -> None:
        choose("metric", self.metric, METRICS, where="refine")
        if not 0 < self.tolerance < math.inf:
            raise InputError(f"refine: tolerance is {self.tolerance}; use a positive number such as 1%")
        if not 2 <= self.most_points <= MOST_POINTS:
            raise InputError(f"refine: most_points is {self.most_points}; use 2 to {MOST_POINTS}")


class SweepOptions(SharedOptions, total=False):
    """Options of the mapping methods of a sweep, as of `optmap.solve`, and whose each setting is."""

    settings: Annotated[
        SettingsInput,
        Opt(
            help="Of methods such as random on accelerators: {random.victory: 0}, or texts random.victory=0.",
            default=(),
            read=lambda value, name, where: method_settings(value, f"{where}: {name}: "),
            hashed=False,
            schema={
                "oneOf": [
                    {"type": "string"},
                    {"type": "array", "items": {"type": "string"}},
                    {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}},
                ]
            },
        ),
    ]


SWEEP = declared(SweepOptions)
"""The options of a sweep, by name."""


@dataclass(frozen=True, init=False)
class Options:
    """What every option of a sweep is.

    Args:
        **given: those that are not as they are if left out.

    Raises:
        InputError: for a value that cannot be.
    """

    values: Mapping[str, Any]

    def __init__(self, **given: Unpack[SweepOptions]) -> None:
        object.__setattr__(self, "values", values_of(SWEEP, given, "options"))
        if self.objective is not None:
            choose("objective", self.objective, every_objective(), where="options")

    def __hash__(self) -> int:
        return hash(tuple(self.values.items()))

    def __getattr__(self, name: str) -> Any:
        """The value of an option."""
        if name in SWEEP:
            return self.values[name]
        raise AttributeError(f"there is no option {name!r}; known are {', '.join(SWEEP)}")

    def having(self, **others: Unpack[SweepOptions]) -> Options:
        """The same, but for some."""
        return Options(**{**self.values, **others})

    def of(self, method: str) -> Options:
        """What they say to one method: numbers of evaluations and settings only to one that explores, and its own."""
        if method not in METHODS or METHODS[method].explorer is None:
            return self.having(evaluations=None, settings=())
        return self.having(settings=tuple(text for text in self.settings if method_of(text) == method))

    @property
    def document(self) -> dict[str, object]:
        """As plain values; those that came later only where they ask for something, so that digests stay."""
        return {
            name: option.written(self.values[name])
            for name, option in SWEEP.items()
            if option.opt.hashed or self.values[name] != option.opt.default
        }


def default_methods(machines: tuple[Machine, ...]) -> tuple[str, ...]:
    """The methods of a sweep that names none: on accelerators every mapping brings its bounds along."""
    if machines and not any(form_on(machine).floors_apart for machine in machines):
        return usual_methods(machines[0])
    return (BOUND, "mopt")


@dataclass(frozen=True, kw_only=True)
class SweepSpec:
    """A declared grid: every workload on every machine at every capacity by every method.

    Raises:
        InputError: if something is missing, does not fit together, or makes too many points.
        UnknownNameError: for a method, option or level that does not exist.
    """

    workloads: tuple[Workload, ...]
    machines: tuple[Machine, ...] = ()
    """Empty for a two-level machine with the capacities of `capacities`."""
    capacities: Axis | None = None
    """None for the machines as they are."""
    methods: tuple[str, ...] = (BOUND, "mopt")
    options: Options = field(default_factory=Options)
    seed: int = 0
    refine: Refine | None = None
    kill_after: float | None = None
    """Seconds after which a point is ended in its process; None for twice the time limit and 30 more."""
    name: str = ""

    def __post_init__(self) -> None:
        if not self.workloads:
            raise InputError("workloads is empty; name at least one")
        if not self.machines and self.capacities is None:
            raise InputError("give machines, or capacities of a two-level machine, or both")
        if self.refine is not None and self.capacities is None:
            raise InputError("refine needs capacities to refine")
        if self.refine is not None and self.refine.metric != BOUND and not self.mapping_methods:
            raise InputError(f"refine: metric {self.refine.metric} needs a mapping method such as mopt among methods")
        if self.kill_after is not None and not 0 < self.kill_after < math.inf:
            raise InputError(f"kill_after is {self.kill_after}; give a positive number of seconds")
        self._check_methods()
        for machine in self.machines:
            self.swept_level(machine)
        self._check_constraints()
        if self.points > MOST_POINTS:
            raise InputError(
                f"{self.points:,} points are too many for one sweep, the limit is {MOST_POINTS:,}: "
                "take fewer capacities (refine adds them where they matter) or split the sweep"
            )

    def _check_methods(self) -> None:
        if not self.methods:
            raise InputError("methods is empty; name at least one")
        if len({form_on(machine).name for machine in self.machines}) > 1:
            raise InputError("machines: accelerators and machines without fanouts need sweeps of their own")
        if BOUND in self.methods and not all(form_on(machine).floors_apart for machine in self.machines):
            raise InputError(
                "methods: on accelerators every mapping comes with the floor of every schedule; leave bound out"
            )
        for method in self.methods:
            choose("method", method, (BOUND, *METHODS), where="methods")
        if self.options.counting is not None:
            choose("counting", self.options.counting, nest_policies(), where="options")
        if len(set(self.methods)) != len(self.methods):
            raise InputError(f"methods: {', '.join(self.methods)} names one twice")

        for text in self.options.settings:
            choose("method", method_of(text), self.methods, where=f"options: settings: {text}")

    def _check_constraints(self) -> None:
        """Refuse levels or dims that are not there; a size beyond an extent is an answer of its point."""
        demanded = self.options.constraints
        for machine in (self.machines or (two_level(Capacity(amount=1, unit="words")),)) if demanded else ():
            inside = machine if self.options.innermost is None else machine.from_level(self.options.innermost)
            for workload in self.workloads:
                try:
                    demanded.refuse_foreign(workload, inside)
                except InfeasibleError:
                    continue
                except InputError as error:
                    raise InputError(f"options: {workload.title} on {machine.name}: {error}") from error

    def swept_level(self, machine: Machine) -> str:
        """Level of a machine that the rows are about: the swept one, else the outermost.

        Raises:
            UnknownNameError: if the machine lacks the level that the axis names.
            InputError: if the axis names none and the machine has several.
        """
        names = [level.name for level in machine.levels]
        if self.capacities is None:
            return names[-1]
        if not self.capacities.level:
            if len(names) > 1:
                raise InputError(f"capacities: machine {machine.name} has levels {', '.join(names)}; add level: <one>")
            return names[0]
        return choose("level", self.capacities.level, names, where=f"capacities: machine {machine.name}")

    @property
    def points(self) -> int:
        """Number of points before refinement, at most; computed without making them."""
        places = max(1, len(self.machines)) * (1 if self.capacities is None else self.capacities.size)
        return len(self.workloads) * places * len(self.methods)

    @property
    def mapping_methods(self) -> tuple[str, ...]:
        """The methods that find mappings."""
        return tuple(method for method in self.methods if method != BOUND)

    @cached_property
    def hard_limit(self) -> float:
        """Seconds after which a point is ended whatever it does."""
        return self.kill_after if self.kill_after is not None else 2 * self.options.time_limit + 30
