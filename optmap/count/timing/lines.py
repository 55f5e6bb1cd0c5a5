"""Whole lines instead of words: what a cache moves of tiles whose rows in memory are short.

Assumed: buffers begin at a line, and what enters lies as what the loop just outside the kept part of the nest goes
over: lines that one visit begins and the next one goes on with are moved once. A run of n elements that lie one
after another begins at a multiple of g = gcd(n, line) elements, all alike often: at (n - g)/line + 1 lines on average.

Where threads write side by side, each fetches ahead a pair of lines beyond the end of its own run, which the other one
writes: they go to and fro between the caches of the two cores (`contested_bytes`).
"""

from __future__ import annotations

from math import gcd, prod

from optmap.count.timing.kernel import roles_of
from optmap.kernels.code_options import ActivationLayout
from optmap.kernels.memory_orders import activation_orders, block_span
from optmap.mappings.levels import Mapping
from optmap.workloads.workload import Workload

PAIR = 2
"""Lines that come together from beyond the second cache: processors fetch the other half of an aligned pair."""


def line_factor(elements: int, run: int) -> float:
    """Elements in the lines that a run touches, per element of the run.

    Args:
        elements: of a line.
        run: elements one after another.
    """
    start = gcd(run, elements)
    return (run - start + elements) / run


def run_length(
    workload: Workload, number: int, tile: dict[str, int], layout: ActivationLayout, lanes: int
) -> int | None:
    """Elements of a tile that lie one after another.

    Args:
        workload: what is computed.
        number: of the tensor, output first.
        tile: iterations per dim.
        layout: of what is no weight; of plain loops it is as the statement writes it.
        lanes: of a vector, the block of a blocked layout.

    Returns:
        None for weights, which are packed in the order in which they are read: no line is left unused. Where vectors
        run along rows weights are not packed.
    """
    tensor, roles = workload.tensors[number], roles_of(workload, layout)
    if roles is not None and number == roles.packed:
        return None
    order = activation_orders(workload, roles, layout, lanes)[number]
    run, whole = 1, workload.extents
    for place in range(len(order) - 1, -1, -1):
        (axis, block), span = order[place], block_span(order, place)
        count, every = (-(-tensor.axes[axis].count(each) // block) for each in (tile, whole))
        if span is not None:
            count, every = min(count, span), span
        run *= count
        if count < every:
            break
    return run


def contested_bytes(
    workload: Workload, mapping: Mapping, number: int, *, layout: ActivationLayout, lanes: int, line_bytes: int | None
) -> float:
    """Bytes of outputs that enter one instance of a cache because another one wrote beside it.

    The share of the outputs that an instance has is in runs of elements one after another; at both ends of each the
    neighbours are another's. Beyond the end of its run a core fetches a pair of lines that it does not need, and the
    pair where its run begins was fetched by the other one in the same way: it comes back before it is written.

    Args:
        workload: what is computed.
        mapping: whose splits are among threads.
        number: of the cache's level; the next one's tile is what instances share.
        layout: of the output.
        lanes: of a vector, the block of a blocked layout.
        line_bytes: of the cache; None if it is not known.

    Returns:
        0 where nothing is split, or lines are not known.
    """
    outside = mapping.levels[number + 1 :]
    if not outside or outside[0].ways == 1 or line_bytes is None:
        return 0.0
    output = workload.output
    share = {d: -(-size // outside[0].spatial.get(d, 1)) for d, size in outside[0].tile.items()}
    ways = {d: prod(level.spatial.get(d, 1) for level in outside) for d in workload.dims}
    visits = prod(max(size / ways[d] / share[d], 1.0) for d, size in workload.sizes)
    run = run_length(workload, 0, share, layout, lanes) or 1
    lines = min(-(-run * output.bits // (8 * line_bytes)), PAIR)
    return visits * output.footprint(share) / run * 2 * lines * line_bytes
