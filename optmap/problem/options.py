"""The options of an answer, each with one name from the command line to the result.

============ ================= ======================================= ============================================
shell        Python and sweeps in `Question`, `Route`, `Answer`        in documents and rows
============ ================= ======================================= ============================================
--tiles      `tiles`           `tiles`: `TileRule`                     `tiles`
--capacity   `capacity`        `capacity`: `CapacityRule`              `capacity_rule` (a capacity is a size there)
--integers   `integers`        `integers`: `IntegerRule`               said in `notes`
--objective  `objective`       `objective`: `Objective`                `objective`
--counting   `counting`        `counting`: `Counting`                  `counting` (accelerators only)
--constraint `constraints`     `constraints`: `Constraints`            `constraints`
--cores      `cores`           `cores`                                 the splits of the mapping; `cores` in rows
============ ================= ======================================= ============================================

What counts words is given the `rule` of one level (`Level.rule`), which for a scratchpad is `tile` whatever is
asked; a search that cuts extents is told `divisors`, whether tiles must divide them.
"""

from __future__ import annotations

from enum import StrEnum


class TileRule(StrEnum):
    """Which tile sizes are allowed."""

    ANY = "any"
    """Any whole number."""
    DIVISORS = "divisors"
    """Divisors of the next outer tile."""
    PADDED = "padded"
    """On accelerators: divisors of the extents, or of slightly larger ones whose extra work is counted."""


class IntegerRule(StrEnum):
    """How whole tiles are found."""

    EXACT = "exact"
    """By a search over whole numbers."""
    FLOOR = "floor"
    """By rounding real ones down and balancing, as MOpt does."""


class Counting(StrEnum):
    """How words are counted on an accelerator."""

    EXACT = "exact"
    """As a literal walk of the loops counts them, footprints with their gaps left out."""
    TIMELOOP = "timeloop"
    """As Timeloop's dense model does: tiles as hulls, the change of a tile extrapolated from two steps of each loop."""
    FACTORFLOW = "factorflow"
    """As the model of FactorFlow and QuickFlow does: reuse within the loops of one memory, drains at a price, and
    capacities that take every stride as 1, so that a mapping may not fit in truth."""


WALKED = (Counting.EXACT, Counting.TIMELOOP)
"""Countings that follow tiles through all loops: searches with bounds know these."""


class Merit(StrEnum):
    """What is minimised on an accelerator."""

    ENERGY = "energy"
    """pJ, all instances together."""
    CYCLES = "cycles"
    """Cycles of computation, or of the slowest memory if it takes longer."""
    EDP = "edp"
    """Energy times cycles, in pJ*cycles."""
    TRAFFIC = "traffic"
    """Cycles that the slowest port needs for its words alone, computation left out."""

    @property
    def unit(self) -> str:
        """What it is measured in."""
        return {Merit.ENERGY: "pJ", Merit.EDP: "pJ*cycles"}.get(self, "cycles")
