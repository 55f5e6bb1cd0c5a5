"""Search for the exponents, weights and segment of classes of taps that prove most (`tap_classes` has the theorem)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, floor, inf, log, prod

import numpy as np

from optmap.base.arrays import Floats
from optmap.base.clock import NO_LIMIT, Clock
from optmap.bounds.compulsory import compulsory_loads
from optmap.bounds.segments import LARGEST_BITS, Segments, best_segments
from optmap.bounds.units import Units, accountings, loads_of_units
from optmap.bounds.windows.halo import LOSSES, kappa_about
from optmap.bounds.windows.halo_proof import EVEN, Exponents, Promise, Starts, searched, starts_of
from optmap.bounds.windows.tap_classes import (
    Shape,
    TapClass,
    class_operations,
    class_sizes,
    several_power,
    shapes,
    weight_bound,
    weighted_classes,
    why_no_classes,
)
from optmap.workloads.forms import convolution_form
from optmap.workloads.workload import Workload

ROUNDS = 5
"""How often exponents are sought for a segment, and the segment for them, at most."""
HOPE = 1.5
"""What rounds are taken to gain, at most: up to 1.28 was seen."""
SCALE = 2**20
"""The largest weight."""
FEW, MOST = 1000.0, 600.0
"""Segments and operations below which it counts that there is a whole number of them; logs that floats hold."""
STEPS = 48
"""Halvings, or golden sections, that settle a segment."""
GOLDEN = (5**0.5 - 1) / 2
HALF = Fraction(1, 2), Fraction(1, 2), Fraction(1, 2)
STARTS = starts_of(HALF, *EVEN.exponents[:8], *EVEN.exponents[8::8])
"""Where the search for the exponents of overlapping windows begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassesProof:
    """A proved bound with everything a certificate needs."""

    units: Units
    """The accounting; its operations are counted by weight."""
    classes: tuple[TapClass, ...]
    """One entry per shape."""
    segments: Segments
    """The integers of the segment argument."""
    loads_words: int
    """What the argument proves for loads."""

    @property
    def text(self) -> str:
        """U(K), the weight that K units allow."""
        return f"the largest of ({'; '.join(f'{c.title}: {c.volume}' for c in self.classes)})"


def class_proofs(
    workload: Workload, memory_words: int, *, beat: int | None = None, clock: Clock = NO_LIMIT
) -> list[ClassesProof]:
    """The best proof found per price of created words (under `assign`), the strongest first.

    Args:
        workload: the computation.
        memory_words: fast memory, in words.
        beat: loads that a proof must exceed; compulsory loads if None.
        clock: when to give up.

    Returns:
        Proofs of more than `beat` loads; none for a workload without such windows.

    Raises:
        LimitError: if the time is over.
    """
    if why_no_classes(workload) is not None:
        return []
    least = compulsory_loads(workload) if beat is None else beat
    found: list[ClassesProof] = []
    for units, needed in accountings(workload, memory_words, least):
        if units.mu:
            found += _ClassSearch(workload, units).proofs(needed, clock)
    return sorted((p for p in found if p.loads_words > least), key=lambda p: -p.loads_words)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    """Log of what K units do of one shape: constant + sigma * log K."""

    operations: float
    """Log of the operations of the shape."""
    constant: float
    sigma: float

    def segments(self, log_units: float) -> float:
        """How many segments its operations fill."""
        return exp(min(self.operations - self.constant - self.sigma * log_units, MOST))


