"""The pebble game of Dinh's section 2.3.1 beside costs by hand, and the parts of its segments."""

from __future__ import annotations

import pytest

from optmap.papers.dinh.pebbles import Graph, best_game, butterfly, fewest_parts, outer, segments, tree


@pytest.mark.parametrize(
    ("graph", "memory", "moved"),
    [
        (outer(1, 1), 3, 3),  # two loads, a store
        (tree(4), 4, 5),
        (tree(4), 3, 7),  # the first sum makes room for the other's operands, and comes back
        (outer(2, 2), 4, 8),
        (outer(1, 2), 3, 5),
    ],
)
def test_the_least_cost_is_what_it_is_by_hand(graph: Graph, memory: int, moved: int) -> None:
    assert sum(kind in "LS" for kind, _ in best_game(graph, memory)) == moved


def test_a_game_keeps_to_the_rules_and_its_segments_to_their_length() -> None:
    graph, memory = tree(4), 3
    red, blue = set[int](), {0, 1, 2, 3}
    for kind, v in best_game(graph, memory):
        if kind == "L":
            assert v in blue
        elif kind == "C":
            assert set(graph.operands[v]) <= red
        elif kind == "S":
            assert v in red
            blue.add(v)
        if kind == "D":
            red.remove(v)
        elif kind in "LC":
            red.add(v)
        assert len(red) <= memory
    assert 6 in blue
    assert len(segments(best_game(graph, memory), memory)) == 3


def test_too_few_registers_have_no_game() -> None:
    assert best_game(tree(2), 2) == []


def test_fewest_parts_of_partitions() -> None:
    assert fewest_parts(tree(4), 4) == 1  # its inputs dominate it, its root is all that is handed on
    assert fewest_parts(outer(2, 2), 3) == 2  # four products are handed on
    assert fewest_parts(butterfly(2), 2) == 1
    graph = tree(2)
    assert graph.dominated(0b011) == 0b111
    assert graph.dominated(0b001) == 0b001
    assert graph.minimum(0b111) == 0b100
