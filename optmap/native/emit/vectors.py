"""Vectors in C through the compilers' vector extensions: types, loads, stores, and parts of a vector."""

from __future__ import annotations

from optmap.native.emit.leaf import C_TYPES
from optmap.native.emit.writer import Writer

INLINE = "static inline __attribute__((always_inline))"
"""How functions are declared that disappear in their callers."""
BARRIER = '__asm__ volatile("" ::: "memory");'
"""Nothing is loaded before it for what comes after, or kept in a register: compilers would run out of registers."""


def vector_text(entry: str, bits: int, vector_bytes: int, *, parts: bool, streaming: bool) -> str:
    """C of the types and functions that a vector kernel uses; `ENTRY` is the start of their names.

    `ENTRY_vector` is a vector. `ENTRY_load(place, lanes)` reads its first lanes, the others are zero;
    `ENTRY_store(place, &value, lanes)` writes them; nothing beside them is touched. Parts of a vector are masked where
    the processor can, else they go element by element.

    Args:
        entry: start of the names.
        bits: of one element, 32 or 64.
        vector_bytes: of one vector.
        parts: whether parts of vectors are loaded or stored.
        streaming: whether whole vectors are stored past the caches, where the processor can and the place is aligned.
    """
    kind, lanes = C_TYPES[bits], 8 * vector_bytes // bits
    letter, held = ("ps" if bits == 32 else "pd"), f"__m{8 * vector_bytes}{'d' if bits == 64 else ''}"
    out = Writer()
    if parts or streaming:
        out.lines("#if defined(__SSE2__)", "#include <immintrin.h>", "#endif")
    out.lines("#if defined(__GNUC__) && !defined(__clang__)", '#pragma GCC diagnostic ignored "-Wpsabi"', "#endif")
    typedef, size = f"typedef {kind} {entry}", f"vector_size({vector_bytes})"
    out.line(f"{typedef}_vector __attribute__(({size}));")
    out.line(f"{typedef}_place __attribute__(({size}, aligned({bits // 8}), may_alias));")
    out.line()
    if parts:
        _parts(out, entry, bits, vector_bytes)
    with out.block(f"{INLINE} {entry}_vector {entry}_load(const {kind} *place, long lanes)"):
        if parts:
            out.line(f"if (lanes < {lanes}) return {entry}_load_part(place, lanes);")
        else:
            out.line("(void)lanes;")
        out.line(f"return *(const {entry}_place *)place;")
    out.line()
    with out.block(f"{INLINE} void {entry}_store({kind} *place, const {entry}_vector *value, long lanes)"):
        if parts:
            with out.block(f"if (lanes < {lanes})"):
                out.line(f"{entry}_store_part(place, value, lanes);")
                out.line("return;")
        else:
            out.line("(void)lanes;")
        if streaming:
            _stream(out, letter, held, vector_bytes)
        out.line(f"*({entry}_place *)place = *value;")
    return out.text()


def if_shuffled(out: Writer) -> None:
    """Begin what only compilers with `__builtin_shufflevector` take; `#else` and `#endif` are the caller's."""
    out.lines("#if defined(__has_builtin)", "#if __has_builtin(__builtin_shufflevector)", "#define SHUFFLED")
    out.lines("#endif", "#endif", "#if defined(SHUFFLED)")


def _parts(out: Writer, entry: str, bits: int, vector_bytes: int) -> None:
    """Loads and stores of the first lanes of a vector."""
    kind, lanes = C_TYPES[bits], 8 * vector_bytes // bits
    letter, held = ("ps" if bits == 32 else "pd"), f"__m{8 * vector_bytes}{'d' if bits == 64 else ''}"
    load, store = f"{entry}_vector {entry}_load_part(const {kind} *place, long lanes)", f"void {entry}_store_part"
    store = f"{store}({kind} *place, const {entry}_vector *value, long lanes)"
    if vector_bytes == 64:
        mask = f"(__mmask{max(lanes, 8)})((1u << lanes) - 1u)"
        out.line("#if defined(__AVX512F__)")
        with out.block(f"{INLINE} {load}"):
            out.line(f"return ({entry}_vector)_mm512_maskz_loadu_{letter}({mask}, place);")
        with out.block(f"{INLINE} {store}"):
            out.line(f"_mm512_mask_storeu_{letter}(place, {mask}, ({held})*value);")
        out.line("#else")
    elif vector_bytes == 32:
        numbers = ", ".join(str(lane) for lane in range(lanes))
        integer = "int" if bits == 32 else "long long"
        out.line("#if defined(__AVX__)")
        out.line(f"typedef {integer} {entry}_lanes __attribute__((vector_size(32)));")
        mask = f"(__m256i)(({entry}_lanes){{{numbers}}} < ({integer})lanes)"
        with out.block(f"{INLINE} {load}"):
            out.line(f"return ({entry}_vector)_mm256_maskload_{letter}(place, {mask});")
        with out.block(f"{INLINE} {store}"):
            out.line(f"_mm256_maskstore_{letter}(place, {mask}, ({held})*value);")
        out.line("#else")
    with out.block(f"static __attribute__((noinline)) {load}"):
        out.line(f"{entry}_vector found = {{0}};")
        out.line("for (long i0 = 0; i0 < lanes; i0++) found[i0] = place[i0];")
        out.line("return found;")
    with out.block(f"static __attribute__((noinline)) {store}"):
        out.line("for (long i0 = 0; i0 < lanes; i0++) place[i0] = (*value)[i0];")
    if vector_bytes > 16:
        out.line("#endif")
    out.line()


def _stream(out: Writer, letter: str, held: str, vector_bytes: int) -> None:
    """A store past the caches; the place must be aligned."""
    flag = {64: "__AVX512F__", 32: "__AVX__", 16: "__SSE2__"}[vector_bytes]
    name = {64: "_mm512", 32: "_mm256", 16: "_mm"}[vector_bytes]
    out.line(f"#if defined({flag})")
    with out.block(f"if (((unsigned long)place & {vector_bytes - 1}) == 0)"):
        out.line(f"{name}_stream_{letter}(place, ({held})*value);")
        out.line("return;")
    out.line("#endif")
