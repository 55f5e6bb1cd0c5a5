"""Members of the family of a pair as mapping trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Sequence as Ordered
from math import prod

from optmap.mappings.nodes import Compute, Keep, Loop, Node, Sequence
from optmap.search.chains.family import Alone, Apart, Fused, Unfused, products_of
from optmap.search.chains.pair import PairOperand, ProductPair

Left = Mapping[str, int]
"""Iterations of a dim that the loops so far leave."""


def fused_tree(pair: ProductPair, member: Fused, extents: Left, level: str) -> tuple[Node, ...]:
    """The tree of a fused mapping.

    Args:
        pair: the chain.
        member: the mapping.
        extents: of all dims.
        level: name of the memory that is filled.
    """
    out, inn = pair.sides[member.outer], pair.sides[1 - member.outer]
    left = {**extents, **dict.fromkeys(pair.batch, 1)}
    nodes: list[Node] = list(_loops(extents, dict.fromkeys(pair.batch, 1)))
    for operand, pinned in zip((inn.first, inn.second), member.pinned, strict=True):
        if pinned:
            nodes.append(Keep(level=level, tensors=(operand.name,), of={inn.dim: range(pinned)}))
    operands = (out.first, out.second, inn.first, inn.second)
    staying = [operand.name for operand, stays in zip(operands, member.stays, strict=True) if stays]
    own = [name for name in (out.first.name, out.second.name) if name in staying]
    nodes += [*_loops(left, {out.dim: member.tile}), *_keeps(level, own)]
    left[out.dim] = member.tile
    nodes += [*_loops(left, {inn.dim: member.inner}), *_keeps(level, [n for n in staying if n not in own])]
    left[inn.dim] = member.inner
    nodes += [*_loops(left, {out.dim: member.block}), *_keeps(level, [pair.shared.name])]
    left[out.dim] = member.block
    phases = (
        (pair.makes, pair.summed, out.first, inn.first),
        (pair.uses, pair.beyond, out.second, inn.second),
    )
    branches = []
    for name, dims, outer, inner in phases:
        streaming = [(each, (dim,)) for each, dim in ((outer, out.dim), (inner, inn.dim)) if each.name not in staying]
        branches.append((*_streaming(level, streaming, dims, left), Compute(statement=name)))
    return (*nodes, Sequence(branches=tuple(branches)))


def unfused_tree(pair: ProductPair, member: Unfused, extents: Left, level: str, memory: str) -> tuple[Node, ...]:
    """The tree of an unfused mapping; arguments as of `fused_tree`, and the name of the outermost level."""
    left = {**extents, **dict.fromkeys(pair.batch, 1)}
    home = Keep(level=level if member.whole else memory, tensors=(pair.shared.name,))
    branches = []
    for alone, own, name in zip(
        products_of(pair, whole=member.whole), (member.first, member.second), (pair.makes, pair.uses), strict=True
    ):
        kept = frozenset({pair.shared.name} if member.whole else ())
        branches.append((*_apart(level, alone, own, left, kept), Compute(statement=name)))
    loops = _loops(extents, dict.fromkeys(pair.batch, 1))
    return (*loops, home, Sequence(branches=tuple(branches)))


def _apart(level: str, alone: Alone, member: Apart, extents: Left, kept: frozenset[str]) -> Iterator[Node]:
    """A product by itself, its leaf left out; what is kept outside is not kept again."""
    own, near, far, (first, second, third) = alone.roles(member.kept)
    left = dict(extents)
    if member.pinned:
        (dim,) = alone.groups[second]
        yield Keep(level=level, tensors=(far.name,), of={dim: range(member.pinned)})
    for group, tile in zip((first, second), member.tiles, strict=True):
        if len(alone.groups[group]) == 1:
            (dim,) = alone.groups[group]
            yield from _loops(left, {dim: tile})
            left[dim] = tile
    yield from _keeps(level, [own.name] if own.name not in kept else [])
    streaming = [(each, alone.groups[group]) for each, group in ((near, first), (far, second)) if each.name not in kept]
    yield from _streaming(level, streaming, alone.groups[third], left)


def _streaming(
    level: str, operands: Ordered[tuple[PairOperand, tuple[str, ...]]], dims: tuple[str, ...], left: Left
) -> Iterator[Node]:
    """Operands that stream through a phase: alone as a word, two as a line of one and a word of the other.

    Args:
        level: where.
        operands: with the dims that are theirs alone.
        dims: that they have in common.
        left: what is left of each.
    """
    if not operands:
        return
    yield from _loops(left, dict.fromkeys(dims, 1))
    lines = [operand.words * prod(left[d] for d in own) for operand, own in operands]
    if len(operands) == 2 and lines[1] + operands[0][0].words < lines[0] + operands[1][0].words:
        operands = operands[::-1]
    *line, (word, own) = operands
    yield from _keeps(level, [operand.name for operand, _ in line])
    yield from _loops(left, dict.fromkeys(own, 1))
    yield from _keeps(level, [word.name])


def _loops(left: Left, tiles: Mapping[str, int]) -> Iterator[Loop]:
    """Loops that cut what is left; those of one trip are left out."""
    yield from (Loop(dim=dim, tile=tile) for dim, tile in tiles.items() if tile < left[dim])


def _keeps(level: str, tensors: list[str]) -> Iterator[Keep]:
    if tensors:
        yield Keep(level=level, tensors=tuple(tensors))
