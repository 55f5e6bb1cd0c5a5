"""What the dims of a workload are to a machine that names them by role: filters, channels, width and so on."""

from __future__ import annotations

from optmap.workloads.workload import TensorAccess, Workload


def roles_of(workload: Workload) -> dict[str, str]:
    """What every dim is: a value of `ROLES`.

    A dim inside a subscript of several dims of the first input that has one (the image of a convolution) is
    `height`, in the first such subscript, or `width` if the output has it, else `filter_height` or
    `filter_width`. Of the others, dims of the output in the weight (or in any input but the image) are `filters`, other
    dims of the output `batch`, and what is summed over `channels`. A matrix product has filters, channels and batch.
    """
    image = image_of(workload)
    windows = [axis for axis in image.axes if len(axis.terms) > 1]
    output = workload.output.dims
    others = frozenset().union(*(tensor.dims for tensor in workload.inputs if tensor is not image))
    found = {}
    for dim in workload.dims:
        place = next((number for number, axis in enumerate(windows) if dim in axis.dims), None)
        if place is not None:
            direction = "height" if place == 0 else "width"
            found[dim] = direction if dim in output else f"filter_{direction}"
        elif dim in output:
            found[dim] = "filters" if dim in others else "batch"
        else:
            found[dim] = "channels"
    return found


def image_of(workload: Workload) -> TensorAccess:
    """The input whose window slides, or the first one: the image of a convolution."""
    sliding = (tensor for tensor in workload.inputs if any(len(axis.terms) > 1 for axis in tensor.axes))
    return next(sliding, workload.inputs[0])
