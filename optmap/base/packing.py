"""Choosing among things of which some cannot be taken together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence


def heaviest_packing(needs: Sequence[frozenset[Hashable]], gains: Sequence[int]) -> tuple[int, ...]:
    """Numbers of things that gain most together and have no need in common; of several such choices the first.

    All choices are gone through at once, thing by thing: those that leave the same of what later things need go on
    alike, and only the best of them is kept. There are few where things stand in the order of what they need first.

    Args:
        needs: of every thing.
        gains: of every thing, more than nothing.

    Source: dynamic programming over cuts of a sequence.
    """
    later: list[frozenset[Hashable]] = [frozenset()]
    for need in reversed(needs):
        later.append(later[-1] | need)
    later.reverse()
    known: dict[frozenset[Hashable], tuple[int, tuple[int, ...]]] = {frozenset(): (0, ())}
    for number, (need, gain) in enumerate(zip(needs, gains, strict=True)):
        grown: dict[frozenset[Hashable], tuple[int, tuple[int, ...]]] = {}
        for used, (gained, chosen) in known.items():  # the choices that are preferred come first
            ways = [(used, gained, chosen)]
            if not used & need:
                ways.insert(0, (used | need, gained + gain, (*chosen, number)))
            for taken, value, numbers in ways:
                left = taken & later[number + 1]
                if left in grown and grown[left][0] >= value:
                    continue
                _ = grown.pop(left, None)
                grown[left] = value, numbers
        known = grown
    return known[frozenset()][1]
