"""Amounts of memory as text: `8192w`, `32KiB`, `24.75 MiB`."""

from __future__ import annotations

import re
from fractions import Fraction

from optmap.errors import InputError
from optmap.problem.machine import Capacity
from optmap.problem.workload import LARGEST_EXTENT

BYTES_PER_UNIT = {"b": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30}
UNITS = "w (words), B, KiB, MiB, GiB"


def parse_capacity(text: str) -> Capacity:
    """Read an amount of memory with its unit.

    Args:
        text: a positive number and a unit: `w` for words of whatever the workload's word is, or
            `B`, `KiB`, `MiB`, `GiB` (powers of 1024), in either case. A decimal point is fine
            where the amount comes out whole (`24.75MiB`).

    Raises:
        InputError: for no unit, an unknown unit, or an amount that is not a whole number of
            words or bytes from 1 to 2^63-1.
    """
    parts = re.fullmatch(r"\s*(\S*?)\s*([^\W\d]*)\s*", text)
    if parts is None or re.fullmatch(r"[+-]?[0-9]{1,40}(\.[0-9]{1,40})?", parts[1]) is None:
        raise InputError(f"capacity {text!r} is not a number with a unit; write for example 32KiB; units are {UNITS}")
    number, unit = Fraction(parts[1]), parts[2]
    if not unit:
        raise InputError(
            f"capacity {text!r} has no unit; write {parts[1]}w for words or {parts[1]}B for bytes; units are {UNITS}"
        )
    if unit.lower() != "w" and unit.lower() not in BYTES_PER_UNIT:
        meant = f" (did you mean {unit[0].upper()}iB?)" if re.fullmatch("[kKmMgG][bB]?", unit) else ""
        raise InputError(f"capacity {text!r} has an unknown unit {unit!r}{meant}; units are {UNITS}")
    words = unit.lower() == "w"
    amount = number * (1 if words else BYTES_PER_UNIT[unit.lower()])
    what = "words" if words else "bytes"
    if amount <= 0:
        raise InputError(f"capacity {text!r} is {amount} {what}; it must be 1 or more")
    if amount.denominator != 1:
        raise InputError(f"capacity {text!r} is {float(amount)} {what}; it must be a whole number of {what}")
    if amount > LARGEST_EXTENT:
        raise InputError(f"capacity {text!r} is larger than 2^63-1 {what}")
    return Capacity(amount=int(amount), unit=what)


def capacities(text: Capacity | str, points: int) -> tuple[Capacity, ...]:
    """One capacity, or a range `4KiB:4MiB` as several, evenly spaced on a logarithmic scale.

    Args:
        text: a capacity (itself or as text) or two with a colon between them.
        points: how many of a range, both ends included.

    Raises:
        InputError: as `parse_capacity`; for ends in different units or in the wrong order, or
            fewer than two points.
    """
    if isinstance(text, Capacity):
        return (text,)
    first, colon, last = text.partition(":")
    low = parse_capacity(first)
    if not colon:
        return (low,)
    high = parse_capacity(last)
    if low.unit != high.unit or low.amount >= high.amount:
        raise InputError(f"range {text!r}: give the smaller capacity first, both in words or both in bytes")
    if points < 2:
        raise InputError(f"a range needs 2 points or more, not {points}")
    ratio = high.amount / low.amount
    inner = (round(low.amount * ratio ** (i / (points - 1))) for i in range(1, points - 1))
    amounts = sorted({low.amount, *inner, high.amount})
    return tuple(Capacity(amount=amount, unit=low.unit) for amount in amounts)
