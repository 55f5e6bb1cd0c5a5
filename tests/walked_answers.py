"""An answer about a chain held to the walk of its mapping, its floor, its file and the checker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import optmap
from optmap.base.errors import InfeasibleError
from optmap.count.trees import walk_tree


def first_answer(ask: Callable[[int], Any]) -> Any:
    """The answer with the least factor by which memories are made larger: as they are drawn, nothing may fit."""
    for factor in (1, 2, 4):
        try:
            return ask(factor)
        except InfeasibleError:
            continue
    return ask(8)


def hold(answer: Any, folder: Path) -> None:
    """Refuse an answer whose counts are not those of the literal walk, or whose file does not hold."""
    walk = walk_tree(answer.mapping)
    assert answer.count.moved == walk.moved
    assert [room.occupancy_words for room in answer.count.rooms] == [room.occupancy_words for room in walk.rooms]
    assert not answer.count.broken
    assert answer.bound.value <= answer.cost
    path = folder / "answer.json"
    answer.save(path)
    optmap.check(path)
    assert not optmap.evaluate(path).disagreements
