"""Names that a person types: looked up in one place, refused with the nearest known ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, MutableMapping
from typing import TypeVar

from optmap.base.errors import InputError, UnknownNameError

MOST_LISTED = 16
"""A longer list of known names is left out where a suggestion stands."""
MOST_SUGGESTED = 3
AS_NEAR = 0.1
"""Names this much less alike than the nearest are suggested as well."""

Kept = TypeVar("Kept")


def enter(kind: str, name: object, value: Kept, registry: MutableMapping[str, Kept]) -> None:
    """Put a value into a registry under a name of its own.

    Args:
        kind: what it is, for the message: `method`, `objective`.
        name: letters, digits, `-` and `_`, so that a shell and a file can write it.
        value: what the name will mean.
        registry: changed.

    Raises:
        InputError: for a name that is none, or is taken.
    """
    if not isinstance(name, str) or not name.replace("-", "a").replace("_", "a").isalnum():
        raise InputError(f"{kind} {name!r} cannot be a name; use letters, digits, - and _")
    if name in registry:
        raise InputError(f"{kind} {name!r} exists; choose another name")
    registry[name] = value


def choose(kind: str, text: object, known: Iterable[str], *, where: str = "", any_case: bool = False) -> str:
    """The known name that a text means.

    Args:
        kind: what it names, for the message: `method`, `machine`, `key`.
        text: what was typed.
        known: the names there are, in the order to list them.
        where: file and field, or option, that the text stands in; empty for none.
        any_case: whether a name in other case is meant as well.

    Returns:
        The name as it is written in `known`.

    Raises:
        UnknownNameError: listing the known names and suggesting the nearest.
        InputError: for something that is no text.
    """
    names = [str(name) for name in known]
    place = f"{where}: " if where else ""
    if not isinstance(text, str):
        raise InputError(f"{place}{kind} {text!r} is not a name; known are {', '.join(names)}")
    if text in names:
        return str(text)
    for name in names if any_case else ():
        if name.casefold() == text.casefold():
            return name
    raise UnknownNameError(f"{place}unknown {kind} {text!r}{suggestion(text, names)}")


def suggestion(text: str, known: Iterable[str]) -> str:
    """`; did you mean …?` with names that end, start or are spelt like `text`, and what is known.

    Of names `group/entry` the groups are listed as `group/*`.

    Args:
        text: what was typed, or a pattern that matches nothing.
        known: the names there are.
    """
    lowered = {name.casefold(): name for name in known}
    wanted = text.casefold()
    groups = {key.partition("/")[0]: f"{name.partition('/')[0]}/*" for key, name in lowered.items() if "/" in key}
    close = [name for key, name in lowered.items() if key.rpartition("/")[2] == wanted]
    close += [group for key, group in groups.items() if wanted and key.startswith(wanted)]
    if not close:
        close = [name for key, name in lowered.items() if wanted and key.startswith(wanted)]
    if not close:
        close = [lowered[key] for key in _spelt_like(wanted, list(lowered))]
    listed = [*groups.values(), *(name for key, name in lowered.items() if "/" not in key)]
    if not listed:
        return "; there is none"
    if not close:
        return f"; known are {', '.join(listed)}"
    meant = f"; did you mean {' or '.join(list(dict.fromkeys(close))[:MOST_SUGGESTED])}?"
    return meant if groups or len(listed) > MOST_LISTED else f"{meant} Known are {', '.join(listed)}"


def _spelt_like(wanted: str, known: list[str]) -> list[str]:
    """The names nearest in spelling, best first; only those about as near as the best."""
    found = difflib.get_close_matches(wanted, known, n=MOST_SUGGESTED, cutoff=0.5)
    nearness = [difflib.SequenceMatcher(None, name, wanted).ratio() for name in found]
    return [name for name, near in zip(found, nearness, strict=True) if near >= nearness[0] - AS_NEAR]
