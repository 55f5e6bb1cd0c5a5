"""A mapping method in full: for which machines it is, what it minimises, and what can be set of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import ClassVar

from optmap.base.shown import Shown
from optmap.questions.objective import MERITS
from optmap.report.library.entries import setting_lines
from optmap.report.tables import pairs
from optmap.search.explore.route import Explorer
from optmap.search.explore.settings import Settable, described
from optmap.search.method import Method


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodEntry(Shown):
    """A mapping method."""

    shown_as: ClassVar[str] = "method"
    name: str
    description: str
    objectives: tuple[str, ...]
    """Without fanouts and prices; empty if it is not for such machines."""
    merits: tuple[str, ...]
    """On accelerators; empty if it is not for them."""
    settings: tuple[Settable, ...]


def method_entry(method: Method) -> MethodEntry:
    """What there is to know of a method."""
    merits, objectives = (
        tuple(dict.fromkeys(name for route in method.routes if route.meshes is meshes for name in route.objectives))
        for meshes in (True, False)
    )
    return MethodEntry(
        name=method.name,
        description=method.description,
        objectives=objectives,
        merits=merits,
        settings=settings_of_method(method),
    )


def settings_of_method(method: Method) -> tuple[Settable, ...]:
    """What can be set of a method; nothing of one that has no mappings judged one by one."""
    solve = None if method.explorer is None else method.explorer.solve
    return described(solve.strategy.settings) if isinstance(solve, Explorer) else ()


def method_table(entry: MethodEntry) -> str:
    """The method for people."""
    rows = [("method", entry.name), ("", entry.description)]
    if entry.objectives:
        rows.append(("minimises", f"{', '.join(entry.objectives)} on machines without fanouts and prices"))
    if entry.merits:
        rows.append(("minimises", f"{', '.join(entry.merits)} on accelerators"))
    if "traffic" in entry.merits:
        rows.append(("", f"traffic: {MERITS['traffic'].description}"))
    lines = setting_lines(entry.settings)
    return "\n".join([pairs(rows), *(["settings, with their defaults:", *lines] if lines else [])])


def method_document(entry: MethodEntry) -> dict[str, object]:
    """The JSON document of `show` of a method."""
    return {
        "schema": "optmap.method/1",
        "name": entry.name,
        "description": entry.description,
        "objectives": list(entry.objectives),
        "accelerator_objectives": list(entry.merits),
        "settings": [asdict(own) for own in entry.settings],
    }
