"""What a search says about how far it came."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from .tools import need

REACHED = 2e-6
"""Relative distance at which a cost counts as the integer bound below it."""


def check_status(doc: Any, cost: Fraction) -> None:
    """The status of a solution is consistent with its cost and its integer bound."""
    status, least = doc["status"], doc["integer_bound"]["value"]
    need(least is None or least <= float(cost), "the integer bound is above the cost")
    within = float(cost) / least - 1 if least else None
    need(status["within"] == within, f"status.within must be {within}: cost over integer bound, minus one")
    reached = least is not None and float(cost) <= least * (1 + REACHED)
    need(status["proved"] == reached, f"status.proved must be {reached}: whether the cost reaches the integer bound")
    need((status["stop"] == "optimal") == reached, "status.stop is optimal where the cost reaches the integer bound")
