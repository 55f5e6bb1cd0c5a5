"""The best mapping of a chain of products for one memory, over a declared family of trees."""

from __future__ import annotations

from itertools import pairwise
from math import isqrt, prod

from optmap.base.errors import InfeasibleError, InputError, LimitError
from optmap.base.texts import several
from optmap.bounds.chains.counts import chain_words, loaded_tensors, stored_tensors
from optmap.mappings.tree import MappingTree
from optmap.search.chains import family, runs
from optmap.search.chains.pair import ProductPair, pair_of, steps_of
from optmap.search.chains.trees import run_tree
from optmap.search.found import Found
from optmap.search.question import Question
from optmap.search.relaxation import Relaxation
from optmap.workloads.workload import Workload

MOST_WORDS = 2**60
"""Of what a mapping might move, so that 64-bit numbers hold every sum."""
MOST_TILES = 2**19
"""Pairs of tile sizes that are looked at at once, some hundred bytes each."""


def fused(question: Question) -> Found:
    """The mapping of the family that moves the fewest words; of two products every member is looked at.

    Args:
        question: of a chain of products and a machine of one level.

    Raises:
        InputError: for a chain that is none of products, numbers beyond 64 bits, or an objective that is not in words.
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
    if unit != "words":
        raise InputError(
            f"mappings of chains are compared by words, and the objective {question.objective.name} of "
            f"{question.machine.name} is in {unit}; use --memory, or a bandwidth of one word per cycle"
        )
    steps, stores = steps_of(workload), question.objective.stores
    pairs = [pair_of(workload, *two, stores=stores) for two in pairwise(steps)]
    for pair in pairs:
        _check_size(workload, pair)
    memory = level.most_words(workload.word_bits) // level.buffering
    best = runs.best_run(workload, steps, memory, stores=stores, apart=not together, clock=question.clock)
    if best is None:
        needed = max(_least_room(pair) for pair in pairs)
        raise InfeasibleError(
            f"{level.name} has {several(memory, 'word')}; every mapping of {workload.title} needs {needed:,}: one word "
            "of every tensor of a statement"
        )
    late, exhausted = question.clock.late, len(steps) == 2 or not together
    nodes = run_tree(workload, steps, best, level.name, question.machine.memory)
    sizes = chain_words(workload)
    names = [*loaded_tensors(workload), *(stored_tensors(workload) if stores else ())]
    space = f"{runs.FAMILY}; {family.FAMILY}" if together and not exhausted else family.FAMILY
    return Found(
        mapping=MappingTree(workload=workload, machine=question.machine, nodes=nodes),
        claimed=best.words if exhausted else None,
        relaxation=Relaxation(
            value=float(sum(sizes[name] for name in names)),
            proved=True,
            formulation="compulsory traffic: every word of inputs and outputs once",
            tolerance=0.0,
        ),
        bound=best.words if exhausted and not late else None,
        proved=exhausted and not late,
        proof="every mapping of the family was looked at" if exhausted and not late else "",
        space=space if together else runs.APART,
        late=late,
        notes=("nothing is computed again",),
    )


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
