"""A randomized product: bound and tiling as table and document."""

from __future__ import annotations

from fractions import Fraction

from optmap.base.texts import number, ratio_text, several
from optmap.baselines.randomized import RandomizedComparison
from optmap.files.workloads import workload_document
from optmap.report.tables import grid, pairs, workload_lines

SCHEMA = "optmap.randomized/1"
NOTES = (
    "cost counts loads, an element of S that is generated as so many loads as it costs; stores are kept apart",
    "the bound holds for every schedule from an empty memory (Dinh, Theorem 22); the tiling keeps a tile of the "
    "result while its rank-1 updates run (Algorithm 10), one word being the current element of S",
)


def randomized_document(found: RandomizedComparison) -> dict[str, object]:
    """The JSON document of `randomized`; fractions are exact texts beside their values."""
    problem, bound, tiling = found.problem, found.bound, found.tiling
    return {
        "schema": SCHEMA,
        "workload": workload_document(found.workload),
        "memory_words": problem.memory_words,
        "generation_cost": _exact(problem.cost),
        "bound": {
            "cost": _exact(bound.cost),
            "stores_words": bound.stores_words,
            "terms": [{"term": name, **_exact(value)} for name, value in bound.terms],
        },
        "tiling": {
            "rows": tiling.rows,
            "columns": tiling.columns,
            "cost": _exact(tiling.cost),
            "loads_words": tiling.loads_words,
            "generated": tiling.generated,
            "stores_words": tiling.stores_words,
            "occupancy_words": tiling.occupancy_words,
        },
        "gap": found.gap,
        "notes": list(NOTES),
    }


def _exact(value: Fraction) -> dict[str, object]:
    whole = value.denominator == 1
    return {"value": int(value) if whole else float(value), "exact": ratio_text(value)}


def randomized_table(found: RandomizedComparison) -> str:
    """The comparison for people."""
    problem, bound, tiling = found.problem, found.bound, found.tiling
    head = [
        *workload_lines(found.workload),
        ("memory", several(problem.memory_words, "word")),
        ("generating", f"an element of S costs {problem.cost} load{'' if problem.cost == 1 else 's'}"),
    ]
    terms = [(name, _number(value), "<- bound" if value == bound.cost else "") for name, value in bound.terms]
    schedule = [
        (
            "tile",
            f"{tiling.rows:,} x {tiling.columns:,} of the result, {several(tiling.occupancy_words, 'word')} in all",
        ),
        ("loads", several(tiling.loads_words, "word")),
        ("generated", f"{several(tiling.generated, 'element')} of S"),
        ("stores", f"{several(tiling.stores_words, 'word')} (every schedule: {bound.stores_words:,} at least)"),
        ("cost", f"{_number(tiling.cost)} loads"),
        ("gap", f"{100 * found.gap:.3f} % of cost above the bound"),
    ]
    return "\n".join(
        [
            pairs(head),
            "",
            "What every schedule costs, at least",
            grid(["term", "cost (loads)", ""], "<><", terms),
            "",
            "A tiling",
            pairs(schedule),
            "",
            *(f"note: {note}" for note in NOTES),
        ]
    )


def _number(value: Fraction) -> str:
    return number(int(value) if value.denominator == 1 else float(value))
