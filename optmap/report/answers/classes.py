"""Dataflow classes as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from optmap.base.texts import several


def classes_table(found: Mapping[str, Any]) -> str:
    """The dataflow classes of a workload with their traffic, and why the others are not needed.

    Args:
        found: what `optmap.symbolic.render.classes_document` returns.
    """
    classes = found["classes"]
    equivalent = several(found["equivalence_classes"], "equivalence class", "equivalence classes")
    lines = [
        f"{several(len(classes), 'class', 'classes')} no other dominates, out of {equivalent} "
        f"of {several(found['permutations'], 'permutation')} (outermost first; loops in braces in any order)"
    ]
    for place, entry in enumerate(classes, 1):
        lines += ["", f"{place}. {bands_text(entry['bands'])}  {several(entry['size'], 'permutation')}"]
        width = max(len(name) for name in entry["traffic"])
        lines += [f"   {name.ljust(width)}  {formula}" for name, formula in entry["traffic"].items()]
    if found["dominated"]:
        lines += [
            "",
            f"{several(len(found['dominated']), 'class is', 'classes are')} dominated:",
            f"  ({found['notation']})",
        ]
    for entry in found["dominated"]:
        lines += ["", f"  <{','.join(entry['class'])}> by <{','.join(entry['by'])}>:", f"    {entry['proof']}"]
    return "\n".join(lines)


def bands_text(bands: Sequence[Sequence[str]]) -> str:
    """`<{k,c,r,s},{n,h},w>`: bands of loops, outermost first."""
    return "<" + ",".join(band[0] if len(band) == 1 else "{" + ",".join(band) + "}" for band in bands) + ">"
