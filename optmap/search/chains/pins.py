"""Parts that stay for good, of several operands at once, so that most words are saved."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

import numpy as np

from optmap.base.arrays import Ints


def saved_at_most(left: Ints, costs: Sequence[int], again: Ints, indices: int) -> Ints:
    """Words that pinned parts save at most: as if parts of an index could be pinned, so that the dearest come first."""
    saved, rest = np.zeros_like(left), left.copy()
    for order in np.argsort(-again, axis=0, kind="stable"):
        often = np.take_along_axis(again, order[None], axis=0)[0]
        take = np.minimum(rest, np.asarray(costs)[order] * indices)
        saved += take * often
        rest -= take
    return saved


def pinned_parts(left: int, costs: Sequence[int], again: Sequence[int], indices: int) -> tuple[int, ...]:
    """Per operand the indices to pin so that most is saved.

    Of the operand that saves most per word, no fewer than fit but for as many as others have to be exchanged for:
    among as many indices of others as it has words (over what all costs have in common) some make up whole ones of it.

    Args:
        left: words that are free.
        costs: words of an index.
        again: how often a word of a pinned index does not come again.
        indices: of each operand.
    """
    order = sorted((i for i in range(len(costs)) if costs[i] * again[i]), key=lambda i: (-again[i], costs[i]))
    best: list[tuple[int, dict[int, int]]] = [(0, {})]

    def look(number: int, rest: int, saved: int, taken: dict[int, int]) -> None:
        if saved > best[0][0]:
            best[0] = (saved, taken)
        if number == len(order):
            return
        i, later = order[number], order[number + 1 :]
        most = min(rest // costs[i], indices)
        common = gcd(*(costs[j] for j in (i, *later)))
        fewest = most - max(costs[j] for j in later) // common - 1 if later else most
        for count in range(most, max(fewest, 0) - 1, -1):
            free = rest - count * costs[i]
            bound, room = saved + count * costs[i] * again[i], free
            for j in later:
                take = min(room, costs[j] * indices)
                bound, room = bound + take * again[j], room - take
            if bound <= best[0][0]:
                break
            look(number + 1, free, saved + count * costs[i] * again[i], {**taken, i: count})

    look(0, left, 0, {})
    return tuple(best[0][1].get(i, 0) for i in range(len(costs)))
