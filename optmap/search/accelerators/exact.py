"""Method `exact` on accelerators: the exact search, asked for one request."""

from __future__ import annotations

import time

from optmap.errors import InfeasibleError, LimitError
from optmap.search.accelerators.answer import AcceleratorFound
from optmap.search.accelerators.request import AcceleratorRequest
from optmap.search.exact import search_nest

SPACE = "perfect factors of every dim, with every loop order, spatial split and bypass that the machine allows"


def solve(request: AcceleratorRequest) -> AcceleratorFound:
    """The best mapping, proved; at the time limit the best so far with the bound that is proved then.

    Raises:
        InfeasibleError: if no mapping is valid.
        LimitError: if none was found in time.
    """
    begun = time.monotonic()

    def tell(text: str) -> None:
        if request.progress is not None:
            request.progress(text, min(1.0, (time.monotonic() - begun) / request.time_limit))

    found = search_nest(
        request.fabric, merit=request.merit, counting=request.counting, clock=request.clock, progress=tell
    )
    if found.nest is None:
        if request.clock.late:
            raise LimitError("no mapping was found in time; raise the time limit")
        machine = request.fabric.machine.name
        raise InfeasibleError(f"no mapping of {request.fabric.workload.title} onto {machine} is valid: {found.reason}")
    return AcceleratorFound(
        nest=found.nest,
        claimed=found.value,
        bound=found.bound,
        proved=found.proved,
        proof=f"search over labels, {len(found.passes)} passes: {found.reason}",
        evaluations=found.evaluations,
        late=request.clock.late and not found.proved,
        space=SPACE,
    )
