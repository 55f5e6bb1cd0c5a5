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

from optmap.base.arrays import Flags, Ints
from optmap.search.exact.frame import ExactFrame
from optmap.search.exact.labels import Labels

FARTHEST = 48
"""Labels of one tile that each is compared with, at most; more would be sound, and slow."""


def undominated(frame: ExactFrame, labels: Labels) -> Ints:
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
    """Which of some rows beat which others, all else equal; what is quick to see is looked at first."""
    left = np.arange(len(one))
    for greater in (own.reuse, own.share, own.reduced[:, None], own.reduced_above[:, None], -own.energy[:, None]):
        for column in range(greater.shape[1]):
            values = greater[:, column]
            left = left[values[one[left]] >= values[other[left]]]
    for less in (own.reads, own.writes):
        for column in range(less.shape[1]):
            values = less[:, column]
            left = left[values[one[left]] <= values[other[left]]]
    found = np.zeros(len(one), np.bool_)
    found[left[_slides(own, one[left], other[left])]] = True
    return found


def _slides(own: Labels, one: Ints, other: Ints) -> Flags:
    """Whether the first's runs save what the second's do, at least."""
    found = np.ones(len(one), np.bool_)
    for place in range(own.window.shape[1]):
        window, step = own.window[:, place], own.step[:, place]
        same = (window[one] == window[other]) & (step[one] == step[other])
        every, empty = np.ones(len(one), np.bool_), np.ones(len(one), np.bool_)
        for theirs in range(own.shift.shape[2]):
            shift, count = own.shift[:, place, theirs][other], own.count[:, place, theirs][other]
            there = shift < 0
            empty &= there
            for mine in range(own.shift.shape[2]):
                there = there | ((own.shift[:, place, mine][one] == shift) & (own.count[:, place, mine][one] >= count))
            every &= there
        found &= empty | (same & every)
    return found
