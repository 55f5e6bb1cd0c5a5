"""Method `sunstone`: what it finds, and that its rules off are every mapping there is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from spatial_brute_force import best_of_all, tiny_fabric

from optmap.problem.fabric import Fabric
from optmap.problem.options import Counting, Merit
from optmap.search import SUNSTONE_STRATEGY, Question, SunstoneSettings, Trace, drive

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
    question: Question[Any] = Question(
        fabric=fabric, merit=merit, counting=Counting.EXACT, settings=settings, rng=np.random.default_rng(0)
    )
    trace = Trace()
    list(drive(SUNSTONE_STRATEGY, question, trace))
    return trace


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("direction", ["bottom-up", "top-down"])
def test_without_rules_it_looks_at_every_mapping(seed: int, direction: str) -> None:
    fabric = tiny_fabric(seed, 300)
    every = best_of_all(fabric, Counting.EXACT)
    found = searched(fabric, replace(OPEN, direction=direction))
    assert (found.best is None) == (not every)
    if every:
        assert found.value == pytest.approx(float(every[Merit.EDP].value), rel=1e-12)
