"""What is to be run: workloads with or without a mapping of their own, from what a person writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from optmap.answers.documents.saved_tree import SavedTree
from optmap.answers.documents.solution import SavedSolution, solution_from
from optmap.base.errors import InputError
from optmap.files.inputs import ExtentsInput, extents_of, is_file, is_statement, text_of
from optmap.files.kinds import expected
from optmap.files.library import list_networks, match_workloads
from optmap.files.library import workload as library_workload
from optmap.files.network import Network, network, read_network
from optmap.files.reading import read_json
from optmap.machines.machine import Machine
from optmap.mappings.levels import Mapping
from optmap.mappings.tree import MappingTree
from optmap.search.result import Answer, Solved
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Workload

TaskInput = Workload | Network | Answer[Any, Any] | SavedSolution | str | PathLike[str]
MappingInput = Mapping | MappingTree | Answer[Any, Any] | SavedSolution | SavedTree | str | Path


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTask:
    """One workload to be run.

    Raises:
        OneStatementError: for several statements.
    """

    workload: Workload
    """As it was given; how it is computed is for the run to say."""
    machine: Machine | None = None
    """That the mapping is of."""
    mapping: Mapping | None = None
    """None to search for some."""

    def __post_init__(self) -> None:
        _ = self.workload.only


def all_tasks(given: Sequence[TaskInput], extents: ExtentsInput | None = None) -> list[RunTask]:
    """The workloads that several texts or objects stand for, in their order.

    Args:
        given: each as for `tasks_of`.
        extents: extent per dim of the statements among them.

    Raises:
        InputError: for none, extents without a statement, or something that cannot be understood.
    """
    if not given:
        raise InputError("no workload is given; name at least one, such as resnet18/R9")
    sizes = None if extents is None else extents_of(extents)
    if sizes is not None and not any(isinstance(what, str) and is_statement(what) for what in given):
        raise InputError("extents belong to a statement, such as 'C[i,j] += A[i,k]*B[k,j]'; leave them out")
    return [task for what in given for task in tasks_of(what, sizes)]


def tasks_of(what: TaskInput, extents: dict[str, int] | None = None) -> tuple[RunTask, ...]:
    """The workloads that a text or an object stands for.

    Args:
        what: a workload, a network, a solution; a name of one (`resnet18/R9`, `resnet18`), a pattern (`resnet18/*`),
            a workload file, a solution file (.json), or a statement.
        extents: extent per dim of a statement.

    Raises:
        InputError: if it is none of these.
    """
    if isinstance(what, Workload):
        return (RunTask(workload=what),)
    if isinstance(what, Network):
        return tuple(RunTask(workload=layer) for layer in what.layers)
    if isinstance(what, Solved):
        return (RunTask(workload=what.workload, machine=what.machine, mapping=coded_mapping(what)),)
    text = text_of(what, "workload", "a name, a pattern, a file, a statement, or what solve returned")
    if is_statement(text):
        if not extents:
            raise InputError(f"{text!r} needs the extents of its dims; add them, such as --extents i=64,j=64")
        return (RunTask(workload=parse_workload(text, extents)),)
    if text.endswith(".json"):
        with expected(text, "a solution of a machine with caches", "solution"):
            return tasks_of(solution_from(read_json(Path(text))))
    if any(mark in text for mark in "*?"):
        return tuple(RunTask(workload=library_workload(name)) for name in match_workloads(text))
    if is_file(text) and text.endswith((".yaml", ".yml")):
        return tasks_of(read_network(Path(text)))
    if text.casefold() in (name.casefold() for name in list_networks()):
        return tasks_of(network(text))
    return (RunTask(workload=library_workload(text)),)


def coded_mapping(found: Solved | SavedTree) -> Any:
    """The mapping of an answer as code has it: a `Mapping`, where tiles and loop order are all there is, or a tree.

    Args:
        found: by a search, or read from a file.

    Raises:
        InputError: if tiles leave out a corner, or the mapping is cut into pieces: they have tiles of their own.
    """
    if isinstance(found, SavedTree):
        return found.tree
    held = found.held
    if held is not None and (held.corner is not None or held.pieces):
        raise InputError(
            "the solution has a corner or pieces with tiles of their own (held), which code cannot have; solve with "
            "another method, such as mopt"
        )
    return found.mapping
