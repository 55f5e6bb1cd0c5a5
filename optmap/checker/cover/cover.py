"""That no mapping costs less than a number: a tree of sets of mappings, each leaf refuted.

The root is every mapping on one core: whole tiles that nest and fit, any loop order per level. A *step* is
one line of text. It takes the last set that is left and refutes it, or replaces it by parts that cover it:

    flow L            one part per flow of level L that no other one contains (`dataflows.py`), in their order
    cut L D n         the tiles of dim D at level L of at most n, and those of more
    row r             refuted: row r alone is above its limit (`refute.py`)
    sum w,.. x,../..  refuted: rows with these weights, compared at these tile sizes per level, variable dims in
                      the order of the statement; a level without sizes takes its largest ones
    every             refuted: all numbers of tiles are looked at, and what sizes they leave (`every.py`)

The rows are those of `rows.py`: words moved outside each level that the claim is about, which would have to
be fewer than the claimed cost allows, then words held by each part of a memory. After the last step nothing
is left.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any, NamedTuple

from ..core.demands import written
from ..core.nest import TiledNest
from ..core.shapes import many, maybe, name, record, text
from ..core.tools import need, plain, ratio, spelled
from ..core.units import words_of
from .dataflows import best_flows, flow_of
from .every import nothing_left
from .refute import FURTHEST, Points, broken_alone, broken_together
from .rows import MappingSet, Model, Range, RefutedRow

CLAIMS = maybe(many(record(levels=many(name, 1), value=ratio, steps=many(text))))
PROOF = record(fixed=many(name), given=many(name), relaxation=CLAIMS, integers=CLAIMS)
SIZE = re.compile(r"[0-9]{1,20}(\.[0-9]{1,20})?")
WEIGHT = re.compile(r"0|[1-9][0-9]{0,17}")
COUNTED = " (by cost, in which every tile of the next level starts anew; exact keeps more and may be less)"
"""What a claim about costs says nothing about: this or another mapping may move fewer words than its cost counts."""


class Proved(NamedTuple):
    """What the proof of a document proves."""

    relaxation: bool
    """Whether the relaxation is a lower bound."""
    integers: bool
    """Whether the integer bound is one."""
    lines: tuple[str, ...]
    """Both in words."""


def check_proof(doc: Any, nest: TiledNest, rates: list[Fraction], cost: Fraction) -> Proved:
    """Re-prove relaxation and integer bound as far as the proof of a document claims to.

    Raises:
        RefusedError: with the first step that does not hold, or what is claimed and not proved.
    """
    proof = doc.get("proof")
    if proof is None:
        return Proved(False, False, ())
    PROOF(proof, "proof")
    real, whole = (None if proof[key] is None else Fraction(0) for key in ("relaxation", "integers"))
    if real is not None or whole is not None:
        need(doc["held"] is None and doc["objective"] != "loads", "nothing can be proved about what this method finds")
        need(all(n == 1 for ways in nest.ways for n in ways.values()), "nothing can be proved about several cores")
    lines, unit = [], doc["cost"]["unit"]
    if real is not None:
        real, value = proved_value(doc, nest, rates, proof["relaxation"], whole=False), doc["relaxation"]["value"]
        need(value == float(real), f"the relaxation is {value}, proved is {float(real)}")
        gap = "" if doc["integer_gap"] is None else f"; integer gap {100 * doc['integer_gap']:,.4g} %"
        lines.append(f"relaxation {value:,.10g} {unit}: no mapping {_kind(doc, proof)} costs less{gap}{COUNTED}")
    if whole is not None:
        whole, least = proved_value(doc, nest, rates, proof["integers"], whole=True), doc["integer_bound"]["value"]
        whole = max(whole, real or Fraction(0))
        need(least == float(whole), f"the integer bound is {least}, proved is {float(whole)}")
        among = " with tiles that divide what they are cut from" if doc["tiles"] == "divisors" else ""
        within = (
            "" if doc["status"]["within"] is None else f"; this one is within {100 * doc['status']['within']:,.4g} %"
        )
        best = ", which no cost is below" if cost <= whole else ""
        lines.append(
            f"integer bound {least:,.10g} {unit}: no mapping {_kind(doc, proof)}{among} costs less"
            f"{within}{best}{COUNTED}"
        )
    return Proved(real is not None, whole is not None, tuple(spelled(plain(line)) for line in lines))


def _kind(doc: Any, proof: Any) -> str:
    """Which mappings the claims are about."""
    given = f", with the tile and loop order of this one on {', '.join(proof['given'])}" if proof["given"] else ""
    demands = "; ".join(written(demand) for demand in doc.get("constraints", []))
    met = f", that meets {demands}" if demands else ""
    return f"of whole nested tiles that fit, in any loop orders per level, on one core{given}{met}"


def proved_value(doc: Any, nest: TiledNest, rates: list[Fraction], claims: Any, *, whole: bool) -> Fraction:
    """What the claims of a proof add up to, each of them proved; 0 without any.

    Each is about the largest cost of some levels, no level in two of them: of the bottleneck any one
    holds; of a sum those of single levels add up.
    """
    if not claims:
        return Fraction(0)
    names = [level["name"] for level in doc["machine"]["levels"]]
    found, seen = [Fraction(0)], set[int]()
    model = model_of(doc, nest, rates, whole=whole)
    for claim in claims:
        need(all(level in names for level in claim["levels"]), "a proof about no level of the machine")
        levels = sorted({names.index(level) for level in claim["levels"]})
        need(len(levels) == len(claim["levels"]), "a level is twice in a claim")
        need(not seen & {*levels}, "there is one claim per level, not more")
        need(len(levels) == 1 or doc["objective"] == "bottleneck", "a sum has one claim per level")
        seen |= {*levels}
        value = ratio(claim["value"], "what is proved")
        walk(model, levels, value, claim["steps"], whole=whole)
        found.append(value)
    return max(found) if doc["objective"] == "bottleneck" else sum(found, Fraction(0))


def model_of(doc: Any, nest: TiledNest, rates: list[Fraction], *, whole: bool) -> Model:
    """The rows of the document's workload on its machine; with `whole`, of sizes that it allows only."""
    proof, levels, work = doc["proof"], doc["machine"]["levels"], nest.work
    need(not any("order" in demand for demand in doc.get("constraints", [])), "loop orders are demanded: no proof")
    kernels = [level["name"] for level in levels if level["microkernel"] is not None]
    need(all(level in kernels for level in proof["given"]), "only a level with a microkernel has a given tile")
    given = {q for q, level in enumerate(levels) if level["name"] in proof["given"]}
    free = best_flows(work)
    flows = [[flow_of(work, nest.orders[q])] if q in given else free for q in range(nest.depth)]
    divided = {
        q
        for q in range(nest.depth)
        if whole and doc["tiles"] == "divisors" and not {level["name"] for level in levels[q:]} & {*kernels}
    }

    def snapped(q: int, dim: str, sizes: Range, around: int) -> Range | None:
        low, high = sizes
        if q in given:
            low, high = max(low, nest.tiles[q][dim]), min(high, nest.tiles[q][dim])
        for demand in doc.get("constraints", []):
            sized = "axis" not in demand and demand["level"] == levels[q]["name"] and demand["dim"] == dim
            if sized:
                low, high = _demanded(demand["relation"], demand["value"], low, high)
        if q in divided:
            sizes_left = [n for n in divisors(around) if low <= n <= high]
            low, high = (sizes_left[0], sizes_left[-1]) if sizes_left else (1, 0)
        return (low, high) if low <= high else None

    fixed = set(proof["fixed"])
    need(fixed <= set(work.extents), "a fixed dim that is not there")
    rooms = [_rooms(level, work) for level in levels]
    return Model(work=work, rooms=rooms, rates=rates, flows=flows, fixed=fixed, snapped=snapped)


