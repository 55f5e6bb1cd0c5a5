"""IOOpt, section 6: the five choices of small dims of a convolution, and which of their bounds are ever the largest."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import prod
from random import Random

from optmap.bounds.ioopt_formulas import figure6_convolution
from optmap.papers.exponents import least_sum, rank_conditions, unit_rows
from optmap.papers.ioopt.derivations import CONV2D, tensor_maps
from optmap.papers.items import Collected, Rows
from optmap.papers.rows import claimed, refuted
from optmap.solvers.exact import linear_program, solve_exact
from optmap.workloads.parser import parse_workload

SCENARIOS = Collected()
NAMES = "bcfxyhw"
"""Dims in the order of Figure 3b."""
SMALL = ("", "hw", "bhw", "bhwxy", "bchw")
"""Dims that are small in (i) to (v)."""
SAMPLES = 500


@SCENARIOS.item("Section 6, scenarios", "Five choices of small dims of a convolution", where="section 6, Figure 6")
def scenarios() -> Rows:
    """Exponents of each, and the rows of Figure 6 beside one another at random sizes, powers of 2."""
    found = [exponents(small) for small in SMALL]
    sigmas = [str(sigma) for sigma, _ in found]
    yield claimed(
        "sigma of (i), (ii), (iii), by the rows of Figure 6",
        "2, 3/2, 3/2",
        ", ".join(sigmas[:3]),
        holds=sigmas[:3] == ["2", "3/2", "3/2"],
    )
    dull = [0, 0]
    best, ahead = [0, 0, 0, 0], 0
    for n, memory in _drawn():
        rows = figure6_convolution(parse_workload(CONV2D, n), memory)
        ahead += rows[2] >= rows[3]
        for place, (small, (_, share)) in enumerate(zip(SMALL[3:], found[3:], strict=True)):
            least = prod(n.values()) / prod(n[name] for name in small) ** float(share)
            dull[place] += least > rows[0] * (1 + 1e-12)
        for place, row in enumerate(rows):
            best[place] += row > max(other for number, other in enumerate(rows) if number != place)
    yield claimed(
        f"sigma of (iv), (v); convolutions of {SAMPLES:,} whose bound by it is above the words of the tensors",
        "no interesting bounds",
        f"{', '.join(sigmas[3:])}; {dull[0]}, {dull[1]}",
        holds=not any(dull),
    )
    yield claimed(
        f"convolutions of {SAMPLES:,} whose bound by (i), by (ii) is above all other rows",
        "interesting bounds",
        f"{best[1]}, {best[2]}",
        holds=all(best[1:3]),
    )
    yield refuted(
        f"convolutions of {SAMPLES:,} whose bound by (iii) is above all other rows",
        "interesting bounds",
        best[3],
        counterexample=f"row (ii) is row (iii) plus 2(B - sqrt(B))FXY(CHW - 1)/sqrt(HWS), not less in {ahead}",
        false=not best[3] and ahead == SAMPLES,
    )


def exponents(small: str) -> tuple[Fraction, Fraction]:
    """The least s_1 + s_2 + s_3 over the lattice of kernels, and the least s_sd that goes with it.

    Args:
        small: dims that a map of their own keeps; empty for none.
    """
    maps = tensor_maps(small=False)
    if not small:
        return least_sum(maps, 7)[0] or Fraction(0), Fraction(0)
    maps.append(unit_rows(map(NAMES.index, small), 7))
    sigma = least_sum(maps, 7, free=1)[0] or Fraction(0)
    rows, lower = rank_conditions(maps, 7)
    limits = [*([None] * len(rows)), sigma]
    least = solve_exact(
        linear_program([0, 0, 0, 1], [*rows, [1, 1, 1, 0]], row_lower=[*lower, None], row_upper=limits, upper=[1] * 4)
    ).objective
    return sigma, least or Fraction(0)


def _drawn() -> Iterator[tuple[dict[str, int], int]]:
    """Sizes, powers of 2, and memories."""
    rng = Random(7)
    for _ in range(SAMPLES):
        yield {name: 2 ** rng.randint(0, 5 if name in "hw" else 8) for name in NAMES}, 2 ** rng.randint(2, 14)
