"""Vectors in C through the compilers' vector extensions: types, loads, stores, and parts of a vector."""

from __future__ import annotations

from optmap.native.emit.leaf import C_TYPES
from optmap.native.emit.writer import Writer


def vector_text(entry: str, bits: int, vector_bytes: int, *, parts: bool, streaming: bool) -> str:
    """C of the types and functions that a vector kernel uses; `ENTRY` is the start of their names.

    `ENTRY_vector` is a vector. `ENTRY_load(place, lanes)` reads its first lanes, the others are zero;
    `ENTRY_store(place, &value, lanes)` writes them; nothing beside them is touched. Lanes known when compiled cost
    nothing; others are a mask where the processor has one, else element by element.

    Args:
        entry: start of the names.
        bits: of one element, 32 or 64.
        vector_bytes: of one vector.
        parts: whether parts of vectors are loaded or stored.
        streaming: whether whole vectors are stored past the caches, where the processor can and the place is aligned.
    """
    kind, lanes = C_TYPES[bits], 8 * vector_bytes // bits
    out = Writer()
    if parts or streaming:
        out.lines("#if defined(__SSE2__)", "#include <immintrin.h>", "#endif")
    out.lines("#if defined(__GNUC__) && !defined(__clang__)", '#pragma GCC diagnostic ignored "-Wpsabi"', "#endif")
    out.line(f"typedef {kind} {entry}_vector __attribute__((vector_size({vector_bytes})));")
    out.line(
        f"typedef {kind} {entry}_place __attribute__((vector_size({vector_bytes}), aligned({bits // 8}), may_alias));"
    )
    out.line()
    masked = f"__mmask{lanes if lanes > 8 else 8}"
    letter = "ps" if bits == 32 else "pd"
    wide, held = parts and vector_bytes == 64, f"__m{8 * vector_bytes}{'d' if bits == 64 else ''}"
    mask = f"({masked})((1u << lanes) - 1u)"
    with out.block(f"{INLINE} {entry}_vector {entry}_load(const {kind} *place, long lanes)"):
        out.line(f"if (lanes == {lanes}) return *(const {entry}_place *)place;")
        if wide:
            out.line("#if defined(__AVX512F__)")
            out.line(f"return ({entry}_vector)_mm512_maskz_loadu_{letter}({mask}, place);")
            out.line("#else")
        out.line(f"{entry}_vector found = {{0}};")
        out.line("for (long i0 = 0; i0 < lanes; i0++) found[i0] = place[i0];")
        out.line("return found;")
        if wide:
            out.line("#endif")
    out.line()
    with out.block(f"{INLINE} void {entry}_store({kind} *place, const {entry}_vector *value, long lanes)"):
        with out.block(f"if (lanes == {lanes})"):
            if streaming:
                _stream(out, letter, held, vector_bytes)
            out.line(f"*({entry}_place *)place = *value;")
            out.line("return;")
        if wide:
            out.line("#if defined(__AVX512F__)")
            out.line(f"_mm512_mask_storeu_{letter}(place, {mask}, ({held})*value);")
            out.line("#else")
        out.line("for (long i0 = 0; i0 < lanes; i0++) place[i0] = (*value)[i0];")
        if wide:
            out.line("#endif")
    return out.text()


INLINE = "static inline __attribute__((always_inline))"
"""How functions are declared that disappear in their callers."""


def _stream(out: Writer, letter: str, held: str, vector_bytes: int) -> None:
    """A store past the caches; the place must be aligned."""
    flag = {64: "__AVX512F__", 32: "__AVX__", 16: "__SSE2__"}[vector_bytes]
    name = {64: "_mm512", 32: "_mm256", 16: "_mm"}[vector_bytes]
    out.line(f"#if defined({flag})")
    with out.block(f"if (((unsigned long)place & {vector_bytes - 1}) == 0)"):
        out.line(f"{name}_stream_{letter}(place, ({held})*value);")
        out.line("return;")
    out.line("#endif")
