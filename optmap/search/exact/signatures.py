"""What a loop order does: the few orders of one memory's loops that differ, and are not worse than another.

Going through the loops of a memory from inside, an operand that does not occur in the first few is held still while
they run: their trips are its reuse. For an operand with a window the loops that move one and the same window, with
loops in between that do not move it, are its run: steps of the run may reuse a part of the tile. Nothing else of an
order matters, so orders are enumerated as these facts, from inside, and an order is left out if another has, for
every operand, all of the reuse and the same run with no more loops inside each of its steps (whose savings happen
once per trip of the loops outside).
"""

from __future__ import annotations

from dataclasses import dataclass

from optmap.machines.fabric import Memory
from optmap.search.exact.frame import ExactFrame


@dataclass(frozen=True, slots=True)
class WindowRun:
    """The steps of one window at one memory."""

    window: int
    """Which window of the operand, -1 for none: what moves innermost has no overlap."""
    entries: tuple[tuple[int, int], ...]
    """(dim, set of dims inside it), innermost first."""
    covers: bool
    """Whether no other loop here moves the operand, so that the run of the loops outside goes on."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A loop order by its effects. Sets of dims are the bits of a number."""

    still: tuple[int, ...]
    """Per operand the dims of the innermost loops that do not move it."""
    runs: tuple[WindowRun, ...]
    """Per operand with windows."""
    order: tuple[int, ...]
    """One such order, outermost first."""


def signatures_of(frame: ExactFrame, level: int, present: int) -> tuple[Signature, ...]:
    """The orders of the loops over some dims that the machine allows, one of each effect, dominated ones left out.

    Args:
        frame: of the search.
        level: whose loops they are.
        present: set of the dims with two trips or more.

    Returns:
        Empty if the machine's order allows none.
    """
    found: dict[tuple[object, ...], Signature] = {}
    _walk(frame, _Pattern(frame.memory(level), present), present, (), found)
    every = list(found.values())
    return tuple(own for own in every if not any(other is not own and _better(other, own) for other in every))


def _walk(
    frame: ExactFrame,
    pattern: _Pattern,
    present: int,
    inner: tuple[int, ...],
    found: dict[tuple[object, ...], Signature],
) -> None:
    signature = _signature(frame, present, inner)
    if signature is not None:
        rest = pattern.completed(inner)
        if rest is not None:
            key = (signature.still, signature.runs)
            found.setdefault(key, Signature(signature.still, signature.runs, (*rest, *reversed(inner))))
        return
    for dim in range(frame.dims):
        if present >> dim & 1 and dim not in inner and pattern.allows(inner, dim):
            _walk(frame, pattern, present, (*inner, dim), found)


def _signature(frame: ExactFrame, present: int, inner: tuple[int, ...]) -> Signature | None:
    """What the innermost loops decide, None if loops further out matter."""
    done = sum(1 << dim for dim in inner) == present
    still = []
    for operand in range(frame.operands):
        held = 0
        for dim in inner:
            if frame.relevant[operand, dim]:
                break
            held |= 1 << dim
        else:
            if not done:
                return None
        still.append(held)
    runs = []
    for operand in frame.sliding:
        run = _run(frame, operand, inner)
        if run.covers and not done:
            return None
        runs.append(run)
    return Signature(tuple(still), tuple(runs), inner)


def _run(frame: ExactFrame, operand: int, inner: tuple[int, ...]) -> WindowRun:
    entries: list[tuple[int, int]] = []
    window, inside = -1, 0
    for dim in inner:
        if frame.relevant[operand, dim]:
            own = next((k for k, w in enumerate(frame.windows[operand]) if dim in w.dims), -1)
            if own < 0 or (window >= 0 and own != window):
                return WindowRun(window, tuple(entries), covers=False)
            window = own
            entries.append((dim, inside))
        inside |= 1 << dim
    return WindowRun(window, tuple(entries), covers=True)


def _better(one: Signature, other: Signature) -> bool:
    """Whether an order is at least as good as another, whatever the trips."""
    if any(b & ~a for a, b in zip(one.still, other.still, strict=True)):
        return False
    for a, b in zip(one.runs, other.runs, strict=True):
        if not b.entries and not b.covers:
            continue
        count = len(b.entries)
        if a.covers < b.covers or a.window != b.window or len(a.entries) < count:
            return False
        for (dim, inside), (own, own_inside) in zip(a.entries, b.entries, strict=False):
            if dim != own or inside & ~own_inside:
                return False
        if b.covers and len(a.entries) != count:
            return False
    return one.still != other.still or one.runs != other.runs


class _Pattern:
    """An order that the machine asks for, read from inside."""

    def __init__(self, memory: Memory, present: int) -> None:
        self.entries = memory.order
        self.present = present

    def place(self, inner: tuple[int, ...], dim: int) -> int | None:
        """Which entry of the pattern a loop belongs to, as far inside as possible; None if there is none."""
        if not self.entries:
            return 0
        for place, entry in enumerate(self.entries):
            if entry is not None and dim in entry:
                return place
        last = self.standing(inner)
        return next((place for place in range(last, -1, -1) if self.entries[place] is None), None)

    def standing(self, inner: tuple[int, ...]) -> int:
        """The entry that the outermost of the loops so far belongs to."""
        last = len(self.entries) - 1
        for count, dim in enumerate(inner):
            own = self.place(inner[:count], dim)
            last = -1 if own is None else own
        return last

    def allows(self, inner: tuple[int, ...], dim: int) -> bool:
        """Whether a loop may come next outside."""
        if not self.entries:
            return True
        own = self.place(inner, dim)
        return own is not None and own <= self.standing(inner)

    def completed(self, inner: tuple[int, ...]) -> tuple[int, ...] | None:
        """The loops that are left, outermost first, as the pattern has them; None if it has them nowhere."""
        rest = [dim for dim in range(self.present.bit_length()) if self.present >> dim & 1 and dim not in inner]
        if not self.entries:
            return tuple(rest)
        last = self.standing(inner)
        placed = [(self.place(inner, dim), dim) for dim in rest]
        if any(place is None or place > last for place, _ in placed):
            return None
        return tuple(dim for _, dim in sorted((place or 0, dim) for place, dim in placed))
