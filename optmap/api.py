"""The Python interface: the verbs of the command line as functions."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optmap.base.clock import SEARCHED, Clock, limited
from optmap.base.errors import CheckError, InputError
from optmap.base.names import choose
from optmap.base.values import TimeInput, file_path, quoted, seconds, whole_number
from optmap.files.inputs import (
    ExtentsInput,
    MachineInput,
    MemoryInput,
    WorkloadInput,
    machine_of,
    names_of,
    workload_of,
)
from optmap.machines.machine import CapacityRule
from optmap.mappings.constraint_texts import ConstraintsInput, constraints_of
from optmap.questions.objective import OBJECTIVES, objectives_on
from optmap.questions.options import IntegerRule, TileRule
from optmap.search.meaning import refuse_meaningless
from optmap.search.methods import METHODS, default_method
from optmap.solvers.config import relaxation_solver
from optmap.workloads.workload import Padding, Semantics

if TYPE_CHECKING:
    from optmap.answers.proofs.boundaries import BoundReport
    from optmap.checker import Report
    from optmap.count.timing.floor import Running
    from optmap.search.question import Question
    from optmap.search.result import Answer

__all__ = ["METHODS", "OBJECTIVES", "bound", "check", "solve"]

CERTIFICATES = ("bound", "full")
"""What a solution's file can prove beside its mapping: the bound, or the relaxation and the integer bound, too."""
PROVED = 0.5
"""Part of the time that a search may take whose relaxation and integer bound are to be proved, too."""


