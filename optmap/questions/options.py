"""The options of an answer, each with one name from the command line to the result.

============ ================= ======================================= ============================================
shell        Python and sweeps in `Question`, `Route`, `Answer`        in documents and rows
============ ================= ======================================= ============================================
--tiles      `tiles`           `tiles`: `TileRule`                     `tiles`
--capacity   `capacity`        `capacity`: `CapacityRule`              `capacity_rule` (a capacity is a size there)
--integers   `integers`        `integers`: `IntegerRule`               said in `notes`
--objective  `objective`       `objective`: `Objective`                `objective`
--counting   `counting`        `counting`: `NestPolicy`, then its name `counting` (accelerators only)
--constraint `constraints`     `constraints`: `Constraints`            `constraints`
--cores      `cores`           `cores`                                 the splits of the mapping; `cores` in rows
============ ================= ======================================= ============================================

What counts words is given the `rule` of one level (`Level.rule`), which for a scratchpad is `tile` whatever is
asked; a search that cuts extents is told `divisors`, whether tiles must divide them.
"""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction


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


PORT_CYCLES = "port-cycles"
"""The name of the cycles that the slowest port needs, as an objective."""


class CertificateKind(StrEnum):
    """What a solution's file can prove beside its mapping."""

    BOUND = "bound"
    """The lower bound."""
    FULL = "full"
    """The relaxation and the integer bound, too."""


class Merit(StrEnum):
    """Which number of a counted mapping is minimised on an accelerator: what the names in `MERITS` stand for."""

    ENERGY = "energy"
    """pJ, all instances together."""
    CYCLES = "cycles"
    """Cycles of computation, or of the slowest memory if it takes longer."""
    EDP = "edp"
    """Energy times cycles, in pJ*cycles."""
    PORT_CYCLES = "traffic"
    """Cycles that the slowest port needs for its words alone, computation left out.

    It is asked for as `port-cycles`, or by its older name `traffic`, which elsewhere means words: an answer says the
    name that it was asked by, and journals and observations, which either may read, the older one.
    """

    @classmethod
    def _missing_(cls, value: object) -> Merit | None:
        """The number that a name other than its value stands for."""
        return cls.PORT_CYCLES if value == PORT_CYCLES else None

    @property
    def unit(self) -> str:
        """What it is measured in."""
        return {Merit.ENERGY: "pJ", Merit.EDP: "pJ*cycles"}.get(self, "cycles")

    def of(self, energy_pj: Fraction, cycles: int, port_cycles: int) -> Fraction:
        """The number itself, of energy, cycles, and cycles of the slowest port."""
        match self:
            case Merit.ENERGY:
                return energy_pj
            case Merit.CYCLES:
                return Fraction(cycles)
            case Merit.EDP:
                return energy_pj * cycles
            case Merit.PORT_CYCLES:
                return Fraction(port_cycles)
