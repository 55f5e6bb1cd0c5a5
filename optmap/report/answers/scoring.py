"""A scored mapping as text: both sides, memory by memory, and what it is worth."""

from __future__ import annotations

from fractions import Fraction

from optmap.answers.side_by_side.scoring import Score, times_text
from optmap.base.texts import number
from optmap.count.meshes.results import SpatialCost
from optmap.report.answers.accelerators import accelerator_line
from optmap.report.answers.spatial_nest import nest_text
from optmap.report.tables import grid, notes_text, pairs, workload_lines


def score_table(score: Score) -> str:
    """Both mappings beside one another, their loops, and the verdict."""
    head = [
        *workload_lines(score.fabric.workload),
        ("machine", accelerator_line(score.fabric.machine)),
        ("objective", f"{score.best.objective}, counting {score.best.counting}"),
    ]
    rows = [
        _row("energy (pJ)", score.count.energy_pj, score.best.count.energy_pj),
        *(
            _row(f"  {mine.name}", mine.energy_pj, other.energy_pj)
            for mine, other in zip(score.count.memories, score.best.count.memories, strict=True)
        ),
        _row("cycles", Fraction(score.count.cycles), Fraction(score.best.count.cycles)),
        _row("EDP (pJ*cycles)", score.count.edp, score.best.count.edp),
        ("utilisation", _share(score.count), _share(score.best.count), ""),
    ]
    parts = [
        pairs(head),
        grid(("", "yours", "best", "ratio"), "<>>>", rows),
        "yours\n" + nest_text(score.nest, score.fabric).rstrip(),
        "best\n" + nest_text(score.best.nest, score.fabric).rstrip(),
        notes_text((*score.notes, *score.best.notes)),
        score.verdict,
    ]
    return "\n\n".join(part for part in parts if part)


def _row(name: str, mine: Fraction, best: Fraction) -> tuple[str, str, str, str]:
    return name, number(float(mine)), number(float(best)), times_text(mine / best) if best else "-"


def _share(cost: SpatialCost) -> str:
    return f"{100 * float(cost.utilisation):.1f} %"
