"""How series are told apart in every picture: by colour, and in grey by mark, dashes and hatches.

A colour has its hatch, so that a tensor or a level looks the same in every picture, and neighbours in a bar differ
without colour as well.
"""

from __future__ import annotations

from typing import Any

# Okabe and Ito's palette: the colours stay apart for every common kind of colour blindness.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
BOUND_COLOR = "#D55E00"
"""Of the proved bound, in every picture."""
FLOOR = "#555555"
"""Of compulsory traffic, in every picture."""
REST = "#bbbbbb"
"""Of what is left: the others together, an area between two curves."""
COLORS = tuple(color for color in PALETTE if color != BOUND_COLOR)
"""Of series beside the bound."""
MARKERS = "osD^vPX*"
HATCHES = dict(zip(PALETTE, ("", "////", "\\\\\\\\", "xxxx", "||||", "----", "++++", ""), strict=True))
"""Of areas, by colour: what is as light as another one differs in its hatch. Dots would take much room in SVG."""


def filled(color: str, **more: Any) -> dict[str, Any]:
    """The look of an area or a bar of a colour, with its hatch in white.

    Args:
        color: of the palette; any other has no hatch.
        **more: properties of matplotlib beside it, or in place of it.
    """
    return {"facecolor": color, "edgecolor": "#ffffff", "linewidth": 0.5, "hatch": HATCHES.get(color) or None, **more}


def hollow(color: str, **more: Any) -> dict[str, Any]:
    """The look of an area that goes with a filled one: white, with edge and hatch of the colour."""
    return {"facecolor": "#ffffff", "edgecolor": color, "linewidth": 1.0, "hatch": HATCHES.get(color) or None, **more}
