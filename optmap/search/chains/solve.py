"""The best mapping of a pair of products for one memory, over a declared family of trees."""

from __future__ import annotations

from optmap.base.errors import InfeasibleError, InputError
from optmap.base.texts import several
from optmap.mappings.nodes import Node
from optmap.mappings.tree import MappingTree
from optmap.search.chains.family import FAMILY, Fused, Unfused, best_fused, best_unfused
from optmap.search.chains.pair import ProductPair, pair_of
from optmap.search.chains.trees import fused_tree, unfused_tree
from optmap.search.found import Found
from optmap.search.question import Question
from optmap.search.relaxation import Relaxation
from optmap.workloads.workload import Workload

MOST_WORDS = 2**60
"""Of what a mapping might move, so that 64-bit numbers hold every sum."""


def fused(question: Question) -> Found:
    """The mapping of the family that moves the fewest words; every member is looked at.

    Args:
        question: of a pair of products and a machine of one level.

    Raises:
        InputError: for a chain that is no pair of products, or numbers beyond 64 bits.
        InfeasibleError: if no member fits.
    """
    workload, level = question.workload, question.machine.levels[0]
    pair = pair_of(workload)
    _check_size(workload, pair)
    memory = level.most_words(workload.word_bits) // level.buffering
    found = [each for each in (best_fused(pair, memory), best_unfused(pair, memory)) if each is not None]
    if not found:
        needed = _least_room(pair)
        raise InfeasibleError(
            f"{level.name} has {several(memory, 'word')}; every mapping of {workload.title} needs {needed:,}: one word "
            "of every tensor of a statement"
        )
    best = min(found, key=lambda each: each.words)
    return Found(
        mapping=MappingTree(workload=workload, machine=question.machine, nodes=_nodes(question, pair, best)),
        claimed=best.words,
        relaxation=Relaxation(
            value=float(_compulsory(pair)),
            proved=True,
            formulation="compulsory traffic: every word of inputs and outputs once",
            tolerance=0.0,
        ),
        bound=best.words,
        proved=True,
        proof="every mapping of the family was looked at",
        space=FAMILY,
        notes=("nothing is computed again",),
    )


def _nodes(question: Question, pair: ProductPair, member: Fused | Unfused) -> tuple[Node, ...]:
    workload, machine = question.workload, question.machine
    level = machine.levels[0].name
    if isinstance(member, Fused):
        return fused_tree(pair, member, workload.extents, level)
    return unfused_tree(pair, member, workload.extents, level, machine.memory)


def _check_size(workload: Workload, pair: ProductPair) -> None:
    rows, columns = pair.sides
    heaviest = max(each.words for side in pair.sides for each in (side.first, side.second))
    operations = pair.times * rows.extent * columns.extent * (pair.depth + pair.width)
    if 8 * operations * max(heaviest, pair.shared.words) > MOST_WORDS:
        raise InputError(f"{workload.title} has {operations:,} operations; fused mappings are counted in 64 bits")


def _least_room(pair: ProductPair) -> int:
    rows, columns = pair.sides
    return pair.shared.words + max(
        one.words + other.words for one, other in ((rows.first, columns.first), (rows.second, columns.second))
    )


def _compulsory(pair: ProductPair) -> int:
    return pair.times * sum(
        side.extent * size * operand.moved(1)
        for side in pair.sides
        for operand, size in ((side.first, pair.depth), (side.second, pair.width))
    )
