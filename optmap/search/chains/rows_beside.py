"""Statistics of rows beside the tiles of a statement: what it keeps of them, room for them, and counts without them."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from math import prod

from optmap.base.errors import InfeasibleError
from optmap.mappings.kept_tensors import kept_tensors
from optmap.mappings.levels import Mapping as Tiles
from optmap.mappings.nodes import Keep, Node, Sequence
from optmap.search.chains.trees import Branch
from optmap.search.method import METHODS
from optmap.search.question import Question
from optmap.workloads.amounts import Capacity
from optmap.workloads.expression import product
from optmap.workloads.workload import Workload

MOST_ROOMS = 6
"""Times that tiles are looked for in less and less room."""


def rows_of(workload: Workload, name: str) -> tuple[str, ...]:
    """Names of the statistics of rows that a statement updates or reads."""
    kept = kept_tensors(workload)
    known = {each.name for each in kept.statistics}
    return tuple(dict.fromkeys(access.name for access in kept.touched[name] if access.name in known))


def rows_held(workload: Workload, statistics: Container[str], tile: Mapping[str, int]) -> int:
    """Words of the rows of a tile."""
    kept = kept_tensors(workload)
    chosen = [each for each in kept.statistics if each.name in statistics]
    return sum(kept.weights[each.name] * prod(tile.get(d, 1) for d in each.access.dims) for each in chosen)


def beside(node: Node, statistics: tuple[str, ...]) -> Node:
    """A Keep that keeps statistics as well; any other node as it is."""
    return replace(node, tensors=(*node.tensors, *statistics)) if isinstance(node, Keep) else node


def tiles_beside(question: Question, others: Callable[[Mapping[str, int]], int]) -> Tiles | None:
    """The best tiles of a product that leave room for something else; None if none are found.

    Args:
        question: of the product.
        others: words that stay beside a tile.
    """
    machine, bits, smaller = question.machine, question.workload.word_bits, question.machine
    least = sum(map(question.workload.weight, question.workload.accesses))  # of tiles of one element
    rooms: list[int] = []
    for tried in range(MOST_ROOMS):
        try:
            answer = METHODS[question.method].run(replace(question, machine=smaller))
        except InfeasibleError:
            return None
        further = [others(entry.tile) for entry in answer.mapping.levels]
        taken = [level.occupancy_words + words for level, words in zip(answer.levels, further, strict=True)]
        if all(words <= level.words(bits) for words, level in zip(taken, machine.levels, strict=True)):
            return answer.found.tiles
        last = tried == MOST_ROOMS - 2
        left = [
            least if last else max(least, level.words(bits) - words)
            for level, words in zip(machine.levels, further, strict=True)
        ]
        left = [min(left[number:]) for number in range(len(left))]  # no more than what is outside
        if left == rooms:
            left = [least for _ in left]
        if left == rooms:
            return None
        rooms = left
        levels = (
            replace(level, capacity=Capacity(amount=words * level.buffering, unit="words"))
            for level, words in zip(machine.levels, rooms, strict=True)
        )
        smaller = replace(machine, levels=tuple(levels))
    return None


def without_rows(part: Workload, nodes: Branch) -> tuple[Workload, Branch]:
    """Some statements of a chain and nodes that do them, to be counted without statistics of rows.

    A part that ends with rows, or reads those of others, has no count of its own with them. Keeps of what the part has
    not are left out as well.
    """
    plain = (each if each.row is None else replace(each, right=product(len(each.inputs))) for each in part.statements)
    part = replace(part, statements=tuple(plain))
    known = kept_tensors(part).stored_as

    def kept(some: Branch) -> Branch:
        found = list[Node]()
        for node in some:
            if isinstance(node, Keep):
                names = tuple(name for name in node.tensors if name in known)
                found += [replace(node, tensors=names)] if names else []
            elif isinstance(node, Sequence):
                found.append(Sequence(branches=tuple(map(kept, node.branches))))
            else:
                found.append(node)
        return tuple(found)

    return part, kept(nodes)
