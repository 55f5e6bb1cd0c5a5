"""Chains of memories that may keep an operand next, as prices of a word: they are what the bound looks at."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from optmap.machines.accelerator import KeepRule
from optmap.search.exact.frame import ExactFrame


@dataclass(frozen=True, slots=True)
class KeeperChain:
    """Keepers that are still to come, as prices."""

    innermost: int
    """-1 for none."""
    first: float
    """Per word that the present parent reads."""
    locked: float
    """Per locked word."""
    less: float
    """Per first touch of outputs by the instances so far, taken off."""
    less_above: float
    """The same, of the parent."""
    work: float
    """Per word that the innermost keeper reads for the arithmetic."""
    updates: float
    """Per word that it takes from the arithmetic."""


def keeper_chains(frame: ExactFrame, operand: int, parent: int, top: int) -> list[KeeperChain]:
    """Chains of keepers that may be cheapest.

    Args:
        frame: of the search.
        operand: that is kept.
        parent: the present keeper; -1 for none.
        top: the outermost open level.
    """
    must = [level for level in range(top, -1, -1) if frame.keep(level, operand) is KeepRule.KEPT]
    last = must[-1] if must else top + 1
    free = [level for level in range(last) if frame.keep(level, operand) is KeepRule.FREE]
    chains = [must, *([*must, level] for level in free)]
    return [_priced(frame, operand, parent, own) for own in chains if own or parent >= 0]


def _priced(frame: ExactFrame, operand: int, parent: int, keepers: list[int]) -> KeeperChain:
    """Prices of a chain of keepers, outermost first, per word: accesses are not rounded up here, clusters full."""
    output = operand == frame.output
    read, fill, update = (kind.least[:, operand] * frame.spread for kind in (frame.read, frame.fill, frame.update))
    first = locked = less = less_above = 0.0
    for outer, inner in zip(chain([parent], keepers), keepers, strict=False):
        if outer < 0:
            continue
        price = read[outer] + (update[outer] if output else 0.0)
        if outer == parent:
            first += price
            less_above += read[outer] if output else 0.0
        else:
            locked += price
            less += read[outer] if output else 0.0
        locked += fill[inner]
        less += fill[inner] if output else 0.0
    serving = keepers[-1] if keepers else parent
    return KeeperChain(
        innermost=keepers[-1] if keepers else -1,
        first=float(first),
        locked=float(locked),
        less=float(less),
        less_above=float(less_above),
        work=float(read[serving]),
        updates=float(update[serving]) if output else 0.0,
    )
