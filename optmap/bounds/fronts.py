"""What energy and cycles are at least together, where weighted sums of both are bounded.

For every price w of a cycle let E + w C be at least h(w), over some runs. So (E, C) is in a convex set that is bounded
from below by lines, and whatever is quasi-concave and grows with both, as their product does, is least at a corner of
it. Sets of what is done one after the other, chosen independently of each other, add up: so do their h(w), and the
lines of a sum have the prices of its parts (Minkowski).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

Corner = tuple[Fraction, Fraction]
"""Energy and cycles."""


@dataclass(frozen=True, slots=True)
class Front:
    """Lower bounds on energy, cycles and weighted sums of them."""

    energy: Fraction
    """Least, in pJ."""
    cycles: Fraction
    """Least."""
    lines: tuple[tuple[Fraction, Fraction], ...] = ()
    """(price of a cycle in pJ, least energy with cycles at that price in pJ)."""
    corners: tuple[Corner, ...] = field(init=False)
    """Of what they leave, cycles rising and energy falling."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "corners", tuple(self._corners()))

    def _corners(self) -> Iterable[Corner]:
        lines = [(Fraction(0), self.energy), *self.lines]
        at = self.cycles
        most = max(least - price * at for price, least in lines)
        price, least = min(line for line in lines if line[1] - line[0] * at == most)
        yield most, at
        while price > 0:
            at, flatter = min(((least - h) / (price - w), (w, h)) for w, h in lines if w < price)
            yield least - price * at, at
            price, least = flatter

    def least(self, price: Fraction) -> Fraction:
        """Energy with cycles at a price, in pJ, at least."""
        return min(energy + price * cycles for energy, cycles in self.corners)


def summed(parts: Iterable[tuple[int, Front]], beside: Corner) -> Front:
    """What is done one after the other.

    Args:
        parts: how often each is done.
        beside: energy and cycles of what else is done.
    """
    every, (energy, cycles) = list(parts), beside
    prices = sorted({price for _, front in every for price, _ in front.lines})
    return Front(
        energy + sum((times * front.energy for times, front in every), Fraction(0)),
        cycles + sum((times * front.cycles for times, front in every), Fraction(0)),
        tuple((w, energy + w * cycles + sum(times * front.least(w) for times, front in every)) for w in prices),
    )


def chord(front: Front, product: Fraction) -> tuple[Fraction, Fraction] | None:
    """The line that, once nothing is below it, leaves nothing below a product near the corner with the least one.

    The boundary has less than the product there; on either side it comes to a point that has it. The line goes through
    both of them.

    Args:
        front: of energy and cycles.
        product: of energy and cycles.

    Returns:
        The price of a cycle, to 12 digits, and energy with cycles at that price; None if no corner is below the
        product, or energy or cycles have no bound above 0.
    """
    corners = list(front.corners)
    lowest = min(range(len(corners)), key=lambda place: corners[place][0] * corners[place][1])
    if corners[lowest][0] * corners[lowest][1] >= product or not front.energy or not front.cycles:
        return None
    quickest, saving = corners[0], corners[-1]
    faster = [*corners[lowest::-1], (product / quickest[1], quickest[1])]
    cheaper = [*corners[lowest:], (saving[0], product / saving[0])]
    (most, few), (little, many) = ends = _reaching(faster, product), _reaching(cheaper, product)
    price = Fraction(f"{float((most - little) / (many - few)):.12g}")
    return price, max(energy + price * cycles for energy, cycles in ends)


def _reaching(way: list[Corner], product: Fraction) -> Corner:
    """The first point of a way that has a product, to floating-point accuracy; its last one does, its first does not.

    Args:
        way: corners, from one to the next straight on.
        product: of energy and cycles.
    """
    for (energy, cycles), (farther, later) in pairwise(way):
        more, longer = farther - energy, later - cycles
        square, linear, missing = more * longer, energy * longer + cycles * more, product - energy * cycles
        inside = float(linear) ** 2 + 4 * float(square) * float(missing)
        if farther * later >= product or (inside >= 0 and 0 < linear < -2 * square):
            part = min(Fraction(1), Fraction(2 * float(missing) / (float(linear) + max(0.0, inside) ** 0.5)))
            return energy + part * more, cycles + part * longer
    return way[-1]
