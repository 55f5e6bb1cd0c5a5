"""C that brings a tensor from the plain layout into another."""

from __future__ import annotations

from optmap.native.code import Buffer, LayoutPiece, TensorLayout
from optmap.native.emit.indices import sum_text
from optmap.native.emit.writer import Writer


def write_packing(out: Writer, head: str, kind: str, buffer: Buffer, threads: int = 1) -> None:
    """A function of two arguments, `plain` and `packed`, that fills every element of the packed buffer.

    Args:
        out: where it is written.
        head: its type and name, as `static void pack`.
        kind: C type of an element.
        buffer: gives shape and layout.
        threads: that share the work.
    """
    pieces = buffer.layout.pieces(buffer.shape)
    moving = [(number, piece) for number, piece in enumerate(pieces) if piece.extent > 1]
    index = [_index(axis, pieces) for axis in range(len(buffer.shape))]
    with out.block(f"{head}(const {kind} *restrict plain, {kind} *restrict packed)"):
        if threads > 1 and moving:
            out.lines("#ifdef _OPENMP", f"#pragma omp parallel for schedule(static) num_threads({threads})", "#endif")
        with out.blocks(f"for (long i{n} = 0; i{n} < {piece.extent}; i{n}++)" for n, piece in moving):
            target = sum_text((f"i{n}", piece.stride) for n, piece in moving)
            strides = [piece.stride for piece in TensorLayout.plain(len(buffer.shape)).pieces(buffer.shape)]
            source = sum_text((f"({text})" if " " in text else text, s) for text, s in zip(index, strides, strict=True))
            filled = [axis for axis in range(len(buffer.shape)) if _spanned(axis, pieces) > buffer.shape[axis]]
            inside = " && ".join(f"{index[axis]} < {buffer.shape[axis]}" for axis in filled)
            value = f"plain[{source}]"
            out.line(f"packed[{target}] = {f'{inside} ? {value} : 0' if inside else value};")


def _index(axis: int, pieces: tuple[LayoutPiece, ...]) -> str:
    """The subscript that the loop variables of its pieces make."""
    return sum_text((f"i{n}", p.block) for n, p in enumerate(pieces) if p.axis == axis and p.extent > 1)


def _spanned(axis: int, pieces: tuple[LayoutPiece, ...]) -> int:
    first = next(piece for piece in pieces if piece.axis == axis)
    return first.extent * first.block
