"""Rows of mappings on accelerators."""

from __future__ import annotations

from dataclasses import replace

from optmap.search.accelerators.result import AcceleratorResult
from optmap.sweeps.points import GridPoint, blank_row
from optmap.sweeps.rows import Row


def nest_row(point: GridPoint, result: AcceleratorResult) -> Row:
    """The row of a mapping on an accelerator: `bound` and `gap` are those of its floor."""
    search, floor, count = result.search, result.floor, result.count
    least = None if floor is None else floor.merit(result.merit)
    return replace(
        blank_row(point, stop=result.stop.value),
        objective=result.objective,
        semantics=result.workload.semantics.value,
        tiles=result.tiles.value,
        counting=result.counting.name,
        energy_pj=float(count.energy_pj),
        cycles=count.cycles,
        edp=float(count.edp),
        utilisation=float(count.utilisation),
        search_bound=float(search.bound),
        evaluations=search.evaluations,
        valid_share=None if search.trace is None else search.trace.valid_share,
        seconds_to_best=search.seconds_to_best,
        cost=float(result.cost),
        cost_unit=result.cost_unit,
        exact=float(result.exact.merit(result.merit)),
        bound=None if least is None else float(least),
        bound_unit=result.cost_unit,
        bound_method="" if least is None else "floor",
        gap=None if result.gap is None else float(result.gap),
        proved=search.proved,
        within=float(result.cost / search.bound - 1) if search.bound else None,
        point="feasible" if result.fits else "none",
    )
