"""Statements of a chain by themselves, functions in place where a result is complete.

Tiles are those of method `mopt`, or in one memory those of `iooub`, which keeps every tensor at a place of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping
from collections.abc import Sequence as Ordered
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import inf
from typing import TypeVar

from optmap.base.errors import InfeasibleError, InputError
from optmap.bounds.chains.counts import starts_empty
from optmap.count.trees import count_boxes
from optmap.machines.machine import Level, Machine
from optmap.mappings.forms import path_of, several_trips
from optmap.mappings.kept_tensors import kept_tensors
from optmap.mappings.nodes import Compute, Keep, Loop, Sequence
from optmap.mappings.tree import MappingTree
from optmap.questions.objective import BOTTLENECK
from optmap.search.chains.held_paths import held_path
from optmap.search.chains.rows_beside import beside, named_rows, rows_beside, rows_of, without_rows
from optmap.search.chains.trees import Branch, keeps, loops, sequence_of
from optmap.search.method import METHODS
from optmap.search.question import Question
from optmap.workloads.chain import TensorRole
from optmap.workloads.statement import Statement
from optmap.workloads.workload import Semantics, Workload

P = TypeVar("P")
"""What is chosen."""
BY = "mopt"
"""Name of the method that finds tiles."""
HELD = 0.2
"""Share of the time that is left in which a place is looked for for every tensor of a statement."""


def _check_alone(workload: Workload) -> None:
    """Refuse what has no mapping by itself.

    Raises:
        InputError: for a statement under a condition, one that is neither a product nor a function of elements or of
            rows, and a function of rows of which it is not known how its statistic is kept.
    """
    for each in workload.statements:
        if each.domain or (each.reduction_dims and not each.multiplies):
            what = "has a condition" if each.domain else "is neither a product nor a function of elements or rows"
            raise InputError(f"{each.name} of {workload.title} {what}; no mappings of it are known here")
    for statistic in kept_tensors(workload).statistics:
        if statistic.unknown:
            raise InputError(f"{statistic.made_by} of {workload.title}: {statistic.unknown}")


def tails_of(workload: Workload) -> dict[str, tuple[str, ...]]:
    """Of every statement that makes a tensor of its own, those that are done to it in place, in order."""
    owner, found = dict[str, str](), dict[str, tuple[str, ...]]()
    for each in workload.statements:
        first = owner.setdefault(workload.stored_as[each.name], each.name)
        found[first] = (*found[first], each.name) if first in found else ()
    return found


class SingleStatements:
    """Statements of a chain by themselves, the branches of each looked for once.

    Args:
        question: of the chain.

    Raises:
        InputError: for a statement that has no mapping by itself.
    """

    def __init__(self, question: Question) -> None:
        _check_alone(question.workload)
        self._question = question
        self._found: dict[str, list[Branch] | None] = {}

    def branches(self, name: str, tail: tuple[str, ...]) -> list[Branch] | None:
        """Branches that do a statement on all levels and then functions in place; None if none of its tiles fit.

        Args:
            name: of the statement.
            tail: the functions, in order; done where the result is complete if its loops let them.
        """
        if name not in self._found:
            self._found[name] = _by_itself(self._question, name, tail)
        return self._found[name]


def part_of(workload: Workload, names: Ordered[str]) -> Workload:
    """Some statements as a workload of its own.

    Args:
        workload: the chain.
        names: of statements, the one that hands on what it makes last.
    """
    statements = tuple(each for each in workload.statements if each.name in names)
    dims = {dim for each in statements for dim in each.dims}
    handed = workload.roles[names[-1]] is TensorRole.INTERMEDIATE
    return Workload(
        name="",
        statements=statements,
        sizes=tuple((dim, size) for dim, size in workload.sizes if dim in dims),
        semantics=Semantics.ASSIGN if handed else workload.semantics,
    )


def in_order(
    workload: Workload,
    machine: Machine,
    done: Mapping[str, Branch],
    within: Container[str],
    single: Callable[[str, tuple[str, ...]], list[Branch] | None],
) -> list[Branch] | None:
    """Branches that do all statements, in order; None if a statement by itself has none.

    Args:
        workload: the chain.
        machine: its levels.
        done: by the last statement that makes a tensor of its own there, branches that do several together.
        within: statements that are done in these.
        single: from a statement and functions in place to branches that do them.
    """
    branches: list[Branch] = []
    levels = [level.name for level in machine.levels]
    for name, tail in tails_of(workload).items():
        if name in within:
            left = [workload.statement(each) for each in tail if each not in within]
            behind = [_element_by_element(workload, each, levels, workload.extents) for each in left]
            branches += [*([done[name]] if name in done else []), *behind]
            continue
        own = single(name, tail)
        if own is None:
            return None
        branches += own
    return branches


def path_by_itself(
    question: Question,
    machine: Machine,
    statement: Statement,
    left: Mapping[str, int],
    *,
    empty: bool,
    tail: Ordered[str] = (),
    held: bool = False,
) -> Branch | None:
    """A statement on some levels, from its outermost loops inwards; None if none of its tiles fit.

    Args:
        question: of the chain.
        machine: the levels, and what is outside of them.
        statement: a product, whose tiles are looked for, or a function, which is done element by element, row by row.
        left: iterations of its dims.
        empty: whether the result of a product starts empty.
        tail: functions in place for whose statistics of rows there is room beside every tile.
        held: whether every tensor of a product is kept at a place of its own, in one memory; else a tile of each is.
    """
    workload = question.workload
    if not statement.multiplies:
        kept = kept_tensors(workload)
        words = sum(kept.weights[name] for name in {kept.stored_as[a.name] for a in kept.touched[statement.name]})
        if any(words > level.words(workload.word_bits) for level in machine.levels):
            return None
        return _element_by_element(workload, statement, [level.name for level in machine.levels], left)
    rows = rows_beside(workload, statement, tail)
    alone = Workload.product(  # numbers among its factors move nothing
        name=statement.name,
        output=statement.output,
        inputs=(*statement.inputs, *rows),
        sizes=tuple((d, left[d]) for d, _ in workload.sizes if d in statement.dims),
        semantics=Semantics.ASSIGN if empty else Semantics.ACCUMULATE,
    )
    machine = replace(machine, levels=tuple(in_words_of(each, workload, alone) for each in machine.levels))
    method, objective = METHODS[BY], question.objective
    if objective.name not in method.minimises(machine):
        objective = BOTTLENECK
    asked = replace(question, workload=alone, machine=machine, method=BY, objective=objective, progress=None)
    try:
        nodes = _held_nodes(asked) if held else path_of(method.run(asked).found.tiles, alone, machine).nodes
    except InfeasibleError:
        return None
    return None if nodes is None else tuple(named_rows(node, rows) for node in several_trips(nodes, left))


def in_words_of(level: Level, chain: Workload, alone: Workload) -> Level:
    """A level that says in words of one statement what it says in words of the chain, which may be smaller ones."""
    share = Fraction(chain.word_bits, alone.word_bits)
    capacity, bandwidth = level.capacity, level.bandwidth
    if capacity.unit == "words":  # of less than one word there are none, and no product finds room in one
        capacity = replace(capacity, amount=max(1, int(capacity.amount * share)))
    if bandwidth.unit == "words":
        bandwidth = replace(bandwidth, amount=bandwidth.exact * share)
    return replace(level, capacity=capacity, bandwidth=bandwidth)


def disjoint(some: Ordered[P], names: Callable[[P], Collection[str]]) -> Iterator[tuple[P, ...]]:
    """Choices that have no name in common, the empty one first.

    Args:
        some: of what.
        names: what each of them takes.
    """
    yield ()
    for number, each in enumerate(some):
        mine = frozenset(names(each))
        rest = [other for other in some[number + 1 :] if mine.isdisjoint(names(other))]
        for others in disjoint(rest, names):
            yield (each, *others)


def one_after_other(workload: Workload, memory: str, branches: Ordered[Branch], inside: Container[str]) -> Branch:
    """Branches one after the other, what is between them stored in the outermost memory.

    Args:
        workload: the chain.
        memory: name of the outermost memory.
        branches: in order.
        inside: intermediates of which nothing leaves a branch, by the names under which they are stored.
    """
    stored: dict[str, str] = {}  # what is done in place afterwards is kept under the first name
    for name in (each.name for each in workload.statements):
        place = workload.stored_as[name]
        if workload.roles[name] is TensorRole.INTERMEDIATE and place not in inside:
            stored.setdefault(place, name)
    rows = [each.name for each in kept_tensors(workload).statistics if each.name not in inside]
    return (*keeps(memory, [*stored.values(), *rows]), *sequence_of(branches))


def _by_itself(question: Question, name: str, tail: Ordered[str]) -> list[Branch] | None:
    workload, machine = question.workload, question.machine
    statement, extents = workload.statement(name), workload.extents
    by_itself = partial(
        path_by_itself, question, machine, statement, extents, empty=starts_empty(workload, name), tail=tail
    )
    names = [access.name for access in statement.inputs]
    several = statement.multiplies and not machine.levels[1:] and len(set(names)) == len(names)
    several = several and not rows_beside(workload, statement, tail)  # statistics of rows stay beside the whole tile
    levels = [level.name for level in machine.levels]
    choices: list[list[Branch]] = []
    for held in (True, False) if several else (False,):
        path = by_itself(held=held)
        if path is not None:
            behind = (_element_by_element(workload, workload.statement(each), levels, extents) for each in tail)
            joined = with_functions(workload, path, statement, tail=tail, levels=levels, left=extents) if tail else None
            choices += [] if joined is None else [[joined]]
            choices.append([path, *behind])
            if held and (joined is not None or not tail):
                break  # one tile of each tensor moves no less

    def cost(branches: list[Branch]) -> Fraction | float:
        nodes = one_after_other(workload, machine.memory, branches, ())
        part, counted = without_rows(part_of(workload, (name, *tail)), nodes)
        count = count_boxes(MappingTree(workload=part, machine=machine, nodes=counted))
        return inf if count is None or count.broken else count.value_of(question.objective, part, machine)

    return min(choices, key=cost) if choices[1:] else next(iter(choices), None)


def _held_nodes(question: Question) -> Branch | None:
    """The best tiling of one memory with a place for every tensor; None if nothing fits, or only a walk counts it."""
    from optmap.search.iooub.one_memory import whole_tiles

    workload, machine = question.workload, question.machine
    found = whole_tiles(question, question.clock.share(HELD), rolled=1)
    if found is None:
        return None
    nodes = several_trips(held_path(workload, found[1], found[0]), workload.extents)
    tree = MappingTree(workload=workload, machine=machine, nodes=nodes)
    return None if count_boxes(tree) is None else nodes


def _element_by_element(
    workload: Workload, statement: Statement, levels: Ordered[str], left: Mapping[str, int]
) -> Branch:
    """A function of elements or rows through levels, inner first."""
    kept = kept_tensors(workload)
    tensors = dict.fromkeys(kept.stored_as[access.name] for access in kept.touched[statement.name])
    held = [Keep(level=level, tensors=tuple(tensors)) for level in reversed(levels)]
    along = "" if statement.row is None else statement.row.dim
    dims = sorted(statement.dims, key=lambda d: d == along)  # row by row
    return (*loops(left, dict.fromkeys(dims, 1)), *held, Compute(statement=statement.name))


def with_functions(
    workload: Workload,
    path: Branch,
    statement: Statement,
    *,
    tail: Ordered[str],
    levels: Ordered[str],
    left: Mapping[str, int],
) -> Branch | None:
    """A path with functions in place at the innermost level that has tiles of the result complete.

    Loops over what is summed that stand directly above its Keep go inside it: the tile that is kept stays the same.

    Args:
        workload: the chain.
        path: of the statement, from the outside in.
        statement: whose result it is.
        tail: the functions.
        levels: inner first.
        left: iterations of its dims.

    Returns:
        None if the tile is not complete anywhere.
    """
    names = {statement.name, workload.stored_as[statement.name]}
    places = [n for n, each in enumerate(path) if isinstance(each, Keep) and names & {*each.tensors}]
    for place in reversed(places):
        found = _with_functions_at(workload, path, statement, place, tail=tail, levels=levels, left=left)
        if found is not None:
            return found
    return None


def _with_functions_at(
    workload: Workload,
    path: Branch,
    statement: Statement,
    place: int,
    *,
    tail: Ordered[str],
    levels: Ordered[str],
    left: Mapping[str, int],
) -> Branch | None:
    """As `with_functions`, below the Keep at a place of the path."""
    keep = path[place]
    if not isinstance(keep, Keep):
        return None
    dims, names = statement.output.dims, {statement.name, workload.stored_as[statement.name]}
    summed = next((n for n in range(place) if isinstance(node := path[n], Loop) and node.dim not in dims), place)
    if any(not isinstance(node, Loop) or node.dim in dims for node in path[summed:place]):
        return None
    again = {loop.dim for loop in path[summed:place] if isinstance(loop, Loop)}
    if again and any(again.isdisjoint(access.dims) for access in statement.inputs):
        return None  # what stays in these loops would come again with every tile
    inside = [tensor for tensor in keep.tensors if again and tensor not in names]
    rows = tuple(dict.fromkeys(statistic for each in tail for statistic in rows_of(workload, each)))
    outside = (*(tensor for tensor in keep.tensors if tensor not in inside), *rows)
    above = [
        beside(node, rows) if isinstance(node, Keep) and names & {*node.tensors} else node for node in path[:summed]
    ]
    rest = (*path[summed:place], *keeps(keep.level, inside), *path[place + 1 :])
    inner = levels[: levels.index(keep.level)]
    left = {**left, **{node.dim: node.tile for node in path[:summed] if isinstance(node, Loop)}}
    if _reads_too_early(workload, tail, left):
        return None
    functions = [_element_by_element(workload, workload.statement(each), inner, left) for each in tail]
    return (*above, Keep(level=keep.level, tensors=outside), Sequence(branches=(rest, *functions)))


def _reads_too_early(workload: Workload, tail: Ordered[str], left: Mapping[str, int]) -> bool:
    """Whether one function reads rows that another one has to complete first, and each time has a part of them."""
    return any(
        statistic.waits and not statistic.reads.keys().isdisjoint(tail) and left[row.dim] < workload.extents[row.dim]
        for statistic in kept_tensors(workload).statistics
        if statistic.made_by in tail and (row := workload.statement(statistic.made_by).row) is not None
    )