def solve(
    workload: WorkloadInput,
    *,
    machine: MachineInput | None = None,
    memory: MemoryInput | None = None,
    extents: ExtentsInput | None = None,
    semantics: Semantics | str | None = None,
    padding: Padding | str | None = None,
    method: str | None = None,
    objective: str | None = None,
    counting: str | None = None,
    tiles: str = "any",
    capacity: str = "tile",
    integers: str = "exact",
    cores: int = 1,
    innermost: str | None = None,
    constraints: ConstraintsInput | None = None,
    solver: str | None = None,
    certificate: str = "bound",
    confirm: bool = False,
    evaluations: int | None = None,
    settings: Mapping[str, object] | None = None,
    journal: str | Path | None = None,
    time_limit: TimeInput = 60.0,
    seed: int = 0,
    progress: Callable[[str, float], None] | None = None,
) -> Answer[Any, Any]:
    """Find the best integer mapping of a workload and the gap to its bound.

    Args:
        workload: a workload, a library name, a YAML file, or an expression with `extents`.
        machine: a machine, a library name or a YAML file.
        memory: capacity of a two-level machine, such as `8192w` or `32KiB`, instead of `machine`.
        extents: extent per dim, for an expression.
        semantics: `accumulate` or `assign`; None keeps the workload's own.
        padding: `stored` or `implicit`; None keeps the workload's own.
        method: a key of `METHODS`; None for `exact` on accelerators, `timed` for objective `time`, `mopt` elsewhere.
        objective: a key of `OBJECTIVES` that the method minimises on the machine; None takes the method's own.
            Of one memory, `bottleneck`, `sum` and `traffic` are the same number: loads and stores over bandwidth.
            `time` is the predicted time of the code on a machine with a core, caches warm; its method is `timed`.
            On accelerators `edp`, `energy`, `cycles`, or `port-cycles`: of the slowest port (older name: `traffic`).
        counting: on accelerators, name of a policy: `exact` (None, too), `timeloop`, or with methods that explore any.
        tiles: `any` integers, or `divisors` of the next outer tile. On accelerators `divisors` of the extents, or
            `padded` (`any`, too): of slightly larger ones where that is better.
        capacity: `tile` (one tile must fit) or `safe` (enough for LRU).
        integers: `exact` search, or `floor` with balancing as MOpt does.
        cores: cores that share the innermost shared level.
        innermost: leave out the levels inside this one.
        constraints: what tiles and loop orders must be, as texts such as `L1.k=16`, `L2.c<=64`, `L1.h>=2`, `L1.k%8=0`,
            `L1.order=n,k,c` (outermost first) or `L1.order=...,k` (any loops, k innermost), or as a mapping
            such as `{"L1.k": 16}`; `L2.spatial.k=8` of a split among cores or children, on an accelerator also
            `L2.x.k=8` (along one axis of a mesh), `L2.keeps=A,B`, `L2.keeps=A,...` and `L2.bypass=C`. The answer is
            the best among mappings that meet them, and so are its relaxation and integer bound; the lower bound
            stays that of every schedule.
        solver: of the relaxation, `batch` (optmap's own) or `ipopt` (every program through Pyomo and
            Ipopt: the same value, much slower); None takes the one of `solvers.cfg`.
        certificate: what the file can prove: `bound`, or `full`: the relaxation and the integer bound, too, which
            become what is proved, less than a millionth lower where no note says more. The search then has half of the
            time limit.
        confirm: on accelerators, of method `exact`: prove the optimum a second time, without dominance.
        evaluations: on accelerators, of methods that have mappings judged one by one (random and the like): how many
            at most; None for as many as the time allows. With it, the same seed is the same answer.
        settings: of such a method, by name, as values or texts.
        journal: of such a method, a file that its scores are appended to as it runs; if it is there, the search goes
            on where it ended, with the same answer as if it had not.
        time_limit: seconds, or a text such as `2min`, of the whole answer, after which it is the best so far: search,
            counts, bounds and checks.
        seed: of methods that draw random numbers; part of the answer.
        progress: called with a text and the share of the time limit used.

    Returns:
        The mapping, its cost, the proved relaxation, and the certified bound with the gap; what counting it found is
        `.count`, in per-level form, or on an accelerator energy, cycles and accesses of every memory.

    Raises:
        InputError: for anything that cannot be accepted.
        InfeasibleError: if nothing fits, or no mapping meets the constraints: which, and what would do.
        ContradictionError: if the mapping moves fewer words than the bound allows.
    """
    target = machine_of(machine, memory)
    method = default_method(target, objective) if method is None else str(choose("method", method, METHODS))
    known = objectives_on(target)
    if objective is not None:
        choose("objective", objective, known)
    cores, seed = whole_number(cores, "cores"), whole_number(seed, "seed", least=0)
    time_limit = seconds(time_limit, "time limit (--time-limit)")
    evaluations = None if evaluations is None else whole_number(evaluations, "evaluations")
    if not (progress is None or callable(progress)):
        raise InputError(f"progress is {quoted(progress)}; give a function of a text and a share, or None")
    problem, demanded = workload_of(workload, extents, semantics, padding), constraints_of(constraints)
    given = {"confirm": confirm, "set": settings, "evaluations": evaluations, "journal": journal, "counting": counting}
    given |= {"capacity": capacity, "integers": integers, "cores": cores, "innermost": innermost, "solver": solver}
    refuse_meaningless(target, {**given, "certificate": certificate})
    choose("certificate", certificate, CERTIFICATES)
    if innermost is not None:
        target = target.from_level(innermost)
    demanded.check(problem, target)
    from optmap.count.policies import nest_policy
    from optmap.search.question import Question, understood

    problem, notes = understood(problem, target, semantics)
    question = Question(
        workload=problem,
        machine=target,
        objective=known[METHODS[method].objective(objective, target)],
        method=method,
        counting=nest_policy(counting),
        capacity=CapacityRule(choose("capacity", capacity, list(CapacityRule))),
        tiles=TileRule(choose("tiles", tiles, list(TileRule))),
        integers=IntegerRule(choose("integers", integers, list(IntegerRule))),
        cores=cores,
        constraints=demanded,
        solver=None if solver is None else relaxation_solver(solver),
        confirm=confirm,
        evaluations=evaluations,
        settings=settings or {},
        journal=None if journal is None else file_path(journal, "journal"),
        time_limit=time_limit,
        seed=seed,
        progress=progress,
        notes=notes,
    )
    return _answer(question, full=certificate == "full")


