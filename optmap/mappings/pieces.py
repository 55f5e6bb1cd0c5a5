"""Pieces: boxes of iterations that run one after the other, each with a tile, a loop order and holds of its own.

Equal tiles of a dim cost as many passes as there are tiles, the last and smallest one like any other. Pieces need not
be equal, nor tiled alike: of 256 channels three tiles of 72 and a piece of 40, tiled in another way; of a filter's
rows the even and the odd ones, each of which needs every other row of an input that moves by two.

- A *piece* says of some dims which of their iterations it runs: every `step`-th one from a first one on. Of the
  other dims it runs all. Pieces have no operation in common, and together all operations.
- A piece runs as a workload of its own: c*x becomes c*step*x + c*first. It starts with an empty memory.
- Of an output that several pieces touch every piece but the first one has to load what it adds to. Under `assign`
  each element is touched first in one piece: all pieces together load as many elements less as the output has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import gcd, lcm, prod
from typing import TYPE_CHECKING

from optmap.base.errors import InputError
from optmap.machines.machine import CapacityRule, Machine
from optmap.mappings.levels import Mapping
from optmap.workloads.workload import Semantics, TensorAccess, Workload

if TYPE_CHECKING:
    from optmap.mappings.held import Held


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A box of iterations that runs on its own."""

    of: dict[str, range]
    """The iterations of the dims of which it does not run all."""
    mapping: Mapping
    """Tile and loop order of what it runs."""
    held: Held
    """What is held meanwhile."""

    def workload(self, whole: Workload) -> Workload:
        """What it computes, as a workload that loads its outputs.

        Args:
            whole: what all pieces compute.
        """
        return piece_of(whole, self.of)

    def document(self) -> dict[str, object]:
        """The same as a JSON-able object."""
        return {"of": of_document(self.of), **run_document(self.mapping, self.held)}

    def __str__(self) -> str:
        ranges = ", ".join(_range_text(d, each) for d, each in sorted(self.of.items())) or "everything"
        return f"{ranges} in tiles of {tile_text(self.mapping)}"


def piece_of(whole: Workload, of: dict[str, range]) -> Workload:
    """The workload of some iterations of a few dims; an output is loaded at every touch.

    Args:
        whole: what is computed.
        of: the iterations, every so many of them from one on; none of these dims has implicit padding.
    """

    def shifted(tensor: TensorAccess) -> TensorAccess:
        axes = (
            replace(
                axis,
                terms=tuple((d, c * of[d].step if d in of else c) for d, c in axis.terms),
                offset=axis.offset + sum(c * of[d].start for d, c in axis.terms if d in of),
            )
            for axis in tensor.axes
        )
        return replace(tensor, axes=tuple(axes))

    sizes = tuple((d, len(of[d]) if d in of else n) for d, n in whole.sizes)
    output, *inputs = map(shifted, whole.tensors)
    statement = replace(whole.only, output=output, inputs=tuple(inputs), image=())
    return replace(whole, statements=(statement,), sizes=sizes, semantics=Semantics.ACCUMULATE)


def of_document(of: dict[str, range]) -> dict[str, dict[str, int]]:
    """First iteration, step and number of iterations per dim."""
    return {d: {"first": each.start, "step": each.step, "size": len(each)} for d, each in of.items()}


def run_document(mapping: Mapping, held: Held) -> dict[str, object]:
    """Tile, loop order and what is held of a run of its own, as a JSON-able object.

    Args:
        mapping: of one level.
        held: what is held meanwhile.
    """
    level = mapping.levels[0]
    return {"tile": dict(level.tile), "permutation": list(level.permutation), "held": held.document()}


def tile_text(mapping: Mapping) -> str:
    """The tile of a one-level mapping in words.

    Args:
        mapping: of one level.
    """
    return ", ".join(f"{d}={n}" for d, n in mapping.levels[0].tile.items() if n > 1) or "one point"


def piece_dims(workload: Workload) -> tuple[str, ...]:
    """Dims that may be cut into pieces: none of their iterations is implicit padding.

    Args:
        workload: gives the accesses.
    """
    padded = {d for tensor in workload.tensors for axis in tensor.axes if axis.real is not None for d in axis.dims}
    return tuple(d for d in workload.dims if d not in padded)


def check_pieces(workload: Workload, machine: Machine, pieces: tuple[Piece, ...], rule: CapacityRule) -> None:
    """Refuse pieces that do not compute every operation once, and what is refused of one of them.

    Args:
        workload: what all pieces compute.
        machine: of one level.
        pieces: all of them.
        rule: the capacity rule in force.

    Raises:
        InputError: with the first reason.
    """
    dims, extents = piece_dims(workload), workload.extents
    for piece in pieces:
        for dim, each in piece.of.items():
            if dim not in dims:
                raise InputError(f"held: a piece is cut along {dim}; it must be one of {', '.join(dims) or 'no dims'}")
            if not each or each.step < 1 or each.start < 0 or each[-1] >= extents[dim]:
                raise InputError(
                    f"held: a piece has {_range_text(dim, each) if each else f'no iteration of {dim}'}; "
                    f"it must have some of the {extents[dim]} iterations that there are, in their order"
                )
    for one, other in combinations(pieces, 2):
        if not any(_apart(one.of[d], other.of[d]) for d in one.of.keys() & other.of.keys()):
            raise InputError(f"held: two pieces run the same operations: {one}; {other}")
    ran = sum(prod(len(piece.of[d]) if d in piece.of else n for d, n in workload.sizes) for piece in pieces)
    if ran != workload.operations:
        raise InputError(f"held: the pieces run {ran:,} of {workload.operations:,} operations")
    for piece in pieces:
        if piece.held.corner is not None or piece.held.pieces or piece.held.of:
            raise InputError("held: a piece has no pieces of its own, and its tiles leave out no corner")
        mine = piece.workload(workload)
        piece.mapping.check(mine, machine)
        piece.held.check(mine, machine, piece.mapping, rule)


def _range_text(dim: str, iterations: range) -> str:
    """A few iterations of a dim in words."""
    every = "" if iterations.step == 1 else f" in steps of {iterations.step}"
    return f"{dim} {iterations.start} to {iterations[-1]}{every}"


def _apart(one: range, other: range) -> bool:
    """Whether two sets of iterations have none in common: steps never meet, or first where one set has ended."""
    shared = gcd(one.step, other.step)
    between, odd = divmod(other.start - one.start, shared)
    if odd:
        return True
    # The least of one's that other's steps lead to, forwards or backwards; both meet again at every common multiple.
    meet = one.start + one.step * (between * pow(one.step // shared, -1, other.step // shared) % (other.step // shared))
    again = lcm(one.step, other.step)
    return meet + max(0, -((meet - other.start) // again)) * again > min(one[-1], other[-1])
