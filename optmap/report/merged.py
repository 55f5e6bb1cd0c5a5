"""Names of equal layers on one line: none is lost, runs of numbers are written as ranges."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence

PLAIN = re.compile(r"[^{}, \"\\]+")
"""Names that can stand in a list without quotes."""


def names_text(names: Sequence[str]) -> str:
    """All of some names on one line: `layers.{0-31}.up, head`; those that differ in one number are one entry.

    Args:
        names: in their order; one that is there twice says so.
    """
    times = Counter(names)
    left = dict.fromkeys(times)
    entries = []
    while left:
        name = next(iter(left))
        once = [each for each in left if times[each] == 1]
        group = max(_groups(name, once), key=len, default=[name]) if times[name] == 1 else [name]
        again = f" ({times[name]} times)" if times[name] > 1 else ""
        entries.append(_ranges(group) if len(group) > 1 else _quoted(name) + again)
        for each in group:
            del left[each]
    return ", ".join(entries)


def _tokens(name: str) -> list[str]:
    """Text and whole numbers in turn, text first."""
    return re.split(r"(0|[1-9][0-9]*)", name)


def _groups(name: str, names: Iterable[str]) -> Iterable[list[str]]:
    """Per number in a name, the names that differ from it in that number at most."""
    mine = _tokens(name)
    if PLAIN.fullmatch(name) is None:
        return
    alike = [(each, tokens) for each in names for tokens in [_tokens(each)] if len(tokens) == len(mine)]
    for place in range(1, len(mine), 2):
        rest = mine[:place] + mine[place + 1 :]
        yield [each for each, tokens in alike if tokens[:place] + tokens[place + 1 :] == rest]


def _ranges(group: Sequence[str]) -> str:
    """Names that differ in one number, as one with all its values."""
    tokens = [_tokens(name) for name in group]
    place = next(at for at in range(1, len(tokens[0]), 2) if tokens[0][at] != tokens[1][at])
    values = sorted(int(each[place]) for each in tokens)
    runs: list[list[int]] = []
    for value in values:
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    texts = [f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs]
    return "".join([*tokens[0][:place], "{", ",".join(texts), "}", *tokens[0][place + 1 :]])


def _quoted(name: str) -> str:
    return name if PLAIN.fullmatch(name) and name.isprintable() else json.dumps(name)
