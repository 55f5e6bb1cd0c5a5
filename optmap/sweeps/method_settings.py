"""Settings of methods that explore, where several methods are at work: `random.victory=0` says whose it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from optmap.base.errors import InputError
from optmap.search.explore.settings import setting_text

SettingsInput = Mapping[str, object] | Iterable[str] | str
"""`{"random.victory": 0}`, or texts as `random.victory=0`."""


def method_settings(given: SettingsInput, where: str = "") -> tuple[str, ...]:
    """Settings as texts, sorted, so that equal ones are equal.

    Args:
        given: what stands for them.
        where: file and field, for messages.

    Raises:
        InputError: for one that does not say whose it is, or that is set twice.
    """
    if isinstance(given, Mapping):
        texts = [f"{name}={setting_text(value)}" for name, value in given.items()]
    else:
        texts = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    found = {}
    for text in texts:
        if not isinstance(text, str):
            raise InputError(f"{where}{text!r} is no setting; write METHOD.NAME=VALUE, such as random.victory=0")
        place, equals, value = (part.strip() for part in text.partition("="))
        method, dot, name = place.partition(".")
        if not (method and dot and name and equals and value):
            raise InputError(f"{where}{text}: write METHOD.NAME=VALUE, so that it says whose it is: random.victory=0")
        if place in found:
            raise InputError(f"{where}{place} is set twice")
        found[place] = f"{place}={value}"
    return tuple(found[place] for place in sorted(found))


def method_of(text: str) -> str:
    """Whose setting a text is, as `method_settings` makes it."""
    return text.partition(".")[0]


def settings_for(texts: Iterable[str], method: str) -> dict[str, str]:
    """The settings of one method, by name.

    Args:
        texts: as `method_settings` makes them.
        method: whose.
    """
    mine = (text.partition(".")[2].partition("=") for text in texts if method_of(text) == method)
    return {name: value for name, _, value in mine}
