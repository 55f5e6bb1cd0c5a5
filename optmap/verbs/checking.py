"""The verbs that count again what somebody claims: `evaluate`, `check` and `conformance`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, Unpack

from optmap.base.errors import InputError
from optmap.base.share import Tell
from optmap.base.values import file_path
from optmap.questions.option import Opt, declared, refuse_elsewhere, taking, text, values_of

if TYPE_CHECKING:
    from optmap.answers.documents.recount import Evaluation
    from optmap.answers.documents.saved_tree import SavedTree, TreeEvaluation
    from optmap.answers.documents.saved_turns import TurnEvaluation
    from optmap.answers.documents.solution import SavedSolution
    from optmap.answers.side_by_side.conformance import Conformance
    from optmap.checker import Report
    from optmap.search.result import Answer


class EvaluateOptions(TypedDict, total=False):
    """Options of `evaluate`."""

    counting: Annotated[
        str | None,
        Opt(
            help="A policy of the mapping's kind of machine: on accelerators exact, timeloop, factorflow, one of a "
            "plug-in; that of the file if left out.",
            read=text,
            metavar="NAME",
        ),
    ]
    simulate: Annotated[
        bool,
        Opt(
            help="Execute the loop nest as well.",
            detail="With LRU and with optimal replacement.",
            default=False,
            shell=bool,
            meshes=False,
            elsewhere="there is no simulation of accelerators; leave out {flag}",
        ),
    ]
    limit: Annotated[
        int,
        Opt(help="Largest number of simulated accesses, or of steps of a walk.", default=5_000_000, least=1),
    ]


@taking(EvaluateOptions)
def evaluate(
    solution: Answer[Any, Any] | SavedSolution | SavedTree | str | Path, **options: Unpack[EvaluateOptions]
) -> Evaluation[Any] | TreeEvaluation | TurnEvaluation:
    """Count a mapping's exact cost again, from the mapping alone.

    Args:
        solution: what `solve` returned, a solution file, or a file with a mapping tree, which is counted in closed
            form where there is one, and else walked.
        **options: as they are declared.

    Returns:
        The recount; `.disagreements` are the claims of the file that it contradicts.

    Raises:
        InputError: if the file cannot be used.
        LimitError: if the nest is too large to simulate.

    Examples:
        >>> found = optmap.solve("C[i,j] += A[i,k]*B[k,j]", extents="i=8,j=8,k=8", memory="64w")
        >>> optmap.evaluate(found).disagreements
        []
    """
    from dataclasses import replace

    from optmap.answers.documents.recount import evaluate_solution, run_simulations
    from optmap.answers.documents.saved_tree import SavedTree, evaluate_tree
    from optmap.answers.documents.saved_turns import evaluate_turns
    from optmap.report.answers.loading import saved_mapping

    known = declared(EvaluateOptions)
    asked = values_of(known, options)
    read = saved_mapping(solution)
    if isinstance(read, SavedTree):
        if read.counting is not None:
            if asked["simulate"]:
                raise InputError("statements in turn are not walked word by word; leave out --simulate")
            return evaluate_turns(read, asked["counting"])
        if asked["counting"] is not None:
            raise InputError("a mapping tree is counted in one way only; leave out --counting")
        return evaluate_tree(read, asked["limit"], walked=asked["simulate"])
    refuse_elsewhere(known, read.machine, asked)
    found = evaluate_solution(read, asked["counting"])
    return replace(found, simulations=run_simulations(read, asked["limit"])) if asked["simulate"] else found


def check(path: str | Path, *, progress: Tell | None = None) -> Report:
    """Verify a certificate, a solution, or all that a folder of a sweep holds, with the independent checker.

    Args:
        path: a file that `bound -o` or `solve -o` wrote, or a folder that `sweep`, `race` or `network -o` wrote.
        progress: called with a text and the share of a folder that is done.

    Returns:
        What was verified and what was not, one sentence each.

    Raises:
        InputError: if that is neither, or the file is not a JSON document.
        CheckError: with the reasons why a claim does not hold.
    """
    from optmap.api import check as check_file

    place = file_path(path)
    if not place.is_dir():
        return check_file(path)
    from optmap.sweeps.folder_check import check_folder

    return check_folder(place, progress)


def conformance(records: str | Path, *, counting: str | None = None) -> Conformance:
    """Compare the counts of another model with optmap's.

    Args:
        records: a file of records of Timeloop's or FactorFlow's model: architecture, workload, mapping and result of
            each.
        counting: None for that of the records, `timeloop` or `factorflow`; `exact` against the numbers that Timeloop's
            records give for a literal walk. With another one numbers are expected to differ.

    Returns:
        `.mismatches` are the numbers that differ.

    Raises:
        InputError: if the file cannot be used.
    """
    from optmap.answers.side_by_side.conformance import compare_records
    from optmap.count.policies import nest_policy
    from optmap.interchange import read_records

    chosen = None if counting is None else nest_policy(counting)
    return compare_records(read_records(file_path(records, "records")), chosen)
