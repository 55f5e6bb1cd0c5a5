"""A pair of products on several levels: fused in the outermost one, or one after the other.

    for outer tile: for inner tile: make a tile of the intermediate, then use it up

The outermost level on chip holds the tile of the intermediate, and of each operand either all of its outer tile (of an
operand of the inner side: all of it, for good) or what one of the two products needs of it at a time. In such a step a
product is one statement whose tensors come from the outermost level: its tiles on the inner levels are found by method
`mopt`, for the few steps that look best. Which is best is decided by counting whole trees. Not every mapping of the
family is looked at, and nothing is proved of it but the floor of the chain. Without fusing, each product is mapped to
all levels by that method, and the intermediate goes through the memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Ordered
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from optmap.base.errors import InfeasibleError, InputError
from optmap.base.texts import several
from optmap.bounds.chains.counts import starts_empty
from optmap.count.trees import count_tree
from optmap.machines.machine import Level, Machine
from optmap.mappings.forms import path_of, several_trips
from optmap.mappings.nodes import Compute, Keep, Sequence
from optmap.mappings.tree import MappingTree
from optmap.questions.objective import Combination
from optmap.search.chains.compulsory import compulsory_relaxation
from optmap.search.chains.family import Ints, smallest_tiles
from optmap.search.chains.gate import gate_of
from optmap.search.chains.pair import ProductPair, pair_of, refuse_rows, steps_of
from optmap.search.chains.trees import Branch, keeps, loops
from optmap.search.found import Found
from optmap.search.method import METHODS
from optmap.search.question import Question
from optmap.workloads.workload import Semantics, Workload

FAMILY = (
    "fused tiles of the outermost level, of which operands stay or come with every step, in each step the products one "
    "after the other, their inner levels by method mopt; and one product after the other on all levels by that method"
)
"""The mappings among which the best is looked for, in words."""
APART = "one product after the other on all levels, each by method mopt"
"""Of these the mapping without anything fused."""
TRIED = 4
"""Steps whose inner levels are looked for."""
ONLY_PAIRS = "on several levels mappings of two are looked for: give one memory (--memory), or two of the products"
INNER = "mopt"
"""Name of the method that finds inner levels."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedStep:
    """How the outermost level is used."""

    outer: int
    """Number of the side with the outer tiles."""
    tile: int
    inner: int
    """Sizes of tiles of the outer and of the inner side."""
    stays: tuple[bool, bool, bool, bool]
    """Operands of the outer side, then of the inner side, that of the first statement first: all of an outer tile, or
    of all inner tiles, stays."""
    about: float
    """The objective, about: words through the outermost boundary exactly, those further in as if each product met them
    as often as a square tile does."""


def steps_of_levels(question: Question, pair: ProductPair) -> list[FusedStep]:
    """Of each choice of what stays the step that looks best, the best ones first.

    Args:
        question: of a machine of several levels.
        pair: two products.
    """
    found = [
        step
        for outer, *stays in product((0, 1), *[(False, True)] * 4)
        if (step := _step(question, pair, outer, tuple(map(bool, stays)))) is not None
    ]
    return sorted(found, key=lambda each: each.about)


