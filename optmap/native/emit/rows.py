"""Vectors along a row of the image in C: lanes one or several elements apart, those on padding left out."""

from __future__ import annotations

from optmap.native.emit.leaf import C_TYPES
from optmap.native.emit.vectors import INLINE, if_shuffled
from optmap.native.emit.writer import Writer

FAR = "(1l << 40)"
"""Where a row ends that goes on beyond every vector."""


def row_text(entry: str, bits: int, vector_bytes: int, apart: int, *, parts: bool, rim: bool) -> str:
    """C of the functions that read images and weights where vectors run along rows.

    `ENTRY_spread(place)` is one element in every lane. `ENTRY_row(place, from, to, lanes)` has in lane i the element
    `place[apart*i]` where `from <= apart*i < to` and `i < lanes`, else zero; nothing between the first and the last
    of them is not of the row, and nothing beside them is touched. `ENTRY_kept(weight, from, to)` has the weight in the
    lanes that are of the row, else zero: one that is infinite or no number must not come to lanes on padding.

    Args:
        entry: start of the names, as of `vector_text`.
        bits: of one element, 32 or 64.
        vector_bytes: of one vector.
        apart: elements of the image from one lane to the next.
        parts: whether some lanes may be left out.
        rim: whether some lanes may be on padding.
    """
    kind, lanes = C_TYPES[bits], 8 * vector_bytes // bits
    out = Writer()
    with out.block(f"{INLINE} {entry}_vector {entry}_spread(const {kind} *place)"):
        out.comment("a difference: zero added would turn a negative zero")
        out.line(f"return *place - ({entry}_vector){{0}};")
    out.line()
    _pair(out, entry, lanes, apart)
    if parts:
        _part(out, entry, bits, vector_bytes, apart)
        with out.block(f"static inline long {entry}_lane(long index)"):
            out.comment("the first that is not before an index of the row")
            over = f"(index + {apart - 1}) / {apart}" if apart > 1 else "index"
            out.line(f"return index <= 0 ? 0 : smaller({lanes}, {over});")
        out.line()
    if rim:
        _kept(out, entry, bits, vector_bytes)
    with out.block(f"{INLINE} {entry}_vector {entry}_row(const {kind} *place, long from, long to, long lanes)"):
        if parts:
            out.line(f"const long first = {entry}_lane(from), after = smaller(lanes, {entry}_lane(to));")
            out.line(f"if (!{entry}_is_whole(first, after)) return {entry}_row_part(place, first, after);")
        else:
            out.line("(void)from, (void)to, (void)lanes;")
        if apart == 1:
            out.line(f"return *(const {entry}_place *)place;")
        elif apart == 2:
            places = (f"*(const {entry}_place *){at}" for at in ("place", f"(place + {lanes - 1})"))
            out.line(f"return {entry}_every_second({', '.join(places)});")
        else:
            elements = ", ".join(f"place[{apart * lane}]" for lane in range(lanes))
            out.line(f"return ({entry}_vector){{{elements}}};")
    return out.text()


