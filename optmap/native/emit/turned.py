"""Vectors turned in C: as many vectors as lanes, lane i of vector j becoming lane j of vector i."""

from __future__ import annotations

from optmap.native.emit.vectors import if_shuffled
from optmap.native.emit.writer import Writer

SHORTEST = 6
"""Points side by side in memory that are worth a turn, or as many as lanes; fewer are stored lane by lane."""


def turn_text(entry: str, lanes: int) -> str:
    """C of `ENTRY_turn(vectors)`, which turns them in place: pairs of vectors swap halves, quarters, ... , lanes.

    Args:
        entry: start of the names, as of `vector_text`.
        lanes: of a vector, a power of two.
    """
    out = Writer()
    with out.block(f"static __attribute__((noinline)) void {entry}_turn({entry}_vector *run_0)"):
        if_shuffled(out)
        size = lanes // 2
        while size:
            low = [lane if not lane & size else lanes + lane - size for lane in range(lanes)]
            high = [lane + size if not lane & size else lanes + lane for lane in range(lanes)]
            out.line(f"for (long i0 = 0; i0 < {lanes}; i0 += {2 * size})")
            with out.block(f"for (long i1 = i0; i1 < i0 + {size}; i1++)"):
                out.line(f"const {entry}_vector low_0 = run_0[i1], high_0 = run_0[i1 + {size}];")
                for at, places in (("i1", low), (f"i1 + {size}", high)):
                    numbers = ", ".join(map(str, places))
                    out.line(f"run_0[{at}] = __builtin_shufflevector(low_0, high_0, {numbers});")
            size //= 2
        out.line("#else")
        out.line(f"for (long i0 = 0; i0 < {lanes}; i0++)")
        with out.block("for (long i1 = 0; i1 < i0; i1++)"):
            out.line("const __typeof__(run_0[0][0]) swapped_0 = run_0[i0][i1];")
            out.lines("run_0[i0][i1] = run_0[i1][i0];", "run_0[i1][i0] = swapped_0;")
        out.line("#endif")
    return out.text()
