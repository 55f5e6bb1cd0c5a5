"""Where two answers differ: whole numbers and words exactly, other numbers as far as their last digits go."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

PIECES = re.compile(r"([-+]?(?:\d[\d,]*)?\.?\d+(?:[eE][-+]?\d+)?)")
"""Numbers of a text."""
SHOWN = 160
"""Characters of a value that are printed."""


def differences(was: Any, now: Any, within: float, path: str = "") -> Iterator[str]:
    """A line per place at which `now` is not what `was` is: path, old and new value.

    Args:
        was: a JSON value.
        now: another one.
        within: how far numbers with a fraction may be apart, relatively.
        path: of both in what they stand in.
    """
    if isinstance(was, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*was, *now]):
            there = f"{path}.{key}" if path else key
            if key in was and key in now:
                yield from differences(was[key], now[key], within, there)
            else:
                yield _line(there, was.get(key, _Nothing), now.get(key, _Nothing))
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for index, (old, new) in enumerate(zip(was, now, strict=True)):
            yield from differences(old, new, within, f"{path}[{index}]")
    elif isinstance(was, list) and isinstance(now, list):
        same = next(
            (i for i, (old, new) in enumerate(zip(was, now, strict=False)) if old != new), min(len(was), len(now))
        )
        yield _line(f"{path} (length)", len(was), len(now))
        yield _line(f"{path}[{same}]", _at(was, same), _at(now, same))
    elif not _same(was, now, within):
        yield _line(path, was, now)


class _Nothing:
    """What stands where one of two answers has nothing."""


def _at(values: list[Any], index: int) -> Any:
    return values[index] if index < len(values) else _Nothing


def _line(path: str, was: Any, now: Any) -> str:
    return f"{path}: was {_shown(was)}, is {_shown(now)}"


def _shown(value: Any) -> str:
    text = "nothing" if value is _Nothing else repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _same(was: Any, now: Any, within: float) -> bool:
    if type(was) is not type(now):
        return False
    if isinstance(was, float):
        return was == now or math.isclose(was, now, rel_tol=within)
    return was == now or (isinstance(was, str) and _same_text(was, now, within))


def _same_text(was: str, now: str, within: float) -> bool:
    """Whether texts differ in the last digits of numbers with a fraction only."""
    old, new = PIECES.split(was), PIECES.split(now)
    return len(old) == len(new) and all(
        a == b
        or (
            place % 2 == 1  # a number, between pieces of text
            and "." in a
            and "." in b
            and math.isclose(float(a.replace(",", "")), float(b.replace(",", "")), rel_tol=within)
        )
        for place, (a, b) in enumerate(zip(old, new, strict=True))
    )
