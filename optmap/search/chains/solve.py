"""The best mapping of a chain of products for one memory, over a declared family of trees."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import isqrt, prod

from optmap.base.errors import InfeasibleError, InputError, LimitError
from optmap.base.texts import several
from optmap.count.timing.roofline import roofline
from optmap.mappings.nodes import Node
from optmap.mappings.tree import MappingTree
from optmap.search.chains import family, gated, runs, windows
from optmap.search.chains.compulsory import compulsory_relaxation, notes_of
from optmap.search.chains.gate import Gate, gate_of
from optmap.search.chains.gate_trees import gate_tree
from optmap.search.chains.pair import ProductPair, ProductStep, is_plain, pair_of, steps_of
from optmap.search.chains.trees import run_tree
from optmap.search.found import Found
from optmap.search.question import Question
from optmap.workloads.workload import Workload

MOST_WORDS = 2**60
"""Of what a mapping might move, so that 64-bit numbers hold every sum."""
MOST_TILES = 2**19
"""Pairs of tile sizes that are looked at at once, some hundred bytes each."""


def fused(question: Question) -> Found:
    """The mapping of the family that moves the fewest words; of two products, and of a gate, all are looked at.

    Args:
        question: of a chain of products and a machine of one level.

    Raises:
        InputError: for a chain that is neither products nor a gate, numbers beyond 64 bits, or an objective that is not
            in words.
        LimitError: for more tile sizes than are looked at.
        InfeasibleError: if no member fits.
    """
    return _solve(question, together=True)


def apart(question: Question) -> Found:
    """The mapping that moves the fewest words where every product is done by itself; as `fused`."""
    return _solve(question, together=False)


def _solve(question: Question, *, together: bool) -> Found:
    workload, level = question.workload, question.machine.levels[0]
    unit = question.objective.unit(question.machine)
    if unit != "words" and not question.objective.timed:  # fewer loads take no more time
        raise InputError(
            f"mappings of chains are compared by words, and the objective {question.objective.name} of "
            f"{question.machine.name} is in {unit}; use --memory, or a bandwidth of one word per cycle"
        )
    memory = level.most_words(workload.word_bits) // level.buffering
    best = _best(question, memory, together=together)
    if isinstance(best, int):
        raise InfeasibleError(
            f"{level.name} has {several(memory, 'word')}; every mapping of {workload.title} needs {best:,}: one word "
            "of every tensor of a statement"
        )
    late = question.clock.late
    proved = best.exhausted and not late
    cost = roofline(question.objective, {0: best.words}, workload, question.machine)
    return Found(
        mapping=MappingTree(workload=workload, machine=question.machine, nodes=best.nodes),
        claimed=cost if best.exhausted else None,
        relaxation=compulsory_relaxation(question),
        bound=cost if proved else None,
        proved=proved,
        proof="every mapping of the family was looked at" if proved else "",
        space=best.space,
        late=late,
        notes=notes_of(question),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _BestTree:
    """The best mapping of a family."""

    nodes: tuple[Node, ...]
    words: int
    space: str
    exhausted: bool
    """Whether every mapping of the family was looked at, and counted exactly."""


def _best(question: Question, memory: int, *, together: bool) -> _BestTree | int:
    """The best mapping, or the words that every mapping needs."""
    gate = gate_of(question.workload, stores=question.objective.stores)
    if gate is not None:
        return _of_gate(question, gate, memory, together=together)
    steps = steps_of(question.workload)
    find = _of_windows if _has_windows(question.workload, steps) else _of_products
    return find(question, steps, memory, together=together)


def _of_gate(question: Question, gate: Gate, memory: int, *, together: bool) -> _BestTree | int:
    """The best mapping of a gate, or the words that every mapping needs."""
    for pair in gate.pairs:
        _check_size(question.workload, pair)
    found = gated.best_gate(gate, memory, question.clock, apart=not together)
    if found is None:
        return gate.least_room()
    nodes = gate_tree(question.workload, gate, found, question.machine.levels[0].name, question.machine.memory)
    return _BestTree(nodes=nodes, words=found.words, space=gated.FAMILY if together else gated.APART, exhausted=True)


def _has_windows(workload: Workload, steps: tuple[ProductStep, ...]) -> bool:
    """Whether a pair has windows, or rows or columns of several dims."""
    if len(steps) != 2:
        return False
    one = steps[0]
    if not all(is_plain(access) for step in steps for access in step.product.accesses):
        return True
    dims = one.product.output.dims
    sides = [frozenset(d for d in dims if d not in access.dims) for access in one.product.inputs]
    return any(len(side) > 1 for side in sides)


def _of_windows(question: Question, steps: tuple[ProductStep, ...], memory: int, *, together: bool) -> _BestTree | int:
    """The best mapping of a pair with windows, or the words that every mapping needs."""
    pair = windows.WindowPair(question.workload, steps, stores=question.objective.stores)
    found = pair.best(memory, question.clock, apart=not together)
    if found is None:
        return pair.least_room()
    nodes = pair.tree(found, question.machine.levels[0].name, question.machine.memory)
    return _BestTree(nodes=nodes, words=found.words, space=windows.FAMILY, exhausted=found.fused or pair.sharp)


def _of_products(question: Question, steps: tuple[ProductStep, ...], memory: int, *, together: bool) -> _BestTree | int:
    """The best mapping of products, or the words that every mapping needs."""
    workload, stores = question.workload, question.objective.stores
    pairs = [pair_of(workload, *two, stores=stores) for two in pairwise(steps)]
    for pair in pairs:
        _check_size(workload, pair)
    found = runs.best_run(workload, steps, memory, stores=stores, apart=not together, clock=question.clock)
    if found is None:
        return max(_least_room(pair) for pair in pairs)
    several_products = together and len(steps) > 2
    space = f"{runs.FAMILY}; {family.FAMILY}" if several_products else family.FAMILY if together else runs.APART
    nodes = run_tree(workload, steps, found, question.machine.levels[0].name, question.machine.memory)
    return _BestTree(nodes=nodes, words=found.words, space=space, exhausted=not several_products)


def _check_size(workload: Workload, pair: ProductPair) -> None:
    rows, columns = pair.sides
    heaviest = max(each.words for side in pair.sides for each in (side.first, side.second))
    operations = pair.times * rows.extent * columns.extent * (pair.depth + pair.width)
    if 8 * operations * max(heaviest, pair.shared.words) > MOST_WORDS:
        raise InputError(f"{workload.title} has {operations:,} operations; fused mappings are counted in 64 bits")
    extents = sorted((rows.extent, columns.extent, pair.depth, pair.width))[-2:]
    if prod(2 * isqrt(extent) + 2 for extent in extents) > MOST_TILES:
        raise LimitError(
            f"{workload.title} has dims of {extents[1]:,} and {extents[0]:,} iterations, more pairs of tile sizes than "
            f"are looked at ({MOST_TILES:,})"
        )


def _least_room(pair: ProductPair) -> int:
    rows, columns = pair.sides
    return pair.shared.words + max(
        one.words + other.words for one, other in ((rows.first, columns.first), (rows.second, columns.second))
    )
