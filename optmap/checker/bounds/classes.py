"""Strided windows by classes of taps (theorem and proof: the docstring of `optmap/bounds/windows/tap_classes.py`).

The taps of one residue modulo the stride meet inputs and words of the filter that no other taps meet. So an
inequality per shape of class, and a weight per operation, bound the weight that a segment can do: the largest of
what its units allow if all are spent on one shape, times (number of classes)^e.
"""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from math import lcm, prod
from typing import Any

from ..core.padding import Done
from ..core.tools import need, ratio
from .losses import LOSSES
from .window import FINEST, Powers, WindowedStatement, convolution, decide

NUMBER = 2**12
"""Most classes that are counted one by one."""
Shape = tuple[int, ...]


def check_classes(doc: dict[str, Any], done: Done) -> tuple[list[Powers], int]:
    """A product inequality per shape, and the weight of all operations together.

    Raises:
        RefusedError: if an inequality does not hold, or a shape is missing.
    """
    need(not doc["maps"] and not doc["families"], "maps beside classes")
    found = convolution(doc["accesses"], done.extents)
    counts = shape_counts(found, done.extents)
    entries = {tuple(entry["shape"]): entry for entry in doc["classes"]}
    points = {shape: n for shape, n in class_points(doc["accesses"], found, counts, done).items() if n}
    need(len(entries) == len(doc["classes"]) and set(entries) == set(points), "one entry per shape is needed")
    powers = {s: [ratio(e[key], key) for key in ("outputs", "taps", "inputs")] for s, e in entries.items()}
    several = max(Fraction(0), *(1 - y - z for _, y, z in powers.values()))
    places = prod(done.extents[d] for d in found.places)
    output = doc["accesses"][0]["tensor"]
    parts = []
    for shape, entry in entries.items():
        x, y, z = powers[shape]
        check_shape(shape, x, y, z, ratio(entry["kappa"], "kappa"))
        factors = [(Fraction(entry["weight"]), Fraction(1)), (ratio(entry["kappa"], "kappa"), Fraction(1))]
        factors += [(Fraction(sum(counts.values())), several), (Fraction(places), max(Fraction(0), 1 - x - z))]
        factors += [(Fraction(found.features), max(Fraction(0), 1 - x - y))]
        factors += [(Fraction(found.channels), max(Fraction(0), 1 - y - z))]
        parts.append(({output: x, found.kernel: y, found.image: z}, factors))
    return parts, sum(entries[shape]["weight"] * n for shape, n in points.items())


def check_shape(shape: Shape, x: Fraction, y: Fraction, z: Fraction, kappa: Fraction) -> None:
    """Refuse unless every unit window of a shape has at most kappa a^x b^y c^z pairs (times places^(1-x-z))."""
    need(min(x, y, z, kappa) > 0 and max(x, y, z) <= 1 <= x + y + z, "exponents are above 1, or too small together")
    need(lcm(*(n.denominator for n in (x, y, z))) <= FINEST and kappa.denominator <= 2**30, "exponents are too fine")
    q = y.denominator
    need(prod(shape).bit_length() * q < 2**20, "too large a power")
    if prod(shape) ** (q - y.numerator) * kappa.denominator**q <= kappa.numerator**q:
        return  # of any window of so many taps
    need(x + z > 1 and shape in LOSSES, f"kappa is not proved of a window of {shape} taps")
    for smaller, larger in {(x, z), (z, x)}:
        decide(shape, smaller, y, larger, kappa)


def shape_counts(found: WindowedStatement, extents: dict[str, int]) -> Counter[Shape]:
    """How many classes have which sorted numbers of taps, those of one tap left out."""
    total: Counter[Shape] = Counter({(): 1})
    for tap, stride in found.windows:
        joined: Counter[Shape] = Counter()
        short, long = stride - extents[tap] % stride, extents[tap] % stride  # residues with fewer and with more taps
        for shape, n in total.items():
            for taps, residues in ((extents[tap] // stride, short), (extents[tap] // stride + 1, long)):
                if taps and residues:
                    joined[live((*shape, taps))] += n * residues
        total = joined
    return total


def live(shape: Shape) -> Shape:
    """Sorted, without ones."""
    return tuple(sorted(n for n in shape if n > 1))


def class_points(accesses: list[Any], found: WindowedStatement, counts: Counter[Shape], done: Done) -> Counter[Shape]:
    """Points that are done per shape."""
    if not done.ranged:
        free = prod(n for d, n in done.extents.items() if d not in dict(found.windows))
        return Counter({shape: free * prod(shape) * n for shape, n in counts.items()})
    need(sum(counts.values()) <= NUMBER, "too many classes to count one by one")
    points: Counter[Shape] = Counter()
    for chosen in itertools.product(*(range(min(s, done.extents[tap])) for tap, s in found.windows)):
        digits = {tap: (stride, r) for (tap, stride), r in zip(found.windows, chosen, strict=True)}
        taps = {tap: len(range(r, done.extents[tap], stride)) for tap, (stride, r) in digits.items()}
        part = Done([with_digits(access, digits) for access in accesses], done.extents | taps)
        points[live(tuple(taps.values()))] += part.points()
    return points


def with_digits(access: Any, digits: dict[str, tuple[int, int]]) -> Any:
    """An access in which taps are stride*t + residue."""
    axes = []
    for axis in access["axes"]:
        steps = [(d, c, *digits.get(d, (1, 0))) for d, c in axis["terms"]]
        moved = axis["offset"] + sum(c * residue for _, c, _, residue in steps)
        axes.append(axis | {"terms": [[d, c * stride] for d, c, stride, _ in steps], "offset": moved})
    return access | {"axes": axes}
