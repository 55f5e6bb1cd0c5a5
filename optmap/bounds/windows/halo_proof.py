"""Search for the exponents of a window's inequality that prove most loads (`halo` has the inequality)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import log, prod
from typing import NamedTuple

import numpy as np

from optmap.base.arrays import Floats
from optmap.base.clock import NO_LIMIT, Clock
from optmap.base.errors import InputError
from optmap.bounds.compulsory import compulsory_loads
from optmap.bounds.fixed_exponents import VolumeBound
from optmap.bounds.segments import Segments, best_segments
from optmap.bounds.units import Units, accountings, loads_of_units
from optmap.bounds.windows.halo import LOSSES, kappa, samples
from optmap.workloads.forms import ConvolutionForm, convolution_form
from optmap.workloads.workload import Workload

Exponents = tuple[Fraction, Fraction, Fraction]
"""Of outputs, filter and inputs."""
Factor = tuple[str, int | Fraction, Fraction]
"""What it is, its value and its power."""
Promise = Callable[[Floats], Callable[[Floats], Floats]]
"""Rows of exponents of outputs, filter and inputs -> logs of their kappas -> what they promise, less for more kappa."""
Q = 240
"""Denominator of the exponents tried."""


class Starts(NamedTuple):
    """Exponents that a search may begin with."""

    exponents: tuple[Exponents, ...]
    """Exactly."""
    points: Floats
    """As floats, a row each."""


def starts_of(*exponents: Exponents) -> Starts:
    """Exponents that a search may begin with."""
    return Starts(exponents, np.array(exponents, dtype=float))


EVEN = starts_of(*((Fraction(n + 1, 2 * n), Fraction(n - 1, 2 * n), Fraction(n + 1, 2 * n)) for n in range(2, 129)))
"""Exponents with which neither features nor channels matter; they suit sets that grow along the list."""
MOVES = ((1, -1, 1), (1, -1, -1), (1, 1, -1), (0, 0, 1), (1, 0, 0), (1, -1, 0), (0, -1, 1), (0, 1, 0), (1, 0, -1))
"""Directions of the search: most keep one of the sums that make features or channels free."""
STEPS = np.array([[by * m for m in move] for n in (16, 4, 1) for move in MOVES for by in (n, -n)])
"""Its moves, in 1/Q."""
FEW, MOST = log(1000), 600.0
"""Log of the number of segments below which it counts that there is a whole number of them; what floats hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HaloProof:
    """A proved bound with everything a certificate needs."""

    units: Units
    """The accounting."""
    exponents: Exponents
    """Of outputs, filter and inputs."""
    kappa: Fraction
    """The constant of the window."""
    volume: VolumeBound
    """U, as the product of its powers."""
    segments: Segments
    """The integers of the segment argument."""
    loads_words: int
    """What the argument proves for loads."""


