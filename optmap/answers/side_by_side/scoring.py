"""Somebody's mapping beside the best one: how many times it costs what the optimum does."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from optmap.answers.documents.amounts import amount
from optmap.base.errors import ContradictionError
from optmap.base.shown import Shown
from optmap.count.meshes.count import count_nest
from optmap.count.meshes.results import SpatialCost
from optmap.files.machines import machine_document
from optmap.files.mappings import mapping_document
from optmap.files.workloads import workload_document
from optmap.machines.fabric import Fabric
from optmap.mappings.nest import Nest, mapping_of
from optmap.questions.options import Merit
from optmap.search.floors import Number
from optmap.search.found import SAME
from optmap.search.result import NestAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Score(Shown):
    """A mapping, and the best one that was found for the same workload and machine."""

    shown_as: ClassVar[str] = "score"

    nest: Nest
    """The mapping that is scored."""
    count: SpatialCost
    """Of it, in the counting of `best`."""
    best: NestAnswer
    notes: tuple[str, ...]
    """What its files say that is left out."""

    @property
    def fabric(self) -> Fabric:
        """Workload and machine of both."""
        return self.best.fabric

    @property
    def merit(self) -> Merit:
        """By what they are compared."""
        return self.best.merit

    @property
    def cost(self) -> Fraction:
        """The objective of the mapping that is scored."""
        return self.count.merit(self.merit)

    @property
    def ratio(self) -> Number | None:
        """Its cost over that of the best one; None where that is 0."""
        return self.cost / self.best.cost if self.best.cost else None

    @property
    def verdict(self) -> str:
        """What it is worth, in a sentence."""
        if self.count.broken:
            return f"yours is not valid on the machine: {'; '.join(self.count.broken)}"
        times = "as good as" if self.ratio in (None, 1) else f"{times_text(self.ratio)} of"
        if self.best.proved:
            return "yours is the proven optimum" if self.ratio in (None, 1) else f"yours is {times} the proven optimum"
        bound = self.best.integer_bound
        most = f", at most {times_text(self.cost / bound)} of the optimum" if bound else ""
        return f"yours is {times} the best mapping found in {self.best.found.seconds:.0f} s{most}"


def times_text(ratio: Number | None) -> str:
    """`1.31x`: a ratio, with more digits where it is close to 1."""
    value = float(ratio or 0)
    return f"{value:.2f}x" if abs(value - 1) >= 0.005 else f"{value:.6f}x"


def scored(nest: Nest, fabric: Fabric, best: NestAnswer, notes: tuple[str, ...] = ()) -> Score:
    """A mapping beside the best one.

    Args:
        nest: the mapping.
        fabric: what it is for.
        best: what `solve` found on the same machine.
        notes: what the mapping's files say that is left out.

    Raises:
        ContradictionError: if the mapping is valid, pads nothing and costs less than what is proved to be the least
            (by more than the search's floating-point bounds are trusted for).
    """
    found = Score(nest=nest, count=count_nest(nest, fabric, best.counting), best=best, notes=notes)
    inside = not found.count.broken and nest.tiles()[-1] == fabric.extents  # a mapping that pads may cost less
    if inside and found.cost < best.integer_bound * (1 - SAME):
        raise ContradictionError(
            f"the mapping costs {float(found.cost):.12g}, less than {float(best.integer_bound):.12g}, which is proved "
            "to be the least"
        )
    return found


def score_document(score: Score) -> dict[str, object]:
    """A score as JSON."""
    unit = score.merit.unit
    best = score.best
    return {
        "schema": "optmap.score/1",
        "workload": workload_document(score.fabric.workload),
        "machine": machine_document(score.fabric.machine),
        "objective": best.objective,
        "counting": score.best.counting.name,
        "verdict": score.verdict,
        "valid": not score.count.broken,
        "broken": list(score.count.broken),
        "ratio": None if score.ratio is None else float(score.ratio),
        "yours": _side(score.count, mapping_document(mapping_of(score.nest, score.fabric)), score.cost, unit),
        "best": _side(score.best.count, mapping_document(score.best.mapping), score.best.cost, unit),
        "search": {
            "proved": best.proved,
            "bound": amount(best.integer_bound, unit),
            "space": best.space,
            "seconds": best.found.seconds,
        },
        "notes": [*score.notes, *score.best.notes],
    }


def _side(cost: SpatialCost, mapping: dict[str, object], value: Number, unit: str) -> dict[str, object]:
    return {
        "mapping": mapping,
        "cost": amount(value, unit),
        "energy": amount(cost.energy_pj, "pJ"),
        "cycles": amount(Fraction(cost.cycles), "cycles"),
        "edp": amount(cost.edp, "pJ*cycles"),
        "utilisation": float(cost.utilisation),
    }
