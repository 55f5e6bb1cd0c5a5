"""Words that enter one instance of a memory while the loops outside it run.

The walk that this counts: the temporal loops outside the memory run once around, and at every step the
instance needs its tile. What it keeps from its previous tile, the tile of the step before, is

- everything, if the tile has not moved;
- the words in both tiles, if exactly one subscript moved, and by as much as it did before: at the
  last step that moved the tile at all, or by any amount if that step kept nothing (the walk was reset);
- nothing otherwise, and the walk is reset, as it is before the first step.

So a window slides in one direction: when loops start again and the window jumps back, the tile is brought
in anew, though some of it may happen to be there still. Timeloop's model has the same rule.

Between two moves of an outer loop the innermost loop that matters moves at least once, so each loop
always finds the walk in the same state, and what its steps bring in is the same every time.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from optmap.evaluate.spatial.words import kept_words, moved, tile_words
from optmap.problem.fabric import Operand

Turn = tuple[int, int, int]
"""A temporal loop: (dim, iterations from one trip to the next, trips)."""


def entering_words(
    operand: Operand, tile: tuple[int, ...], turns: Sequence[Turn], *, hulls: bool = False, extrapolate: bool = False
) -> int:
    """Words of an operand that enter one instance, over all steps.

    Args:
        operand: whose words.
        tile: extent per dim of the memory's tile.
        turns: temporal loops outside the memory, outermost first, of two trips or more.
        hulls: take tiles as hulls, gaps included.
        extrapolate: walk only the first two trips of each loop and take the others to be like the second, as
            Timeloop does.
    """
    whole = tile_words(operand, tile, hulls=hulls)
    turns = list(turns)
    while turns and turns[-1][0] not in operand.dims:
        turns.pop()
    if not turns:
        return whole
    back = [0] * len(tile)  # where the loops inside stand when the next loop moves on
    first: tuple[int, ...] | None = None
    total, outside = 0, prod(trips for _, _, trips in turns)
    for dim, step, trips in reversed(turns):
        outside //= trips
        move = [-n for n in back]
        move[dim] += step
        total += outside * (trips - 1) * _needed(operand, tile, tuple(move), first, whole, hulls=hulls)
        first = first or tuple(move)
        back[dim] += step * (1 if extrapolate else trips - 1)
    return whole + total


def _needed(
    operand: Operand,
    tile: tuple[int, ...],
    move: tuple[int, ...],
    first: tuple[int, ...] | None,
    whole: int,
    *,
    hulls: bool,
) -> int:
    """Words that enter at one step of a loop; `first` is the move of the innermost loop, if this is another one."""
    shifts = moved(operand, move)
    if not any(shifts):
        return 0
    before = None if first is None else moved(operand, first)
    reset = before is None or sum(map(bool, before)) > 1
    if sum(map(bool, shifts)) == 1 and (reset or shifts == before):
        return whole - kept_words(operand, tile, move, hulls=hulls)
    return whole
