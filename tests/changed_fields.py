"""A solution with one value changed at a time, for tests and attacks on the checker."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

Path = tuple[Any, ...]
UNREAD = [("relaxation", key) for key in ("formulation", "tolerance", "classes", "tiles", "cross_check")]
"""How the relaxation was solved is listed as not verified."""
ENTRIES = [("status", "stop"), (0, "inclusive")]
"""Of the status what is not held against the numbers; of the innermost level what no claim depends on."""
NAMES = ("shared", "name", "seed", "seconds", "count", "clock_hz", "energy_pj", "point", "method", "space")
"""Listed as not verified wherever they stand."""


def changed_fields(document: dict[str, Any], most: int = 10**6) -> Iterator[tuple[Path, Any, dict[str, Any]]]:
    """Values that are no object or list: the path, itself, and the document with another one in its place.

    Certificates of bounds and digests have tests of their own. With more than `most` values, some spread evenly.
    """
    found = list(_fields(document, ()))
    count = min(len(found), most)
    for path, value in (found[i * len(found) // count] for i in range(count)):
        changed = copy.deepcopy(document)
        inside: Any = changed
        for key in path[:-1]:
            inside = inside[key]
        inside[path[-1]] = _another(value)
        yield path, value, changed


def not_claimed(path: Path, value: Any) -> bool:
    """Whether the checker lists it as not verified, or other values prove the same claim."""
    another_proof = "steps" in path and value.startswith(("sum", "cut"))  # weights, sizes, cuts that refute as well
    unread = path[0] in ("notes", "versions") or path[:2] in UNREAD or path[-2:] in ENTRIES
    return path[-1] in NAMES or another_proof or unread


def _another(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return f"{value}0"
    return 1 if value is None else value + 1


def _fields(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict):
        entries: Any = value.items()
    elif isinstance(value, list):
        entries = enumerate(value)
    else:
        yield path, value
        return
    for key, inside in entries:
        if key not in ("certificate", "digest"):
            yield from _fields(inside, (*path, key))
