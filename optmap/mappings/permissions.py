"""Which levels must, may and must not keep the tensors of a statement."""

from __future__ import annotations

from collections.abc import Mapping

from optmap.machines.accelerator import KeepRule
from optmap.machines.fabric import fabric_of
from optmap.machines.form import FormName
from optmap.machines.machine import Machine
from optmap.mappings.kept_tensors import kept_tensors
from optmap.workloads.single import is_in_place, is_of_rows, is_single, touched_alone
from optmap.workloads.statement import Statement
from optmap.workloads.workload import Workload

Permissions = Mapping[str, set[str]]
"""Names of bounded levels per tensor, by the name under which its elements are stored."""


def required_levels(workload: Workload, statement: Statement, machine: Machine) -> Permissions:
    """Levels that have to keep each tensor: all that must, and the innermost that may where none must.

    Where a machine says that an inner level is free to keep a tensor and an outer one must, operations may take it from
    there; so they may where prices say what an access to an outer level costs.

    Args:
        workload: what the statement is of.
        statement: gives the tensors.
        machine: gives the levels.

    Raises:
        InputError: for an accelerator that cannot say it of this statement.
    """
    rules = _RULES[machine.form](workload, statement, machine)
    if machine.form is FormName.NEST and is_of_rows(statement):  # it may be done where its rows are
        return {tensor: set() for tensor in rules}
    found: dict[str, set[str]] = {}
    for tensor, levels in rules.items():
        must = [name for name, keep in levels if keep is KeepRule.KEPT]
        may = [name for name, keep in levels if keep is KeepRule.FREE and name not in machine.bypassed]
        found.setdefault(tensor, set()).update(must or may[:1])
    return found


def refused_levels(workload: Workload, statement: Statement, machine: Machine) -> Permissions:
    """Levels that must not keep each tensor; arguments and errors as for `required_levels`."""
    rules = _RULES[machine.form](workload, statement, machine)
    return {tensor: {name for name, keep in levels if keep is KeepRule.REFUSED} for tensor, levels in rules.items()}


def _free(workload: Workload, statement: Statement, machine: Machine) -> dict[str, list[tuple[str, KeepRule]]]:
    """Per tensor what every bounded level, inner first, says of it: that it may hold it."""
    kept = kept_tensors(workload)
    free = [(level.name, KeepRule.FREE) for level in machine.levels]
    return {kept.stored_as[access.name]: free for access in kept.touched[statement.name]}


def _stated(workload: Workload, statement: Statement, machine: Machine) -> dict[str, list[tuple[str, KeepRule]]]:
    """As `_free`, of memories that have rules."""
    kept = kept_tensors(workload)
    every = _free(workload, statement, machine)
    if is_in_place(workload, statement.name):  # no access of its own
        return {tensor: [] for tensor in every}
    told = is_single(statement) or is_of_rows(statement)
    alone = touched_alone(workload, statement.name) if told else workload.alone(statement.name)
    memories = fabric_of(alone, machine).memories[:-1]
    return every | {  # any level may keep statistics of rows
        kept.stored_as[access.name]: [(memory.name, memory.keeps[number]) for memory in memories]
        for number, access in enumerate(statement.accesses)
    }


_RULES = {FormName.TILES: _free, FormName.NEST: _stated}
