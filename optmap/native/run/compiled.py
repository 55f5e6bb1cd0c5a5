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
    sources = {"code.c": code.source, "call.c": call_source(code)}
    library = build_library(sources, flags=flags_of(code.threads), folder=folder)
    functions = load_library(library)
    return Kernel(code=code, library=library, functions=functions)


def call_source(code: Code) -> str:
    """A function beside the code that calls it, of one pointer: what the clock calls.

    `ENTRY_call(pointers)` takes those of the call as one array; a workspace stands behind the tensors.
    """
    types = [("const " if place else "") + C_TYPES[buffer.bits] for place, buffer in enumerate(code.buffers)]
    types += ["void"] if code.workspace else []
    taken = ", ".join(f"{each} *" for each in types)
    given = ", ".join(f"pointers[{place}]" for place in range(len(types)))
    return f"""void {code.entry}({taken});
void {code.entry}_call(void *const *pointers);

void {code.entry}_call(void *const *pointers) {{
    {code.entry}({given});
}}
"""
