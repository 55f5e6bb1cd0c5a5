"""Series of pictures are told apart without their colours, too."""

from __future__ import annotations

from itertools import combinations

import pytest
from matplotlib.colors import to_rgb

from optmap.report.pictures.series import BOUND_COLOR, COLORS, HATCHES, MARKERS, PALETTE, filled, hollow

APART = 0.15
"""Difference of two greys that is seen, of 1."""


def _grey(color: str) -> float:
    red, green, blue = to_rgb(color)
    return 0.299 * red + 0.587 * green + 0.114 * blue


@pytest.mark.parametrize(("one", "other"), list(combinations(PALETTE, 2)))
def test_two_areas_differ_in_grey_or_in_their_hatches(one: str, other: str) -> None:
    assert abs(_grey(one) - _grey(other)) > APART or HATCHES[one] != HATCHES[other]
    assert filled(one) != filled(other)


def test_every_colour_of_a_line_has_a_mark_of_its_own() -> None:
    assert len(set(MARKERS)) >= len(COLORS)
    assert BOUND_COLOR not in COLORS


def test_an_area_and_its_hollow_one_have_the_same_hatch() -> None:
    for color in PALETTE:
        assert filled(color)["hatch"] == hollow(color)["hatch"]
    assert filled("#123456")["hatch"] is None
    assert filled(PALETTE[0], hatch="++")["hatch"] == "++"
