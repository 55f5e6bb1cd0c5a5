"""Mappings in documents: inner level first, loop orders outermost first."""

from __future__ import annotations

from optmap.base.errors import InputError
from optmap.files.fields import Fields, located
from optmap.files.trees import tree_document
from optmap.machines.machine import Machine
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.mappings.tree import MappingTree
from optmap.workloads.workload import Workload


def mapping_document(mapping: Mapping | MappingTree) -> dict[str, object]:
    """A mapping as JSON, inner level first, permutations outermost first; a tree as a list of nodes.

    On an accelerator an entry has `spatial_axes`, which parts `spatial` among the axes of the mesh, and `keeps`; where
    children are not numbered in the workload's order of dims, `spatial_order` lists those of each axis, slowest first.
    """
    if isinstance(mapping, MappingTree):
        return tree_document(mapping)
    return {"levels": [_entry(level) for level in mapping.levels]}


def _entry(level: LevelMapping) -> dict[str, object]:
    found: dict[str, object] = {
        "level": level.level,
        "tile": dict(level.tile),
        "permutation": list(level.permutation),
        "spatial": _split(level.spatial),
    }
    if level.keeps is not None or level.spatial_y:
        found["spatial_axes"] = {"x": _split(level.spatial_x), "y": _split(level.spatial_y)}
    if level.x_order or level.y_order:
        found["spatial_order"] = {"x": list(level.x_order), "y": list(level.y_order)}
    if level.keeps is not None:
        found["keeps"] = list(level.keeps)
    return found


def _split(ways: dict[str, int]) -> dict[str, int]:
    return {dim: number for dim, number in ways.items() if number > 1}


def read_mapping(fields: Fields, workload: Workload, machine: Machine) -> Mapping:
    """The mapping of a document, checked against its workload and machine.

    Raises:
        InputError: naming file and field.
    """
    fields.allow("levels")
    levels = []
    for level in fields.items("levels"):
        level.allow("level", "tile", "permutation", "spatial", "spatial_axes", "spatial_order", "keeps")
        x, y = _axes(level)
        both = {dim: x.get(dim, 1) * y.get(dim, 1) for dim in (*x, *y)}
        spatial = level.integers("spatial") if level.has("spatial") else both
        if level.given("spatial_axes") and _split(spatial) != _split(both):
            raise InputError(f"{level.at('spatial')} is not the product of both axes of spatial_axes; make them agree")
        levels.append(
            LevelMapping(
                level=level.text("level"),
                tile=level.integers("tile"),
                permutation=level.texts("permutation"),
                spatial=spatial,
                spatial_y=_split(y),
                keeps=level.texts("keeps") if level.given("keeps") else None,
                x_order=_order(level, "x"),
                y_order=_order(level, "y"),
            )
        )
    mapping = Mapping(levels=tuple(levels))
    try:
        mapping.check(workload, machine)
    except InputError as error:
        raise located(error, fields.where) from error
    return mapping


def _axes(level: Fields) -> tuple[dict[str, int], dict[str, int]]:
    """Ways along both axes of a mesh."""
    if not level.given("spatial_axes"):
        return {}, {}
    axes = level.fields("spatial_axes")
    axes.allow("x", "y")
    x, y = (axes.integers(key) if axes.given(key) else {} for key in ("x", "y"))
    return x, y


def _order(level: Fields, axis: str) -> tuple[str, ...]:
    """Dims along an axis in the order in which children are numbered; empty for the workload's."""
    if not level.given("spatial_order"):
        return ()
    orders = level.fields("spatial_order")
    orders.allow("x", "y")
    return tuple(orders.texts(axis)) if orders.given(axis) else ()
