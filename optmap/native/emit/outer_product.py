"""The outer-product leaf: dense convolutions, matrix products and contractions (MOpt section 6, Listing 4).

The tile of level 0 is what vector registers hold: vectors along the vector dim times points. A step of the reduction
loads a vector of weights per vector and one element of the image per point, which multiplies all of them. The leaf
runs the innermost loops of the reduction itself. Every size that ragged tiles have gets a kernel of its own, and so
has every place at the rim of the image where the real points differ from tap to tap: padding costs nothing.
"""

from __future__ import annotations

from optmap.kernels.kernel_roles import KernelKind
from optmap.native.emit.leaf import LeafCode, Site
from optmap.native.emit.outer_product_plan import OuterProductPlan
from optmap.native.emit.outer_product_tile import write_tile
from optmap.native.emit.regions import window_of
from optmap.native.emit.turned import turn_text
from optmap.native.emit.vectors import INLINE, vector_text
from optmap.native.emit.writer import Writer
from optmap.native.layouts import buffers_of, plain_layouts

MOST_POINTS = 1_000_000
"""Iterations of a padded dim of which every piece is looked at."""


def outer_product_leaf(site: Site) -> LeafCode | str:
    """The leaf, or why it does not apply."""
    roles, core = site.roles, site.machine.core
    if core is None or roles is None or roles.kind is not KernelKind.OUTER_PRODUCT:
        return "no outer product: no dim of the output is in one of two inputs only, alone in its subscripts"
    if len({tensor.bits for tensor in site.workload.tensors}) > 1:
        return "no vector kernel: elements of several sizes"
    if site.lanes < 2:
        return "no vector kernel: one element fills a vector"
    image = site.workload.tensors[roles.images]
    windows = []
    for axis in image.axes:
        if axis.real is not None:
            window = window_of(axis, site.workload.extents, roles.points, roles.reduction)
            if window is None:
                return f"no outer product: padding in {axis}, which has more than one point and one tap"
            windows.append(window)
    refused = _unaligned(site)
    if refused:
        return refused
    found = [dim for window in windows for dim in (window.point, window.tap) if dim is not None]
    if len(set(found)) < len(found):
        return "no outer product: a dim is in two padded subscripts"
    if any(site.workload.extents[w.point] > MOST_POINTS for w in windows if w.point is not None):
        return f"no outer product: a padded dim of more than {MOST_POINTS:,} iterations"
    plan = OuterProductPlan(site=site, roles=roles, windows=tuple(windows), registers=core.registers)
    return _leaf(plan, core.vector_bytes)


def _unaligned(site: Site) -> str:
    """Why blocks of a layout would not begin where the access does; empty if they do."""
    buffers = buffers_of(site.workload, plain_layouts(site.workload))
    for tensor, buffer, layout in zip(site.workload.tensors, buffers, site.activations, strict=True):
        if buffer.origin != tuple(axis.offset if axis.real is None else axis.real[0] for axis in tensor.axes):
            return f"no outer product: {tensor.name} is read in two places"
        for number in {axis for axis, block in layout.order if block > 1}:
            axis = tensor.axes[number]
            if axis.real is not None or len(axis.terms) > 1 or axis.terms[0][1] > 1:
                return f"no outer product: blocks of {axis}, which is no dim alone"
    return ""


def _leaf(plan: OuterProductPlan, vector_bytes: int) -> LeafCode:
    """All of it."""
    entry, bits = plan.site.entry, plan.site.workload.output.bits
    out = Writer()
    kernels, tile = write_tile(plan)
    turned = any(f"{entry}_turn(" in body for body in kernels)
    tails = plan.vector_stride > 0 and any(
        size % plan.site.lanes for size in plan.kernel_pieces(plan.roles.vector).sizes
    )
    out.lines(vector_text(entry, bits, vector_bytes, parts=tails or turned, streaming=plan.streams))
    out.line()
    if turned:
        out.lines(turn_text(entry, plan.site.lanes))
        out.line()
    if not plan.vector_stride:
        _write_apart(out, plan)
    out.line("static inline long larger(long a, long b) { return a > b ? a : b; }")
    out.line()
    out.comment(
        "kernels: a_POINT_VECTOR are sums, w_VECTOR weights of a step, x_1 the image's element that multiplies them"
    )
    for body, name in kernels.items():
        out.lines(body.replace("@", name, 1))
        out.line()
    out.lines(tile)
    return LeafCode(
        kind=KernelKind.OUTER_PRODUCT,
        text=out.text(),
        layouts=plan.layouts,
        packed=tuple(number == plan.roles.packed for number in range(3)),
        takes=plan.takes,
        notes=plan.notes,
    )


def _write_apart(out: Writer, plan: OuterProductPlan) -> None:
    """Functions for an output whose lanes lie apart."""
    entry, kind, vector = plan.site.entry, plan.site.types[0], plan.roles.vector
    stride = plan.strides(0)[vector]
    block, leap = plan.leaps(0).get(vector, (0, 0))
    lane = f"(lane + i0) / {block} * {leap} + (lane + i0) % {block} * {stride}" if block else f"(lane + i0) * {stride}"
    head = f"{INLINE} {entry}_vector {entry}_load_apart"
    with out.block(f"{head}(const {kind} *place, long lane, long lanes)"):
        out.line(f"{entry}_vector value = {{0}};")
        out.line(f"for (long i0 = 0; i0 < lanes; i0++) value[i0] = place[{lane}];")
        out.line("return value;")
    out.line()
    head = f"{INLINE} void {entry}_store_apart"
    with out.block(f"{head}({kind} *place, long lane, const {entry}_vector *value, long lanes)"):
        out.line(f"for (long i0 = 0; i0 < lanes; i0++) place[{lane}] = (*value)[i0];")
    out.line()
