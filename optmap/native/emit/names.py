"""Names of C for dims and tensors: their own wherever that is possible."""

from __future__ import annotations

import re
from collections.abc import Iterable

from optmap.workloads.workload import Workload, access_names

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_OURS = re.compile(
    r"(.*_\d+(_part)?(_end)?|[dn]_.*|part(_.*)?|row|workspace|smaller|larger|.*_packed|plain|packed|i\d+"
    r"|expf?|sqrtf?|M_.*|stderr|stdout|NULL|EOF|NAN|INFINITY)"
)
"""Names that the generator makes itself or that headers define."""
_KEYWORDS = frozenset(
    {
        *("auto", "break", "case", "char", "const", "continue", "default", "do", "double"),
        *("else", "enum", "extern", "float", "for", "goto", "if", "inline", "int"),
        *("long", "register", "restrict", "return", "short", "signed", "sizeof", "static", "struct"),
        *("switch", "typedef", "union", "unsigned", "void", "volatile", "while", "asm", "typeof"),
        *("linux", "unix", "main"),
    }
)


def c_names(texts: Iterable[str], fallback: str, taken: Iterable[str] = ()) -> dict[str, str]:
    """A C identifier per text: the text where it may stand in C, else `fallback` and a number.

    Args:
        texts: names that differ.
        fallback: start of the names that are made.
        taken: names that others have already.
    """
    found: dict[str, str] = {}
    used = set(taken)
    wanted = list(texts)
    for text in wanted:
        name, number = text, len(found)
        free = _PLAIN.fullmatch(text) and text not in _KEYWORDS and not _OURS.fullmatch(text)
        while not free or name in used or (name != text and name in wanted):
            name, free, number = f"{fallback}{number}", True, number + 1
        used.add(name)
        found[text] = name
    return found


def dim_names(workload: Workload) -> dict[str, str]:
    """C name per dim."""
    return c_names(workload.dims, "dim")


def tensor_names(workload: Workload) -> tuple[str, ...]:
    """C name per access, output first; a tensor that is read again has another one."""
    texts = access_names(workload, "_again")
    return tuple(c_names(texts, "tensor", dim_names(workload).values())[text] for text in texts)


def entry_name(workload: Workload) -> str:
    """Name of the function that computes a workload."""
    text = re.sub(r"[^A-Za-z0-9]+", "_", workload.name.encode("ascii", "ignore").decode()).strip("_")
    return f"optmap_{text or 'code'}"
