"""Held mappings: a reuse position of its own for every access, streams through a tile, tiles without a corner.

What a held mapping of one memory means (IOOpt, section 4, with streams in addition):

- **Run.** The tiles follow each other in the order of the mapping's loops, outermost first. Inside a tile
  all its points run: the loops over `inner` are outermost, in this order; the order of the others is free.
- **Area.** At every point an access has an area, a box of iterations: of a dim whose loop over tiles is
  inside its reuse position the whole extent, of a dim along which it is streamed the one iteration of
  the point, of every other dim the range of the tile.
- **Held** are the words of the access over its area (a product over its subscripts). If it is streamed, a word
  of the tile is held from the first area that has it to the last one: of h+r and w+s, streamed along h, then w,
  a rolling buffer of R-1 rows and S words. No other words are held.
- **Kept.** Where the tile changes, words of both areas stay if no loop over tiles outside the reuse
  position has moved; otherwise nothing stays. With position 0 every loop over tiles is outside it.
  What does not stay leaves (an output is stored), then the rest of the new area enters.
- **Corner.** Tiles may leave out a corner: of two dims the last iterations of a whole tile, where both meet. Its
  points do not run and are in no area, so that what is held of a tensor with both dims is L-shaped. After the last
  tile nothing is kept, and the corners of all tiles, put together, run as a workload of their own: the same
  statement, the corners' iterations of both dims in their order, with a tile, a loop order and a hold of its own.
- **Pieces** (`optmap.mappings.pieces`). The tiles run over some iterations only, `of`; the others are those of
  `pieces`, which run afterwards, one after the other, each from an empty memory.

`Held.check` refuses what would enter more often, or take more room, than `optmap.count.levels.held` counts; the
proof is there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, field, replace

from optmap.base.errors import InputError
from optmap.machines.machine import CapacityRule, Machine
from optmap.mappings.levels import Mapping
from optmap.mappings.pieces import Piece, check_pieces, of_document, piece_dims, run_document, tile_text
from optmap.mappings.reuse import Reuse, reuse_at
from optmap.workloads.workload import Semantics, TensorAccess, Workload, access_names


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a one-level mapping holds of every tensor, beyond its tile and loop order."""

    positions: dict[str, int]
    """Reuse position per access: loops further in reload nothing; 1 is the innermost loop, 0 means
    that nothing is kept between tiles."""
    streams: dict[str, tuple[str, ...]]
    """Dims of which one iteration at a time is needed inside a tile, for the accesses that have some."""
    inner: tuple[str, ...]
    """Dims whose loops run outermost inside a tile, outermost first; the order of the others is free."""
    corner: Corner | None = None
    """What every tile leaves out; None for nothing."""
    of: dict[str, range] = field(default_factory=dict)
    """The iterations that the tiles run over, of the dims of which they do not run over all."""
    pieces: tuple[Piece, ...] = ()
    """What runs over the other iterations."""

    def every(self, mapping: Mapping) -> tuple[Piece, ...]:
        """All pieces, in the order of their run; one if nothing is cut.

        Args:
            mapping: tile and loop order of the first one.
        """
        return (Piece(of=self.of, mapping=mapping, held=replace(self, of={}, pieces=())), *self.pieces)

    def pieces_text(self, mapping: Mapping) -> str:
        """What runs one after the other, in words.

        Args:
            mapping: tile and loop order of the first piece.
        """
        return "pieces run one after the other: " + "; ".join(map(str, self.every(mapping)))

    def ways(self, workload: Workload, permutation: tuple[str, ...]) -> tuple[tuple[Reuse, tuple[str, ...]], ...]:
        """Per access, output first: its reuse and the dims that it is streamed along, outermost loop first.

        Args:
            workload: gives the accesses.
            permutation: dims, outermost first.
        """
        return tuple(
            (reuse_at(tensor, permutation, self.positions[name]), self._in_order(self.streams.get(name, ())))
            for tensor, name in zip(workload.tensors, access_names(workload), strict=True)
        )

    def _in_order(self, dims: tuple[str, ...]) -> tuple[str, ...]:
        """Streamed dims as their loops inside a tile; those without a loop there last."""
        return (*(d for d in self.inner if d in dims), *(d for d in dims if d not in self.inner))

    def document(self) -> dict[str, object]:
        """The same as a JSON-able object."""
        streams = {name: list(dims) for name, dims in self.streams.items()}
        corner = {} if self.corner is None else {"corner": self.corner.document()}
        cut: dict[str, object] = {}
        if self.pieces or self.of:
            cut = {"of": of_document(self.of), "pieces": [piece.document() for piece in self.pieces]}
        return {"positions": dict(self.positions), "streams": streams, "inner": list(self.inner), **corner, **cut}

    def check(self, workload: Workload, machine: Machine, mapping: Mapping, rule: CapacityRule) -> None:
        """Refuse what is no held mapping of the workload, or one that moves more than is counted for it.

        Args:
            workload: what is computed.
            machine: of one level.
            mapping: tile and loop order.
            rule: the capacity rule in force.

        Raises:
            InputError: with the first reason.
        """
        if len(machine.levels) != 1:
            raise InputError(f"held: reuse positions belong to one level, machine {machine.name} has several")
        level, mine = machine.levels[0], mapping.levels[0]
        if level.rule(rule) is not CapacityRule.TILE:
            raise InputError(
                f"held: {level.name} is a cache and the capacity rule safe, but a cache keeps what was used last, "
                "not what is held; use capacity rule tile or leave out held"
            )
        if mine.ways > 1:
            raise InputError("held: the run inside a tile is in one order, so it cannot be split; leave out spatial")
        if self.of and not self.pieces:
            raise InputError("held: iterations are named of a first piece and there is no other; leave `of` out")
        if self.pieces:
            if self.corner is not None:
                raise InputError("held: tiles leave out a corner or a mapping is cut into pieces, not both")
            check_pieces(workload, machine, self.every(mapping), rule)
            return
        self._check_names(workload)
        for tensor, name in zip(workload.tensors, access_names(workload), strict=True):
            streamed = self.streams.get(name, ())
            if streamed and self.positions[name]:
                raise InputError(
                    f"held: {name} is streamed, so nothing of it stays between tiles, but its reuse position is "
                    f"{self.positions[name]}; it must be 0"
                )
            reason = stream_refusal(tensor, streamed, self.inner, mine.tile)
            if reason:
                raise InputError(f"held: {name} cannot be streamed along {', '.join(streamed)}: {reason}")
        if self.corner is not None:
            self.corner.check(workload, machine, mapping, self, rule)

    def _check_names(self, workload: Workload) -> None:
        names, dims = access_names(workload), workload.dims
        if set(self.positions) != set(names) or not set(self.streams) <= set(names):
            raise InputError(
                f"held: a position for each of {', '.join(names)} is needed, and streams of no other; "
                f"found positions of {', '.join(self.positions)} and streams of {', '.join(self.streams) or 'none'}"
            )
        for name, position in self.positions.items():
            if isinstance(position, bool) or not isinstance(position, int) or not 0 <= position <= len(dims) + 1:
                raise InputError(
                    f"held: the reuse position of {name} is {position!r}; it must be a whole number from 0 "
                    f"to {len(dims) + 1}, one more than there are loops"
                )
        for what, listed in (("inner", self.inner), *((f"streams of {n}", s) for n, s in self.streams.items())):
            if len(set(listed)) != len(listed) or not set(listed) <= set(dims):
                raise InputError(f"held: {what} names {', '.join(listed)}; dims of {', '.join(dims)}, each once")
        for name, listed in self.streams.items():
            if not listed:
                raise InputError(f"held: {name} is streamed along no dim; leave it out of streams")


