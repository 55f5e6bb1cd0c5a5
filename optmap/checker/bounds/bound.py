"""Verify a certificate of a lower bound (format: the docstring of `optmap/bounds/certificate.py`)."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import gcd, lcm, prod
from typing import Any

from ..core.form import CERTIFICATE
from ..core.padding import Done
from ..core.shapes import check_form
from ..core.statement import StatedWork
from ..core.tools import count, echelon, need, ratio
from .classes import check_classes
from .inequality import Maps, Space, check_families, check_maps
from .passes import check_passes
from .visits import check_visits
from .window import Powers, check_window

WINDOWS = {"window", "classes"}
"""What stands in place of maps."""
BITS = 2**23
"""Most bits of a power."""


def check_segment(doc: dict[str, Any], maps: Maps, weights: dict[str, int], at_most: int, done: Done) -> int:
    """Loads that the segment argument proves; 0 without one."""
    mu, part, work = ratio(doc["mu"], "mu"), doc["segment"], doc["workload"]
    accumulate = work["semantics"] == "accumulate"
    need(mu <= 1 and (mu == 1 or not accumulate), "mu must be in [0, 1], and 1 under accumulate")
    if part is None:
        need(not doc["maps"] and not doc["families"] and not WINDOWS & set(doc), "maps without a segment")
        return 0
    a, b = mu.numerator, mu.denominator
    output = doc["accesses"][0]["tensor"]
    units = {t: (a if t == output else b) * w for t, w in weights.items()}
    memory, K, T, n, t = part["memory_units"], part["K"], part["T"], part["n"], part["t"]
    need(part["weights"] == units, "weights are not those of the tensors")
    need(memory == b * doc["memory_words"] and memory + T == K, "memory_units or K is wrong")
    powers, operations = inequalities(doc, maps, done)
    need(part["operations"] == operations, f"{operations} operations are done, not {part['operations']}")
    for sums, _ in powers:
        need(bool(sums), "no tensor has an exponent")
        free = [tensor for tensor in sums if not units[tensor]]
        need(not free, f"{', '.join(free)} costs nothing and cannot bound anything")
    check_power(part["U_full"], K, units, powers)
    check_power(part["U_last"], memory + t, units, powers)
    need(n == 0 or part["U_full"] > 0, "no operation fits into a segment, so that their number proves nothing")
    need(t <= T and n * part["U_full"] + part["U_last"] < part["operations"], "the segments may hold all operations")
    cost = memory + n * T + t + 1
    need(part["cost_units"] == cost, f"cost_units must be {cost}")
    loads: int = cost if accumulate else -((a * at_most - cost) // b)
    need(part["loads_words"] == loads, f"the segment proves {loads} loads")
    return loads


def inequalities(doc: dict[str, Any], maps: Maps, done: Done) -> tuple[list[Powers], int]:
    """What bounds the operations of a segment, the largest of them, and how many operations there are, by weight."""
    if "classes" in doc:
        return check_classes(doc, done)
    return [check_window(doc) if "window" in doc else map_powers(doc, maps)], done.points()


def map_powers(doc: dict[str, Any], maps: Maps) -> Powers:
    """Exponents of the tensors, and size and exponent of the size maps."""
    sums: dict[str, Fraction] = {}
    sizes = []
    for entry, (_, s) in zip(doc["maps"], maps, strict=True):
        if entry["kind"] == "size":
            sizes.append((Fraction(entry["size"]), s))
        else:
            tensor = doc["accesses"][entry["access"]]["tensor"]
            sums[tensor] = sums.get(tensor, Fraction(0)) + s
    return sums, sizes


def check_power(u: int, K: int, units: dict[str, int], powers: list[Powers]) -> None:
    """U is the largest integer with u^q <= the q-th power of a product inequality at K."""
    reached = False
    for sums, sizes in powers:
        sigma = sum(sums.values(), Fraction(0))
        q = lcm(*(s.denominator for s in sums.values()), *(z.denominator for _, z in sizes))
        factors = [(s * K / (sigma * units[t]), s) for t, s in sums.items()] + sizes
        bits = u.bit_length() + sum(x.numerator.bit_length() + x.denominator.bit_length() for x, _ in factors)
        need(bits * q < BITS, "too large a power")
        top = prod(x.numerator ** int(s * q) for x, s in factors)
        bottom = prod(x.denominator ** int(s * q) for x, s in factors)
        need(top < (u + 1) ** q * bottom, f"U({K}) is not {u}")
        reached = reached or u**q * bottom <= top
    need(reached, f"U({K}) is not {u}")


def check_count(entry: Any, accesses: list[Any], mine: list[int], done: Done) -> int:
    """Elements that some accesses touch together, at least."""
    extents = done.extents
    elements: int = entry["elements"]
    if entry["rule"] == "enumerated":
        distinct = [a for i, a in enumerate(accesses) if i in mine and a not in accesses[:i]]
        seen = set().union(*(done.tuples(access["axes"]) for access in distinct))
        need(len(seen) == elements, f"{len(seen)} elements are touched, not {elements}")
        return elements
    parts = entry["parts"]
    need(all(part["access"] in mine for part in parts), "a count has parts of another tensor")
    total = sum(part_size(part, accesses[part["access"]]["axes"], done) for part in parts)
    need(elements == total, f"the parts have {total} elements, not {elements}")
    for one, two in itertools.combinations(parts, 2):
        pairs = zip(accesses[one["access"]]["axes"], accesses[two["access"]]["axes"], strict=True)
        need(any(apart(x, y, extents) for x, y in pairs), "two parts may meet")
    return elements


def part_size(part: Any, axes: list[Any], done: Done) -> int:
    """Elements of a part: a projection of the touched set, or dims that move independently."""
    if "axes" in part:
        chosen = [axes[i] for i in part["axes"]]
        need(len(set(part["axes"])) == len(chosen), "an axis of a part is there twice")
        return done.together(chosen)
    need(not done.ranged, "dims of a part do not move independently where there is padding")
    extents, dims = done.extents, part["dims"]
    columns = [[dict(axis["terms"]).get(d, 0) for axis in axes] for d in dims]
    need(len(echelon(columns)) == len(dims), "dims of a part do not move independently")
    return prod(extents[d] for d in dims)


def apart(x: Any, y: Any, extents: dict[str, int]) -> bool:
    """Whether two subscripts never have the same value."""
    low, high = sorted((x, y), key=lambda axis: axis["offset"])
    g = gcd(*(c for axis in (x, y) for _, c in axis["terms"]))
    reach = low["offset"] + sum(c * (extents[d] - 1) for d, c in low["terms"])
    return bool(reach < high["offset"] or (g > 1 and (high["offset"] - low["offset"]) % g))


def check_bound(doc: dict[str, Any]) -> dict[str, int]:
    """Verify a certificate of a lower bound.

    Returns:
        Its claims, in words, every one of them proved.

    Raises:
        RefusedError: with the first reason why it proves nothing.
    """
    return prove(doc)[1]


def prove(doc: dict[str, Any]) -> tuple[StatedWork, dict[str, int]]:
    """`check_bound`, with the workload that the claims are about."""
    check_form(doc, CERTIFICATE)
    statement = StatedWork(doc["workload"])
    need(doc["accesses"] == statement.accesses, "expression and accesses differ")
    work, accesses = doc["workload"], doc["accesses"]
    extents, weights, output = work["extents"], statement.weights, accesses[0]["tensor"]
    done = Done(accesses, extents)
    space = Space(doc)
    maps = check_maps(doc, space, done)
    if doc["segment"] is not None and not WINDOWS & set(doc):
        check_families(doc, space, maps)
    need(set(doc["compulsory"]) == set(weights), "compulsory counts do not cover the tensors")
    counts = {}
    for tensor, entry in doc["compulsory"].items():
        mine = [i for i, a in enumerate(accesses) if a["tensor"] == tensor]
        counts[tensor] = weights[tensor] * check_count(entry, accesses, mine, done)
    need(len(doc["output"].get("parts", [0])) == 1, "the output's count has one part")
    written = weights[output] * check_count(doc["output"], accesses, [0], done)
    at_most = weights[output] * prod(count(axis, extents) for axis in space.axes[0])
    forced = sum(counts.values())
    if work["semantics"] == "assign":
        forced -= counts[output]
    claims = {"compulsory_loads_words": forced, "output_words": written, "output_words_at_most": at_most}
    proved = check_segment(doc, maps, weights, at_most, done)
    created = at_most if work["semantics"] == "assign" else 0
    if "visits" in doc:
        proved = check_visits(doc, weights, counts, created, done)
    if "passes" in doc:
        proved = check_passes(doc, weights, counts, created, done)
    claims["loads_words"] = max(forced, proved)
    claims["stores_words"] = written
    claims["total_words"] = claims["loads_words"] + written
    need(doc["claims"] == claims, f"the claims must be {claims}")
    return statement, claims
