"""The last result of a function, kept for an argument that equals the last one: where arguments have no hash."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

A = TypeVar("A")
R = TypeVar("R")


def remembering(function: Callable[[A], R]) -> Callable[[A], R]:
    """A function that does not compute its last result once more.

    Args:
        function: of one argument that nobody changes.
    """
    last: list[tuple[A, R]] = []

    @wraps(function)
    def remembered(argument: A) -> R:
        known = last[:]
        if not known or known[0][0] != argument:
            known = [(argument, function(argument))]
            last[:] = known
        return known[0][1]

    return remembered