@dataclass(frozen=True, slots=True, kw_only=True)
class Corner:
    """What the tiles of a held mapping leave out, and how it runs afterwards."""

    sizes: dict[str, int]
    """Of two dims, the last iterations of a whole tile that are in the corner."""
    mapping: Mapping
    """Tile and loop order of the corners put together."""
    held: Held
    """What is held meanwhile."""

    def cut(self, workload: Workload, mapping: Mapping) -> dict[str, int]:
        """Iterations of both dims that are in a corner, of all tiles; a smaller last tile is the start of a whole one.

        Args:
            workload: gives the extents.
            mapping: the tiles that leave the corner out.
        """
        tile, found = mapping.levels[0].tile, {}
        for dim, size in self.sizes.items():
            whole, rest = divmod(workload.extents[dim], tile[dim])
            found[dim] = whole * size + max(0, rest - (tile[dim] - size))
        return found

    def rest(self, workload: Workload, mapping: Mapping) -> Workload:
        """The corners of all tiles as a workload: of an output that the tiles have touched nothing is a first touch.

        Args:
            workload: what is computed.
            mapping: the tiles that leave the corner out.
        """
        corners = workload.with_extents(**self.cut(workload, mapping))
        return corners if set(self.sizes) <= workload.output.dims else corners.with_semantics(Semantics.ACCUMULATE)

    def __str__(self) -> str:
        cut = " and ".join(f"{size} of {dim}" for dim, size in self.sizes.items())
        return (
            f"every tile leaves out a corner, the last {cut}; the corners of all tiles run afterwards, "
            f"in tiles of {tile_text(self.mapping)}"
        )

    def document(self) -> dict[str, object]:
        """The same as a JSON-able object."""
        return {"sizes": dict(self.sizes), **run_document(self.mapping, self.held)}

    def check(self, workload: Workload, machine: Machine, mapping: Mapping, held: Held, rule: CapacityRule) -> None:
        """Refuse what is no corner of the tiles, or saves less room than is counted for it.

        Args:
            workload: what is computed.
            machine: of one level.
            mapping: the tiles that leave the corner out.
            held: what is held of them.
            rule: the capacity rule in force.

        Raises:
            InputError: with the first reason.
        """
        tile = mapping.levels[0].tile
        if len(self.sizes) != 2 or not set(self.sizes) <= set(workload.dims):
            raise InputError(
                f"held: a corner is cut along two of the dims {', '.join(workload.dims)}, "
                f"found {', '.join(self.sizes) or 'none'}"
            )
        for dim, size in self.sizes.items():
            if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size < tile[dim]:
                raise InputError(
                    f"held: the corner takes {size!r} of the {tile[dim]} iterations of {dim} in a tile; "
                    "it must be a whole number from 1, and leave one"
                )
            if dim not in corner_dims(workload):
                raise InputError(
                    f"held: {dim} shares a subscript, is in two of one tensor or has implicit padding, "
                    "so no corner is cut of it"
                )
        for tensor, name in zip(workload.tensors, access_names(workload), strict=True):
            if set(self.sizes) <= tensor.dims and set(self.sizes) & set(held.streams.get(name, ())):
                raise InputError(f"held: {name} is streamed along a dim of the corner, which then saves no room")
        if self.held.corner is not None or self.held.pieces or self.held.of:
            raise InputError("held: a corner has no corner and no pieces of its own")
        rest = self.rest(workload, mapping)
        self.mapping.check(rest, machine)
        self.held.check(rest, machine, self.mapping, rule)


