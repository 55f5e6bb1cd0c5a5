"""From code to a function on NumPy arrays."""

from __future__ import annotations

from pathlib import Path

from optmap.native.code import Code
from optmap.native.emit.leaf import C_TYPES
from optmap.native.run.kernel import Kernel
from optmap.native.toolchain.build import build_library, flags_of
from optmap.native.toolchain.libraries import load_library


def compile_code(code: Code, *, folder: Path | None = None) -> Kernel:
    """Build the code, or take what was built of the same code, and load it.

    Args:
        code: what `emit` wrote.
        folder: where built objects are kept; `build_folder()` if left out.

    Returns:
        A function on NumPy arrays.

    Raises:
        InputError: for a folder that cannot be written to.
        SolverUnavailableError: if there is no compiler.
        CheckError: if it refuses the code.
    """
    sources = {"code.c": code.source, "clock.c": clock_source(code)}
    library = build_library(sources, flags=flags_of(code.threads), folder=folder)
    functions = load_library(library)
    return Kernel(code=code, library=library, functions=functions)


def clock_source(code: Code) -> str:
    """A function beside the code that calls it and takes the time, so that nothing else is in the time.

    `ENTRY_clock(out, in..., samples, calls, seconds)` writes `samples` times, each of one call on the average of
    `calls` ones; a workspace stands behind the tensors, as in the call.
    """
    types = [("const " if place else "") + C_TYPES[buffer.bits] for place, buffer in enumerate(code.buffers)]
    types += ["void"] if code.workspace else []
    bare = ", ".join(f"{each} *" for each in types)
    named = ", ".join(f"{each} *b{place}" for place, each in enumerate(types))
    given = ", ".join(f"b{place}" for place in range(len(types)))
    head = f"void {code.entry}_clock({named}, long samples, long calls, double *seconds)"
    return f"""#define _POSIX_C_SOURCE 200809L
#include <time.h>

void {code.entry}({bare});
{head};

{head} {{
    struct timespec from, to;
    for (long i = 0; i < samples; i++) {{
        clock_gettime(CLOCK_MONOTONIC, &from);
        for (long j = 0; j < calls; j++)
            {code.entry}({given});
        clock_gettime(CLOCK_MONOTONIC, &to);
        seconds[i] = ((double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec)) / (double)calls;
    }}
}}
"""
