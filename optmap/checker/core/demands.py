"""The constraints that a user put on a mapping: what they mean, and whether it meets them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .tools import need, plain, spelled

GAP = "..."


def check_demands(doc: dict[str, Any], placed: Sequence[Mapping[str, Any]], tensors: Sequence[str] = ()) -> list[str]:
    """Every constraint is about a level, dims and tensors that are there, and is met; returns a line that lists them.

    Args:
        doc: a solution; the levels of its machine are those with a tile, without the outermost memory.
        placed: the mapping of every level as the document has it, inner first; on an accelerator the outermost
            memory's, too, which has a split and may keep tensors.
        tensors: names of what may be kept.
    """
    names = [level["name"] for level in doc["machine"]["levels"]]
    names += [entry["level"] for entry in placed[len(names) :]]
    texts = []
    for demand in doc.get("constraints", []):
        text = written(demand)
        about = names if {"axis", "keeps", "bypass"} & {*demand} else names[: len(doc["machine"]["levels"])]
        need(demand["level"] in about, f"constraint {text}: no such level")
        met = _met(demand, placed[names.index(demand["level"])], tensors, text)
        need(met, f"the mapping does not meet the constraint {text}")
        texts.append(text)
    return [spelled(f"the mapping meets the constraints {'; '.join(texts)}")] if texts else []


def _met(demand: dict[str, Any], entry: Mapping[str, Any], tensors: Sequence[str], text: str) -> bool:
    """Whether the mapping of its level meets a constraint."""
    if "order" in demand:
        dims = [d for d in demand["order"] if d != GAP]
        need(len(dims) == len(set(dims)) and {*dims} <= {*entry["tile"]}, f"constraint {text}: not the dims, once")
        return matches(list(entry["permutation"]), demand["order"])
    for key in ("keeps", "bypass"):
        if key in demand:
            named = [name for name in demand[key] if name != GAP]
            need(len(named) == len(set(named)) and {*named} <= {*tensors}, f"constraint {text}: not the tensors, once")
            held = {*entry["keeps"]}
            if key == "bypass":
                return held.isdisjoint(named)
            return held >= {*named} if GAP in demand[key] else held == {*named}
    need(demand["dim"] in entry["tile"], f"constraint {text}: no such dim")
    return holds(_size(demand, entry), demand["relation"], demand["value"])


def _size(demand: dict[str, Any], entry: Mapping[str, Any]) -> int:
    """What a constraint is about: a tile size, or the ways of a split."""
    axis, dim = demand.get("axis"), demand["dim"]
    if axis is None:
        return int(entry["tile"][dim])
    ways = entry["spatial"] if axis == "spatial" else entry["spatial_axes"][axis]
    return int(ways.get(dim, 1))


def holds(size: int, relation: str, value: int) -> bool:
    """Whether a number stands in a relation to a value; `%`: it is a multiple."""
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
    for key in ("order", "keeps", "bypass"):
        if key in demand:
            return plain(f"{demand['level']}.{key}={','.join(demand[key])}")
    zero = "=0" if demand["relation"] == "%" else ""
    axis = f"{demand['axis']}." if "axis" in demand else ""
    return plain(f"{demand['level']}.{axis}{demand['dim']}{demand['relation']}{demand['value']}{zero}")
