"""Sizes as text: memory (`8192w`, `32KiB`), bandwidth (`64B`, `16w`, `40GB/s`), clock (`3.6GHz`), elements."""

from __future__ import annotations

import re
from fractions import Fraction

from optmap.base.errors import InputError
from optmap.base.values import quoted, whole_number
from optmap.workloads.amounts import Bandwidth, Capacity
from optmap.workloads.workload import ELEMENT_SIZE, LARGEST_EXTENT

BYTES_PER_UNIT = {"b": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_AMOUNT = r"[0-9]{1,40}(?:\.[0-9]{1,40})?\s*[A-Za-z]*"
UNITS = "w (words), B, KiB, MiB, GiB"
PER_SECOND = {"b/s": 1, "kb/s": 10**3, "mb/s": 10**6, "gb/s": 10**9, "tb/s": 10**12}
HERTZ = {"hz": 1, "khz": 10**3, "mhz": 10**6, "ghz": 10**9}
RATES = "w (words per cycle), B (bytes per cycle), and MB/s, GB/s or TB/s on a machine with a clock"


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
    _refuse_several(text)
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


def _refuse_several(text: str) -> None:
    """Refuse a range where one capacity is wanted, or one that is not written with a colon.

    Raises:
        InputError: with the range as it is written.
    """
    range_ = re.fullmatch(rf"\s*({_AMOUNT})\s*(:|-+|\.\.+|,|;|\bto\b)\s*({_AMOUNT})\s*(?::\s*([0-9]{{1,9}})\s*)?", text)
    if range_ is None:
        return
    first, sign, last, count = range_.groups()
    written = f"{first}:{last}"
    if count:
        raise InputError(f"capacity {text!r}: a range is written {written}, and its number of points --points {count}")
    if sign == ":":
        raise InputError(
            f"capacity {text!r} is a range, and one capacity is needed; compare, algorithms and network --curve go "
            f"over ranges: --memory {written}"
        )
    if sign == "," and first.strip().isdigit():
        raise InputError(f"capacity {text!r}: a decimal number has a point; write {first.strip()}.{last.strip()}")
    if sign in ",;":
        raise InputError(f"capacity {text!r} is two of them; write one, or a range: {written} with --points 2")
    raise InputError(f"capacity {text!r}: a range is written {written}")


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
    if text.count(":") != 1:
        return (parse_capacity(text),)
    first, last = text.split(":")
    if not (first.strip() and last.strip()):
        raise InputError(f"range {text!r} has one end alone; write for example 4KiB:4MiB")
    low, high = parse_capacity(first), parse_capacity(last)
    if low.unit != high.unit or low.amount >= high.amount:
        raise InputError(f"range {text!r}: give the smaller capacity first, both in words or both in bytes")
    if whole_number(points, "points", least=0) < 2:
        raise InputError(f"a range needs 2 points or more, not {points}")
    ratio = high.amount / low.amount
    inner = (round(low.amount * ratio ** (i / (points - 1))) for i in range(1, points - 1))
    amounts = sorted({low.amount, *inner, high.amount})
    return tuple(Capacity(amount=amount, unit=low.unit) for amount in amounts)


def parse_bandwidth(text: str, clock_hz: int | None = None) -> Bandwidth:
    """Read a bandwidth with its unit.

    Args:
        text: a positive number and a unit: `64B` bytes per cycle, `16w` words per cycle of whatever
            the workload's word is, or `40GB/s` (powers of 1000). Fractions such as `100/9B` are fine.
        clock_hz: cycles per second; only a bandwidth per second needs it.

    Raises:
        InputError: for no unit or an unknown one, an amount that is not positive, or a bandwidth
            per second without a clock.
    """
    amount, unit = _number_and_unit(text, "bandwidth", "64B or 16w", RATES)
    if not unit:
        raise InputError(
            f"bandwidth {text!r} has no unit; write {text.strip()}B for bytes per cycle or {text.strip()}w for words; "
            f"units are {RATES}"
        )
    unit = unit.lower().removesuffix("/cycle")
    if unit in PER_SECOND and clock_hz is None:
        raise InputError(f"bandwidth {text!r} needs the machine's clock; add for example `clock: 3.6GHz`, or write 64B")
    if unit not in ("w", "b", *PER_SECOND):
        raise InputError(f"bandwidth {text!r} has an unknown unit; write for example 64B or 16w; units are {RATES}")
    if amount <= 0:
        raise InputError(f"bandwidth {text!r} is not positive; write for example 64B or 16w")
    if unit in PER_SECOND:
        amount = amount * PER_SECOND[unit] / (clock_hz or 1)
    return Bandwidth(amount=amount, unit="words" if unit == "w" else "bytes")


def parse_clock(text: str) -> int:
    """Read a clock such as `3.6GHz`, in cycles per second.

    Raises:
        InputError: for no unit or an unknown one, or no whole positive number of cycles per second.
    """
    number, unit = _number_and_unit(text, "clock", "3.6GHz", "Hz, kHz, MHz, GHz")
    if unit.lower() not in HERTZ:
        raise InputError(
            f"clock {text!r} has no unit that is known; write for example 3.6GHz; units are Hz, kHz, MHz, GHz"
        )
    hertz = number * HERTZ[unit.lower()]
    if hertz.denominator != 1 or not 1 <= hertz <= LARGEST_EXTENT:
        raise InputError(f"clock {text!r} is {float(hertz):g} Hz; a whole number from 1 to 2^63-1 is needed")
    return int(hertz)


def _number_and_unit(text: str, what: str, example: str, units: str) -> tuple[Fraction, str]:
    parts = re.fullmatch(
        r"\s*([+-]?[0-9]{1,40}(?:\.[0-9]{1,40})?|[0-9]{1,99}/[1-9][0-9]{0,98})\s*([A-Za-z/]*)\s*", text
    )
    if parts is None:
        raise InputError(f"{what} {text!r} is not a number with a unit; write for example {example}; units are {units}")
    return Fraction(parts[1]), parts[2]


def element_bits(size: object, where: str, *, unit: str = "bytes") -> int:
    """An element size in bits.

    Args:
        size: whole bytes, or a multiple of 1/8 such as 0.5 (int4); whole bits with that unit.
        where: what it is, for messages.
        unit: `bytes` or `bits`.

    Raises:
        InputError: for anything but a whole number of bits from 1 to 2^63-1.
    """
    if isinstance(size, int | float | Fraction) and not isinstance(size, bool) and 0 < size < 2**64:
        bits = Fraction(size) * (8 if unit == "bytes" else 1)
        if bits.denominator == 1 and 1 <= bits <= LARGEST_EXTENT:
            return int(bits)
    raise InputError(f"{where} is {quoted(size)} {unit}; {ELEMENT_SIZE}")
