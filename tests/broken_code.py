"""Code that computes something else, for tests of what notices it."""

from __future__ import annotations

import re
from dataclasses import replace

from optmap.native import Code


def broken(code: Code) -> Code:
    """Code that adds 1 to element 17 of its output."""
    types = [("const " if place else "") + "float" for place in range(len(code.buffers))]
    types += ["void"] if code.workspace else []
    head = f"void {code.entry}({', '.join(f'{kind} *b{place}' for place, kind in enumerate(types))})"
    call = f"{code.entry}_right({', '.join(f'b{place}' for place in range(len(types)))});"
    source = re.sub(rf"\b{code.entry}\(", f"{code.entry}_right(", code.source)
    return replace(code, source=f"{source}\n{head};\n{head} {{ {call} b0[17] += 1; }}\n")
