"""What a solution of an accelerator says of how its search went: not re-run, but held against itself."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

from ..core.shapes import Shape, count, flag, many, maybe, number, record, records, row, table, text, word
from ..core.tools import need

TIMES = ("seconds", "seconds_to_best", "curve")
"""Keys that are other the next time, which the digest leaves out."""


def value_of_a_setting(value: Any, where: str) -> None:
    """True or false, a number, or a text."""
    need(type(value) in (bool, int, float, str), f"{where} is {value!r}; no setting is that")


PROVED: dict[str, Shape] = {"bound": number, "proved": flag, "proof": text, "evaluations": count, "seconds": number}
TIMED: dict[str, Shape] = {"seconds_to_best": maybe(number), "curve": many(row(count, number, number))}
EXPLORED: dict[str, Shape] = {
    "valid": count,
    "valid_share": maybe(number),
    "ended": word("strategy", "evaluations", "time"),
    "settings": table(value_of_a_setting),
    "cuts": many(record(rule=text, seen=count, cut=count)),
}
SEARCH = records(PROVED, PROVED | TIMED, PROVED | TIMED | EXPLORED)
NEAR = Fraction(1, 10**6)
"""Relative distance of the end of a curve, a floating-point number of the search, from the exact cost."""


def check_explored(search: Any, cost: Fraction) -> None:
    """Shares and curves are those of their numbers, and end at the cost of the mapping."""
    total = search["evaluations"]
    curve = search.get("curve", [])
    for before, after in pairwise(curve):
        need(before[0] <= after[0] and before[2] > after[2], "a curve of the best falls as evaluations grow")
        need(before[1] <= after[1], "a curve of the best goes back in time")
    if curve:
        need(curve[0][0] >= 1, "a curve of the best begins before the first evaluation")
        need(curve[-1][0] <= total, f"the curve goes beyond {total} evaluations")
        need(abs(Fraction(curve[-1][2]) - cost) <= NEAR * cost, f"the curve ends beside the cost of {float(cost)}")
    last = curve[-1][1] if curve else None
    need(search.get("seconds_to_best") == last, "seconds_to_best is not the end of the curve")
    if "valid" in search:
        need(len(curve) > 0, "the search found a mapping that is not on its curve")
        need(search["valid"] >= len(curve), f"the best became better {len(curve)} times by fewer valid mappings")
        need(search["valid"] <= total, f"{search['valid']} of {total} evaluations are said to be valid")
        need(not search["proved"] or search["ended"] == "strategy", "proved by a search that was cut off")
        share = search["valid"] / total if total else None
        need(search["valid_share"] == share, f"the share of valid mappings is {share}")
        for cut in search["cuts"]:
            need(cut["cut"] <= cut["seen"], f"{cut['rule']}: cut {cut['cut']} of {cut['seen']}")
