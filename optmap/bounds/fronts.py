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
    """The line that, once nothing is below it, leaves no corner below a product near the least one.

    Corners below the product are in runs of neighbours; the line goes through the two points where the boundary around
    the run of the least one has the product.

    Args:
        front: of energy and cycles above 0.
        product: of energy and cycles.

    Returns:
        The price of a cycle, to 12 digits, and energy with cycles at that price; None if no corner is below the
        product, or one without energy.
    """
    corners = list(front.corners)
    if not front.energy or not front.cycles:
        return None
    values = [energy * cycles for energy, cycles in corners]
    lowest = min(range(len(corners)), key=values.__getitem__)
    if values[lowest] >= product:
        return None
    first = last = lowest
    while first > 0 and values[first - 1] < product:
        first -= 1
    while last + 1 < len(corners) and values[last + 1] < product:
        last += 1
    quick, saving = corners[first], corners[last]
    upper = corners[first - 1] if first else (product / quick[1], quick[1])
    lower = corners[last + 1] if last + 1 < len(corners) else (saving[0], product / saving[0])
    ends = _reaching(quick, upper, product), _reaching(saving, lower, product)
    (most, few), (little, many) = ends
    price = Fraction(f"{float((most - little) / (many - few)):.12g}")
    return price, max(energy + price * cycles for energy, cycles in ends)


def _reaching(below: Corner, beyond: Corner, product: Fraction) -> Corner:
    """A point between two, of a product that is below one and not that of the other; to floating-point accuracy."""
    steps = beyond[0] - below[0], beyond[1] - below[1]
    square, linear, missing = (
        steps[0] * steps[1],
        below[0] * steps[1] + below[1] * steps[0],
        product - below[0] * below[1],
    )
    root = float(linear) ** 2 + 4 * float(square) * float(missing)
    part = min(Fraction(1), Fraction(2 * float(missing) / (float(linear) + max(0.0, root) ** 0.5)))
    return below[0] + part * steps[0], below[1] + part * steps[1]
