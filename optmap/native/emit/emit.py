"""From a mapping to C."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from optmap.base.errors import InputError
from optmap.kernels.code_options import ActivationLayout, CodeOptions
from optmap.machines.machine import Machine
from optmap.mappings.levels import Mapping
from optmap.mappings.tree import MappingTree
from optmap.native.code import Buffer, Code, TensorLayout
from optmap.native.emit.depthwise import depthwise_leaf
from optmap.native.emit.entry import packs_in_call, workspace_of, write_entry, write_head, write_packings
from optmap.native.emit.leaf import LeafCode, LeafMaker, Site
from optmap.native.emit.names import entry_name
from optmap.native.emit.nest import check_splits, write_nest
from optmap.native.emit.outer_product import outer_product_leaf
from optmap.native.emit.plain import plain_leaf
from optmap.native.emit.program import main_text
from optmap.native.emit.tree import tree_code
from optmap.native.emit.writer import Writer
from optmap.native.layouts import buffers_of, plain_layouts
from optmap.native.statement import refuse_meshes
from optmap.workloads.workload import Workload

MICROKERNELS: tuple[LeafMaker, ...] = (outer_product_leaf, depthwise_leaf)
"""Leaves beside the plain one, in the order in which they are tried."""


def emit_code(
    workload: Workload, mapping: Mapping | MappingTree, machine: Machine, options: CodeOptions | None = None
) -> Code:
    """C11 for a workload, with the loops, orders and ragged tiles of a mapping.

    Args:
        workload: what is computed, with its semantics and padding as they are.
        mapping: tiles, loop orders and splits, the tile of level 0 being what registers hold; or a tree.
        machine: that the mapping belongs to; without `core` there are plain loops.
        options: layouts, packing, stores; all defaults if left out.

    Returns:
        The code, and the buffers that it works on.

    Raises:
        InputError: for a mapping that does not belong to workload and machine or splits what threads would share, an
            accelerator, elements that are no float or double, or a buffer that cannot be addressed; see `tree_code` for
            what is refused of a tree.
    """
    refuse_meshes(machine)
    return FORMS[type(mapping)](workload, mapping, machine, options or CodeOptions())


def _levels_code(workload: Workload, mapping: Mapping, machine: Machine, options: CodeOptions) -> Code:
    """C11 for one statement in a mapping of tiles and loop orders per level."""
    mapping.check(workload, machine)
    if machine.core is None and options.layout is ActivationLayout.BLOCKED:
        raise InputError(f"machine {machine.name}: layout blocked has blocks of one vector; say what its core is")
    check_splits(workload, mapping)
    buffers_of(workload, plain_layouts(workload))  # sizes are refused before anything is written
    site = Site(
        workload=workload,
        mapping=mapping,
        machine=machine,
        options=options,
        entry=entry_name(workload),
    )
    leaf = choose_leaf(site)
    buffers = buffers_of(workload, leaf.layouts, leaf.packed)
    given = [replace(b, packed=False, layout=TensorLayout.plain(len(b.shape))) if b.packed else b for b in buffers]
    code = Code(
        workload=workload,
        machine=machine,
        mapping=mapping,
        options=site.options,
        kernel=leaf.kind,
        entry=site.entry,
        source=_source(site, leaf, buffers),
        main="",
        buffers=tuple(given) if packs_in_call(site) else buffers,
        names=site.tensors,
        threads=mapping.ways,
        workspace=workspace_of(site, buffers)[-1],
        notes=leaf.notes,
    )
    return replace(code, main=main_text(code))


FORMS: dict[type, Callable[[Workload, Any, Machine, CodeOptions], Code]] = {
    Mapping: _levels_code,
    MappingTree: tree_code,
}
"""Who writes the code of each form of mapping."""


def choose_leaf(site: Site) -> LeafCode:
    """The first leaf that applies; the plain one says why no other does."""
    reasons = []
    if site.machine.core is None:
        reasons = [f"no microkernel: {site.machine.name} does not say what its core computes with (optmap detect does)"]
    for make in MICROKERNELS if not reasons else ():
        made = make(site)
        if isinstance(made, LeafCode):
            return made
        reasons.append(made)
    plain = plain_leaf(site)
    return replace(plain, notes=(*plain.notes, *reasons))


def _source(site: Site, leaf: LeafCode, buffers: tuple[Buffer, ...]) -> str:
    out = Writer()
    write_head(out, site.workload, leaf.kind, dict(zip(site.tensors, buffers, strict=True)), leaf.notes)
    out.lines(leaf.text)
    out.line()
    write_nest(out, site, leaf)
    out.line()
    write_packings(out, site, buffers)
    write_entry(out, site, buffers)
    return out.text()
