"""Mappings of chains under conditions such as `l <= m`: those of the chain without them, each counted exactly.

A mapping tree of the chain without its conditions does the same with them: what no point of the domain touches is
neither loaded nor held, so it moves no more words and takes no more room. Which one is best may change: the best ones
for some other amounts of room are tried as well, larger ones too, as less is held than without conditions. So the
answer is the best of what was tried, and no proof that no mapping of the family is better.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from collections.abc import Sequence as Ordered
from dataclasses import replace
from fractions import Fraction

from optmap.base.errors import InfeasibleError, InputError
from optmap.count.trees import count_boxes
from optmap.mappings.nodes import Loop, Node, Sequence
from optmap.mappings.tree import MappingTree
from optmap.search.question import Question
from optmap.workloads.amounts import Capacity
from optmap.workloads.workload import Workload

SHARES = tuple(Fraction(share, 8) for share in (8, 7, 6, 5, 4, 3, 9, 10, 12, 14, 16))
"""Of the room, for which mappings are looked for; the room itself first."""
STEPS = (1, 4, 16)
"""Smallest steps of the dims of a condition: with few iterations a mapping is counted, and checked, faster."""
SPACE = "mappings of the chain without its conditions that are best for some amounts of room, each counted with them; "
"""What is looked at, before the family in which these are found."""
Find = Callable[[Question], tuple[Node, ...] | None]
"""The nodes of the best mapping of a chain without conditions; None where none fits."""


def has_conditions(workload: Workload) -> bool:
    """Whether some statement has a condition."""
    return any(each.domain for each in workload.statements)


def best_masked(question: Question, find: Find) -> tuple[Node, ...]:
    """The nodes of the mapping with the least objective of those that are tried.

    Args:
        question: of a chain with conditions.
        find: mappings without them.

    Raises:
        InputError: for a chain that has no mappings without its conditions, or none that is counted in closed form.
        InfeasibleError: if none fits.
    """
    workload, machine = question.workload, question.machine
    best: tuple[Fraction, tuple[Node, ...]] | None = None
    counted = False
    for nodes in _candidates(question, find):
        tree = MappingTree(workload=workload, machine=machine, nodes=nodes)
        count = count_boxes(tree)
        if count is None:
            continue
        counted = True
        value = Fraction(count.value_of(question.objective, workload, machine))
        if not count.broken and (best is None or value < best[0]):
            best = value, nodes
        if best is not None and question.clock.late:
            break
    if best is not None:
        return best[1]
    if counted:
        raise InfeasibleError(f"no mapping of {workload.title} that was tried fits {machine.name}; use more memory")
    raise InputError(
        f"{workload.title} has conditions under which mappings are not counted in closed form; every statement needs "
        "the same conditions on the same two dims, such as l <= m, or neither of the dims"
    )


def _candidates(question: Question, find: Find) -> Iterator[tuple[Node, ...]]:
    """Mappings of the chain without conditions for some amounts of room, each once."""
    (level,) = question.machine.levels
    plain = question.workload.without_conditions
    words = level.most_words(question.workload.word_bits)
    dims = {dim for each in question.workload.statements for condition in each.domain for dim in condition.dims}
    seen = set[str]()
    for share in SHARES:
        room = replace(level, capacity=Capacity(amount=max(1, int(words * share)), unit="words"))
        nodes = find(replace(question, workload=plain, machine=replace(question.machine, levels=(room,))))
        for step in STEPS if nodes is not None else ():
            tried = tuple(_coarser(nodes or (), dims, plain.extents, step))
            if str(tried) not in seen:
                seen.add(str(tried))
                yield tried


def _coarser(nodes: Ordered[Node], dims: Container[str], left: Mapping[str, int], step: int) -> Iterator[Node]:
    """The nodes with steps of some dims no smaller than so many iterations; loops of one trip are left out."""
    for node in nodes:
        if isinstance(node, Sequence):
            yield Sequence(branches=tuple(tuple(_coarser(each, dims, left, step)) for each in node.branches))
        elif isinstance(node, Loop):
            tile = max(node.tile, step) if node.dim in dims else node.tile
            if tile < left[node.dim]:
                left = {**left, node.dim: tile}
                yield replace(node, tile=tile)
        else:
            yield node