def _demanded(relation: str, value: int, low: int, high: int) -> Range:
    """A range without sizes that do not stand in a relation to a value."""
    if relation == "%":
        return -(-low // value) * value, high // value * value
    return (low if relation == "<=" else max(low, value)), (high if relation == ">=" else min(high, value))


@lru_cache(maxsize=1024)
def divisors(number: int) -> list[int]:
    """All divisors of a number, least first."""
    need(number < 2**40, f"{number:,} is too large to look for its divisors")
    small = [n for n in range(1, isqrt(number) + 1) if number % n == 0]
    return sorted({*small, *(number // n for n in small)})


def _rooms(level: Any, work: Any) -> list[tuple[list[int], int]]:
    """Which accesses share how many words of a level."""
    found = []
    for part in level["partitions"] or [{"tensors": ["inputs", "output"], "capacity": level["capacity"]}]:
        roles = [{"inputs" if i else "output", name} for i, (name, _) in enumerate(work.tensors)]
        mine = [i for i, role in enumerate(roles) if role & set(part["tensors"])]
        found.append((mine, words_of(part, work.word_bits) // level["buffering"]))
    return [(mine, words) for mine, words in found if mine and words]


def walk(model: Model, levels: list[int], value: Fraction, steps: list[str], *, whole: bool) -> None:
    """Take the steps of a claim that the largest cost of some levels is at least a value."""
    limits = [model.limit(level, value, whole=whole) for level in levels]
    need(all(limit > 0 for limit in limits), f"a bound of {float(value)} needs no proof")
    root = model.root()
    left = [] if root is None else [root]
    for number, step in enumerate(steps):
        need(bool(left), f"step {number}: nothing is left to refute")
        node = left.pop()
        kind, *words = step.split(" ")
        if kind in ("flow", "cut"):
            parts = parts_of(model, node, kind, words, f"step {number}")
            left += [part for part in reversed(parts) if part is not None]
        else:
            rows = model.rows(node, levels, limits)
            need(
                refutes(model, node, rows, levels, [kind, *words]),
                f"step {number} ({step[:60]}) does not refute what is left",
            )
    need(not left, f"the steps do not refute all mappings: {len(left)} sets are left")


def parts_of(model: Model, node: MappingSet, kind: str, words: list[str], where: str) -> list[MappingSet | None]:
    """The parts of a node that a step makes."""
    level = _number(words[0], where)
    need(level < model.depth and len(words) == (1 if kind == "flow" else 3), f"{where} is no step")
    if kind == "flow":
        need(node.flows[level] is None, f"{where}: the loop order of the level is known")
        flows = range(len(model.flows[level]))
        return [node._replace(flows=(*node.flows[:level], n, *node.flows[level + 1 :])) for n in flows]
    dim, at = words[1], _number(words[2], where)
    need(dim in model.place, f"{where}: no such dim")
    low, high = model.range(node, level, dim)
    need(low <= at < high, f"{where}: nothing is cut")
    return [model.narrowed(node, level, dim, ends) for ends in ((low, at), (at + 1, high))]


def refutes(model: Model, node: MappingSet, rows: list[RefutedRow], levels: list[int], step: list[str]) -> bool:
    """Whether a step refutes a node; the first rows are of what moves outside some levels."""
    kind, *words = step
    if kind == "every":
        need(not words, "every is a step of its own")
        return nothing_left(model, node, {level: row.limit for level, row in zip(levels, rows, strict=False)})
    if kind == "row":
        number = _number(words[0], "a row")
        need(number < len(rows), "a row that is not there")
        return broken_alone(model, node, rows[number])
    need(kind == "sum" and len(words) == 2, f"{kind!r} is no step")
    weights = [_number(weight, "a weight") for weight in words[0].split(",")]
    need(len(weights) == len(rows), f"{len(rows)} weights are needed")
    point: Points = {}
    groups = words[1].split("/")
    variable = [d for d in model.dims if d not in model.fixed]
    need(len(groups) == model.depth, "a point has sizes per level")
    for level, group in enumerate(groups):
        sizes = group.split(",") if group else []
        need(len(sizes) in (0, len(variable)), "a level has a size per variable dim, or none")
        for dim, size in zip(variable, sizes, strict=False):
            need(SIZE.fullmatch(size) is not None and 1 / FURTHEST < Decimal(size) < FURTHEST, f"{size} is no size")
            point[level, dim] = Decimal(size)
    return broken_together(model, node, rows, weights, point)


def _number(digits: str, where: str) -> int:
    need(WEIGHT.fullmatch(digits) is not None, f"{where}: {digits!r} is no number")
    return int(digits)