class _ClassSearch:
    """Exponents, weights and segments for one accounting."""

    def __init__(self, workload: Workload, units: Units) -> None:
        self.workload, self.units, self.form = workload, units, convolution_form(workload)
        self.number = sum(shapes(workload, self.form).values())
        self.operations = {s: n for s, n in class_operations(workload, self.form).items() if n}
        self.features, self.channels, self.places = class_sizes(workload, self.form)
        self.weights = [units.weights[t.name] for t in (self.form.output, self.form.kernel, self.form.image)]
        self.log_number, self.log_features, self.log_channels, self.log_places = (
            log(n) for n in (self.number, self.features, self.channels, self.places)
        )

    def proofs(self, needed: int, clock: Clock) -> Iterator[ClassesProof]:
        """Proofs with the exponents that look best in floats, if they promise more than `needed` units."""
        if not self.operations:
            return
        chosen, K, promised = self.settled(clock, apart=False, beat=needed)
        if any(y + z < 1 for _, y, z in chosen.values()):
            chosen, K, promised = max(
                (chosen, K, promised),
                self.settled(clock, apart=True, beat=max(promised, needed)),
                key=lambda found: found[2],
            )
        if promised <= needed:
            return
        levels = self.levels(chosen)
        lowest = min(level.constant + level.sigma * log(K) for level in levels.values())
        scaled = {s: exp(lowest - level.constant - level.sigma * log(K)) for s, level in levels.items()}
        weights = [{shape: max(1, round(SCALE * share)) for shape, share in scaled.items()}]
        if lowest < log(FEW):  # few operations: whole numbers of them may say more than shares
            weights.append(dict.fromkeys(chosen, 1))
        for each in weights:
            proof = self.proof(chosen, each, floor(K))
            if proof is not None:
                yield proof

    def settled(self, clock: Clock, *, apart: bool, beat: float = 0.0) -> tuple[dict[Shape, Exponents], float, float]:
        """Exponents per shape, units of a segment, and what they promise, unless that is far below `beat`.

        With `apart` there is no factor for several classes.
        """
        K = min(3.0 * self.units.memory, float(self.units.ceiling))
        starts: dict[Shape, Starts] = {
            shape: STARTS if shape in LOSSES else starts_of(HALF) for shape in self.operations
        }
        best: tuple[dict[Shape, Exponents], float, float] = ({}, K, -inf)
        for _ in range(ROUNDS):
            chosen = {
                s: searched(self.promise(s, log(K), apart=apart), s, clock, starts[s], 1)[0] for s in self.operations
            }
            K, promised = settled_units(list(self.levels(chosen).values()), self.units)
            if promised <= best[2]:
                break
            best = chosen, K, promised
            if promised * HOPE < beat:
                break
            starts = {shape: starts_of(powers) for shape, powers in chosen.items()}
        return best

    def promise(self, shape: Shape, log_units: float, *, apart: bool) -> Promise:
        """Log of the segments that the operations of a shape fill, up to a constant."""

        def promise(points: Floats) -> Callable[[Floats], Floats]:
            _, y, z = points.T
            sigma, constants = points.sum(axis=1), self.constants(shape, points)
            spent = sigma * log_units + np.maximum(0, 1 - y - z) * self.log_number
            spent[(sigma < 1 - 1e-9) | (apart & (y + z < 1 - 1e-9))] = inf
            return lambda kappas: -constants(kappas) - spent

        return promise

    def constants(self, shape: Shape, points: Floats) -> Callable[[Floats], Floats]:
        """Logs of kappas at rows of exponents -> logs of U(1) of the classes of a shape."""
        x, y, z = points.T
        known = (points * np.log(points / np.outer(x + y + z, self.weights))).sum(axis=1)
        known += np.maximum(0, 1 - x - y) * self.log_features + np.maximum(0, 1 - y - z) * self.log_channels
        known += np.maximum(0, 1 - x - z) * self.log_places
        overlap, each = (x + z > 1 + 1e-9) & (shape in LOSSES), (1 - y) * log(prod(shape))
        return lambda kappas: known + np.where(overlap, kappas, each)

    def levels(self, chosen: dict[Shape, Exponents]) -> dict[Shape, _Level]:
        """What units do of every shape with such exponents."""
        several = float(several_power(chosen.values())) * self.log_number
        kappas = {shape: np.log([kappa_about(shape, *map(float, powers))]) for shape, powers in chosen.items()}
        return {
            shape: _Level(
                operations=log(self.operations[shape]),
                constant=float(self.constants(shape, np.array([powers], dtype=float))(kappas[shape]).item()) + several,
                sigma=float(sum(powers)),
            )
            for shape, powers in chosen.items()
        }

    def proof(self, chosen: Mapping[Shape, Exponents], weights: Mapping[Shape, int], units: int) -> ClassesProof | None:
        """The segment argument with such exponents and weights; segments of so many units are tried besides others."""
        classes, operations = weighted_classes(self.workload, self.units, chosen, weights)
        total = replace(self.units, operations=operations)
        if operations.bit_length() > LARGEST_BITS:
            return None
        near = [units - total.memory + i for i in (-1, 0, 1)]
        segments = best_segments(weight_bound(classes), total.memory, operations, near)
        if segments is None:
            return None
        loads = loads_of_units(self.workload, total, segments.cost_units)
        return ClassesProof(units=total, classes=classes, segments=segments, loads_words=loads)


def settled_units(levels: Sequence[_Level], units: Units) -> tuple[float, float]:
    """Units of the segment that proves most, about, and the units that are proved."""
    low, high = log(units.memory + 1), log(max(units.ceiling, units.memory + 2))

    def segments(at: float) -> float:
        return sum(level.segments(at) for level in levels)

    def proved(at: float) -> float:
        return units.memory + (exp(at) - units.memory) * segments(at)

    left, right = low, high
    at = [right - GOLDEN * (right - left), left + GOLDEN * (right - left)]
    values = [proved(at[0]), proved(at[1])]
    for _ in range(STEPS):
        if values[0] > values[1]:
            right = at[1]
            at = [right - GOLDEN * (right - left), at[0]]
            values = [proved(at[0]), values[0]]
        else:
            left = at[0]
            at = [at[1], left + GOLDEN * (right - left)]
            values = [values[1], proved(at[1])]
    count = segments(left)
    if count > FEW:
        return exp(left), proved(left)
    found = []
    for whole in {max(1, floor(count)), floor(count) + 1}:
        least, most = low, high
        for _ in range(STEPS):
            middle = (least + most) / 2
            least, most = (middle, most) if segments(middle) > whole else (least, middle)
        found.append((units.memory + whole * (exp(least) - units.memory), exp(least)))
    promised, K = max(found)
    return K, promised