def window_shape(workload: Workload, form: ConvolutionForm) -> tuple[int, ...]:
    """Taps per axis of the unit windows that strided ones are made of, sorted, those of one tap left out."""
    sizes = (-(-workload.extents[w.tap] // w.stride) for w in form.windows)
    return tuple(sorted(n for n in sizes if n > 1))


def why_no_halo(workload: Workload) -> str | None:
    """None if the workload is a convolution whose windows have a proved inequality, else the reason why not."""
    try:
        shape = window_shape(workload, convolution_form(workload))
    except InputError as error:
        return str(error)
    if shape in LOSSES:
        return None
    known = ", ".join("x".join(map(str, shape)) for shape in LOSSES)
    return (
        f"{workload.title}: its windows have {'x'.join(map(str, shape)) or 'one'} taps (per residue of the stride); "
        f"inequalities are proved of {known}"
    )


def halo_proofs(
    workload: Workload, memory_words: int, *, beat: int | None = None, clock: Clock = NO_LIMIT
) -> list[HaloProof]:
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
    if why_no_halo(workload) is not None:
        return []
    least = compulsory_loads(workload) if beat is None else beat
    found = []
    for units, needed in accountings(workload, memory_words, least):
        if units.mu:
            found.append(_proof(workload, units, needed, clock))
    return sorted((p for p in found if p is not None and p.loads_words > least), key=lambda p: -p.loads_words)


def _proof(workload: Workload, units: Units, needed: int, clock: Clock) -> HaloProof | None:
    """The proof with the exponents that look best in floats, if they promise more than `needed` units."""
    form = convolution_form(workload)
    shape = window_shape(workload, form)
    exponents, promised = searched(_promise(workload, form, units), shape, clock)
    if promised <= needed:
        return None
    constant = kappa(shape, *exponents)
    volume = window_volume(workload, form, units, exponents, constant)
    segments = best_segments(volume.segment(), units.memory, units.operations)
    if segments is None:
        return None
    return HaloProof(
        units=units,
        exponents=exponents,
        kappa=constant,
        volume=volume,
        segments=segments,
        loads_words=loads_of_units(workload, units, segments.cost_units),
    )


def _promise(workload: Workload, form: ConvolutionForm, units: Units) -> Promise:
    """Units that so many equal segments cost which just fail to hold all operations: the best number of them."""
    weights = np.array([units.weights[t.name] for t in (form.output, form.kernel, form.image)])
    features, channels = (log(n) for n in free_sizes(workload, form))
    total, memory = log(units.operations), units.memory

    def promise(points: Floats) -> Callable[[Floats], Floats]:
        x, y, z = points.T
        sigma = x + y + z
        known = (points * np.log(points / np.outer(sigma, weights))).sum(axis=1)  # log U(1), but for kappa
        known += np.maximum(0, 1 - x - y) * features + np.maximum(0, 1 - y - z) * channels
        best = sigma * np.log(memory * sigma / (sigma - 1))

        def promised(kappas: Floats) -> Floats:
            constant = kappas + known
            count = total - constant - best
            whole = np.floor(np.exp(np.minimum(count, FEW)))
            numbers = np.array([np.maximum(1, whole), whole + 1])
            few = memory + numbers * (np.exp((total - np.log(numbers) - constant) / sigma) - memory)
            many = memory / (sigma - 1) * np.exp(np.minimum(count, MOST))
            return np.asarray(np.where(count > FEW, many, few.max(axis=0)))

        return promised

    return promise


def searched(
    promise: Promise,
    shape: tuple[int, ...],
    clock: Clock,
    starts: Starts = EVEN,
    least: int = Q + 1,
) -> tuple[Exponents, float]:
    """Exponents near the best and what they promise, by moves that improve until none does.

    Args:
        promise: what exponents of outputs, filter and inputs promise, given kappa.
        shape: the window.
        clock: when to give up.
        starts: the best of these is where the moves begin.
        least: what the exponents of outputs and inputs add up to at least, in 1/Q.
    """
    best = _Best(promise, shape)
    even = starts.exponents[best(starts.points)[0] if len(starts.exponents) > 1 else 0]
    at = np.array([round(e * Q) for e in even])
    whole = all(Q % e.denominator == 0 for e in even)
    while True:
        clock.check()
        near = np.concatenate([at[None, :], at + STEPS])
        inside = (near.min(axis=1) > 0) & (near.max(axis=1) <= Q) & (near[:, 0] + near[:, 2] >= least)
        inside[0] = True
        near = near[inside]
        index, promised = best(near / Q)
        if index == 0:
            break
        at = near[index]
    X, Y, Z = at.tolist()
    found = Fraction(X, Q), Fraction(Y, Q), Fraction(Z, Q)
    if whole:  # the moves began right there
        return found, promised
    index, promised = best(np.array([even, found], dtype=float))
    return (even, found)[index], promised


class _Best:
    """Finds the exponents that promise most, kappa at hand only where it decides.

    What is left of pairs at any sizes is no more than kappa allows, so those sizes that decided elsewhere
    say how much exponents promise at most.
    """

    def __init__(self, promise: Promise, shape: tuple[int, ...]) -> None:
        self.promise, (self.pairs, self.sizes) = promise, samples(shape)
        self.decided = {0}

    def __call__(self, points: Floats) -> tuple[int, float]:
        """Index of the first of those rows of exponents that promise most, and what it promises."""
        promised, rows = self.promise(points), sorted(self.decided)
        kappas = (self.pairs[rows] - points @ self.sizes[rows].T).max(axis=1)
        known: set[int] = set()
        while True:
            values = promised(kappas)
            index = int(values.argmax())
            if index in known:
                return index, float(values[index])
            row = int((self.pairs - self.sizes @ points[index]).argmax())
            kappas = np.maximum(kappas, self.pairs[row] - points @ self.sizes[row])
            known.add(index)
            self.decided.add(row)


def free_sizes(workload: Workload, form: ConvolutionForm) -> tuple[int, int]:
    """Features and channels, residues of the stride among them."""
    extents = workload.extents
    residues = prod(min(w.stride, extents[w.tap]) for w in form.windows)
    return prod(extents[d] for d in form.features), prod(extents[d] for d in form.channels) * residues


def window_volume(
    workload: Workload,
    form: ConvolutionForm,
    units: Units,
    exponents: Exponents,
    constant: Fraction,
) -> VolumeBound:
    """U for given exponents of outputs, filter and inputs, and kappa."""
    constants = ((f"{constant}", constant, Fraction(1)),)
    return powers_volume(form, units, exponents, free_sizes(workload, form), constants)


def powers_volume(
    form: ConvolutionForm,
    units: Units,
    exponents: Exponents,
    free: tuple[int, int],
    constants: tuple[Factor, ...],
) -> VolumeBound:
    """U as a product of powers of the tensors, of what is free of one of them (features, channels) and of constants."""
    x, y, z = exponents
    powers = ((form.output.name, x), (form.kernel.name, y), (form.image.name, z))
    rests = zip(free, (max(Fraction(0), 1 - x - y), max(Fraction(0), 1 - y - z)), strict=True)
    return VolumeBound(
        tensors=tuple((name, units.weights[name], power) for name, power in powers),
        sizes=(*constants, *((f"{size}", size, power) for size, power in rests)),
    )
