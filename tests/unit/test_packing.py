"""The choice that gains most among things that have no need in common, against all choices."""

from __future__ import annotations

from itertools import chain, combinations

from hypothesis import given
from hypothesis import strategies as st

from optmap.base.packing import heaviest_packing


@given(st.lists(st.tuples(st.frozensets(st.integers(0, 5), min_size=1), st.integers(1, 5)), max_size=7))
def test_no_choice_gains_more_and_of_several_the_first_is_taken(things: list[tuple[frozenset[int], int]]) -> None:
    numbers = range(len(things))
    every = chain.from_iterable(combinations(numbers, count) for count in numbers)
    able = [own for own in [*every, tuple(numbers)] if _apart([things[n][0] for n in own])]
    chosen = heaviest_packing([need for need, _ in things], [gain for _, gain in things])
    most = max(sum(things[n][1] for n in own) for own in able)
    first = max(
        [own for own in able if sum(things[n][1] for n in own) == most], key=lambda o: [n in o for n in numbers]
    )
    assert chosen == first


def _apart(needs: list[frozenset[int]]) -> bool:
    return sum(map(len, needs)) == len(frozenset().union(*needs))


def test_intervals_of_a_long_row_are_chosen_from_soon() -> None:
    needs = [frozenset(range(first, last)) for first in range(60) for last in range(first + 2, 61)]
    chosen = heaviest_packing(needs, [len(need) - 1 for need in needs])
    assert [sorted(needs[number]) for number in chosen] == [list(range(60))]
