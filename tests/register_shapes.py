"""The part of an innermost tile that a kernel keeps in registers, from the roles of the dims alone."""

from __future__ import annotations

from math import prod

from optmap.kernels.code_options import ActivationLayout
from optmap.kernels.kernel_roles import RegisterShape, kernel_roles
from optmap.machines.core import Core
from optmap.mappings.levels import Mapping
from optmap.workloads.workload import Workload


def register_shape(
    workload: Workload, mapping: Mapping, core: Core, layout: ActivationLayout = ActivationLayout.NHWC
) -> RegisterShape | None:
    """What the tile of a mapping's innermost level is in registers.

    Args:
        workload: the tensor computation.
        mapping: its innermost level is the registers.
        core: length of a vector.
        layout: of image and output.

    Returns:
        None if `kernel_roles` are.
    """
    roles = kernel_roles(workload, layout)
    if roles is None:
        return None
    tile = mapping.levels[0].tile
    return RegisterShape(
        vectors=-(-tile[roles.vector] // core.lanes(workload.output.bits)),
        points=prod(tile[dim] for dim in (*roles.filters, *roles.points, *roles.shared)),
    )
