"""Products that are fused in the outermost level of several: which ones, how that level is used, and what looks best.

    for outer tile: for inner tile: make a tile of every intermediate, then use it up

The level holds the tiles of the intermediates, and of each operand either all of its outer tile (of an operand of the
inner side: all of it, for good) or what one of the products needs of it at a time. A statistic of rows stays with an
outer tile if rows are on that side; else it stays for good or comes with every inner tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from optmap.base.arrays import Floats
from optmap.base.errors import InputError
from optmap.machines.machine import Level
from optmap.questions.objective import Combination
from optmap.search.chains.family import smallest_tiles
from optmap.search.chains.gate import Gate, GateOperand, gate_of
from optmap.search.chains.pair import ProductPair, pair_of, steps_of
from optmap.search.question import Question
from optmap.workloads.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOperand:
    """An operand of products that are fused."""

    own: GateOperand
    phases: tuple[int, ...]
    """Numbers of the products that use it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedGroup:
    """Products that are fused: all but the last make intermediates, which the last one uses up."""

    pair: ProductPair
    """The first and the last one: rows, columns, and what goes through everything."""
    products: tuple[str, ...]
    """Names of statements, the last one reads what the others make."""
    between: tuple[str, ...]
    """Names of the statements between these, in order."""
    tiles: tuple[str, ...]
    """Names of the intermediates."""
    words: int
    """Of one element of all of them."""
    operands: tuple[HeldOperand, ...]

    @property
    def statements(self) -> tuple[str, ...]:
        """Names of all statements that are done together, in order."""
        return (*self.products[:-1], *self.between, self.products[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedStep:
    """How the outermost level is used."""

    outer: int
    """Number of the side with the outer tiles."""
    tile: int
    inner: int
    """Sizes of tiles of the outer and of the inner side."""
    stays: tuple[bool, ...]
    """Of each operand: whether all of an outer tile, or of all inner tiles, stays."""
    rows_stay: bool
    """Likewise of the statistic of rows, if there is one."""
    about: float
    """The objective, about: words through the outermost boundary exactly, those further in as if each product met them
    as often as a square tile does."""


def groups_of(workload: Workload) -> tuple[tuple[FusedGroup, ...], str]:
    """The products of a chain that may be fused, and why no others.

    Args:
        workload: of products and of what is done to their results element by element.

    Returns:
        Every pair of neighbours, or all products of a gate; and why nothing is, if nothing is.
    """
    try:
        gate = gate_of(workload)
        if gate is not None:
            return (_of_gate(gate),), ""
        steps = steps_of(workload)
    except InputError as error:
        return (), str(error)
    found, reason = list[FusedGroup](), ""
    for two in pairwise(steps):
        try:
            found.append(_of_pair(pair_of(workload, *two)))
        except InputError as error:
            reason = str(error)
    return tuple(found), "" if found else reason


def _of_pair(pair: ProductPair) -> FusedGroup:
    sides = enumerate(pair.sides)
    operands = [
        HeldOperand(own=GateOperand(operand, number, size), phases=(phase,))
        for number, side in sides
        for phase, (operand, size) in enumerate(((side.first, pair.depth), (side.second, pair.width)))
    ]
    return FusedGroup(
        pair=pair,
        products=(pair.makes, pair.uses),
        between=pair.functions,
        tiles=(pair.shared.name,),
        words=pair.shared.words,
        operands=tuple(operands),
    )


def _of_gate(gate: Gate) -> FusedGroup:
    one, two = gate.pairs
    held = (one.shared, two.shared, gate.meeting)
    phases = ((0, 1), (0,), (1,), (2,), (2,))
    return FusedGroup(
        pair=one,
        products=(one.makes, two.makes, one.uses),
        between=gate.between,
        tiles=tuple(each.name for each in held),
        words=sum(each.words for each in held),
        operands=tuple(HeldOperand(own=own, phases=used) for own, used in zip(gate.operands, phases, strict=True)),
    )


def steps_of_levels(question: Question, group: FusedGroup) -> list[FusedStep]:
    """Of each choice of what stays the step that looks best, the best ones first.

    Args:
        question: of a machine of several levels.
        group: the products.
    """
    rows = group.pair.rows
    found = [
        step
        for outer, rows_stay, *stays in product((0, 1), (False, True), *[(False, True)] * len(group.operands))
        if rows_stay or (rows is not None and rows.side != outer)
        if (step := _step(question, group, outer, tuple(map(bool, stays)), bool(rows_stay))) is not None
    ]
    return sorted(found, key=lambda each: each.about)


def _step(
    question: Question, group: FusedGroup, outer: int, stays: tuple[bool, ...], rows_stay: bool
) -> FusedStep | None:
    out, inn = group.pair.sides[outer], group.pair.sides[1 - outer]
    tile, inner = (each.ravel() for each in np.meshgrid(smallest_tiles(out.extent), smallest_tiles(inn.extent)))
    outers, inners = -(-out.extent // tile), -(-inn.extent // inner)
    *within, memory = (_room(question, level) for level in question.machine.levels)
    room = tile * inner * group.words
    words, phases = np.zeros_like(tile), [np.zeros_like(tile) for _ in group.products]
    rows = group.pair.rows
    if rows is not None:
        room += rows.words * (tile if rows.side == outer else inn.extent if rows_stay else inner)
        words += inn.extent * rows.both.moved(outers) * (not rows_stay)
    once = [room.astype(float) for _ in phases]
    sizes = [0] * len(phases)
    for held, kept in zip(group.operands, stays, strict=True):
        own, outside = held.own, held.own.side == outer
        extent, part, times = (out.extent, tile, inners) if outside else (inn.extent, inner, outers)
        words += extent * own.size * own.operand.moved(np.ones_like(times) if kept else times * len(held.phases))
        room += kept * (part if outside else extent) * own.cost
        for phase in held.phases:
            phases[phase] += (not kept) * part * own.cost
            once[phase] += part * own.cost
            sizes[phase] = own.size
    closer = [np.zeros(tile.shape) for _ in within]
    for least, size in zip(once, sizes, strict=True):
        for place, capacity in enumerate(within):
            closer[place] += outers * inners * np.maximum(least, 2 * tile * inner * size / np.sqrt(capacity))
    about = _about(question, [*closer, words.astype(float)]) * group.pair.times
    about = np.where(room + np.max(phases, axis=0) <= memory, about, np.inf)
    row = int(np.argmin(about))
    if np.isinf(about[row]):
        return None
    return FusedStep(
        outer=outer,
        tile=int(tile[row]),
        inner=int(inner[row]),
        stays=stays,
        rows_stay=rows_stay,
        about=float(about[row]),
    )


def _room(question: Question, level: Level) -> int:
    return level.most_words(question.workload.word_bits) // level.buffering


def _about(question: Question, words: Sequence[Floats]) -> Floats:
    """The objective of words per boundary, in floats, for many steps."""
    found = np.ones_like(words[0])
    for term in question.objective.terms:
        prices = term.quantity.per_word(question.machine, question.workload.word_bits)
        parts = [count * float(price) for count, price in zip(words, prices, strict=True)]
        found *= np.max(parts, axis=0) if term.combination is Combination.LARGEST else np.sum(parts, axis=0)
    return found