def _kept(out: Writer, entry: str, bits: int, vector_bytes: int) -> None:
    """A weight where lanes are of the row; without a branch, so that compilers make it once for all points."""
    integer = "int" if bits == 32 else "long long"
    numbers = ", ".join(str(lane) for lane in range(8 * vector_bytes // bits))
    with out.block(f"{INLINE} {entry}_vector {entry}_kept({entry}_vector weight, long from, long to)"):
        out.line(f"typedef {integer} places __attribute__((vector_size({vector_bytes})));")
        out.line(f"const places numbers = {{{numbers}}};")
        out.line(f"const {integer} first = ({integer}){entry}_lane(from), after = ({integer}){entry}_lane(to);")
        out.line(f"return ({entry}_vector)((places)weight & (numbers >= first) & (numbers < after));")
    out.line()


def _pair(out: Writer, entry: str, lanes: int, apart: int) -> None:
    """Every second element of a vector and of the one that begins at its last element."""
    if apart != 2:
        return
    half = lanes // 2
    head = f"{INLINE} {entry}_vector {entry}_every_second({entry}_vector low, {entry}_vector high)"
    with out.block(head):
        if_shuffled(out)
        places = [2 * lane if lane < half else 2 * lane + 1 for lane in range(lanes)]
        out.line(f"return __builtin_shufflevector(low, high, {', '.join(map(str, places))});")
        out.line("#else")
        values = [f"low[{place}]" if place < lanes else f"high[{place - lanes}]" for place in places]
        out.line(f"return ({entry}_vector){{{', '.join(values)}}};")
        out.line("#endif")
    out.line()


def _part(out: Writer, entry: str, bits: int, vector_bytes: int, apart: int) -> None:
    """Some lanes of a row: masked where the processor can, else element by element."""
    lanes = 8 * vector_bytes // bits
    head = f"{entry}_vector {entry}_row_part(const {C_TYPES[bits]} *place, long first, long after)"
    feature = {(64, 1): "__AVX512F__", (64, 2): "__AVX512F__", (32, 1): "__AVX__"}.get((vector_bytes, apart))
    if feature:
        out.line(f"#if defined({feature})")
        if vector_bytes == 64:
            _part_of_512(out, entry, head, bits, apart)
        else:
            _part_of_256(out, entry, head, bits)
        out.line("#else")
    with out.block(f"static __attribute__((noinline)) {head}"):
        out.line(f"{entry}_vector found = {{0}};")
        index = "i0" if apart == 1 else f"{apart} * i0"
        out.line(f"for (long i0 = first; i0 < after; i0++) found[i0] = place[{index}];")
        out.line("return found;")
    if feature:
        out.line("#endif")
    out.line()
    with out.block(f"{INLINE} int {entry}_is_whole(long first, long after)"):
        whole = f"first == 0 && after == {lanes}"
        if feature:
            out.comment("where that is not known here masks are as fast, and the same for all points: no branch")
            known = "__builtin_constant_p(first) && __builtin_constant_p(after)"
            out.lines(f"#if defined({feature})", f"return {known} && {whole};", "#else")
        out.line(f"return {whole};")
        if feature:
            out.line("#endif")
    out.line()


def _part_of_512(out: Writer, entry: str, head: str, bits: int, apart: int) -> None:
    lanes = 512 // bits
    mask, letter = f"__mmask{max(lanes, 8)}", "ps" if bits == 32 else "pd"
    load = f"({entry}_vector)_mm512_maskz_loadu_{letter}"
    with out.block(f"{INLINE} {head}"):
        last = "after" if apart == 1 else "(2 * after - (after > 0))"
        first = "first" if apart == 1 else "(2 * first)"
        out.comment("long: where all of a vector of 16, two apart, is before the row, the first bit is number 32")
        out.line(f"const unsigned long some = ((1ul << {last}) - 1ul) & ~((1ul << {first}) - 1ul);")
        low = f"{load}(({mask})some, place)"
        high = f"{load}(({mask})(some >> {lanes - 1}), place + {lanes - 1})"
        out.line(f"return {low};" if apart == 1 else f"return {entry}_every_second({low}, {high});")


def _part_of_256(out: Writer, entry: str, head: str, bits: int) -> None:
    integer, letter = ("int", "ps") if bits == 32 else ("long long", "pd")
    numbers = ", ".join(str(lane) for lane in range(256 // bits))
    out.line(f"typedef {integer} {entry}_places __attribute__((vector_size(32)));")
    with out.block(f"{INLINE} {head}"):
        out.line(f"const {entry}_places numbers = {{{numbers}}};")
        out.line(f"const {entry}_places some = (numbers >= ({integer})first) & (numbers < ({integer})after);")
        out.line(f"return ({entry}_vector)_mm256_maskload_{letter}(place, (__m256i)some);")
