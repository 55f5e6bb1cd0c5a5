"""Two products with a function of whole rows between them: nothing of a row is used before all of it is made.

    S[i,j] = sum over k of A * B        P = f(S along j, whole), in place        C = sum over j of P * D

Symbols, theorem and proof: `docs/chain-floors.md`, Whole rows between two products.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import ceil, isqrt, prod

from optmap.bounds.chains.counts import loaded_tensors, most_words
from optmap.bounds.chains.groups import StatementGroup, group_of
from optmap.bounds.chains.joined import join, live_dims
from optmap.workloads.chain import TensorRole
from optmap.workloads.expression import Statistic
from optmap.workloads.statement import Statement
from optmap.workloads.workload import TensorAccess, Workload

NEAR = 64
"""Numbers of elements of a row that a segment makes which are tried on either side of the best one in reals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Barrier:
    """Two products with a function of whole rows between them."""

    operand: str
    """U."""
    index_words: int
    """d: words of U for an element of S."""
    weight: int
    """w: words of an element of S."""
    length: int
    """J: elements of a row of S."""
    rows: int
    once: int
    """Compulsory loads, in words."""

    def loads(self, memory: int, segment: int) -> Fraction:
        """Loads that segments of so many loads prove."""
        waiting = max(0, self.length - (memory + segment) // self.index_words) * self.weight
        return Fraction((self.rows * waiting + self.once) * segment, memory + segment)

    def best_segment(self, memory: int) -> int:
        """Loads of a segment that prove the most, or nearly."""
        ideal = isqrt(memory * self.length // self.index_words)
        near = range(max(ideal - NEAR, memory // self.index_words + 1), ideal + NEAR + 1)
        tried = [many * self.index_words - 1 - memory for many in near]  # the next load may make one more element
        return max((each for each in tried if each > 0), key=lambda each: self.loads(memory, each), default=1)


def barrier(workload: Workload, memory_words: int) -> list[StatementGroup]:
    """Every two products with a function of whole rows between them."""
    found = []
    for first, second in combinations(workload.statements, 2):
        for each in barriers(workload, first, second):
            segment = each.best_segment(memory_words)
            group = group_of(
                workload,
                "barrier",
                [first, second],
                loads_words=ceil(each.loads(memory_words, segment)),
                proof={"operand": each.operand, "segment": segment},
                expression=f"{first.name} and {second.name} with whole rows between them, cut by {segment:,} loads, "
                f"which meet words of {each.operand}, proof: optmap/bounds/chains/barrier.py",
            )
            found.append(group)
    return found


def barriers(workload: Workload, first: Statement, second: Statement) -> Iterator[Barrier]:
    """The barriers between two statements, one per operand that they may be proved with."""
    if join(workload, first, second) is None:
        return
    extents, held = workload.extents, workload.stored_as
    made, (read,) = first.output, (a for a in second.inputs if held[a.name] == held[first.name])
    loaded = loaded_tensors(workload)
    once = sum(most_words(workload, a) for a in (*first.accesses, *second.accesses) if a.name in loaded)
    for place in _places(workload, held[first.name]):
        for core, statement in ((made, first), (read, second)):
            length = core.axes[place].count(extents)
            for operand in statement.inputs:
                own = _own_words(workload, core, operand, place)
                if workload.roles[operand.name] is TensorRole.INPUT and own and length > 1:
                    yield Barrier(
                        operand=operand.name,
                        index_words=own,
                        weight=workload.weight(core),
                        length=length,
                        rows=core.footprint(extents) // length,
                        once=once,
                    )


def _places(workload: Workload, tensor: str) -> Iterator[int]:
    """Positions of the subscripts along which functions of whole rows are applied to the elements of a tensor."""
    for each in workload.statements:
        row = each.row
        if workload.stored_as[each.name] == tensor and row is not None and row.statistic is Statistic.WHOLE:
            yield from (n for n, axis in enumerate(each.inputs[0].axes) if axis.dims == (row.dim,))


def _own_words(workload: Workload, core: TensorAccess, operand: TensorAccess, place: int) -> int:
    """Words of an operand for an element of what is made or read that no other element of its row needs; 0 if none."""
    live = live_dims(workload, (operand, core))
    if operand == core or live is None or not live[core].intersection(core.axes[place].dims) <= live[operand]:
        return 0
    return workload.weight(operand) * prod(workload.extents[d] for d in live[operand] - live[core])
