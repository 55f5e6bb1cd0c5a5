"""One search of method `sunstone`, for the tests of its rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from optmap.count.meshes.count import NEST_EXACT
from optmap.machines.fabric import Fabric
from optmap.questions.options import Merit
from optmap.search import SUNSTONE_STRATEGY, Brief, SunstoneSettings, Trace, drive

OPEN = SunstoneSettings(
    further_reuse=False,
    dominated_orders=False,
    reuse_dims=False,
    tiling_principle=False,
    look_outside=False,
    unrolling_principle=False,
    utilisation=0.0,
    alpha_beta=False,
    bypass=True,
    width=0,
)
"""Without any rule."""


def searched(fabric: Fabric, settings: SunstoneSettings, merit: Merit = Merit.EDP) -> Trace:
    brief: Brief[Any] = Brief(
        fabric=fabric, merit=merit, counting=NEST_EXACT, settings=settings, rng=np.random.default_rng(0)
    )
    trace = Trace()
    list(drive(SUNSTONE_STRATEGY, brief, trace))
    return trace
