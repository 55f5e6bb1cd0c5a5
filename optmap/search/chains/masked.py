"""Mappings of chains under conditions such as `l <= m`: two products priced under them, or those without them counted.

Of two products whose intermediate has the two dims of a band, mappings are priced under it (`banded.py`,
`banded_apart.py`). Else: a mapping tree of the chain without its conditions does the same with them; what no point of
the domain touches is neither loaded nor held, so it moves no more words and takes no more room. Which one is best may
change: the best ones for other amounts of room are tried as well, larger ones too, as less is held than without
conditions. The amounts are the same whatever room there is, up to twice as much: all that a smaller memory tries is
tried, so that more memory never moves more words. The answer is the best of what was tried, and no proof that no
mapping of the family is better.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from collections.abc import Sequence as Ordered
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from math import prod

from optmap.base.errors import InfeasibleError, InputError, LimitError
from optmap.count.trees import count_boxes
from optmap.mappings.nodes import Loop, Node, Sequence
from optmap.mappings.tree import MappingTree
from optmap.search.chains.compulsory import compulsory_relaxation
from optmap.search.chains.pair import ProductStep, pair_of, steps_of
from optmap.search.chains.runs import best_run
from optmap.search.chains.trees import run_tree
from optmap.search.question import Question
from optmap.workloads.amounts import Capacity
from optmap.workloads.band import band_of_statements
from optmap.workloads.domain import points
from optmap.workloads.workload import Workload

ALL, DOUBLING = 32, 4
"""Amounts of room for which mappings are looked for: all up to the first, and so many from one to twice as much."""
STEPS = (1, 4, 16)
"""Smallest steps of the dims of a condition: with few iterations a mapping is counted, and checked, faster."""
TRIPS = 2**10
"""Of such a dim, at most, in mappings that are tried as well where these steps leave more: too many are not counted."""
SPACE = "mappings of the chain without its conditions that are best for some amounts of room, each counted with them; "
"""What is looked at, before the family in which these are found."""
PRICED = (
    "priced under the conditions, sizes of tiles in even ratios and then near the best, the first tile shorter or the "
    "last one, whichever way tiles meet less, the first or the last indices pinned; "
)
"""What is looked at of two products, before the family in which these are found."""
MOST_INDICES = 2**16
"""Of either dim of a band, under which mappings are priced."""
Find = Callable[[Question], tuple[Node, ...] | None]
"""The nodes of the best mapping of a chain without conditions; None where none fits."""


def has_conditions(workload: Workload) -> bool:
    """Whether some statement has a condition."""
    return any(each.domain for each in workload.statements)


def best_priced(question: Question, *, together: bool) -> MappingTree | None:
    """The best mapping of two products that was priced under the conditions.

    Args:
        question: of a chain with conditions.
        together: whether the products may be fused.

    Returns:
        None for other chains, if none fits, and if the best one is not counted in closed form.
    """
    workload, machine = question.workload, question.machine
    band = band_of_statements(workload.statements, workload.extents)
    plain = workload.without_conditions
    try:
        steps = steps_of(plain)
        sides = pair_of(plain, *steps).sides if len(steps) == 2 else ()
    except InputError:
        return None
    if band is None or {side.dim for side in sides} != {band.first, band.second}:
        return None
    if not _priced(plain, steps):
        return None
    (level,) = machine.levels
    memory = level.most_words(workload.word_bits) // level.buffering
    stores = question.objective.stores
    found = best_run(plain, steps, memory, stores=stores, apart=not together, clock=question.clock, band=band)
    if found is None:
        return None
    nodes = run_tree(plain, steps, found, level.name, machine.memory)
    tree = MappingTree(workload=workload, machine=machine, nodes=nodes)
    count = count_boxes(tree)
    return None if count is None or count.broken else tree


def _priced(plain: Workload, steps: Ordered[ProductStep]) -> bool:
    """Whether dims are small enough to be gone through index by index, with words of 64 bits."""
    pair = pair_of(plain, *steps)
    extents = [side.extent for side in pair.sides]
    heaviest = max(plain.weight(access) for access in plain.accesses)
    moved = pair.times * prod(extents) * (pair.depth + pair.width) * 2 * heaviest
    return max(extents) <= MOST_INDICES and 8 * moved <= 2**60


def best_masked(question: Question, find: Find) -> tuple[Node, ...]:
    """The nodes of the mapping with the least objective of those that are tried.

    Args:
        question: of a chain with conditions.
        find: mappings without them.

    Raises:
        InputError: for a chain that has no mappings without its conditions, none that is counted in closed form, or
            conditions that no point meets.
        InfeasibleError: if none fits.
    """
    workload, machine = question.workload, question.machine
    best: tuple[Fraction, tuple[Node, ...]] | None = None
    counted, uncounted, least = False, False, Fraction(compulsory_relaxation(question).value)
    for nodes in _candidates(question, find):
        tree = MappingTree(workload=workload, machine=machine, nodes=nodes)
        count = count_boxes(tree)
        if count is None:
            uncounted = True
            continue
        counted = True
        value = Fraction(count.value_of(question.objective, workload, machine))
        if not count.broken and (best is None or value < best[0]):
            best = value, nodes
        if best is not None and (best[0] <= least or question.clock.late):
            break
    if best is not None:
        return best[1]
    if counted or not uncounted:
        raise InfeasibleError(f"no mapping of {workload.title} that was tried fits {machine.name}; use more memory")
    raise InputError(f"{workload.title} has conditions {_uncounted(workload)}")


def _uncounted(workload: Workload) -> str:
    """What is wrong with conditions under which no mapping is counted."""
    for each in workload.statements:
        with suppress(LimitError):
            dims = {dim for condition in each.domain for dim in condition.dims}
            if not points(dims, each.domain, workload.extents):
                return f"that no point meets: nothing is done of {each.name}"
    return (
        "under which mappings are not counted in closed form; every statement needs the same conditions on the same "
        "two dims, such as l <= m, or neither of the dims"
    )


def _candidates(question: Question, find: Find) -> Iterator[tuple[Node, ...]]:
    """Mappings of the chain without conditions for some amounts of room, each once."""
    (level,) = question.machine.levels
    plain = question.workload.without_conditions
    dims = {dim for each in question.workload.statements for condition in each.domain for dim in condition.dims}
    steps = sorted({*STEPS, max(STEPS[-1], *(-(-plain.extents[dim] // TRIPS) for dim in dims))})
    seen = set[str]()
    for words in _rooms(2 * level.most_words(question.workload.word_bits)):
        room = replace(level, capacity=Capacity(amount=words, unit="words"))
        nodes = find(replace(question, workload=plain, machine=replace(question.machine, levels=(room,))))
        for step in steps if nodes is not None else ():
            tried = tuple(_coarser(nodes or (), dims, plain.extents, step))
            if str(tried) not in seen:
                seen.add(str(tried))
                yield tried


def _rooms(most: int) -> Iterator[int]:
    """The amounts of room up to one, the largest first."""
    steps = range(DOUBLING * most.bit_length() + 1)
    found = {*range(1, ALL + 1), *(int(2 ** (step / DOUBLING)) for step in steps)}
    yield from sorted((each for each in found if each <= most), reverse=True)


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
