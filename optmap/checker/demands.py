"""The constraints that a user put on a mapping: what they mean, and whether it meets them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .tools import need, plain, spelled

GAP = "..."


def check_demands(
    doc: dict[str, Any], tiles: Sequence[Mapping[str, int]], orders: Sequence[Sequence[str]]
) -> list[str]:
    """Every constraint is about a level and dims that are there, and is met; returns a line that lists them.

    Args:
        doc: a solution; its levels are those of the machine, without the outermost memory.
        tiles: of every level, inner first.
        orders: loops of every level, outermost first.
    """
    names = [level["name"] for level in doc["machine"]["levels"]]
    texts = []
    for demand in doc.get("constraints", []):
        text = written(demand)
        need(demand["level"] in names, f"constraint {text}: no such level")
        number = names.index(demand["level"])
        if "order" in demand:
            order = demand["order"]
            dims = [d for d in order if d != GAP]
            known = len(dims) == len(set(dims)) and {*dims} <= {*orders[number]}
            need(known, f"constraint {text}: not the dims, once")
            met = matches(list(orders[number]), order)
        else:
            need(demand["dim"] in tiles[number], f"constraint {text}: no such dim")
            met = holds(tiles[number][demand["dim"]], demand["relation"], demand["value"])
        need(met, f"the mapping does not meet the constraint {text}")
        texts.append(text)
    return [spelled(f"the mapping meets the constraints {'; '.join(texts)}")] if texts else []


def holds(size: int, relation: str, value: int) -> bool:
    """Whether a tile size stands in a relation to a value; `%`: it is a multiple."""
    known = {"=": size == value, "<=": size <= value, ">=": size >= value, "%": size % value == 0}
    return known[relation]


def matches(loops: list[str], order: list[str]) -> bool:
    """Whether loops, outermost first, read like an order in which a gap is any run of loops not named in it."""
    if not order:
        return not loops
    if order[0] == GAP:
        skip = bool(loops) and loops[0] not in order[1:]
        return matches(loops, order[1:]) or (skip and matches(loops[1:], order))
    return bool(loops) and loops[0] == order[0] and matches(loops[1:], order[1:])


def written(demand: dict[str, Any]) -> str:
    """A constraint in one line."""
    if "order" in demand:
        return plain(f"{demand['level']}.order={','.join(demand['order'])}")
    zero = "=0" if demand["relation"] == "%" else ""
    return plain(f"{demand['level']}.{demand['dim']}{demand['relation']}{demand['value']}{zero}")
