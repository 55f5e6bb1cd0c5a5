"""Labels that another label beats, whatever comes inside.

Two labels of one tile, the same instances, and the same parents (and as many of each, where whole blocks or ports
make that matter) can be completed in the same ways: capacities, rules and orders inside depend on the tile alone.
Each term that is still to come grows with fills and falls with `share` and `reduced`; fills fall with `reuse` and
with what steps of the run save. So one label beats another if it costs no more so far, its ports carried no more
words, and its reuse, shares and reductions are no smaller, and every step of the other's run is in its own run, no
rarer, with the same innermost step. Of two equal labels the first stays.
"""

from __future__ import annotations

import numpy as np

from optmap.search.exact.frame import Flags, Frame, Ints
from optmap.search.exact.labels import Labels

FARTHEST = 48
"""Labels of one tile that each is compared with, at most; more would be sound, and slow."""


def undominated(frame: Frame, labels: Labels) -> Ints:
    """Rows that stay."""
    key = np.concatenate(
        [frame.codes(labels.tile)[:, None], labels.instances[:, None].astype(np.int64), labels.parent], axis=1
    )
    if frame.grouped or frame.limited:
        key = np.concatenate([key, labels.parents.astype(np.int64)], axis=1)
    _, group = np.unique(key, axis=0, return_inverse=True)
    order = np.lexsort((labels.energy, group.ravel()))
    own, group = labels.take(order), group.ravel()[order]
    beaten = np.zeros(len(order), np.bool_)
    for distance in range(1, min(FARTHEST, len(order) - 1) + 1):
        near = np.flatnonzero(group[:-distance] == group[distance:])
        if not len(near):
            break
        far = near + distance
        open_rows = ~beaten[far]
        near, far = near[open_rows], far[open_rows]
        beaten[far[_beats(own, near, far)]] = True
        back = ~beaten[near] & ~beaten[far] & (own.energy[near] == own.energy[far])
        near, far = near[back], far[back]
        beaten[near[_beats(own, far, near)]] = True
    return order[~beaten]


def _beats(own: Labels, one: Ints, other: Ints) -> Flags:
    """Which of some rows beat which others, all else equal."""
    found = own.energy[one] <= own.energy[other]
    for better in (own.reuse, own.share):
        found &= (better[one] >= better[other]).all(axis=1)
    found &= (own.reduced[one] >= own.reduced[other]) & (own.reduced_above[one] >= own.reduced_above[other])
    if own.reads.shape[1]:
        found &= (own.reads[one] <= own.reads[other]).all(axis=1)
        found &= (own.writes[one] <= own.writes[other]).all(axis=1)
    return found & _slides(own, one, other)


def _slides(own: Labels, one: Ints, other: Ints) -> Flags:
    """Whether the first's runs save what the second's do, at least."""
    found = np.ones(len(one), np.bool_)
    for place in range(own.window.shape[1]):
        shift, count = own.shift[:, place], own.count[:, place]
        mine, theirs = shift[one], shift[other]
        empty = (theirs < 0).all(axis=1)
        same = (own.window[one, place] == own.window[other, place]) & (own.step[one, place] == own.step[other, place])
        every = np.ones(len(one), np.bool_)
        for step in range(shift.shape[1]):
            there = (mine == theirs[:, step, None]) & (count[one] >= count[other][:, step, None])
            every &= (theirs[:, step] < 0) | there.any(axis=1)
        found &= empty | (same & every)
    return found
