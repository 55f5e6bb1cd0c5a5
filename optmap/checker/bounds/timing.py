"""The bound on a predicted time: arithmetic at the peak of all cores, and words that must cross over bandwidth.

An operation is a multiply-add at least, of which a core begins `fma_ports` vectors a cycle. A warm memory of M words
begins with M needed words at most, so that M words less than into an empty one must be read; what is written counts
on no link, since links may carry both directions at once. The prediction itself is a model: it is not verified.

So many threads use no more instances of a level than there are. An instance has as many of an inner level inside as
the fanouts in between multiply to, none without a thread; over its link it gets what one core gets alone for each of
its threads, at most.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import Any, NamedTuple

from ..core.nest import TiledNest
from ..core.padding import Done
from ..core.statement import StatedWork
from ..core.tools import equal, need, spelled
from ..core.units import rate_of, words_of


class StatedRunning(NamedTuple):
    """How code runs: on a machine, by how many threads, with caches that hold what when a call begins."""

    machine: Any
    threads: int
    caches: str


class FloorPart(NamedTuple):
    """A time that no code goes below: what is left of an amount, over a rate."""

    name: str
    amount: int
    held: int
    per_cycle: Fraction

    @property
    def cycles(self) -> Fraction:
        """At least so many."""
        return max(0, self.amount - self.held) / self.per_cycle


def predicted(doc: Any) -> Fraction:
    """The predicted time, in cycles, of as many threads as the mapping has parts; the clock makes it seconds."""
    ways = prod(n for level in doc["mapping"]["levels"] for n in level["spatial"].values())
    need(doc["prediction"]["threads"] == ways, f"the prediction is for other than the {ways} threads of the mapping")
    cycles = Fraction(doc["prediction"]["cycles"])
    check_seconds(doc["prediction"]["seconds"], doc["prediction"]["cycles"], doc["machine"]["clock_hz"])
    return cycles


def check_seconds(claimed: float | None, cycles: Fraction | float, clock: int | None) -> None:
    """Seconds are cycles over the clock; none without a clock."""
    seconds = None if clock is None else float(cycles / clock)
    need(claimed == seconds, f"{float(cycles)} cycles are {seconds} s")


def instances_used(running: StatedRunning, q: int) -> int:
    """Instances of a level that the threads use, at most."""
    there: int = prod(level["fanout"] for level in running.machine["levels"][q + 1 :])
    return min(running.threads, there)


def roof(work: StatedWork, running: StatedRunning) -> FloorPart:
    """All multiply-adds at the peak of all threads."""
    core = running.machine.get("core")
    need(core is not None, "a machine without a core has no time")
    lanes = lanes_of(core, work.bits[work.tensors[0][0]])
    peak = Fraction(core["fma_ports"] * lanes * running.threads)
    return FloorPart("multiply-adds", Done(work.accesses, work.extents).points(), 0, peak)


def lanes_of(core: Any, bits: int) -> int:
    """Elements of so many bits in a vector."""
    return max(8 * int(core["vector_bytes"]) // bits, 1)


def link(running: StatedRunning, q: int, words: int, bits: int) -> FloorPart:
    """What must cross the boundary outside a level: words that its busiest instance loads if it is cold."""
    levels, threads = running.machine["levels"], running.threads
    names = [level["name"] for level in levels] + [running.machine["memory"]]
    fanouts, held = [level["fanout"] for level in levels[: q + 1]], 0
    if running.caches == "warm":
        held = sum(
            words_of(level, bits) * min(threads, prod(fanouts[k + 1 :])) for k, level in enumerate(levels[: q + 1])
        )
    rate, alone = rate_of(levels[q], bits), levels[q].get("core_bandwidth")
    if alone is not None:
        rate = min(rate, rate_of({"name": levels[q]["name"], "bandwidth": alone}, bits) * min(threads, prod(fanouts)))
    return FloorPart(f"{names[q]} - {names[q + 1]}", words, held, rate)


def check_time(doc: Any, nest: TiledNest, proved: dict[int, int]) -> str:
    """Bound and gap follow from the machine's peak and the certificates; returns what is verified.

    Args:
        doc: the solution.
        nest: its mapping.
        proved: by boundary, words that the busiest instance loads if it begins empty, at least.
    """
    bound = doc["bound"]
    if bound is None:
        need(doc["gap"] is None and not doc["certificates"], "there is a gap without a bound")
        return "no bound is claimed"
    running = StatedRunning(doc["machine"], doc["prediction"]["threads"], doc["prediction"]["caches"])
    links = [link(running, q, words, nest.work.word_bits) for q, words in proved.items()]
    parts = [roof(nest.work, running), *links]
    value = max(part.cycles for part in parts)
    need(bound["unit"] == "cycles" and equal(bound["value"], value), f"the bound is {float(value)} cycles")
    gap = float(Fraction(doc["exact"]["value"]) / value - 1) if value else None
    need(doc["gap"] == gap, f"the gap is {gap}")
    return time_line(parts, running, doc["certificates"])


def time_line(parts: list[FloorPart], running: StatedRunning, certificates: Any) -> str:
    """The bound with all its parts."""
    first, *links = parts
    core = running.machine["core"]
    read = [f"{part.name} {float(part.cycles):,.10g}" for part in links]
    shared = any(entry["instances"] > 1 for entry in certificates)
    apart = ", if no output element is computed in several memories of a level" if shared else ""
    return spelled(
        f"no code takes fewer than {float(max(part.cycles for part in parts)):,.10g} cycles on {running.threads:,} "
        f"cores, caches {running.caches}{apart}: {first.amount:,} multiply-adds take {float(first.cycles):,.10g}, "
        f"{core['fma_ports']:,} on vectors of {core['vector_bytes']:,} bytes a core and cycle"
        + (f", and what re-proved certificates say must be read over links: {', '.join(read)}" if read else "")
    )
