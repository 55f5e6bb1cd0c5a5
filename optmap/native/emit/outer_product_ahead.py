"""What outer-product kernels ask of memory ahead: the next weights, the next rows of the image."""

from __future__ import annotations

from itertools import takewhile
from math import prod

from optmap.kernels.code_options import LINE_BYTES
from optmap.native.emit.indices import sum_text
from optmap.native.emit.outer_product_plan import OuterProductPlan, constant_place
from optmap.native.emit.prefetch import Ahead, CodeLoop, nest_loops, own_bytes, place_text, trips


def lines_ahead(plan: OuterProductPlan) -> tuple[Ahead, ...]:
    """What is asked for ahead: tensors that do not stay in a core's own memory.

    Those are the ones that would take more than half of it, since the others need room, too.
    """
    if not plan.site.options.prefetch:
        return ()
    loops = nest_loops(plan.site, plan.takes)
    found = [_weights_ahead(plan, loops), _image_ahead(plan, loops)]
    return tuple(each for each in found if each is not None)


def _is_large(plan: OuterProductPlan, number: int) -> bool:
    buffer = plan.buffers[number]
    return 0 < own_bytes(plan.site) < 2 * buffer.layout.size(buffer.shape) * buffer.bits // 8


def _weights_ahead(plan: OuterProductPlan, loops: list[CodeLoop]) -> Ahead | None:
    """The next tile of weights, shared by the calls that work on this one."""
    number, dims = plan.roles.weights, plan.weights.dims
    inner = list(takewhile(lambda loop: loop.dim not in dims, reversed(loops)))[::-1]
    if len(inner) == len(loops) or not _is_large(plan, number):
        return None
    at = len(loops) - len(inner) - 1
    change, swept = loops[at], list(takewhile(lambda loop: loop.dim in dims, reversed(loops[: at + 1])))
    strides, leaps = plan.strides(number), plan.leaps(number)
    block, leap = leaps.get(change.dim, (0, 0))
    each = leap // block if block and change.tile % block == 0 else strides[change.dim]
    sums = prod(plan.pieces_of(d).sizes[0] for d in plan.roles.reduction if d in dims)
    vectors = -(-plan.pieces_of(plan.roles.vector).sizes[0] // plan.site.lanes)
    size = sums * vectors * plan.site.lanes * plan.site.workload.output.bits // 8
    if len(swept) <= at and size * trips(swept) <= own_bytes(plan.site):
        return None  # these tiles come again for the next points, and are still near
    return Ahead(
        what="weights of the next tile",
        start=f"by + {each * change.tile}",
        place=place_text(plan.site, inner),
        lines=-(-size // LINE_BYTES // trips(inner)),
    )


def _comes_again(plan: OuterProductPlan, outside: list[CodeLoop]) -> bool:
    """Whether the elements of the image that all points need are still near when they are needed again.

    So it is where a loop outside, over outputs that read the same elements, has so few of them inside that they take
    no more than half of a core's own memory: then all trips but its first would ask for what is there.

    Args:
        plan: the leaf's.
        outside: loops around the outermost one over points, outermost first.
    """
    again = max((n for n, loop in enumerate(outside) if loop.dim not in plan.image.dims), default=None)
    if again is None:
        return False
    ways = {d: prod(level.spatial.get(d, 1) for level in plan.site.mapping.levels) for d in plan.image.dims}
    inside = {d: -(-plan.site.workload.extents[d] // ways[d]) for d in plan.image.dims}
    for loop in outside[:again]:
        if loop.dim in inside:
            inside[loop.dim] = min(inside[loop.dim], loop.tile)
    return 2 * plan.image.footprint(inside) * plan.image.bits // 8 <= own_bytes(plan.site)


def _image_ahead(plan: OuterProductPlan, loops: list[CodeLoop]) -> Ahead | None:
    """What the next tile along the outermost loop over points brings that this one has not."""
    number, points = plan.roles.images, plan.roles.points
    at = next((n for n, loop in enumerate(loops) if loop.dim in points), None)
    if at is None or not _is_large(plan, number):
        return None
    strides, moved, inner = plan.strides(number), loops[at], loops[at + 1 :]
    stride = strides[moved.dim]
    if any(strides[loop.dim] > stride for loop in inner if loop.dim in points) or _comes_again(plan, loops[:at]):
        return None
    axis = next(axis for axis in plan.image.axes if moved.dim in axis.dims)
    coefficient = dict(axis.terms)[moved.dim]
    row = stride // coefficient
    reach = axis.span({**plan.site.workload.extents, moved.dim: 1})  # rows that one point needs
    outside = {loop.dim for loop in loops[:at]}
    terms = [(f"d_{plan.site.dims[d]}", strides[d]) for d in (*points, *plan.roles.shared) if d in outside]
    name = plan.site.dims[moved.dim]
    start = (f"(d_{name} / {moved.tile} + 1)" if moved.tile > 1 else f"(d_{name} + 1)", stride * moved.tile)
    constant = constant_place(plan.image, plan.buffers[number]) - stride + row * reach
    size = stride * moved.tile * plan.site.workload.output.bits // 8
    return Ahead(
        what="of the image what the next tile needs and this one does not",
        start=sum_text([(plan.site.tensors[number], 1), *terms, start], constant),
        place=place_text(plan.site, inner),
        lines=-(-size // LINE_BYTES // trips(inner)),
    )
