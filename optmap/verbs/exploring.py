"""The verbs `explore`, a search of mappings as an iterator with a judge of one's own if need be, and `sensitivity`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, Unpack

from optmap.base.errors import InputError
from optmap.base.names import choose
from optmap.base.values import quoted
from optmap.files.inputs import MachineInput, WorkloadInput, machine_of, workload_of
from optmap.questions.objective import merit_objective
from optmap.questions.option import Here, Opt, declared, taking, values_of, whole
from optmap.questions.options import TileRule
from optmap.search.options import (
    CountingOption,
    EvaluationsOption,
    ExtentsOption,
    JournalOption,
    MethodOption,
    ObjectiveOption,
    SeedOption,
    SemanticsOption,
    SettingsOption,
    TimeLimitOption,
)

if TYPE_CHECKING:
    from optmap.search.bayes.sensitivity import Sensitivity
    from optmap.search.explore.exploration import Exploration
    from optmap.search.explore.judges import Objective
    from optmap.search.explore.protocol import Propose, Strategy
    from optmap.search.question import Question


class ExploreOptions(TypedDict, total=False):
    """Options of `explore`."""

    extents: ExtentsOption
    semantics: SemanticsOption
    method: Annotated[
        MethodOption,
        Here(help="A method that has mappings judged one by one; `random` if left out, or `strategy`."),
    ]
    objective: ObjectiveOption
    counting: CountingOption
    evaluations: EvaluationsOption
    time_limit: Annotated[TimeLimitOption, Here(detail="Seconds, or a text such as `2min`, from the first mapping on.")]
    seed: SeedOption
    settings: SettingsOption
    journal: JournalOption


@taking(ExploreOptions)
def explore(
    workload: WorkloadInput,
    *,
    machine: MachineInput,
    strategy: Strategy | Propose | None = None,
    judge: Objective | None = None,
    **options: Unpack[ExploreOptions],
) -> Exploration:
    """Search mappings of a workload on an accelerator, one after the other.

    Args:
        workload: a workload, a library name, a YAML file, or an expression with `extents`.
        machine: an accelerator: a machine, a library name or a YAML file.
        strategy: instead of a method, a `Strategy` or a generator function of a `Brief`.
        judge: a function of a `Mapping` that returns what is minimised instead of the objective: a simulator, or
            hardware that is measured. It is asked about mappings that the machine can run; None from it says that one
            does not run. The model counts energy and cycles all the same.
        **options: as they are declared.

    Returns:
        An iterator of evaluated mappings (`number`, `valid`, `value`, `seconds`, `mapping`) with `.best` and `.trace`;
        `.run()` goes to the end.

    Raises:
        InputError: for anything that cannot be accepted.
    """
    from optmap.api import question_of
    from optmap.search.explore.exploration import Exploration
    from optmap.search.explore.route import strategy_of

    asked = values_of(declared(ExploreOptions), options)
    if asked["method"] is not None and strategy is not None:
        raise InputError("give either a method or a strategy")
    if not (judge is None or callable(judge)):
        raise InputError(f"judge is {quoted(judge)}; give a function of a mapping that returns a number, or None")
    asked |= {"method": asked["method"] or "random", "tiles": TileRule.DIVISORS}
    question = question_of(workload, machine=machine, **asked)
    if strategy is None:
        return Exploration(_named(question), question, judge)
    return Exploration(strategy_of(strategy), replace(question, method="own"), judge)


def _named(question: Question) -> Strategy:
    """The strategy of the method that is asked for."""
    from optmap.search.explore.route import Explorer
    from optmap.search.method import refuse
    from optmap.search.methods import METHODS

    method = METHODS[question.method]
    if method.explorer is None or not isinstance(method.explorer.solve, Explorer):
        known = [name for name, each in METHODS.items() if each.explorer is not None]
        raise InputError(f"method {question.method} has no mappings judged one by one; use {', '.join(known)}")
    refuse(question, method)
    return method.explorer.solve.strategy


class SensitivityOptions(TypedDict, total=False):
    """Options of `sensitivity`."""

    extents: ExtentsOption
    objective: Annotated[
        str | None, Opt(help="Whose variance is divided: edp, energy, cycles or port-cycles.", default="edp")
    ]
    counting: CountingOption
    orders: Annotated[
        str,
        Opt(
            help="Loop orders by keys, or by reuse.",
            detail="`keys` are a choice per loop, `reuse` is one per tensor.",
            default="keys",
        ),
    ]
    tiles: Annotated[
        str | None,
        Opt(
            help="Free, or filled: scaled to fill memories.",
            detail="`free`, a size per dim, or `filled`; None for `free`, or what the observations have.",
        ),
    ]
    samples: Annotated[
        int,
        Opt(
            help="Base samples, a power of two.",
            detail="The model counts (choices + 2) times as many mappings.",
            default=512,
            read=whole(),
            shell=int,
        ),
    ]
    seed: Annotated[int, Opt(help="Of the samples.", default=0, read=whole(0), shell=int)]
    observations: Annotated[
        Any,
        Opt(
            help="What --set save=FILE wrote.",
            detail="Or what a search of method `bayesian` saw: a Gaussian process through it stands for the objective, "
            "which may be one's own.",
            metavar="FILE",
            shell=Path,
        ),
    ]


@taking(SensitivityOptions)
def sensitivity(
    workload: WorkloadInput, *, machine: MachineInput, **options: Unpack[SensitivityOptions]
) -> Sensitivity:
    """Which choices of a mapping on an accelerator matter: Sobol' indices of tiles, meshes, orders and what is kept.

    The variance of the logarithm of the objective, over all mappings that points of the encoding stand for, is divided
    among the choices.

    Args:
        workload: a workload, a library name, a YAML file, or an expression with `extents`.
        machine: an accelerator: a machine, a library name or a YAML file.
        **options: as they are declared.

    Raises:
        InputError: for anything that cannot be accepted, or if the extra `bayes` is not installed.

    Source: Dinh, section 6.2.5.
    """
    from optmap.count.policies import nest_policy
    from optmap.machines.fabric import fabric_of
    from optmap.search.bayes.encoding import Orders, Tiles
    from optmap.search.bayes.sensitivity import sensitivity_of
    from optmap.search.bayes.transfer import load_observations
    from optmap.search.question import understood

    asked = values_of(declared(SensitivityOptions), options)
    seen = asked["observations"]
    known = load_observations(seen) if isinstance(seen, str | Path) else seen
    usual = Tiles.FILLED if known is not None and any(" tile " in axis for axis in known.axes) else Tiles.FREE
    target = machine_of(machine, None)
    problem, _ = understood(workload_of(workload, asked["extents"]), target)
    return sensitivity_of(
        fabric_of(problem, target),
        merit_objective(asked["objective"]).name,
        counting=nest_policy(asked["counting"]),
        orders=Orders(choose("orders", asked["orders"], list(Orders))),
        tiles=Tiles(choose("tiles", asked["tiles"] or usual.value, list(Tiles))),
        samples=asked["samples"],
        seed=asked["seed"],
        observations=known,
    )
