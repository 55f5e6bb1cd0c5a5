"""From a workload and an accelerator to a mapping with its floor: what `solve` does there."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from optmap.clock import INTERRUPTED, SEARCHED, Clock, limited, stopping
from optmap.errors import InfeasibleError, InputError, LimitError
from optmap.gap.floor import with_floor
from optmap.gap.nest_comparison import NestComparison
from optmap.names import choose
from optmap.problem.constraints import NO_CONSTRAINTS, Constraints
from optmap.problem.fabric import Fabric, fabric_of
from optmap.problem.fabric_notes import fabric_notes
from optmap.problem.machine import Machine
from optmap.problem.options import Counting, Merit, TileRule
from optmap.problem.workload import Semantics, Workload
from optmap.search.accelerators.request import AcceleratorRequest
from optmap.search.accelerators.result import AcceleratorResult
from optmap.search.methods import METHODS

ASSIGNED = (
    "outputs start empty on an accelerator: the statement is solved as an assignment (=), as with --semantics assign"
)
ONLY_WITHOUT_FANOUTS: Mapping[str, tuple[object, str]] = {
    "capacity": ("tile", "one tile has to fit into each of its memories; leave out --capacity"),
    "integers": ("exact", "tiles are searched as whole factors; leave out --integers"),
    "cores": (1, "the machine says how many units there are; leave out --cores"),
    "innermost": (None, "its counts start at the arithmetic; leave out --innermost"),
    "solver": (None, "no relaxation is solved; leave out --solver"),
    "certificate": ("bound", "its files have proofs of their own; leave out --certificate"),
}
"""Options that mean nothing on accelerators: the value that stands for none, and what to do."""
NOTHING_SET: Mapping[str, object] = {}
"""The settings of a method as they are."""


def refuse_options(machine: Machine, given: Mapping[str, object]) -> None:
    """Refuse options that mean nothing on an accelerator.

    Args:
        machine: the accelerator.
        given: values by the names of `ONLY_WITHOUT_FANOUTS`.

    Raises:
        InputError: naming the option and why.
    """
    for name, (none, reason) in ONLY_WITHOUT_FANOUTS.items():
        if given.get(name, none) != none:
            raise InputError(f"--{name} {given[name]} has no meaning on the accelerator {machine.name}: {reason}")


def assigned(workload: Workload, asked: Semantics | str | None) -> tuple[Workload, tuple[str, ...]]:
    """The workload with outputs that start empty, and a note if that is not what its statement says.

    Args:
        workload: as it was given.
        asked: the semantics that the user asked for; None for none.

    Raises:
        InputError: if `accumulate` was asked for.
    """
    _check_asked(asked)
    if workload.semantics is Semantics.ASSIGN:
        return workload, ()
    return workload.with_semantics(Semantics.ASSIGN), (ASSIGNED,)


def check_semantics(machine: Machine, asked: Semantics | str | None) -> None:
    """Refuse what an accelerator cannot mean; machines with caches can mean either.

    Raises:
        InputError: if `accumulate` was asked for on an accelerator.
    """
    if machine.meshed:
        _check_asked(asked)


def _check_asked(asked: Semantics | str | None) -> None:
    if asked is not None and Semantics(asked) is Semantics.ACCUMULATE:
        raise InputError("on an accelerator outputs start empty: use --semantics assign, or leave it out")


def seen(workload: Workload, machine: Machine, asked: Semantics | str | None = None) -> tuple[Fabric, tuple[str, ...]]:
    """An accelerator as a workload sees it, and notes about that.

    Raises:
        InputError: if `accumulate` was asked for, or workload and machine do not go together.
    """
    problem, notes = assigned(workload, asked)
    fabric = fabric_of(problem, machine)
    return fabric, (*notes, *fabric_notes(fabric))


def map_workload(
    workload: Workload,
    machine: Machine,
    *,
    method: str,
    objective: str | None = None,
    counting: str | None = None,
    tiles: str = "any",
    semantics: Semantics | str | None = None,
    constraints: Constraints = NO_CONSTRAINTS,
    confirm: bool = False,
    evaluations: int | None = None,
    settings: Mapping[str, object] = NOTHING_SET,
    journal: Path | None = None,
    time_limit: float = 60.0,
    seed: int = 0,
    progress: Callable[[str, float], None] | None = None,
) -> AcceleratorResult:
    """Map a workload onto an accelerator, count the mapping again, and put the floor of every schedule beside it.

    Args:
        workload: what is mapped.
        machine: an accelerator.
        method: a key of `METHODS`.
        objective: a value of `Merit`; None for the method's own.
        counting: a value of `Counting`; None for `exact`.
        tiles: a value of `TileRule`.
        semantics: what the user asked for.
        constraints: demanded beside the machine's rules.
        confirm: whether a second search confirms a proved optimum.
        evaluations: mappings that a method which explores may have judged; None for any number.
        settings: of such a method, by name.
        journal: of such a method, the file that its scores are kept in.
        time_limit: seconds.
        seed: of methods that draw random numbers.
        progress: called with a text and the share of the time limit used.

    Raises:
        InputError: for anything that cannot be accepted.
        InfeasibleError: if no mapping is valid: which constraint, and what would do.
        ContradictionError: if the mapping costs less than the floor.
    """
    fabric, notes = seen(workload, machine, semantics)
    way = METHODS[method]
    merit = Merit(way.objective(objective, machine))
    request = AcceleratorRequest(
        fabric=fabric,
        merit=merit,
        counting=Counting(choose("counting", counting or Counting.EXACT.value, list(Counting))),
        tiles=way.route_on(machine, merit).rule(TileRule(choose("tiles", tiles, list(TileRule)))),
        constraints=constraints,
        confirm=confirm,
        method=method,
        evaluations=evaluations,
        settings=settings,
        journal=journal,
        time_limit=time_limit,
        seed=seed,
        progress=progress,
    )
    begun, whole = time.monotonic(), Clock.after(time_limit)
    with limited(whole.share(SEARCHED)):
        result = way.map(request)
    result = replace(result, notes=(*notes, *result.notes))
    if result.fits:  # the floor holds for mappings that the machine can run
        with limited(whole.ending()) as clock:
            result = with_floor(result, clock)
    return replace(result, seconds=time.monotonic() - begun)


def compare_nests(
    workload: Workload,
    machine: Machine,
    *,
    methods: tuple[str, ...],
    objective: str | None = None,
    counting: str | None = None,
    semantics: Semantics | str | None = None,
    constraints: Constraints = NO_CONSTRAINTS,
    evaluations: int | None = None,
    time_limit: float = 60.0,
    progress: Callable[[str, float], None] | None = None,
) -> NestComparison:
    """Several methods on one accelerator, all for the same objective.

    Args:
        workload: what is mapped.
        machine: an accelerator.
        methods: keys of `METHODS`; one that cannot is left out with the reason.
        objective: a value of `Merit`; None for `edp`.
        counting: as for `map_workload`.
        semantics: as for `map_workload`.
        constraints: as for `map_workload`.
        evaluations: mappings that each method which explores may have judged; None for any number.
        time_limit: seconds per method.
        progress: called with a text and the share that is done.

    Raises:
        InputError: for an objective, counting or workload that no method accepts.
        ContradictionError: if a mapping costs less than the floor.
    """
    merit = Merit(choose("objective", objective or Merit.EDP.value, list(Merit)))
    mode = Counting(choose("counting", counting or Counting.EXACT.value, list(Counting)))
    fabric, _ = seen(workload, machine, semantics)
    results, left_out = {}, {}
    for number, name in enumerate(methods):
        if progress is not None:
            progress(name, number / len(methods))
        if stopping():
            left_out[name] = INTERRUPTED
            continue
        route = METHODS[name].accelerator
        explores = route is not None and route.explores
        try:
            results[name] = map_workload(
                workload,
                machine,
                method=name,
                objective=merit.value,
                counting=mode.value,
                semantics=semantics,
                constraints=constraints,
                evaluations=evaluations if explores else None,
                time_limit=time_limit,
            )
        except (InputError, InfeasibleError, LimitError) as error:
            left_out[name] = str(error)
    return NestComparison(
        fabric=fabric, merit=merit, counting=mode, methods=methods, results=results, left_out=left_out
    )
