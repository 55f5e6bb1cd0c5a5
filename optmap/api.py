"""The Python interface: the verbs of the command line as functions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from optmap.base.clock import SEARCHED, Clock, limited
from optmap.base.errors import CheckError, InputError
from optmap.base.names import choose
from optmap.base.share import Share
from optmap.base.values import file_path
from optmap.files.inputs import WorkloadInput, machine_of, workload_of
from optmap.questions.form import form_on, objective_on, objectives_on
from optmap.questions.objective import OBJECTIVES
from optmap.questions.option import Opt, declared, refuse_elsewhere, taking, values_of
from optmap.questions.options import CertificateKind
from optmap.search.methods import METHODS, usual_methods
from optmap.search.options import SolveOptions, TargetOptions, WorkloadOptions, names
from optmap.workloads.meanings import Padding

if TYPE_CHECKING:
    from optmap.answers.proofs.boundaries import BoundReport
    from optmap.checker import Report
    from optmap.count.timing.floor import Running
    from optmap.search.question import Question
    from optmap.search.result import Answer

__all__ = ["METHODS", "OBJECTIVES", "bound", "check", "solve"]

SOLVE = declared(SolveOptions)
"""The options of `solve`, by name."""
SPENT = ("memory", "extents", "semantics", "padding", "innermost", "method", "objective", "certificate")
"""Those that make the workload, the machine, the method and the answer; a question has the others."""
PROVED = 0.5
"""Part of the time that a search may take whose relaxation and integer bound are to be proved, too."""


@taking(SolveOptions)
def solve(workload: WorkloadInput, **options: Unpack[SolveOptions]) -> Answer[Any, Any]:
    """Find the best integer mapping of a workload and the gap to its bound.

    Args:
        workload: a workload, a library name, a YAML file, or an expression with `extents`.
        **options: as they are declared.

    Returns:
        The mapping, its cost, the proved relaxation, and the certified bound with the gap; what counting it found is
        `.count`, in per-level form, or on an accelerator energy, cycles and accesses of every memory.

    Raises:
        InputError: for anything that cannot be accepted.
        InfeasibleError: if nothing fits, or no mapping meets the constraints: which, and what would do.
        ContradictionError: if the mapping moves fewer words than the bound allows.

    Examples:
        >>> found = optmap.solve("C[i,j] += A[i,k]*B[k,j]", extents="i=64,j=64,k=64", memory="256w")
        >>> found.mapping.levels[0].tile, found.exact
        ({'i': 14, 'j': 16, 'k': 1}, 45056)
        >>> found.bound.value <= found.exact
        True
    """
    full = SOLVE["certificate"].read(options) is CertificateKind.FULL
    question = question_of(workload, **options)
    if full and not question.workload.is_product:
        raise InputError(
            "--certificate full proves relaxation and integer bound of one statement; leave it out for a chain, whose "
            "floor has its certificate in any case"
        )
    return _answer(question, full=full)


def question_of(workload: WorkloadInput, **options: Unpack[SolveOptions]) -> Question:
    """The question that options of `solve` ask: where each verb goes that has some of them answered.

    Raises:
        InputError: for anything that cannot be accepted.
        InfeasibleError: for constraints that no mapping of the workload meets.
    """
    from optmap.count.policies import nest_policy
    from optmap.search.method import lacking
    from optmap.search.question import Question, understood

    values = values_of(SOLVE, options)
    problem = workload_of(workload, values["extents"], values["semantics"], values["padding"])
    target, objective = machine_of(values["machine"], values["memory"]), values["objective"]
    method = values["method"]
    if method is not None:
        choose("method", method, METHODS)
    if objective is not None:
        objective_on(objective, target)
    refuse_elsewhere(SOLVE, target, values)
    if values["innermost"] is not None:
        target = target.from_level(values["innermost"])
    values["constraints"].refuse_foreign(problem, target)
    problem, notes = understood(problem, target, values["semantics"])
    kind = {"chain": len(problem.statements) > 1, "padded": problem.padding is Padding.IMPLICIT}
    methods = (method,) if method is not None else usual_methods(target, objective, **kind)
    full = values["certificate"] is CertificateKind.FULL
    made: dict[str, Any] = {
        "workload": problem,
        "machine": target,
        "counting": nest_policy(values["counting"]),
        "notes": notes,
    }
    asked = {name: value for name, value in values.items() if name not in (*SPENT, *made)}
    fields = Question.__dataclass_fields__
    others = {name: value for name, value in asked.items() if name not in fields}
    made |= {name: value for name, value in asked.items() if name in fields}

    def asked_of(name: str) -> Question:
        goal = objectives_on(target)[METHODS[name].objective(objective, target)]
        return Question(**made, method=name, objective=goal, others=others)

    reasons = []
    for name in methods[:-1]:
        question = asked_of(name)
        reason = "solves no relaxation that is proved; leave out --certificate full" if full else lacking(question)
        if not reason:
            return question
        reasons.append(f"method {methods[-1]} was taken: {name}, the usual one here, {reason}")
    return replace(asked_of(methods[-1]), notes=(*notes, *reasons))


def _answer(question: Question, *, full: bool) -> Answer[Any, Any]:
    """What a method finds, with the bounds beside it; `full`: proved, too."""
    from optmap.answers.proofs.bounding import bounded
    from optmap.search.answer import beside

    begun, whole = time.monotonic(), Clock.after(question.time_limit)
    with limited(whole.share(PROVED if full else SEARCHED)):
        result = METHODS[question.method].run(question)
    with limited(whole.ending()) as clock:
        if question.progress is not None:
            question.progress("bounding and counting", Share.limited(SEARCHED, clock.left))
        others = tuple(bounded(other, clock, full=False) for other in beside(result))
        result = bounded(result, clock, full=full)
    return replace(result, seconds=time.monotonic() - begun, others=others)


class BoundOptions(TargetOptions, WorkloadOptions, total=False):
    """Options of `bound`."""

    methods: Annotated[
        str | Sequence[str] | None,
        Opt(
            help="Bound methods; all that apply if left out.",
            detail="Keys of `BOUNDS`.",
            read=names,
            metavar="A,B",
            names="bounds",
        ),
    ]
    explain: Annotated[
        bool,
        Opt(
            help="Print the constraint table and the papers' own terms as well.",
            detail="`.explanation` has how the bound of the outermost boundary comes about.",
            default=False,
            shell=bool,
        ),
    ]
    objective: Annotated[
        str | None,
        Opt(
            help="Also the time that no code goes below, or what no mapping costs less than on an accelerator.",
            detail="`time`, on a machine with a core: `.time`. Where there are meshes and prices `energy`, `cycles`, "
            "`edp` or `port-cycles`: `.merit`. `.certificate` is the proof of it then.",
            metavar="NAME",
        ),
    ]
    cores: Annotated[int, Opt(help="Of the time: cores that share the work.", default=1, least=1)]
    caches: Annotated[
        str,
        Opt(
            help="Of the time: warm or cold when a call begins.",
            detail="`warm` is what the call before left.",
            default="warm",
            metavar="STATE",
        ),
    ]


@taking(BoundOptions)
def bound(workload: WorkloadInput, **options: Unpack[BoundOptions]) -> BoundReport:
    """Lower bounds on the words that any schedule moves, method by method.

    Args:
        workload: as for `solve`.
        **options: as they are declared.

    Returns:
        The bounds of every boundary; `.outermost.best` is the strongest, `.certificate` its proof.

    Raises:
        InputError: for anything that cannot be accepted, a method that does not apply included.

    Examples:
        >>> report = optmap.bound("C[i,j] += A[i,k]*B[k,j]", extents="i=64,j=64,k=64", memory="256w")
        >>> report.outermost.best.loads_words
        33024
    """
    from optmap.answers.proofs.beside import with_time
    from optmap.answers.proofs.boundaries import bound_report

    asked = values_of(declared(BoundOptions), options)
    problem = workload_of(workload, asked["extents"], asked["semantics"], asked["padding"])
    target, objective = machine_of(asked["machine"], asked["memory"]), asked["objective"]
    in_time = objective is not None and form_on(target).floors_apart
    if not in_time and (asked["cores"], asked["caches"]) != (1, "warm"):
        raise InputError(
            "cores and caches belong to a bound in time: add objective time on a machine with a core, or leave --cores "
            "and --caches out"
        )
    running = _running(**asked) if in_time else None
    report = bound_report(problem, target, asked["methods"], explained=asked["explain"])
    if running is not None:
        return with_time(report, running)
    return report if objective is None else _on_meshes(report, objective)


def _on_meshes(report: BoundReport, objective: str) -> BoundReport:
    """A report with the floor of an objective where every mapping brings its own along.

    Raises:
        InputError: for an objective that means nothing there.
    """
    from optmap.answers.proofs.chain_meshes import mesh_bound

    asked = objective_on(objective, report.machine)
    return replace(report, merit=mesh_bound(report.workload, report.machine, asked))


def _running(*, objective: str, cores: int, caches: str, **_: Any) -> Running:
    """How code runs whose time is bounded."""
    from optmap.count.timing.floor import Running
    from optmap.count.timing.results import Caches

    choose("objective", objective, ["time"])
    return Running(threads=cores, caches=Caches(choose("caches", caches, list(Caches))))


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
