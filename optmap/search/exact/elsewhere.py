"""A mapping from another search, for the exact one to be better than where its own passes are long."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optmap.base.clock import Clock
from optmap.machines.fabric import Fabric
from optmap.mappings.nest import Nest
from optmap.search.explore.driver import Trace, drive
from optmap.search.explore.protocol import Brief
from optmap.search.question import Question
from optmap.search.quickflow import STRATEGY, QuickFlowSettings

EVALUATIONS = 400_000
"""Mappings that the local search may look at: it ends in some seconds, mostly of itself."""

CHANCE = 0
"""Seed of what is drawn on the way: the answer of the exact search does not depend on that of the question."""


def local_search(fabric: Fabric, question: Question) -> Callable[[Clock], tuple[Nest | None, int]]:
    """The best mapping that `quickflow` meets, when it is asked for, and how many it looked at; None for none.

    Args:
        fabric: what is mapped onto what.
        question: what is minimised, and how words are counted.
    """

    def best(clock: Clock) -> tuple[Nest | None, int]:
        brief = Brief(
            fabric=fabric,
            merit=question.merit,
            counting=question.counting,
            settings=QuickFlowSettings(),
            rng=np.random.default_rng(CHANCE),
        )
        trace = Trace()
        for _ in drive(STRATEGY, brief, trace, evaluations=EVALUATIONS, clock=clock):
            pass
        return trace.best, trace.evaluations

    return best
