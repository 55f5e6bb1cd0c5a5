"""Whole lines instead of words: what a cache moves of tiles whose rows in memory are short.

Assumed: buffers begin at a line, and what enters lies as what the loop just outside the kept part of the nest goes
over: lines that one visit begins and the next one goes on with are moved once. A run of n elements that lie one
after another begins at a multiple of g = gcd(n, line) elements, all alike often: at (n - g)/line + 1 lines on average.
"""

from __future__ import annotations

from math import gcd

from optmap.evaluate.timing.kernel import roles_of
from optmap.problem.code_options import ActivationLayout
from optmap.problem.kernel_roles import KernelRoles
from optmap.problem.workload import TensorAccess, Workload


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
        None for weights, which are packed in the order in which they are read: no line is left unused.
    """
    tensor, roles = workload.tensors[number], roles_of(workload)
    if roles is not None and number == roles.weights + 1:
        return None
    order = list(range(len(tensor.axes)))
    channel = None if roles is None or layout is ActivationLayout.NCHW else channel_axis(workload, tensor, roles)
    if channel is not None:
        order.remove(channel)
        order.append(channel)
    run, whole = 1, workload.extents
    for axis in (tensor.axes[place] for place in reversed(order)):
        count, every = axis.count(tile), axis.count(whole)
        if channel is not None and layout is ActivationLayout.BLOCKED and axis is tensor.axes[channel]:
            every, count = min(lanes, every), min(lanes, count)
        run *= count
        if count < every:
            break
    return run


def channel_axis(workload: Workload, tensor: TensorAccess, roles: KernelRoles) -> int | None:
    """Number of the subscript that channels run along: the vector dim, or what is reduced with the weights."""
    weights = workload.inputs[roles.weights]
    dims = {roles.vector} if roles.vector in tensor.dims else {d for d in roles.reduction if d in weights.dims}
    places = [n for n, axis in enumerate(tensor.axes) if len(axis.terms) == 1 and set(axis.dims) & dims]
    return places[0] if places else None
