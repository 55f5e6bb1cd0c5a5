"""A bound of many moves at once, before labels are made of them.

Most tiles and orders cost too much by what they make enter the level inside alone. Of these words a part is known
without the label: with T trips outside of all that a pair leaves, an operand that some loop here moves
enters T times what enters while the loops here run once. Only if the run outside goes on may the first tile of
each time be there already. Pairs that leave the same share these numbers; what else a bound needs is
known per pair. So a move costs a few operations, a label hundreds.
"""

from __future__ import annotations

import numpy as np

from optmap.base.arrays import Floats, Ints
from optmap.search.exact.bounds import Bounds, merit_of
from optmap.search.exact.costs import cycles_of
from optmap.search.exact.frame import ExactFrame, product
from optmap.search.exact.labels import Labels
from optmap.search.exact.passing import add_passing
from optmap.search.exact.steps import MemorySteps, Pairs, StepTable


def quick_bound(bounds: Bounds, level: MemorySteps, labels: Labels, pairs: Pairs, moves: StepTable) -> Floats:
    """A bound per move."""
    frame = bounds.frame
    own = bounds.of_pairs(bounds.of_labels(labels), level, pairs)
    entering = [_entering(frame, level, pairs, moves, k) for k in range(frame.operands)]
    simply = bounds.simply(own)
    reads, writes = own.reads, own.writes
    if simply.ports:
        reads, writes = reads[moves.pair], writes[moves.pair]
    found = own.energy[moves.pair]
    for operand, (least, less) in enumerate(entering):
        rows = least[moves.row]
        if less is not None:
            place = frame.sliding.index(operand)
            window, first = less
            goes_on = labels.window[pairs.label, place][moves.pair] == window[moves.row]
            rows = rows - np.where(goes_on, first[moves.row], 0.0)
        locked = np.maximum(rows, own.locked[:, operand][moves.pair])
        first_words = np.maximum(locked * (1.0 / own.share[:, operand])[moves.pair], own.first[:, operand][moves.pair])
        if simply.ports:
            add_passing(frame, simply.ports[operand], first_words, reads, writes, of=moves.pair)
        best = np.full(len(found), np.inf)
        for first, inner, rest in simply.chains[operand]:
            best = np.minimum(best, first[moves.pair] * first_words + inner[moves.pair] * locked + rest[moves.pair])
        found += best
    compute = frame.operations / (own.instances * simply.units)
    if simply.ports:
        return merit_of(frame, found, cycles_of(frame, reads, writes, compute[moves.pair]))
    return merit_of(frame, found, cycles_of(frame, reads, writes, compute)[moves.pair])


def _entering(
    frame: ExactFrame, level: MemorySteps, pairs: Pairs, moves: StepTable, operand: int
) -> tuple[Floats, tuple[Ints, Floats] | None]:
    """Words that enter inside because of the loops here, per row of moves.

    For an operand with windows also the window whose run may go on, and the words that are there then, at most.
    """
    values = frame.values(moves.tile)
    run, moved = level.table.still(operand, moves.signature, moves.trips)
    if operand not in frame.sliding:
        return np.where(moved, frame.operations / frame.irrelevant(operand, values) / run, 0.0), None
    times = frame.operations / (product(values) * product(moves.trips))
    words = frame.words(operand, moves.tile, values, certain=True)
    steps = level.table.steps(
        frame.sliding.index(operand), moves.signature, moves.trips, values * level.splits.ways[pairs.split[moves.key]]
    )
    visits = product(moves.trips) / run
    for number, window in enumerate(frame.windows[operand]):
        table = window.rows(moves.tile)
        for shift, count in zip(steps.shift, steps.count, strict=True):
            saved = window.kept[table, np.clip(shift, 0, window.kept.shape[1] - 1).astype(np.int64)]
            saved = np.where((shift >= 0) & (steps.window == number), saved / window.touched[table], 0.0)
            visits = visits - saved * count
    found = np.where(moved, times * words * visits, 0.0)
    goes_on = np.where(moved & steps.covers, steps.window, -2)
    return found, (goes_on, times * words)
