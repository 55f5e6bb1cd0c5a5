"""What Keeps may name: the tensors of a workload, and the statistics of rows that its functions of rows keep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from optmap.mappings.nodes import PathLeaf
from optmap.workloads.access import TensorAccess
from optmap.workloads.chain import TensorRole
from optmap.workloads.row_statistics import RowStatistic, row_statistics
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTensors:
    """The tensors and statistics of rows of a workload."""

    stored_as: Mapping[str, str]
    """Per name the one under which elements are stored, see `Workload.stored_as`; a statistic by its own."""
    roles: Mapping[str, TensorRole]
    """A statistic is an intermediate: it starts empty, and is needed no longer than its rows."""
    weights: Mapping[str, int]
    """Words of an element."""
    statistics: tuple[RowStatistic, ...]
    conditions: bool
    """Whether some statement has conditions."""
    touched: Mapping[str, tuple[TensorAccess, ...]]
    """Per statement all accesses, its output first, those to statistics last."""
    made: Mapping[str, frozenset[str]]
    """Per statement what it updates, by the names under which it is stored."""

    @property
    def rows_in_part(self) -> bool:
        """Whether conditions leave out points, so that an iteration may touch some of its rows only."""
        return bool(self.statistics) and self.conditions

    def uncounted(self, leaves: Iterable[PathLeaf]) -> str:
        """Why the statistics of rows of a tree cannot be counted; empty if they can."""
        named = {tensor for leaf in leaves for _, keep in leaf.keeps for tensor in keep.tensors}
        for each in self.statistics:
            if each.unknown:
                return f"the row statistic of {each.made_by} is not counted: {each.unknown}"
            if each.name not in named:
                above = " and ".join((each.made_by, *each.reads))
                return (
                    f"the row statistic of {each.made_by} is not counted, as no Keep names it: add {each.name} to "
                    f"Keeps above {above}, or leave the function of rows out for a count without it"
                )
        return ""


@lru_cache(maxsize=256)
def kept_tensors(workload: Workload) -> KeptTensors:
    """What Keeps of a workload may name."""
    statistics = row_statistics(workload)
    stored = workload.stored_as
    weights = {access.name: workload.weight(access) for access in workload.accesses}
    touched = {each.name: each.accesses for each in workload.statements}
    made = {each.name: frozenset({stored[each.name]}) for each in workload.statements}
    for each in statistics:
        touched[each.made_by] = (*touched[each.made_by], each.access)
        made[each.made_by] |= {each.name}
        for reader, accesses in each.reads.items():
            touched[reader] = (*touched[reader], *accesses)
    return KeptTensors(
        stored_as=stored | {each.name: each.name for each in statistics},
        roles=workload.roles | {each.name: TensorRole.INTERMEDIATE for each in statistics},
        weights=weights | {each.name: workload.weight(each.access) for each in statistics},
        statistics=statistics,
        conditions=any(each.domain for each in workload.statements),
        touched=touched,
        made=made,
    )
