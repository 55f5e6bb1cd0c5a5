"""Traits of one's own: what levels may say of themselves beside what every level has.

    register_trait(Trait(name="banks", description="words that are read at once", check=whole_number))

Files then say `traits: {banks: 4}` at a level, answers keep it, and `Level.trait` has its value. No count of the
library reads it: a method or a counting of one's own does. A machine without it is refused by routes that name it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite

from optmap.base.errors import InputError
from optmap.base.names import choose, enter
from optmap.base.shown import Names
from optmap.base.values import quoted

TraitValue = bool | int | float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trait:
    """Something that levels of a machine may say of themselves."""

    name: str
    """Key in `TRAITS`, and in the `traits` of a level."""
    description: str
    """What it says, with its unit, in one line."""
    check: Callable[[TraitValue, str], object]
    """Raises an `InputError` for a value that it cannot have; given the value, and what it is for the message."""


TRAITS: Names[Trait] = Names()
"""The traits that were registered, by name."""


def register_trait(trait: Trait) -> None:
    """Give a trait a name: levels may then have it.

    It is known to the process that registers it; that of a plug-in, a module that `load_plugin` imports, to all.

    Raises:
        InputError: if the name is taken, or is none.
    """
    enter("trait", trait.name, trait, TRAITS)


def check_trait(name: str, value: object, where: str) -> None:
    """Refuse a trait that nobody registered, or a value that it cannot have.

    Args:
        name: of the trait.
        value: what a level says.
        where: the level, for the message.

    Raises:
        InputError: naming level and trait.
    """
    known = TRAITS[choose("trait", name, TRAITS, where=where)]
    if not isinstance(value, bool | int | float | str) or (isinstance(value, float) and not isfinite(value)):
        raise InputError(f"{where}: {name} is {quoted(value)}; a finite number, a text, true or false is needed")
    known.check(value, f"{where}: {name}")
