"""Products of ways that the meshes of open levels can take together, per class of dims."""

from __future__ import annotations

import numpy as np

from optmap.base.arrays import Ints
from optmap.search.exact.frame import ExactFrame
from optmap.search.exact.steps import MemorySteps


def dim_classes(frame: ExactFrame) -> list[list[int]]:
    """Dims that occur in the same operands, and at different places of windows, apart."""
    found: dict[tuple[object, ...], list[int]] = {}
    for dim in range(frame.dims):
        places = [w.dims.index(dim) for own in frame.windows for w in own if len(w.dims) > 1 and dim in w.dims]
        found.setdefault((*frame.relevant[:, dim], *places), []).append(dim)
    return list(found.values())


def ways_within(frame: ExactFrame, levels: list[MemorySteps]) -> list[Ints]:
    """Products of ways per class of dims that meshes together can take: of none, of the innermost one, and so on.

    Args:
        frame: of the search.
        levels: all, inner first.
    """
    classes = dim_classes(frame)
    products = np.array([frame.extents[members].prod() for members in classes])
    found = [np.ones((1, len(classes)), np.int64)]
    for level in levels:
        own = np.stack([level.splits.ways[:, members].prod(axis=1) for members in classes], axis=1)
        own = np.unique(own, axis=0)
        both = (found[-1][:, None, :] * own[None, :, :]).reshape(-1, len(classes))
        found.append(np.unique(both[np.all(products % both == 0, axis=1)], axis=0))
    return found


def maximal_ways(ways: Ints) -> Ints:
    """Rows that no other row exceeds in every class; no row is there twice."""
    left, kept = np.argsort(-ways.prod(axis=1), kind="stable"), []
    while len(left):  # only a larger product can exceed: the first that is left is exceeded by none
        kept.append(left[0])
        left = left[np.any(ways[left] > ways[left[0]], axis=1)]
    return np.array(sorted(kept), np.int64)
