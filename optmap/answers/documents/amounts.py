"""Numbers of documents."""

from __future__ import annotations

import math
from fractions import Fraction

from optmap.base.texts import exact_text, plain
from optmap.search.floors import Number


def finite(value: Number | None) -> float | None:
    """The number, or None where JSON has no number for it (infinite, not a number, absent)."""
    if value is None or not math.isfinite(value):
        return None
    return float(value) if isinstance(value, Fraction) else value


def amount(value: Number, unit: str) -> dict[str, object]:
    """A number with its unit; what is counted in fractions as exact text, too."""
    if isinstance(value, Fraction):
        return {"value": plain(value), "unit": unit, "exact": exact_text(value)}
    return {"value": finite(value), "unit": unit}
