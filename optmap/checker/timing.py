"""The bound on a predicted time: arithmetic at the peak of all cores, and words that must cross over bandwidth.

An operation is a multiply-add at least, of which a core begins `fma_ports` vectors a cycle. A warm memory of M words
begins with M needed words at most, so that M words less than into an empty one must be read; what is written counts
on no link, since links may carry both directions at once. The prediction itself is a model: it is not verified.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import Any

from .nest import Nest
from .padding import Done
from .tools import need, spelled
from .units import rate_of, words_of


def predicted(doc: Any) -> Fraction:
    """The predicted time, in cycles, and of as many threads as the mapping has parts."""
    ways = prod(n for level in doc["mapping"]["levels"] for n in level["spatial"].values())
    need(doc["prediction"]["threads"] == ways, f"the prediction is for other than the {ways} threads of the mapping")
    return Fraction(doc["prediction"]["cycles"])


def check_time(doc: Any, nest: Nest, proved: dict[int, int]) -> str:
    """Bound and gap follow from the machine's peak and the certificates; returns what is verified.

    Args:
        doc: the solution.
        nest: its mapping.
        proved: by boundary, words that the busiest instance loads if it begins empty, at least.
    """
    bound, threads, work = doc["bound"], doc["prediction"]["threads"], nest.work
    if bound is None:
        need(doc["gap"] is None and not doc["certificates"], "there is a gap without a bound")
        return "no bound is claimed"
    core = doc["machine"].get("core")
    need(core is not None, "a machine without a core has no time")
    lanes = max(8 * core["vector_bytes"] // work.bits[work.tensors[0][0]], 1)
    operations = Done(work.accesses, work.extents).points()
    roof = Fraction(operations, core["fma_ports"] * lanes * threads)
    times = [roof, *(crossing(doc, q, words, work.word_bits) for q, words in proved.items())]
    value = max(times)
    claimed = bound["value"]
    fits = claimed == value if type(claimed) is int else claimed == float(value)
    need(bound["unit"] == "cycles" and fits, f"the bound is {float(value)} cycles")
    gap = float(Fraction(doc["exact"]["value"]) / value - 1) if value else None
    need(doc["gap"] == gap, f"the gap is {gap}")
    return spelled(
        f"no code takes fewer than {float(value):,.10g} cycles on {threads:,} cores: {operations:,} multiply-adds take "
        f"{float(roof):,.10g}, and re-proved certificates say what must be read over {len(proved):,} links"
    )


def instances_used(levels: Any, q: int, threads: int) -> int:
    """Instances of a level that so many threads use, at most."""
    there: int = prod(level["fanout"] for level in levels[q + 1 :])
    return min(threads, there)


def crossing(doc: Any, q: int, words: int, bits: int) -> Fraction:
    """Cycles of what must cross the boundary outside a level: words that the busiest instance loads if cold.

    An instance has as many of an inner level inside as the fanouts in between multiply to, none without a thread, and
    all may begin full. Over its link it gets what one core gets alone for each of its threads, at most.
    """
    levels, threads = doc["machine"]["levels"], doc["prediction"]["threads"]
    fanouts = [level["fanout"] for level in levels[: q + 1]]
    if doc["prediction"]["caches"] == "warm":
        inside = [
            words_of(level, bits) * min(threads, prod(fanouts[k + 1 :])) for k, level in enumerate(levels[: q + 1])
        ]
        words = max(0, words - sum(inside))
    rate, alone = rate_of(levels[q], bits), levels[q].get("core_bandwidth")
    if alone is not None:
        rate = min(rate, rate_of({"name": levels[q]["name"], "bandwidth": alone}, bits) * min(threads, prod(fanouts)))
    return words / rate
