"""The verbs `explore`, a search of mappings as an iterator with a judge of one's own if need be, and `sensitivity`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from optmap.base.errors import InputError
from optmap.base.names import choose
from optmap.base.values import TimeInput, file_path, quoted, seconds, whole_number
from optmap.count.policies import nest_policy
from optmap.files.inputs import ExtentsInput, MachineInput, WorkloadInput, machine_of, workload_of
from optmap.questions.objective import merit_objective
from optmap.questions.options import TileRule
from optmap.search.explore.route import Explorer, strategy_of
from optmap.search.method import refuse
from optmap.search.methods import METHODS
from optmap.workloads.workload import Semantics

if TYPE_CHECKING:
    from optmap.search.bayes.sensitivity import Sensitivity
    from optmap.search.bayes.transfer import Observations
    from optmap.search.explore.exploration import Exploration
    from optmap.search.explore.judges import Objective
    from optmap.search.explore.protocol import Propose, Strategy
    from optmap.search.question import Question


def explore(
    workload: WorkloadInput,
    *,
    machine: MachineInput,
    extents: ExtentsInput | None = None,
    semantics: Semantics | str | None = None,
    method: str | None = None,
    strategy: Strategy | Propose | None = None,
    objective: str | None = None,
    counting: str | None = None,
    evaluations: int | None = None,
    time_limit: TimeInput = 60.0,
    seed: int = 0,
    settings: Mapping[str, object] | None = None,
    judge: Objective | None = None,
    journal: str | Path | None = None,
) -> Exploration:
    """Search mappings of a workload on an accelerator, one after the other.

    Args:
        workload: a workload, a library name, a YAML file, or an expression with `extents`.
        machine: an accelerator: a machine, a library name or a YAML file.
        extents: extent per dim, for an expression.
        semantics: `assign`, or None; outputs start empty on an accelerator.
        method: a method that has mappings judged one by one; None for `random`, or for `strategy`.
        strategy: instead of a method, a `Strategy` or a generator function of a `Brief`.
        objective: `edp` (None, too), `energy`, `cycles` or `port-cycles`.
        counting: name of a policy: `exact` (None, too), `timeloop`, `factorflow` or a registered one.
        evaluations: mappings that may be judged; None for as many as the time allows.
        time_limit: seconds, from the first mapping on.
        seed: the same seed, settings and number of evaluations are the same mappings.
        settings: of the method or strategy, by name, as values or texts.
        judge: a function of a `Mapping` that returns what is minimised instead of the objective: a simulator, or
            hardware that is measured. It is asked about mappings that the machine can run; None from it says that one
            does not run. The model counts energy and cycles all the same.
        journal: a file that scores are appended to; if it is there, the search goes on where it ended, without asking
            the judge again.

    Returns:
        An iterator of evaluated mappings (`number`, `valid`, `value`, `seconds`, `mapping`) with `.best` and `.trace`;
        `.run()` goes to the end.

    Raises:
        InputError: for anything that cannot be accepted.
    """
    from optmap.search.explore.exploration import Exploration
    from optmap.search.question import Question, understood

    if method is not None and strategy is not None:
        raise InputError("give either a method or a strategy")
    if not (judge is None or callable(judge)):
        raise InputError(f"judge is {quoted(judge)}; give a function of a mapping that returns a number, or None")
    target = machine_of(machine, None)
    problem, _ = understood(workload_of(workload, extents), target, semantics)
    name = str(choose("method", method or "random", METHODS)) if strategy is None else "own"
    question = Question(
        workload=problem,
        machine=target,
        objective=merit_objective(objective),
        counting=nest_policy(counting),
        tiles=TileRule.DIVISORS,
        method=name,
        evaluations=None if evaluations is None else whole_number(evaluations, "evaluations"),
        settings=settings or {},
        journal=None if journal is None else file_path(journal, "journal"),
        time_limit=seconds(time_limit, "time limit"),
        seed=whole_number(seed, "seed", least=0),
    )
    return Exploration(_named(question) if strategy is None else strategy_of(strategy), question, judge)


def _named(question: Question) -> Strategy:
    """The strategy of the method that is asked for."""
    method = METHODS[question.method]
    if method.explorer is None or not isinstance(method.explorer.solve, Explorer):
        known = [name for name, each in METHODS.items() if each.explorer is not None]
        raise InputError(f"method {question.method} has no mappings judged one by one; use {', '.join(known)}")
    refuse(question, method)
    return method.explorer.solve.strategy


def sensitivity(
    workload: WorkloadInput,
    *,
    machine: MachineInput,
    extents: ExtentsInput | None = None,
    objective: str | None = None,
    counting: str | None = None,
    orders: str = "keys",
    tiles: str | None = None,
    samples: int = 512,
    seed: int = 0,
    observations: Observations | str | Path | None = None,
) -> Sensitivity:
    """Which choices of a mapping on an accelerator matter: Sobol' indices of tiles, meshes, orders and what is kept.

    The variance of the logarithm of the objective, over all mappings that points of the encoding stand for, is divided
    among the choices.

    Args:
        workload: a workload, a library name, a YAML file, or an expression with `extents`.
        machine: an accelerator: a machine, a library name or a YAML file.
        extents: extent per dim, for an expression.
        objective: `edp` (None, too), `energy`, `cycles` or `port-cycles`.
        counting: name of a policy: `exact` (None, too), `timeloop`, `factorflow` or a registered one.
        orders: `keys`, a choice per loop, or `reuse`, one per tensor.
        tiles: `free`, a size per dim, or `filled`, shapes scaled to fill memories; None for `free`, or what the
            observations have.
        samples: base samples, a power of two: the model counts (choices + 2) times as many mappings.
        seed: of the samples.
        observations: what a search of method `bayesian` saw, or the file that it saved: a Gaussian process through it
            stands for the objective, which may be one's own.

    Raises:
        InputError: for anything that cannot be accepted, or if the extra `bayes` is not installed.

    Source: Dinh, section 6.2.5.
    """
    from optmap.machines.fabric import fabric_of
    from optmap.search.bayes.encoding import Orders, Tiles
    from optmap.search.bayes.sensitivity import sensitivity_of
    from optmap.search.bayes.transfer import load_observations
    from optmap.search.question import understood

    known = load_observations(observations) if isinstance(observations, str | Path) else observations
    usual = Tiles.FILLED if known is not None and any(" tile " in axis for axis in known.axes) else Tiles.FREE
    target = machine_of(machine, None)
    problem, _ = understood(workload_of(workload, extents, None), target)
    return sensitivity_of(
        fabric_of(problem, target),
        merit_objective(objective).name,
        counting=nest_policy(counting),
        orders=Orders(choose("orders", orders, list(Orders))),
        tiles=Tiles(choose("tiles", tiles or usual.value, list(Tiles))),
        samples=whole_number(samples, "samples"),
        seed=whole_number(seed, "seed", least=0),
        observations=known,
    )
