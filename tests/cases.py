"""How many cases a test tries: some of them in the README's command, all of them in `python tests/longer.py`.

A test that repeats itself over seeds, layers or examples says both numbers here. The few are drawn as the many are,
so that what fails among the few fails among the many.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeVar

import pytest

Value = TypeVar("Value")
LEFT_OUT = "not longer"
"""The marker expression of the README's command; see `addopts` in pyproject.toml."""


class Run:
    """The run of the tests that this process is part of; `conftest.py` sets it before any test is read."""

    longer = False
    """Whether all cases are tried."""


def cases(few: int, many: int) -> int:
    """How many of `many` cases this run tries."""
    assert 0 < few < many
    return many if Run.longer else few


def thinned(values: Sequence[Value], step: int) -> Sequence[Value]:
    """All values in the longer run, one of every `step` in the other."""
    assert 1 < step < len(values)
    return values if Run.longer else values[::step]


def some(few: int | Collection[Any], values: Iterable[Any]) -> list[Any]:
    """Values of a parameter, all but a few of them marked `longer`.

    Args:
        few: how many are tried in every run, evenly spread; or which.
        values: all of them; a tuple has one value per name.
    """
    every = [value if hasattr(value, "marks") else _parameter(value) for value in values]
    if isinstance(few, int):
        chosen = {i * len(every) // few for i in range(few)}
    else:
        chosen = {i for i, each in enumerate(every) if (each.values if len(each.values) > 1 else each.values[0]) in few}
        assert len(chosen) >= len(few), few
    assert 0 < len(chosen) < len(every)
    return [
        each if i in chosen else each._replace(marks=[*each.marks, pytest.mark.longer]) for i, each in enumerate(every)
    ]


def _parameter(value: Any) -> Any:
    return pytest.param(*value) if isinstance(value, tuple) else pytest.param(value)