def _answer(question: Question, *, full: bool) -> Answer[Any, Any]:
    """What a method finds, with the bounds beside it; `full`: proved, too."""
    from optmap.answers.proofs.bounding import bounded

    begun, whole = time.monotonic(), Clock.after(question.time_limit)
    with limited(whole.share(PROVED if full else SEARCHED)):
        result = METHODS[question.method].run(question)
    with limited(whole.ending()) as clock:
        result = bounded(result, clock, full=full)
    return replace(result, seconds=time.monotonic() - begun)


def bound(
    workload: WorkloadInput,
    *,
    machine: MachineInput | None = None,
    memory: MemoryInput | None = None,
    extents: ExtentsInput | None = None,
    semantics: Semantics | str | None = None,
    padding: Padding | str | None = None,
    methods: str | Sequence[str] | None = None,
    explain: bool = False,
    objective: str | None = None,
    cores: int = 1,
    caches: str = "warm",
) -> BoundReport:
    """Lower bounds on the words that any schedule moves, method by method.

    Args:
        workload: as for `solve`.
        machine: bounds at each of its boundaries.
        memory: bounds for one fast memory of this capacity, instead of `machine`.
        extents: extent per dim, for an expression.
        semantics: `accumulate` or `assign`; None keeps the workload's own.
        padding: `stored` or `implicit`; None keeps the workload's own.
        methods: keys of `BOUNDS`; None takes all that apply.
        explain: whether `.explanation` says how the bound of the outermost boundary comes about, with
            the bounds that the papers print.
        objective: `time`: also the time, on a machine with a core, that no code goes below: `.time`, of which
            `.certificate` is the proof then. None for words alone.
        cores: of the time, cores that share the work.
        caches: of the time, `warm` (what the call before left) or `cold` when a call begins.

    Returns:
        The bounds of every boundary; `.outermost.best` is the strongest, `.certificate` its proof.

    Raises:
        InputError: for anything that cannot be accepted, a method that does not apply included.
    """
    from optmap.answers.proofs.beside import with_time
    from optmap.answers.proofs.boundaries import bound_report

    problem, target = workload_of(workload, extents, semantics, padding), machine_of(machine, memory)
    if objective is None and (cores, caches) != (1, "warm"):
        raise InputError(
            "cores and caches belong to a bound in time: add objective time, or leave --cores and --caches out"
        )
    running = None if objective is None else _running(objective, cores, caches)
    report = bound_report(problem, target, names_of(methods, "methods"), explained=explain)
    return report if running is None else with_time(report, running)


def _running(objective: str, cores: int, caches: str) -> Running:
    """How code runs whose time is bounded."""
    from optmap.count.timing.floor import Running
    from optmap.count.timing.results import Caches

    choose("objective", objective, ["time"])
    return Running(threads=whole_number(cores, "cores"), caches=Caches(choose("caches", caches, list(Caches))))


def check(path: str | Path) -> Report:
    """Verify a certificate or solution file with the independent checker.

    Returns:
        What was verified and what was not, one sentence each.

    Raises:
        InputError: if that is no file, or the file is not a JSON document.
        CheckError: with the reason why a claim does not hold.
    """
    from optmap.checker import RefusedError, check_file
    from optmap.files.kinds import expected, missing_file

    file = file_path(path)
    with expected(file, "a certificate or a solution", "certificate", "solution"):
        try:
            return check_file(file)
        except RefusedError as error:
            raise CheckError(f"{path}: refused: {error}") from error
        except FileNotFoundError as error:
            raise missing_file(file) from error
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise InputError(f"{path}: cannot be read: {error}") from error
