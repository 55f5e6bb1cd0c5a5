"""Reuse and runs of many labels at once: what loop orders do, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from optmap.base.arrays import Flags, Floats, Ints
from optmap.search.exact.frame import ExactFrame
from optmap.search.exact.labels import Labels
from optmap.search.exact.signatures import Signature, signatures_of


@dataclass(frozen=True, slots=True)
class Steps:
    """What the loops at one level do to an operand with windows; a row per move."""

    moved: Flags
    """Whether any of them moves it."""
    window: Ints
    covers: Flags
    """See `signatures.Run`."""
    step: Floats
    """Shift of the innermost step."""
    back: Floats
    """By how much all of them have moved the window when a loop outside makes its step."""
    shift: tuple[Floats, ...]
    """Per step of the run, innermost first, its net shift; negative for none."""
    count: tuple[Floats, ...]
    """How often the step is made while the loops run once."""


class OrderTable:
    """The loop orders of one memory by number, with their effects as arrays.

    Args:
        frame: of the search.
        level: whose loops they are.
    """

    def __init__(self, frame: ExactFrame, level: int) -> None:
        self.frame, self.level = frame, level
        self.signatures: list[Signature] = []
        self._places: dict[int, Ints] = {}
        self._arrays: dict[str, Ints] = {}

    def numbers(self, present: int) -> Ints:
        """Numbers of the orders of the loops over a set of dims."""
        if present not in self._places:
            found = signatures_of(self.frame, self.level, present)
            self._places[present] = np.arange(len(self.signatures), len(self.signatures) + len(found))
            self.signatures.extend(found)
            self._arrays.clear()
        return self._places[present]

    def _array(self, key: str) -> Ints:
        """A fact of all orders: `still` (order, operand), or of runs (order, operand with windows[, step])."""
        if key not in self._arrays:
            own, slides = self.signatures, len(self.frame.sliding)
            longest = max((len(run.entries) for one in own for run in one.runs), default=0)

            def entries(part: int, none: int) -> list[list[list[int]]]:
                fill = (none,) * longest
                return [[[*(e[part] for e in run.entries), *fill][:longest] for run in one.runs] for one in own]

            found: dict[str, list[object]] = {
                "still": [one.still for one in own],
                "window": [[run.window for run in one.runs] for one in own],
                "covers": [[int(run.covers) for run in one.runs] for one in own],
                "dim": list(entries(0, -1)),
                "inside": list(entries(1, 0)),
            }
            shape = {"still": (self.frame.operands,), "window": (slides,), "covers": (slides,)}
            for name, rows in found.items():
                self._arrays[name] = np.array(rows, np.int64).reshape(len(own), *shape.get(name, (slides, longest)))
        return self._arrays[key]

    def _held(self, sets: Ints, signature: Ints, trips: Floats) -> Floats:
        """Product of the trips of a set of loops per order."""
        found = np.ones(len(signature))
        for dim in range(self.frame.dims):
            inside = (sets >> dim & 1).astype(np.bool_)
            if inside.any():
                found *= np.where(inside[signature], trips[:, dim], 1.0)
        return found

    def still(self, operand: int, signature: Ints, trips: Floats) -> tuple[Floats, Flags]:
        """Trips of the innermost loops that do not move an operand, and whether any loop moves it."""
        return self._held(self._array("still")[:, operand], signature, trips), self.moved(operand, trips)

    def moved(self, operand: int, trips: Floats) -> Flags:
        """Whether any loop moves an operand."""
        found = np.zeros(len(trips), np.bool_)
        for dim in np.flatnonzero(self.frame.relevant[operand]):
            found |= trips[:, dim] > 1
        return found

    def steps(self, place: int, signature: Ints, trips: Floats, strides: Ints) -> Steps:
        """The run of an operand with windows.

        A step of a loop moves the tile by its own stride, back by what the loops of the run inside it have moved it;
        they stand at their last trip, or, in Timeloop's extrapolation, at their second.

        Args:
            place: of the operand among those with windows.
            signature: order per row.
            trips: per row and dim.
            strides: iterations from one trip to the next, per row and dim.
        """
        frame, rows = self.frame, np.arange(len(signature))
        operand = frame.sliding[place]
        factors = np.zeros(frame.dims + 1)
        for window in frame.windows[operand]:
            factors[list(window.dims)] = window.factors
        total = np.ones(len(signature))
        for dim in range(frame.dims):
            total *= trips[:, dim]
        dims, sets = self._array("dim")[:, place], self._array("inside")[:, place]
        back, step = np.zeros(len(rows)), np.zeros(len(rows))
        shifts, counts = [], []
        for entry in range(dims.shape[1]):
            at = dims[:, entry][signature]
            some = at >= 0
            if not some.any():
                break
            times = np.where(some, trips[rows, at], 1.0)
            stride = np.where(some, factors[at] * strides[rows, at], 0.0)
            shifts.append(np.where(some, stride - back, -1.0))
            counts.append(total * (times - 1) / times / self._held(sets[:, entry], signature, trips))
            if entry == 0:
                step = stride
            back = back + stride * (1.0 if frame.counting.extrapolates else times - 1)
        return Steps(
            moved=self.moved(operand, trips),
            window=self._array("window")[:, place][signature],
            covers=self._array("covers")[:, place][signature].astype(np.bool_),
            step=step,
            back=back,
            shift=tuple(shifts),
            count=tuple(counts),
        )


def slid(labels: Labels, place: int, own: Steps, outside: Floats) -> Labels:
    """Labels with the run of one operand with windows brought up to date.

    Args:
        labels: a row per move, their runs as they were outside.
        place: of the operand among those with windows.
        own: what the loops do.
        outside: trips of the loops outside.
    """
    window, step = labels.window.copy(), labels.step.copy()
    goes_on = ~own.moved | (own.covers & (window[:, place] == own.window))
    shifts, counts = [], []
    for number in range(labels.shift.shape[2]):
        before = labels.shift[:, place, number]
        shift = np.where(goes_on & (before >= 0), before - own.back, -1.0)
        shifts.append(shift)
        counts.append(labels.count[:, place, number])
    shifts.extend(own.shift)
    counts.extend(outside * count for count in own.count)
    window[:, place] = np.where(own.moved, own.window, window[:, place])
    step[:, place] = np.where(own.moved, own.step.astype(np.int64), step[:, place])
    return _stored(replace(labels, window=window, step=step), place, *_packed(shifts, counts))


def _packed(shifts: list[Floats], counts: list[Floats]) -> tuple[list[Floats], list[Floats]]:
    """Steps that can save something, those of one shift added up, in as few columns as hold them."""
    shifts, counts = [own.copy() for own in shifts], [own.copy() for own in counts]
    for one in range(len(shifts)):
        for other in range(one + 1, len(shifts)):
            same = shifts[one] == shifts[other]
            counts[one] += np.where(same, counts[other], 0.0)
            shifts[other][same] = -1.0
    packed: list[tuple[Floats, Floats]] = []
    for shift, count in zip(shifts, counts, strict=True):
        waiting = shift >= 0
        for own, held in packed:
            free = waiting & (own < 0)
            own[free], held[free] = shift[free], count[free]
            waiting &= ~free
        if waiting.any() or not packed:
            packed.append((np.where(waiting, shift, -1.0), np.where(waiting, count, 0.0)))
    return [own for own, _ in packed], [held for _, held in packed]


def _stored(labels: Labels, place: int, shift: list[Floats], count: list[Floats]) -> Labels:
    rows, slides, steps = labels.shift.shape
    width = max(steps, len(shift)) if slides > 1 else len(shift)
    shifts, counts = np.full((rows, slides, width), -1), np.zeros((rows, slides, width))
    if slides > 1:
        shifts[:, :, :steps], counts[:, :, :steps] = labels.shift, labels.count
    shifts[:, place, :], counts[:, place, :] = -1, 0.0
    for number, (own, held) in enumerate(zip(shift, count, strict=True)):
        shifts[:, place, number], counts[:, place, number] = own, held
    return replace(labels, shift=shifts, count=counts)
