"""Energy reference tables of Accelergy: picojoules per action of a component, in all their versions."""

from __future__ import annotations

from fractions import Fraction

from optmap.base.errors import InputError
from optmap.files.fields import Fields, describe
from optmap.files.stores import exact_number
from optmap.interchange.yaml_files import plain_name

ACTIONS = {"read": ("read", "access"), "fill": ("fill", "write", "access"), "update": ("update", "write", "access")}
"""Where the price of an access is, the first that there is."""
IDLE = ("leak", "idle", "mac_gated")
"""Actions that are no work."""

Energies = dict[str, dict[str, Fraction]]
"""By component, without path and range, then by action: the most that the action costs whatever its arguments."""


def energies_from(table: Fields) -> Energies:
    """The energies of an `ERT` part: a list of tables, or a mapping from component to actions.

    Raises:
        InputError: naming file and field.
    """
    tables = table.get("tables")
    found: Energies = {}
    if isinstance(tables, list):
        for entry in table.items("tables"):
            own = found.setdefault(component(entry.text("name")), {})
            for action in entry.items("actions"):
                _note(own, action.text("name"), action)
        return found
    if not isinstance(tables, dict):
        raise InputError(f"{table.at('tables')} is {describe(tables)}; a list of tables is needed")
    inside = table.fields("tables")
    for name in inside.values:
        own, actions = found.setdefault(component(name), {}), inside.fields(name)
        for key, value in actions.values.items():
            for entry in [actions.fields(key)] if isinstance(value, dict) else actions.items(key):
                _note(own, key, entry)
    return found


def _note(own: dict[str, Fraction], action: str, entry: Fields) -> None:
    if entry.given("energy"):
        own[action] = max(own.get(action, Fraction(0)), exact_number(entry, "energy"))


def component(name: str) -> str:
    """The last part of a path, without its range: `System.PE[0..15].Registers[1..4]` is `Registers`."""
    depth, start = 0, 0
    for place, letter in enumerate(name):  # the dots of a range are no separators
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if letter == "." and depth == 0:
            start = place + 1
    return plain_name(name[start:])[0]


def access_prices(actions: dict[str, Fraction]) -> dict[str, Fraction]:
    """Price of a read, a fill and an update of a memory; 0 where the table has none."""
    return {
        kind: next((actions[name] for name in names if name in actions), Fraction(0)) for kind, names in ACTIONS.items()
    }


def arithmetic_price(actions: dict[str, Fraction]) -> Fraction:
    """Price of one multiply-accumulate: `compute`, or the dearest that is no idling."""
    work = [price for name, price in actions.items() if name not in IDLE]
    return actions.get("compute", max(work, default=Fraction(0)))


def energies_document(tables: dict[str, dict[str, int | float]]) -> dict[str, object]:
    """An `ERT` part."""
    return {
        "version": "0.4",
        "tables": [
            {
                "name": f"System.{name}",
                "actions": [{"name": action, "arguments": {}, "energy": energy} for action, energy in actions.items()],
            }
            for name, actions in tables.items()
        ],
    }
