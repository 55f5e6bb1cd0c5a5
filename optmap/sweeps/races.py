"""`race`: several searches on the same layers within the same budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeGuard

from optmap.errors import InfeasibleError, InputError, LimitError
from optmap.gap.mapping_accelerators import assigned, map_workload
from optmap.gap.race import LayerRace, Race, Run
from optmap.names import choose
from optmap.problem import Machine, Workload, library
from optmap.problem.inputs import (
    ExtentsInput,
    MachineInput,
    WorkloadInput,
    is_statement,
    machine_of,
    names_of,
    workload_of,
)
from optmap.problem.options import Counting, Merit
from optmap.problem.values import seconds, whole_number
from optmap.search.accelerators.result import AcceleratorResult
from optmap.search.curve import Improvement
from optmap.search.methods import EXACT, METHODS
from optmap.solvers.status import Stop

ALL = "all"
"""Stands for every method on accelerators."""
ENDS = {"strategy": "nothing more to propose", "evaluations": "evaluations", "time": "time"}
"""Why a search that explores ended, in words."""
TILES = "divisors"
"""The tiles of a race: every method knows them, and the proven optimum is one among them."""


def race(
    workloads: WorkloadInput | Sequence[WorkloadInput],
    *,
    machine: MachineInput,
    methods: str | Sequence[str] | None = None,
    budget: float = 60.0,
    objective: str | None = None,
    counting: str | None = None,
    evaluations: int | None = None,
    settings: Mapping[str, object] | None = None,
    extents: ExtentsInput | None = None,
    seed: int = 0,
    progress: Callable[[str, float], None] | None = None,
) -> Race:
    """Let methods search for mappings of the same layers within the same budget, beside the proven optimum.

    All search among mappings with perfect factors of every dim, within which `exact` proves its optimum; it is in
    every race. Searches run one at a time.

    Args:
        workloads: one as for `solve`, or several; `resnet18/*` stands for all layers of that name.
        machine: an accelerator.
        methods: keys of `METHODS`; None or `all` takes all. A method that cannot is left out with the reason.
        budget: seconds that each method has for each layer.
        objective: what is minimised; None for `edp`.
        counting: `exact` (None, too) or `timeloop`.
        evaluations: mappings that each method which explores may have judged; None for any number.
        settings: of methods that explore, as `{"random.victory": 0}`.
        extents: extent per dim, of statements among the workloads.
        seed: of methods that draw random numbers.
        progress: called with a text and the share that is done.

    Raises:
        InputError: for anything that cannot be accepted.
        ContradictionError: if a mapping is better than what is proved to be least.
    """
    target = machine_of(machine, None)
    if target.accelerator is None:
        raise InputError(f"races are run on accelerators, which {target.name} is not; see compare for its methods")
    merit = Merit(choose("objective", objective or Merit.EDP.value, list(Merit)))
    mode = Counting(choose("counting", counting or Counting.EXACT.value, list(Counting)))
    budget = seconds(budget, "budget (--budget)")
    evaluations = None if evaluations is None else whole_number(evaluations, "evaluations")
    seed = whole_number(seed, "seed", least=0)
    layers, chosen = layers_of(workloads, extents), racers(methods, target)
    own = _settings_of(settings or {}, chosen)
    found = []
    for place, layer in enumerate(layers):
        runs, left_out = dict[str, Run](), dict[str, str]()
        for number, name in enumerate(chosen):
            if progress is not None:
                progress(f"{layer.title}: {name}", (place + number / len(chosen)) / len(layers))
            explores = METHODS[name].route_on(target).explores
            try:
                result = map_workload(
                    layer,
                    target,
                    method=name,
                    objective=merit.value,
                    counting=mode.value,
                    tiles=TILES,
                    evaluations=evaluations if explores else None,
                    settings=own.get(name, {}),
                    time_limit=budget,
                    seed=seed,
                )
                runs[name] = run_of(result)
            except (InputError, InfeasibleError, LimitError) as error:
                left_out[name] = str(error)
        found.append(LayerRace(workload=layer, runs=runs, left_out=left_out))
    return Race(
        machine=target,
        merit=merit,
        counting=mode,
        methods=chosen,
        layers=tuple(found),
        budget=budget,
        evaluations=evaluations,
        seed=seed,
        side_by_side=1,
    )


def layers_of(
    workloads: WorkloadInput | Sequence[WorkloadInput], extents: ExtentsInput | None = None
) -> tuple[Workload, ...]:
    """The workloads of a race, with outputs that start empty.

    Raises:
        InputError: for none, two of one name, or one that cannot be understood.
    """
    several = list(workloads) if isinstance(workloads, Sequence) and not isinstance(workloads, str) else [workloads]
    if not several:
        raise InputError("workloads is empty; name at least one")
    found: dict[str, Workload] = {}
    for each in several:
        for item in library.match_workloads(each) if _is_pattern(each) else (each,):
            own = extents if len(several) == 1 or (isinstance(item, str) and is_statement(item)) else None
            workload = assigned(workload_of(item, own), None)[0]
            if found.setdefault(workload.title, workload) != workload:
                raise InputError(f"two different workloads are called {workload.title!r}; give them names")
    return tuple(found.values())


def _is_pattern(item: object) -> TypeGuard[str]:
    """Whether a text stands for several names of the library, such as `resnet18/*`."""
    return isinstance(item, str) and any(mark in item for mark in "*?") and not is_statement(item)


def racers(methods: str | Sequence[str] | None, machine: Machine) -> tuple[str, ...]:
    """The methods of a race on a machine, `exact` first.

    Raises:
        UnknownNameError: for a name that is none.
    """
    asked = names_of(methods, "methods")
    if asked is None or asked == (ALL,):
        asked = tuple(name for name, method in METHODS.items() if method.suits(machine))
    for name in asked:
        choose("method", name, METHODS)
    return tuple(dict.fromkeys((EXACT.name, *asked)))


def _settings_of(settings: Mapping[str, object], methods: Sequence[str]) -> dict[str, dict[str, object]]:
    """Settings by method.

    Raises:
        InputError: for a name without a method of the race.
    """
    found: dict[str, dict[str, object]] = {}
    for text, value in settings.items():
        method, dot, name = text.partition(".")
        if not dot:
            raise InputError(f"--set {text}={value}: say whose it is, such as --set random.{text}={value}")
        found.setdefault(choose("method", method, methods, where=f"--set {text}={value}"), {})[name] = value
    return found


def run_of(result: AcceleratorResult) -> Run:
    """What a method did, from its answer."""
    search = result.search
    end = Improvement(search.evaluations, search.seconds, float(result.cost))
    return Run(
        method=result.method,
        value=result.cost,
        fits=result.fits,
        bound=search.bound,
        proved=search.proved,
        space=search.space,
        evaluations=search.evaluations,
        valid=None if search.trace is None else search.trace.valid,
        seconds=search.seconds,
        curve=search.curve or ((end,) if result.fits else ()),
        traced=bool(search.curve),
        ended=_ended(result),
    )


def _ended(result: AcceleratorResult) -> str:
    """Why a method ended, in words."""
    if not result.fits:
        return "its mapping does not fit"
    if result.search.proved:
        return "proved"
    if result.stop is Stop.TIME_LIMIT:
        return "time"
    trace = result.search.trace
    return ENDS["strategy" if trace is None or trace.end is None else trace.end.value]
