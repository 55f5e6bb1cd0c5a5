"""From what a method found on an accelerator to the answer: every number is counted again."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from optmap.errors import CheckError
from optmap.evaluate.spatial.count import count_nest
from optmap.evaluate.spatial.results import SpatialCost
from optmap.evaluate.spatial.wires import wire_notes
from optmap.problem.fabric import Fabric
from optmap.problem.nest import Nest, mapping_of
from optmap.problem.options import Counting, TileRule
from optmap.search.accelerators.request import AcceleratorRequest
from optmap.search.accelerators.result import AcceleratorResult, MapspaceSearch
from optmap.search.curve import Improvement
from optmap.search.versions import versions
from optmap.solvers.status import Stop

if TYPE_CHECKING:
    from optmap.search.explore.driver import Trace

SAME = 1e-9
"""Relative distance within which a search's floating-point cost or bound is the exact one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceleratorFound:
    """What a method hands in: a nest, and what it knows about it. Only the nest is needed."""

    nest: Nest
    claimed: Fraction | float | None = None
    """Its merit as the search counted it, to be compared with the recount."""
    bound: Fraction | float = 0
    """Proved lower bound on the merit of every mapping in `space`; 0 for none."""
    proved: bool = False
    """Whether no mapping of the space is better."""
    proof: str = ""
    """How the bound is proved, in words; empty without one."""
    space: str = ""
    """The mappings among which the method looked for the best, in words."""
    evaluations: int = 0
    """Mappings or partial ones that were priced."""
    late: bool = False
    """Whether the time ran out."""
    may_not_fit: bool = False
    """Whether the method is known to hand in mappings that break rules of their machine: then the answer says so."""
    notes: tuple[str, ...] = ()
    """What a reader should know."""
    trace: Trace | None = None
    """Of a method that explores: what it did."""
    curve: tuple[Improvement, ...] = ()
    """Of another method that knows when it found what."""


def assemble_nest(
    request: AcceleratorRequest, method: str, found: AcceleratorFound, *, seconds: float
) -> AcceleratorResult:
    """The answer, with every number recounted from the nest.

    Args:
        request: what was asked.
        method: name of the method.
        found: what it found.
        seconds: time it took.

    Raises:
        CheckError: if the nest is not valid on the machine (of a method that is not known for that), costs something
            else than the search claimed, or less than a proved bound. One that only the counting that was asked for
            has fit is handed on, and the answer says that it does not.
    """
    fabric = request.fabric
    cost = count_nest(found.nest, fabric, request.counting)
    value = cost.merit(request.merit)
    mapping = mapping_of(found.nest, fabric)
    _check(request, found, cost, value)
    for item, level in request.constraints.broken(mapping):
        raise CheckError(f"the mapping found does not meet the constraint {item.text}: {item.found(level)}")
    exact = cost if request.counting is Counting.EXACT else count_nest(found.nest, fabric, Counting.EXACT)
    stop = Stop.late() if found.late else Stop.SEARCH_ENDED
    if found.proved:
        stop = Stop.OPTIMAL
    if cost.broken or exact.broken:
        stop = Stop.INFEASIBLE
    return AcceleratorResult(
        fabric=fabric,
        method=method,
        merit=request.merit,
        counting=request.counting,
        tiles=request.tiles,
        constraints=request.constraints,
        stop=stop,
        nest=found.nest,
        mapping=mapping,
        count=cost,
        exact=exact,
        search=MapspaceSearch(
            bound=min(Fraction(found.bound), value),
            proved=found.proved,
            proof=found.proof,
            space=found.space,
            evaluations=found.evaluations,
            seconds=seconds,
            trace=found.trace,
            curve=found.curve if found.trace is None else tuple(found.trace.curve),
        ),
        seconds=seconds,
        seed=request.seed,
        versions=versions(),
        notes=(*found.notes, *_padding_note(found.nest, fabric), *wire_notes(fabric, request.counting)),
    )


def _check(request: AcceleratorRequest, found: AcceleratorFound, cost: SpatialCost, value: Fraction) -> None:
    """Hold the nest against what was asked and what is claimed of it."""
    if cost.broken and not found.may_not_fit:
        raise CheckError(f"the mapping found is not valid on its machine: {'; '.join(cost.broken)}")
    if found.claimed is not None and abs(value - Fraction(found.claimed)) > SAME * value:
        raise CheckError(f"the search claims {float(found.claimed):.12g}, the recount finds {float(value):.12g}")
    if value < Fraction(found.bound) * (1 - Fraction(SAME)):
        raise CheckError(f"the mapping costs {float(value):.12g}, below the proved bound {float(found.bound):.12g}")
    padded = found.nest.tiles()[-1] != request.fabric.extents
    if padded and request.tiles is TileRule.DIVISORS:
        raise CheckError("the mapping found pads dims, but divisors were asked for")


def _padding_note(nest: Nest, fabric: Fabric) -> tuple[str, ...]:
    """What was padded, if anything."""
    sizes = zip(fabric.dims, fabric.extents, nest.tiles()[-1], strict=True)
    grown = [f"{dim} from {extent:,} to {size:,}" for dim, extent, size in sizes if size != extent]
    return (f"padded: {', '.join(grown)}; the work on padding is counted",) if grown else ()
