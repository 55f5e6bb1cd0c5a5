"""Mappings in documents: inner level first, loop orders outermost first."""

from __future__ import annotations

from optmap.errors import InputError
from optmap.problem.io.fields import Fields, located
from optmap.problem.machine import Machine
from optmap.problem.mapping import LevelMapping, Mapping
from optmap.problem.workload import Workload


def mapping_document(mapping: Mapping) -> dict[str, object]:
    """A mapping as JSON, inner level first, permutations outermost first."""
    return {
        "levels": [
            {
                "level": level.level,
                "tile": dict(level.tile),
                "permutation": list(level.permutation),
                "spatial": {dim: ways for dim, ways in level.spatial.items() if ways > 1},
            }
            for level in mapping.levels
        ]
    }


def read_mapping(fields: Fields, workload: Workload, machine: Machine) -> Mapping:
    """The mapping of a document, checked against its workload and machine.

    Raises:
        InputError: naming file and field.
    """
    fields.allow("levels")
    levels = []
    for level in fields.items("levels"):
        level.allow("level", "tile", "permutation", "spatial")
        levels.append(
            LevelMapping(
                level=level.text("level"),
                tile=level.integers("tile"),
                permutation=level.texts("permutation"),
                spatial=level.integers("spatial") if level.has("spatial") else {},
            )
        )
    mapping = Mapping(levels=tuple(levels))
    try:
        mapping.check(workload, machine)
    except InputError as error:
        raise located(error, fields.where) from error
    return mapping
