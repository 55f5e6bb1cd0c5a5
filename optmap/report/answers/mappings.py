"""Mappings side by side as text and JSON."""

from __future__ import annotations

from optmap.answers.side_by_side.mappings import MappingComparison
from optmap.base.texts import number
from optmap.files.machines import machine_document
from optmap.files.workloads import workload_document
from optmap.report.tables import LEFT, RIGHT, grid, machine_line, pairs, workload_lines

SCHEMA = "optmap.mapping-comparison/1"
"""Name and version of the document."""


def mappings_document(found: MappingComparison) -> dict[str, object]:
    """The JSON document; differences are lines of the loop nests, `-` of the first mapping, `+` of the other one."""
    return {
        "schema": SCHEMA,
        "workload": workload_document(found.workload),
        "mappings": [
            {
                "file": each.name,
                "machine": machine_document(each.mapping.machine),
                "disagreements": list(each.counted.disagreements),
                "differences": found.differences(place) if place else [],
            }
            for place, each in enumerate(found.mappings)
        ],
        "quantities": [
            {"name": name, "unit": unit, "values": list(values)} for (name, unit), values in found.quantities.items()
        ],
    }


def mappings_table(found: MappingComparison) -> str:
    """Quantities with a column per mapping, what differs in the nests, and what is untrue of the files."""
    first, *others = found.mappings
    head = [
        *workload_lines(found.workload),
        *((each.name, machine_line(each.mapping.machine)) for each in found.mappings),
    ]
    header = ("counted again", "unit", *(each.name for each in found.mappings), *(f"/ {first.name}" for _ in others))
    rows = [
        (
            name,
            unit,
            *("-" if value is None else number(value) for value in values),
            *("-" if not values[0] or value is None else f"{value / values[0]:.3f}" for value in values[1:]),
        )
        for (name, unit), values in found.quantities.items()
    ]
    parts = [pairs(head), grid(header, LEFT * 2 + RIGHT * (len(header) - 2), rows)]
    for place, each in enumerate(others, 1):
        lines = found.differences(place) or ["the nests are the same"]
        parts.append("\n".join([f"What differs: - {first.name}, + {each.name}", *lines]))
    parts += [f"{each.name}: {text}" for each in found.mappings for text in each.counted.disagreements]
    return "\n\n".join(parts)
