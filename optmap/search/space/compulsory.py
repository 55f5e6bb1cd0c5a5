"""What every schedule moves."""

from __future__ import annotations

from optmap.questions.objective import Objective
from optmap.workloads.axes import touched_at_least
from optmap.workloads.workload import Semantics, Workload


def compulsory(workload: Workload, objective: Objective) -> int:
    """Words of an objective that every schedule moves: every word once, created outputs not loaded."""
    memories: dict[str, int] = {}
    for tensor in workload.tensors:  # accesses of one memory may touch the same words
        words = workload.weight(tensor) * touched_at_least(tensor, workload.extents)
        memories[tensor.name] = max(words, memories.get(tensor.name, 0))
    out = workload.weight(workload.output) * touched_at_least(workload.output, workload.extents)
    loads = sum(memories.values()) - (out if workload.semantics is Semantics.ASSIGN else 0)
    return loads + (out if objective.stores else 0)
