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

from optmap.count.meshes.words import kept_words, moved, tile_words
from optmap.machines.operands import Operand
from optmap.questions.policy import Footprint

Turn = tuple[int, int, int]
"""A temporal loop: (dim, iterations from one trip to the next, trips)."""


def arriving_words(
    operand: Operand,
    tile: tuple[int, ...],
    turns: Sequence[Turn],
    footprint: Footprint = Footprint.TOUCHED,
    *,
    extrapolate: bool = False,
) -> int:
    """Words of an operand that enter one instance, over all steps.

    Args:
        operand: whose words.
        tile: extent per dim of the memory's tile.
        turns: temporal loops outside the memory, outermost first, of two trips or more.
        footprint: of a tile.
        extrapolate: walk only the first two trips of each loop and take the others to be like the second, as
            Timeloop does.
    """
    whole = tile_words(operand, tile, footprint)
    turns = list(turns)
    while turns and turns[-1][0] not in operand.dims:
        turns.pop()
    total, outside = whole, prod(trips for _, _, trips in turns)
    back = [0] * len(tile)  # where the loops inside stand when the next loop moves on
    usual: tuple[int, ...] | None = None  # how far the innermost loop moves the subscripts; None for that loop itself
    for dim, step, trips in reversed(turns):
        outside //= trips
        move = tuple(step - n if own == dim else -n for own, n in enumerate(back))
        shifts = moved(operand, move)
        kept = 0
        if not any(shifts):
            kept = whole
        elif _is_slide(shifts, usual):
            kept = kept_words(operand, tile, move, footprint)
        total += outside * (trips - 1) * (whole - kept)
        usual = usual or shifts
        back[dim] += step * (1 if extrapolate else trips - 1)
    return total


def _is_slide(shifts: tuple[int, ...], usual: tuple[int, ...] | None) -> bool:
    """Whether one subscript moves, and by as much as before or just after a reset.

    The move before is that of the innermost loop; where that moves several subscripts it has reset the walk.
    """
    reset = usual is None or sum(map(bool, usual)) > 1
    return sum(map(bool, shifts)) == 1 and (reset or shifts == usual)
