"""IOOpt, section 6: the five choices of small dims of a convolution, and which of their bounds are ever the largest."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import prod, sqrt
from random import Random

from optmap.bounds.exponents.lattice import Row, closure, image_rank, kernel
from optmap.papers.ioopt.derivations import MAPS
from optmap.papers.items import Collected, Rows
from optmap.papers.rows import claimed, refuted
from optmap.solvers.exact import linear_program, solve_exact

SCENARIOS = Collected()
NAMES = "bcfxyhw"
"""Dims in the order of Figure 3b."""
SMALL = ("", "hw", "bhw", "bhwxy", "bchw")
"""Dims that are small in (i) to (v)."""
FIRST = 3
"""Scenarios whose bounds are said to be interesting: the last rows of Figure 6."""
SAMPLES = 2000


@SCENARIOS.item("Section 6, scenarios", "Choices of small dims of a convolution", where="section 6, Figure 6")
def scenarios() -> Rows:
    """Exponents of all five, and the leading terms of their bounds at random sizes beside the words of the tensors."""
    found = [exponents(small) for small in SMALL]
    yield claimed(
        "sigma of (i) to (v)",
        "2, 3/2, 3/2 in the last rows of Figure 6",
        _told(found, 0),
        holds=_told(found[:3], 0) == "2, 3/2, 3/2",
    )
    yield claimed("s_sd of (ii) and (iii)", "1/2, 1/2", _told(found[1:3], 1), holds=_told(found[1:3], 1) == "1/2, 1/2")
    rng = Random(7)
    sizes = [{name: 2 ** rng.randint(0, 8 if name not in "hw" else 5) for name in NAMES} for _ in range(SAMPLES)]
    rooms = [2 ** rng.randint(2, 14) for _ in range(SAMPLES)]
    above = [0] * len(SMALL)
    for n, room in zip(sizes, rooms, strict=True):
        terms = [leading(n, room, small, *own) for small, own in zip(SMALL, found, strict=True)]
        for place, term in enumerate(terms):
            others = max(words(n), *(other for number, other in enumerate(terms) if number != place and number < FIRST))
            above[place] += term > others * (1 + 1e-9)
    yield claimed(
        f"convolutions of {SAMPLES:,} at which the bound of (iv), of (v) is above the others and all words",
        "not interesting",
        f"{above[3]}, {above[4]}",
        holds=not above[3] and not above[4],
    )
    yield claimed(
        "those at which the bound of (i), of (ii) is", "interesting", f"{above[0]}, {above[1]}", holds=all(above[:2])
    )
    yield refuted(
        "those at which the bound of (iii) is",
        "interesting",
        above[2],
        counterexample=f"of {SAMPLES:,} sizes none: the last row of Figure 6 is the one above it with sqrt(B) in place of B, and "
        f"is larger, all terms taken, in {sum(_rows(n, room) for n, room in zip(sizes, rooms, strict=True))}",
        false=not above[2] and not any(_rows(n, room) for n, room in zip(sizes, rooms, strict=True)),
    )


def exponents(small: str) -> tuple[Fraction, Fraction]:
    """The least s_1 + s_2 + s_3, and with it the least s_sd, over the lattice of kernels.

    Args:
        small: dims that a map of their own keeps; empty for none.
    """
    maps = [MAPS[name] for name in ("phi_1", "phi_2", "phi_3")]
    maps += [tuple(tuple(int(name == each) for each in NAMES) for name in small)] if small else []
    spaces = [
        space for space in closure(frozenset(kernel(rows, len(NAMES)) for rows in maps), len(NAMES)) or () if space
    ]
    ranks = [[image_rank(own, space) for own in maps] for space in spaces]
    return _least(ranks, [len(space) for space in spaces], bool(small))