def _step(question: Question, pair: ProductPair, outer: int, stays: tuple[bool, ...]) -> FusedStep | None:
    out, inn = pair.sides[outer], pair.sides[1 - outer]
    tile, inner = (each.ravel() for each in np.meshgrid(smallest_tiles(out.extent), smallest_tiles(inn.extent)))
    outers, inners = -(-out.extent // tile), -(-inn.extent // inner)
    *within, memory = (_room(question, level) for level in question.machine.levels)
    room = tile * inner * pair.shared.words
    words, phases = np.zeros_like(tile), list[Ints]()
    closer = [np.zeros(tile.shape) for _ in within]
    for number, depth in enumerate((pair.depth, pair.width)):
        one, other = ((side.first, side.second)[number] for side in (out, inn))
        mine, theirs = stays[number], stays[2 + number]
        words += out.extent * depth * one.moved(np.where(mine, 1, inners))
        words += inn.extent * depth * other.moved(np.ones_like(outers) if theirs else outers)
        room += tile * one.words * depth * mine + inn.extent * other.words * depth * theirs
        phases.append(tile * one.words * depth * (not mine) + inner * other.words * depth * (not theirs))
        once = tile * depth * one.words + inner * depth * other.words + tile * inner * pair.shared.words
        for place, held in enumerate(within):
            closer[place] += outers * inners * np.maximum(once, 2 * tile * inner * depth / np.sqrt(held))
    about = _about(question, [*closer, words.astype(float)]) * pair.times
    about = np.where(room + np.maximum(*phases) <= memory, about, np.inf)
    row = int(np.argmin(about))
    if np.isinf(about[row]):
        return None
    four = (stays[0], stays[1], stays[2], stays[3])
    return FusedStep(outer=outer, tile=int(tile[row]), inner=int(inner[row]), stays=four, about=float(about[row]))


def _room(question: Question, level: Level) -> int:
    return level.most_words(question.workload.word_bits) // level.buffering


def _about(question: Question, words: list[Floats]) -> Floats:
    """The objective of words per boundary, in floats, for many steps."""
    found = np.ones_like(words[0])
    for term in question.objective.terms:
        prices = term.quantity.per_word(question.machine, question.workload.word_bits)
        parts = [count * float(price) for count, price in zip(words, prices, strict=True)]
        found *= np.max(parts, axis=0) if term.combination is Combination.LARGEST else np.sum(parts, axis=0)
    return found


def fused(question: Question) -> Found:
    """A mapping of a pair of products on a machine of several levels: fused, or one after the other.

    Args:
        question: of a chain and a machine without meshes.

    Raises:
        InputError: for a chain that is no pair of products.
        InfeasibleError: if nothing fits.
    """
    pair = _pair(question)
    return _best(question, pair, (None, *steps_of_levels(question, pair)[:TRIED]))


def apart(question: Question) -> Found:
    """The products one after the other on a machine of several levels; as `fused`."""
    return _best(question, _pair(question), (None,))


def _pair(question: Question) -> ProductPair:
    workload = question.workload
    if gate_of(workload) is not None:
        raise InputError(f"{workload.title} has 3 products; {ONLY_PAIRS}")
    refuse_rows(workload, "on several levels", "give one memory (--memory), or leave the function out")
    steps = steps_of(workload)
    if len(steps) != 2:
        raise InputError(f"{workload.title} has {several(len(steps), 'product')}; {ONLY_PAIRS}")
    return pair_of(workload, *steps)


def _best(question: Question, pair: ProductPair, steps: Ordered[FusedStep | None]) -> Found:
    """The best mapping of some steps, None being one product after the other."""
    workload, machine = question.workload, question.machine
    best: tuple[MappingTree, Fraction] | None = None
    for step in steps:
        question.tell("one after the other" if step is None else f"tiles of {step.tile:,} and {step.inner:,}")
        tree = _apart(question, pair) if step is None else _fused(question, pair, step)
        if tree is None:
            continue
        count = count_tree(tree)
        cost = count.value_of(question.objective, workload, machine)
        if not count.broken and (best is None or cost < best[1]):
            best = tree, cost
        if question.clock.late and best is not None:
            break
    if best is None:
        raise InfeasibleError(f"{machine.name} has no room for tiles of {workload.title} in all of its levels")
    return Found(
        mapping=best[0],
        relaxation=compulsory_relaxation(question),
        space=FAMILY if len(steps) > 1 else APART,
        late=question.clock.late,
        notes=("nothing is computed again",),
    )


def _apart(question: Question, pair: ProductPair) -> MappingTree | None:
    """The products one after the other, what is between them stored; None if one finds no place on the machine."""
    workload, machine = question.workload, question.machine
    paths = [
        _path(question, machine, name, workload.extents, empty=starts_empty(workload, name))
        for name in (pair.makes, pair.uses)
    ]
    if None in paths:
        return None
    made, used = (path or () for path in paths)
    functions = [_in_place(name, pair, machine.levels, workload.extents) for name in pair.functions]
    nodes = (Keep(level=machine.memory, tensors=(pair.shared.name,)), Sequence(branches=(made, *functions, used)))
    return MappingTree(workload=workload, machine=machine, nodes=nodes)


def _fused(question: Question, pair: ProductPair, step: FusedStep) -> MappingTree | None:
    """The mapping of a step; None if a product finds no place in the inner levels."""
    workload, machine = question.workload, question.machine
    *within, outermost = machine.levels
    inside = replace(machine, levels=tuple(within), memory=outermost.name)
    out, inn = pair.sides[step.outer], pair.sides[1 - step.outer]
    left = {**workload.extents, **dict.fromkeys(pair.batch, 1), out.dim: step.tile, inn.dim: step.inner}
    operands = ((out.first, out.second), (inn.first, inn.second))
    stays = (step.stays[:2], step.stays[2:])
    for_tile, for_good = (
        [each.name for each, kept in zip(side, flags, strict=True) if kept]
        for side, flags in zip(operands, stays, strict=True)
    )
    branches: list[Branch] = []
    for number, name in enumerate((pair.makes, pair.uses)):
        path = _path(question, inside, name, left, empty=number == 0)
        if path is None:
            return None
        coming = [side[number].name for side, flags in zip(operands, stays, strict=True) if not flags[number]]
        branches.append((*keeps(outermost.name, coming), *path))
    functions = [_in_place(name, pair, inside.levels, left) for name in pair.functions]
    extents = workload.extents
    nodes: Branch = (
        *loops(extents, dict.fromkeys(pair.batch, 1)),
        *keeps(outermost.name, for_good),
        *loops(extents, {out.dim: step.tile}),
        *keeps(outermost.name, for_tile),
        *loops(extents, {inn.dim: step.inner}),
        *keeps(outermost.name, [pair.shared.name]),
        Sequence(branches=(branches[0], *functions, branches[1])),
    )
    return MappingTree(workload=workload, machine=machine, nodes=nodes)


def _path(question: Question, machine: Machine, name: str, left: Mapping[str, int], *, empty: bool) -> Branch | None:
    """A product by itself on some levels, from its outermost loops inwards; None if none of its tiles fit.

    Args:
        question: of the chain.
        machine: the levels, and what is outside of them.
        name: of the statement.
        left: iterations of its dims.
        empty: whether its result starts empty.
    """
    statement = question.workload.statement(name)
    alone = Workload.product(  # numbers among its factors move nothing
        name=name,
        output=statement.output,
        inputs=statement.inputs,
        sizes=tuple((d, left[d]) for d, _ in question.workload.sizes if d in statement.dims),
        semantics=Semantics.ASSIGN if empty else Semantics.ACCUMULATE,
    )
    machine = replace(machine, levels=tuple(_in_words_of(each, question.workload, alone) for each in machine.levels))
    asked = replace(question, workload=alone, machine=machine, method=INNER, progress=None)
    try:
        answer = METHODS[INNER].run(asked)
    except InfeasibleError:
        return None
    return several_trips(path_of(answer.mapping, alone, machine).nodes, left)


def _in_words_of(level: Level, chain: Workload, alone: Workload) -> Level:
    """A level that says in words of one statement what it says in words of the chain, which may be smaller ones."""
    share = Fraction(chain.word_bits, alone.word_bits)
    capacity, bandwidth = level.capacity, level.bandwidth
    if capacity.unit == "words":  # of less than one word there are none, and no product finds room in one
        capacity = replace(capacity, amount=max(1, int(capacity.amount * share)))
    if bandwidth.unit == "words":
        bandwidth = replace(bandwidth, amount=bandwidth.exact * share)
    return replace(level, capacity=capacity, bandwidth=bandwidth)


def _in_place(name: str, pair: ProductPair, levels: Ordered[Level], left: Mapping[str, int]) -> Branch:
    """A function that is done in place, element by element, through some levels."""
    dims = [*pair.batch, *(side.dim for side in pair.sides)]
    kept = [Keep(level=level.name, tensors=(name,)) for level in reversed(levels)]
    return (*loops(left, dict.fromkeys(dims, 1)), *kept, Compute(statement=name))
