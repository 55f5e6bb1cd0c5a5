"""A mapping as the tiled loop nest it stands for, as C-like text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from optmap.machines.machine import Machine
from optmap.mappings.held import Corner, Held
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.mappings.pieces import Piece
from optmap.workloads.workload import Semantics, TensorAccess, Workload

if TYPE_CHECKING:
    from optmap.search.result import Solved

INDENT = "  "


@dataclass(frozen=True, slots=True)
class _Span:
    """Where a dim stands inside the loops printed so far."""

    start: str
    """Index of the first iteration."""
    tile: int
    """Iterations of a full tile."""
    ends: tuple[str, ...]
    """The dim ends before every one of these; the first is where a full tile ends."""
    steady: bool = True
    """Whether a full tile always has `tile` iterations (the share of a ragged tile has fewer)."""

    @property
    def exact(self) -> bool:
        """Whether there are always `tile` iterations."""
        return self.steady and len(self.ends) == 1

    def inside(self, variable: str, size: int) -> _Span:
        """The span of one tile of `size` iterations that starts at a variable."""
        outer = self.ends[1:] if self.steady and self.tile % size == 0 else self.ends
        return _Span(variable, size, (f"{variable} + {size}", *outer))

    @property
    def end(self) -> str:
        """Index after the last iteration."""
        return self.ends[0] if len(self.ends) == 1 else f"min({', '.join(self.ends)})"


@dataclass(slots=True)
class _Lines:
    """Lines, each indented by the loops around it."""

    texts: list[str] = field(default_factory=list)
    depth: int = 0

    def add(self, text: str, *, opens: bool = True) -> None:
        """A line; those that follow are inside it, unless it opens nothing."""
        self.texts.append(INDENT * self.depth + text)
        self.depth += opens

    def remark(self, *texts: str) -> None:
        """Comments, a line each."""
        for text in texts:
            self.add(f"/* {text} */", opens=False)


def loop_nest(workload: Workload, machine: Machine, mapping: Mapping, *, held: Held | None = None) -> str:
    """The loops of a mapping, outermost first, down to the statement (IOOpt, TileOpt's tiled code).

    Loops of one trip are left out. Tiles that do not divide end early (`min`). A split among children
    is a `parallel for` whose iterations take equal shares, `ceildiv(a, b)` being a/b rounded up.

    Args:
        workload: gives extents and the statement.
        machine: gives the names of the levels.
        mapping: tiles, loop orders and splits, inner level first.
        held: of one level, what is held of every tensor: comments then say where tensors are brought in, the loops that
            are outermost inside a tile come first, and corners or other pieces follow, over their own numbers.

    Raises:
        InputError: if the mapping does not belong to workload and machine.
    """
    if held is not None and held.pieces:
        return "".join(_piece_nest(workload, machine, piece) for piece in held.every(mapping))
    mapping.check(workload, machine)
    spans, lines = {d: _Span("0", n, (str(n),)) for d, n in workload.sizes}, _Lines()
    comments = _comments(workload, mapping, {} if held is None else held.positions)
    for number, level in reversed(list(enumerate(mapping.levels))):
        tile = ", ".join(f"{d}={level.tile[d]}" for d in workload.dims if workload.extents[d] > 1)
        lines.remark(f"{level.level}: tiles of {tile or 'one point'}")
        _add_level(lines, level, spans, {} if number else comments)
    inner = () if held is None else held.inner
    for text in _points([*inner, *(d for d in mapping.levels[0].permutation if d not in inner)], spans):
        lines.add(text, opens=text.startswith("for"))
    corner = None if held is None else held.corner
    if corner is not None:
        lines.add(_outside(mapping, corner))
    lines.add(statement(workload))
    nest = "\n".join(lines.texts) + "\n"
    return nest if corner is None else nest + _corner_nest(workload, machine, mapping, corner)


def _add_level(
    lines: _Lines, level: LevelMapping, spans: dict[str, _Span], comments: MappingABC[int, Sequence[str]]
) -> None:
    """The loops over a level's tiles, and their split; comments stand just inside the loop at their position."""
    count = len(level.permutation)
    for place, text in enumerate(_tile_loops(level.level, level.tile, level.permutation, spans)):
        lines.remark(*comments.get(count - place + 1, ()))
        if text:
            lines.add(text)
    lines.remark(*comments.get(1, ()), *comments.get(0, ()))
    for text in _splits(level.level, level.spatial, spans):
        lines.add(text)


def _outside(mapping: Mapping, corner: Corner) -> str:
    """The condition that a point is in no corner."""
    tile = mapping.levels[0].tile
    return f"if ({' || '.join(f'{d} % {tile[d]} < {tile[d] - n}' for d, n in corner.sizes.items())})"


def _corner_nest(workload: Workload, machine: Machine, mapping: Mapping, corner: Corner) -> str:
    """The loops of what the tiles leave out, over the numbers of its iterations."""
    tile, lines = mapping.levels[0].tile, _Lines()
    lines.remark("the corners that were left out")
    for d, n in corner.sizes.items():
        lines.remark(f"number {d} below is iteration {tile[d]}*({d}/{n}) + {tile[d] - n} + {d}%{n} above")
    rest = loop_nest(corner.rest(workload, mapping), machine, corner.mapping, held=corner.held)
    return "\n".join(lines.texts) + "\n" + rest


def _piece_nest(workload: Workload, machine: Machine, piece: Piece) -> str:
    """The loops of a piece, over the numbers of its iterations."""
    lines = _Lines()
    lines.remark(f"a piece: {piece}")
    for d, each in piece.of.items():
        lines.remark(f"number {d} below is iteration {each.start} + {each.step}*{d} of {workload.extents[d]}")
    mine = loop_nest(piece.workload(workload), machine, piece.mapping, held=piece.held)
    return "\n".join(lines.texts) + "\n" + mine


def nest_of(answer: Solved) -> str:
    """The loop nest of a solved workload, or of a solution file that was read."""
    return loop_nest(answer.workload, answer.machine, answer.mapping, held=answer.held)


def statement(workload: Workload) -> str:
    """The statement of a workload in C, `Out[k][h] += In[c][2*h + r] * Ker[k][c][r];`."""
    product = " * ".join(_access(tensor) for tensor in workload.inputs)
    text = f"{_access(workload.output)} += {product};"
    created = workload.semantics is Semantics.ASSIGN
    return f"{text}  /* {workload.output.name} starts at 0 */" if created else text


def _access(tensor: TensorAccess) -> str:
    subscripts = []
    for axis in tensor.axes:
        parts = [d if c == 1 else f"{c}*{d}" for d, c in axis.terms]
        if axis.offset or not parts:
            parts.append(str(axis.offset))
        subscripts.append(f"[{' + '.join(parts)}]")
    return tensor.name + "".join(subscripts)


def _tile_loops(
    name: str, tile: MappingABC[str, int], permutation: tuple[str, ...], spans: dict[str, _Span]
) -> Iterator[str]:
    """Loops over the tiles of one level, one text per dim ('' for one trip); moves the spans inwards."""
    for dim in permutation:
        outer = spans[dim]
        size = tile[dim]
        if size >= outer.tile:
            yield ""
            continue
        variable = f"{dim}_{name}"
        yield f"for ({variable} = {outer.start}; {variable} < {outer.end}; {variable} += {size})"
        spans[dim] = outer.inside(variable, size)


def _splits(name: str, spatial: MappingABC[str, int], spans: dict[str, _Span]) -> Iterator[str]:
    """The split of one level's tile among the children it feeds."""
    for dim, ways in spatial.items():
        if ways == 1:
            continue
        outer = spans[dim]
        variable = f"{dim}_{name}_part"
        largest = -(-outer.tile // ways)
        whole = outer.end if outer.start == "0" else f"{outer.end} - {outer.start}"
        share = str(largest) if outer.exact else f"ceildiv({whole}, {ways})"
        yield f"parallel for ({variable} = {outer.start}; {variable} < {outer.end}; {variable} += {share})"
        if outer.exact:
            spans[dim] = outer.inside(variable, largest)
        else:
            spans[dim] = _Span(variable, largest, (f"{variable} + {share}", *outer.ends), steady=False)


def _points(order: Sequence[str], spans: dict[str, _Span]) -> Iterator[str]:
    """Loops over the iterations of the innermost tile; a single one is an assignment."""
    for dim in sorted(order, key=lambda d: spans[d].tile > 1):
        span = spans[dim]
        yield f"{dim} = {span.start};" if span.tile == 1 else f"for ({dim} = {span.start}; {dim} < {span.end}; {dim}++)"


def _comments(workload: Workload, mapping: Mapping, positions: MappingABC[str, int]) -> dict[int, list[str]]:
    """What to say just inside the loop at every reuse position."""
    found: dict[int, list[str]] = {}
    if len(mapping.levels) != 1:
        return found
    verbs = {workload.output.name: "load, and store when left,"}
    for name, position in positions.items():
        verb = verbs.get(name, "load")
        what = "one iteration of the outermost loops below at a time" if position == 0 else "unless still held"
        found.setdefault(position, []).append(f"{verb} {name}: {what}")
    return found
