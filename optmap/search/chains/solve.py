"""The best mapping of a chain of products for one memory, over a declared family of trees."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import isqrt, prod
from typing import Protocol

from optmap.base.errors import InfeasibleError, InputError, LimitError
from optmap.base.texts import several
from optmap.count.timing.roofline import roofline
from optmap.mappings.nodes import Node
from optmap.mappings.tree import MappingTree
from optmap.search.chains import corner, family, gated, graphs, masked, runs, windows
from optmap.search.chains.compulsory import compulsory_relaxation, notes_of
from optmap.search.chains.gate import Gate, gate_of
from optmap.search.chains.gate_trees import gate_tree
from optmap.search.chains.pair import ProductPair, ProductStep, is_plain, pair_of, refuse_rows, steps_of
from optmap.search.chains.trees import run_tree
from optmap.search.chains.window_pair import WindowPair
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
    best = _best(question, together=together)
    if isinstance(best, int):
        memory = _room(question)
        raise InfeasibleError(
            f"{level.name} has {several(memory, 'word')}; every mapping of {workload.title} needs {best:,}: one word "
            "of every tensor of a statement"
        )
    late = question.clock.late
    proved = best.exhausted and not late
    cost = roofline(question.objective, {0: best.words}, workload, question.machine) if best.exhausted else None
    return Found(
        mapping=best.tree or MappingTree(workload=workload, machine=question.machine, nodes=best.nodes),
        claimed=cost,
        relaxation=compulsory_relaxation(question),
        bound=cost if proved else None,
        proved=proved,
        proof="every mapping of the family was looked at" if proved else "",
        space=best.space,
        late=late,
        notes=(*best.notes, *notes_of(question)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _BestTree:
    """The best mapping of a family."""

    nodes: tuple[Node, ...]
    tree: MappingTree | None = None
    """Of them, where it is made already."""
    words: int = 0
    """That it moves, if every mapping of the family was looked at; else at most, or not known."""
    space: str
    exhausted: bool
    """Whether every mapping of the family was looked at, and counted exactly."""
    notes: tuple[str, ...] = ()


def _room(question: Question) -> int:
    """Words that fit."""
    (level,) = question.machine.levels
    return level.most_words(question.workload.word_bits) // level.buffering


def _best(question: Question, *, together: bool) -> _BestTree | int:
    """The best mapping, or the words that every mapping needs."""
    if masked.has_conditions(question.workload):
        return _of_masked(question, together=together)
    try:
        find = family_of(question.workload, stores=question.objective.stores)
    except InputError as reason:
        return _of_graph(question, reason, together=together)
    return find(question, together=together)


class _Family(Protocol):
    """From a question of a chain to its best mapping of a family, or to the words that every mapping needs."""

    def __call__(self, question: Question, *, together: bool) -> _BestTree | int: ...


def family_of(workload: Workload, *, stores: bool = True, boxes: bool = True) -> _Family:
    """What finds the best mapping of a chain as a whole.

    Args:
        workload: the chain.
        stores: whether words that are stored count beside those that are loaded.
        boxes: whether mappings may have boxes: beside further statements, or under conditions, they are not counted.

    Raises:
        InputError: for a chain of which no family is known.
    """
    gate = gate_of(workload, stores=stores)
    if gate is not None:
        return partial(_of_gate, gate)
    steps = steps_of(workload)
    if len(steps) > 2:
        refuse_rows(workload, "of three products or more", "leave the others out")
    if _has_windows(workload, steps):
        refuse_rows(workload, "with windows or rows of several dims", "give products with one dim of rows")
        return partial(_of_windows, windows.WindowMappings(WindowPair(workload, steps, stores=stores)))
    pairs = [pair_of(workload, *two, stores=stores) for two in pairwise(steps)]
    return partial(_of_products, steps, pairs, corners=boxes and len(pairs) == 1)


def _of_masked(question: Question, *, together: bool) -> _BestTree:
    """The best mapping that was tried of a chain under conditions."""
    priced = masked.best_priced(question, together=together)
    if priced is not None:
        space = f"{family.FAMILY}; {family.ROWS}" if together else f"{runs.APART}; {family.ROWS_APART}"
        return _BestTree(nodes=priced.nodes, tree=priced, space=masked.PRICED + space, exhausted=False)
    plain = question.workload.without_conditions
    find = family_of(plain, stores=question.objective.stores, boxes=False)
    spaces = set[str]()

    def tried(other: Question) -> tuple[Node, ...] | None:
        found = find(other, together=together)
        if isinstance(found, int):
            return None
        spaces.add(found.space)
        return found.nodes

    nodes = masked.best_masked(question, tried)
    return _BestTree(nodes=nodes, space=masked.SPACE + min(spaces), exhausted=False)


def _of_graph(question: Question, reason: InputError, *, together: bool) -> _BestTree:
    """The best mapping of parts and statements one after the other.

    Raises:
        InputError: the reason why there is no family, if a statement has no mapping by itself.
    """

    def find(part: Question) -> tuple[Node, ...] | None:
        found = family_of(part.workload, stores=part.objective.stores, boxes=False)(part, together=True)
        return None if isinstance(found, int) else found.nodes

    try:
        graph = graphs.ChainGraph(question, find)
    except InputError:
        raise reason from None
    space = graphs.FAMILY if together else graphs.APART
    note = f"in parts: {reason}"
    return _BestTree(nodes=graph.best(together=together), space=space, exhausted=False, notes=(note,))


def _of_gate(gate: Gate, question: Question, *, together: bool) -> _BestTree | int:
    """The best mapping of a gate, or the words that every mapping needs."""
    for pair in gate.pairs:
        _check_size(question.workload, pair)
    found = gated.best_gate(gate, _room(question), question.clock, apart=not together)
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


def _of_windows(pair: windows.WindowMappings, question: Question, *, together: bool) -> _BestTree | int:
    """The best mapping of a pair with windows, or the words that every mapping needs."""
    found = pair.best(_room(question), question.clock, apart=not together)
    if found is None:
        return pair.least_room()
    space = windows.FAMILY if together else windows.APART
    if found.words > pair.least_apart():
        apart = graphs.ChainGraph(question, lambda part: None).apart()
        if apart is not None and apart[1] < found.words:
            return _BestTree(nodes=apart[0], space=f"{space}; {graphs.APART}", exhausted=False)
    nodes = pair.tree(found, question.machine.levels[0].name, question.machine.memory)
    looked_at = pair.pair.sharp or (found.fused and found.words <= pair.least_apart())
    exhausted = pair.complete and looked_at
    space += "" if pair.complete else windows.SOME_OF_THEM
    return _BestTree(nodes=nodes, words=found.words, space=space, exhausted=exhausted)


def _of_products(
    steps: tuple[ProductStep, ...], pairs: list[ProductPair], question: Question, *, together: bool, corners: bool
) -> _BestTree | int:
    """The best mapping of products, or the words that every mapping needs."""
    workload, stores = question.workload, question.objective.stores
    for pair in pairs:
        _check_size(workload, pair)
    found = runs.best_run(workload, steps, _room(question), stores=stores, apart=not together, clock=question.clock)
    if found is None:
        return max(_least_room(pair) for pair in pairs)
    several_products = together and len(steps) > 2
    space = f"{runs.FAMILY}; {family.FAMILY}" if several_products else family.FAMILY if together else runs.APART
    if pairs[0].rows is not None:
        space = f"{space}; {family.ROWS if together else family.ROWS_APART}"
    levels, words = (question.machine.levels[0].name, question.machine.memory), found.words
    nodes = run_tree(workload, steps, found, *levels)
    if together and corners and pairs[0].rows is None:
        space = f"{space}; {corner.FAMILY}"
        left = corner.best_late_corner(pairs[0], _room(question), stores=stores)
        if left is not None and left.words < words:
            nodes, words = corner.late_corner_tree(workload, pairs[0], left, *levels), left.words
    return _BestTree(nodes=nodes, words=words, space=space, exhausted=not several_products)


def _check_size(workload: Workload, pair: ProductPair) -> None:
    rows, columns = pair.sides
    heaviest = max(each.words for side in pair.sides for each in (side.first, side.second))
    heaviest = max(heaviest, 0 if pair.rows is None else 2 * pair.rows.words)
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
    statistic = 0 if pair.rows is None else pair.rows.words
    return pair.shared.words + max(
        rows.first.words + columns.first.words, rows.second.words + columns.second.words + statistic
    )