def corner_dims(workload: Workload) -> tuple[str, ...]:
    """Dims that a corner may be cut along: they move alone, and none of their iterations is implicit padding.

    Args:
        workload: gives accesses and extents.
    """
    return tuple(d for d in piece_dims(workload) if moves_alone(workload, d))


def moves_alone(workload: Workload, dim: str) -> bool:
    """Whether a dim is in at most one subscript of every access, and no other dim moves there.

    Args:
        workload: gives accesses and extents.
        dim: one of its dims.
    """
    for tensor in workload.tensors:
        places = [axis for axis in tensor.axes if dim in axis.dims]
        beside = {d for axis in places for d in axis.dims if d != dim and workload.extents[d] > 1}
        if len(places) > 1 or beside:
            return False
    return True


def stream_refusal(
    tensor: TensorAccess, streamed: Collection[str], inner: Sequence[str], tile: MappingABC[str, int]
) -> str:
    """Why more words of an access streamed through a tile are in use than its slices tell; empty if not.

    A dim of which the tile has one iteration has no loop inside the tile and does not count here.

    Args:
        tensor: the access.
        streamed: dims of which one iteration at a time is held.
        inner: dims whose loops run outermost inside a tile, outermost first.
        tile: extent per dim.
    """
    absent = sorted(set(streamed) - tensor.dims)
    if absent:
        return f"{', '.join(absent)} does not occur in it"
    live = {d for d in streamed if tile[d] > 1}
    outermost = [d for d in inner if tile[d] > 1][: len(live)]
    if set(outermost) != live:
        return f"the outermost loops inside a tile are {', '.join(outermost) or 'free'}, and slices would come back"
    for d in outermost:
        axes = [axis for axis in tensor.axes if d in axis.dims]
        if len(axes) > 1:
            return f"{d} occurs in two of its subscripts"
        both = sorted(live & set(axes[0].dims))
        if len(both) > 1:
            return f"its slices along {' and '.join(both)} move in one subscript"
    return ""
