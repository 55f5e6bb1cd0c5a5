"""How cores can be split over the dims of a workload."""

from __future__ import annotations

import numpy as np

from optmap.base.errors import InfeasibleError
from optmap.search.space.search_space import Setting
from optmap.search.space.sizes import factorizations
from optmap.search.whole.chain_costs import least_chains
from optmap.search.whole.descent import BlockDescent


def core_splits(setting: Setting, descent: BlockDescent) -> list[tuple[int, ...]]:
    """The ways to split the cores over the dims: the whole problem can be cut so, around imposed tiles too.

    Raises:
        InfeasibleError: if there is none.
    """
    reduction = set(setting.workload.reduction_dims)
    limits = [1 if d in reduction else n for d, n in setting.workload.sizes]
    inside = descent.inside(setting.split_level or 0).tolist()
    extents = [n for _, n in setting.workload.sizes]
    found = [
        ways
        for ways in factorizations(setting.cores, limits)
        if setting.meets_split(ways)
        and all(
            -(-extent // split) >= least and not (descent.divisors and extent % split)
            for extent, split, least in zip(extents, ways, inside, strict=True)
        )
        and (setting.allowed.free or len(least_chains(setting, np.array(ways), divisors=descent.divisors, most=1)[0]))
    ]
    if not found:
        names = ", ".join(d for d in setting.workload.dims if d not in reduction)
        divide = " that divide them" if descent.divisors else ""
        imposed = " and leave room for the microkernel" if setting.fixed else ""
        met = "" if setting.allowed.free else f" and meet the constraints {setting.constraints.text}"
        raise InfeasibleError(
            f"{setting.cores} cores cannot be written as a product of factors within the extents of the dims that are "
            f"not reduced ({names}){divide}{imposed}{met}; use fewer cores" + (" or --tiles any" if divide else "")
        )
    return found
