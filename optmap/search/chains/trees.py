"""Mappings of products as mapping trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Sequence as Ordered
from math import prod

from optmap.mappings.nodes import Compute, Keep, Loop, Node, Sequence, leaves
from optmap.search.chains.family import Fused
from optmap.search.chains.pair import PairOperand, ProductPair, ProductStep, pair_of
from optmap.search.chains.runs import Run, Way, rows_of
from optmap.search.chains.streaming import Alone, Apart, products_of
from optmap.workloads.workload import Workload

Left = Mapping[str, int]
"""Iterations of a dim that the loops so far leave."""
Branch = tuple[Node, ...]
"""Nodes from the outside in."""


def run_tree(workload: Workload, steps: Ordered[ProductStep], run: Run, level: str, memory: str) -> Branch:
    """The tree of a mapping of products.

    Args:
        workload: the chain.
        steps: its products.
        run: the mapping.
        level: name of the memory that is filled.
        memory: name of the one outside it.
    """
    batch, rows = pair_of(workload, steps[0], steps[1]).batch, rows_of(workload, steps)
    left = {**workload.extents, **dict.fromkeys(batch, 1)}
    nodes: list[Node] = [*loops(workload.extents, dict.fromkeys(batch, 1)), *keeps(level, run.resident)]
    if rows is not None:
        nodes += loops(left, {rows: run.strip})
        left[rows] = run.strip
    between = [(steps[part.last], way) for part, way in zip(run.parts, run.ways, strict=False)]
    inside = [step for step, way in between if way is Way.INSIDE]
    nodes += keeps(memory, [step.product.name for step, way in between if way is not Way.INSIDE])
    kept = frozenset({*run.resident, *(name for step in inside for name in (step.product.name, step.result))})
    statistic = pair_of(workload, steps[0], steps[1]).rows
    if statistic is not None and run.rows_whole:
        nodes += keeps(level, [statistic.name])
    elif statistic is not None and not (isinstance(run.parts[0].member, Fused) and run.parts[0].member.rows_stay):
        nodes += keeps(memory, [statistic.name])
    second = None if run.rows_whole else Way.RAW in run.ways
    parts: list[Branch] = []
    for part in run.parts:
        end = part.first == len(steps) - 1
        parts.append(
            _part(
                level,
                pair_of(workload, *steps[part.first - end :][:2]),
                part.member,
                (left, kept),
                end=end,
                second=second,
            )
        )
    later = [None, *(step if way is Way.RAW else None for step, way in between)]
    now = [*(step if way is Way.DONE else None for step, way in between), None]
    parts = [_done_in_place(*each) for each in zip(parts, later, now, strict=True)]
    branches = [parts[0]]
    for number, (step, way) in enumerate(between):
        if way is Way.INSIDE:  # it takes room from where it is made to where it is used
            branches += leaves_of(step.functions)
            only = [*step.functions, *(each.statement for part in parts[number : number + 2] for each in leaves(part))]
            nodes.append(Keep(level=level, tensors=(step.product.name,), only=tuple(only) if parts[2:] else ()))
        branches.append(parts[number + 1])
    return (*nodes, *sequence_of(branches))


def sequence_of(branches: Ordered[Branch]) -> Branch:
    """Branches one after the other; of one branch it is that one."""
    return (Sequence(branches=tuple(branches)),) if branches[1:] else tuple(branches[0])


def _part(
    level: str,
    pair: ProductPair,
    member: Apart | Fused,
    inside: tuple[Left, frozenset[str]],
    *,
    end: bool,
    second: bool | None,
) -> Branch:
    """Products that are done together.

    Args:
        level: where tensors are kept.
        pair: of which both are, or one is.
        member: the mapping.
        inside: what is left of each dim, and what is kept outside: it is not kept again.
        end: whether it is the second one, if it is one.
        second: see `products_of`.
    """
    if isinstance(member, Fused):
        return _fused(level, pair, member, *inside)
    leaf = Compute(statement=pair.uses if end else pair.makes)
    return (*apart_nodes(level, products_of(pair, second=second)[end], member, *inside), leaf)


def _pinned(level: str, tensor: str, dim: str, every: range, count: int, *, last: bool) -> Keep:
    """What stays for good of a tensor: so many of the first indices of a dim, or of the last ones."""
    return Keep(level=level, tensors=(tensor,), of={dim: every[-count:] if last else every[:count]})


def _fused(level: str, pair: ProductPair, member: Fused, extents: Left, kept: frozenset[str]) -> Branch:
    """Two products fused; what is kept outside is not kept again."""
    out, inn = pair.sides[member.outer], pair.sides[1 - member.outer]
    left = dict(extents)
    nodes: list[Node] = []
    for operand, pinned in zip((inn.first, inn.second), member.pinned, strict=True):
        if pinned:
            nodes.append(_pinned(level, operand.name, inn.dim, range(inn.extent), pinned, last=member.last))
    rows = [] if pair.rows is None else [pair.rows.name]
    inside = pair.rows is not None and pair.rows.side != member.outer
    for statistic in rows if member.pinned_rows else ():
        nodes.append(_pinned(level, statistic, inn.dim, range(inn.extent), member.pinned_rows, last=member.last))
    operands = (out.first, out.second, inn.first, inn.second)
    staying = [each.name for each, stays in zip(operands, member.stays, strict=True) if stays or each.name in kept]
    own = [name for name in (out.first.name, out.second.name) if name in staying]
    own_rows = rows if member.rows_stay else []
    nodes += [
        *loops(left, {out.dim: member.tile}, member.firsts[0]),
        *keeps(level, [*(n for n in own if n not in kept), *own_rows]),
    ]
    left[out.dim] = member.tile
    inward = [*(name for name in staying if name not in own and name not in kept), *(rows if inside else [])]
    nodes += [*loops(left, {inn.dim: member.inner}, member.firsts[1]), *keeps(level, inward)]
    left[inn.dim] = member.inner
    coming = [] if inside or member.rows_stay else rows
    nodes += [*loops(left, {out.dim: member.block}), *keeps(level, [pair.shared.name, *coming])]
    left[out.dim] = member.block
    phases = (
        (pair.makes, pair.summed, out.first, inn.first),
        (pair.uses, pair.beyond, out.second, inn.second),
    )
    branches = []
    for name, dims, outer, inner in phases:
        streaming = [(each, (dim,)) for each, dim in ((outer, out.dim), (inner, inn.dim)) if each.name not in staying]
        branches.append((*streaming_nodes(level, streaming, dims, left), Compute(statement=name)))
    return (*nodes, Sequence(branches=(branches[0], *leaves_of(pair.functions), branches[1])))


def leaves_of(names: Ordered[str]) -> tuple[Branch, ...]:
    """Branches of a statement each."""
    return tuple((Compute(statement=name),) for name in names)


def _done_in_place(branch: Branch, read: ProductStep | None, made: ProductStep | None) -> Branch:
    """Products that do what is done in place to an intermediate where they keep it.

    Args:
        branch: the products.
        read: what makes the intermediate that they read, if it is done to that.
        made: which of them makes the intermediate that is handed on, if it is done to that.
    """
    wanted = [
        (_place(branch, step), step is made, leaves_of(step.functions))
        for step in (read, made)
        if step is not None and step.functions
    ]
    for place, behind, functions in sorted(wanted, reverse=True):  # the innermost one first: it changes no place
        inside = (branch[place:], *functions) if behind else (*functions, branch[place:])
        branch = (*branch[:place], Sequence(branches=inside))
    return branch


def _place(branch: Branch, step: ProductStep) -> int:
    """Where a branch keeps a tile of what a product makes: how many nodes there are up to there."""
    names = {step.product.name, step.result}
    return next(
        number
        for number, node in enumerate(branch, 1)
        if isinstance(node, Keep) and not names.isdisjoint(node.tensors) and not node.of
    )


def apart_nodes(level: str, alone: Alone, member: Apart, extents: Left, kept: frozenset[str]) -> Iterator[Node]:
    """A product by itself, its leaf left out; what is kept outside is not kept again."""
    own, near, far, (first, second, third) = alone.roles(member.kept)
    rows = [alone.rows[0].name] if alone.rows else []
    left = dict(extents)
    if member.pinned:
        (dim,) = alone.groups[second]
        yield _pinned(level, far.name, dim, range(alone.extents[second]), member.pinned, last=member.last)
    for group, tile, begin in zip((first, second), member.tiles, member.firsts, strict=True):
        if len(alone.groups[group]) == 1:
            (dim,) = alone.groups[group]
            yield from loops(left, {dim: tile}, begin)
            left[dim] = tile
        yield from keeps(level, rows if alone.rows and alone.rows[1] == group else [])
    yield from keeps(level, [own.name] if own.name not in kept else [])
    streaming = [(each, alone.groups[group]) for each, group in ((near, first), (far, second)) if each.name not in kept]
    inside = rows if alone.rows and alone.rows[1] == third else []
    yield from streaming_nodes(level, streaming, alone.groups[third], left, inside)


def streaming_nodes(
    level: str,
    operands: Ordered[tuple[PairOperand, tuple[str, ...]]],
    dims: tuple[str, ...],
    left: Left,
    inside: Ordered[str] = (),
) -> Iterator[Node]:
    """Operands that stream through a phase: alone as a word, two as a line of one and a word of the other.

    Args:
        level: where.
        operands: with the dims that are theirs alone.
        dims: that they have in common.
        left: what is left of each.
        inside: what is kept of one iteration of the dims in common.
    """
    if not operands:
        return
    yield from loops(left, dict.fromkeys(dims, 1))
    yield from keeps(level, inside)
    lines = [operand.words * prod(left[d] for d in own) for operand, own in operands]
    if len(operands) == 2 and lines[1] + operands[0][0].words < lines[0] + operands[1][0].words:
        operands = operands[::-1]
    *line, (word, own) = operands
    yield from keeps(level, [operand.name for operand, _ in line])
    yield from loops(left, dict.fromkeys(own, 1))
    yield from keeps(level, [word.name])


def loops(left: Left, tiles: Mapping[str, int], first: int = 0) -> Iterator[Loop]:
    """Loops that cut what is left; those of one trip are left out.

    Args:
        left: of each dim.
        tiles: iterations of a step, by dim.
        first: iterations of the first step of each where these are fewer, else 0.
    """
    yield from (Loop(dim=dim, tile=tile, first=first) for dim, tile in tiles.items() if tile < left[dim])


def keeps(level: str, tensors: Ordered[str]) -> Iterator[Keep]:
    """A Keep of some tensors; none of no tensors."""
    if tensors:
        yield Keep(level=level, tensors=tuple(tensors))
