"""How many words an access that is streamed through a tile holds at most, counted anew from its meaning.

A word of the tile is held from the first slice that has it to the last one; slices follow each other as the streamed
loops run, outermost first. A subscript has one streamed dim at most. Walk these loops inwards and ask of every value
of the subscripts so far whether a word with it is surely held (kind 0), held if its other subscripts have begun by
now (1), if they have not ended (2), or both (3): before the first loop there is one word, of kind 3.
"""

from __future__ import annotations

from ..core.statement import Axis
from ..core.tools import need

Kinds = tuple[int, int, int, int]
"""Values of every kind."""
MOST = 2**22
"""Pairs of an iteration and a value beside it, and states, that are looked at."""


def rolling_words(axes: list[Axis], sizes: dict[str, int], loops: list[str]) -> int:
    """Most words that are held at the same time, of the subscripts with a streamed dim alone.

    Args:
        axes: the subscripts that have one.
        sizes: extent of the tile per dim.
        loops: streamed dims with more than one iteration, outermost first.
    """
    states: set[Kinds] = {(0, 0, 0, 1)}
    for d in loops:
        (terms,) = (dict(terms) for terms, _ in axes if d in dict(terms))
        beside = [(c, sizes[e]) for e, c in terms.items() if e != d and sizes[e] > 1]
        if not beside and states == {(0, 0, 0, 1)}:
            continue  # every iteration has words of its own
        times = by_time(terms[d], sizes[d], beside)
        need(len(states) * len(times) <= MOST, "too many slices to recount")
        states = {moved(state, *time) for state in states for time in times}
    return max(sum(state) for state in states)


def by_time(step: int, size: int, beside: list[tuple[int, int]]) -> list[tuple[int, int, Kinds, int]]:
    """Per iteration: values that began before, values that end later, those it has by kind, and all values."""
    values = {0}
    for c, n in beside:
        need(size * len(values) * n <= MOST, "too wide a window to recount")
        values = {v + c * x for v in values for x in range(n)}
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for t in range(size):
        for v in values:
            first.setdefault(step * t + v, t)
            last[step * t + v] = t
    begun, ended, single = [0] * size, [0] * size, [0] * size
    for v, t in first.items():
        begun[t] += 1
        ended[last[v]] += 1
        single[t] += last[v] == t
    rows, before, gone = [], 0, 0
    for b, e, s in zip(begun, ended, single, strict=True):
        crossing = before - gone - (e - s)
        rows.append((before, len(first) - gone - e, (crossing, b - s, e - s, s), len(first)))
        before, gone = before + b, gone + e
    return rows


def moved(state: Kinds, before: int, later: int, here: Kinds, every: int) -> Kinds:
    """The state with one more subscript, at one of its iterations."""
    held, begun, ending, both = state
    crossing, new, old, only = here
    return (
        held * every + begun * before + ending * later + both * crossing,
        begun * (new + only) + both * new,
        ending * (old + only) + both * old,
        both * only,
    )
