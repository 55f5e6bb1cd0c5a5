"""Numbers, sizes and names as text, the same wherever they are read."""

from __future__ import annotations

import re
from fractions import Fraction


def number(value: float | Fraction) -> str:
    """A number with thousands separators; whole numbers without decimals."""
    value = float(value) if isinstance(value, Fraction) else value
    if isinstance(value, int) or (abs(value) < 2**63 and value == int(value)):
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.1f}"
    return f"{value:.4g}"


SCALES = ((1e12, ""), (1e9, "m"), (1e6, "u"))
"""Units that pico-units are told in, by how many of these they are, the largest first."""


def energy_text(picojoules: float | Fraction) -> str:
    """An energy in pJ, and beside it in the unit that it is read in: `704,482,897.9 pJ (704.5 uJ)`."""
    value = float(picojoules)
    beside = next((f" ({value / size:.4g} {prefix}J)" for size, prefix in SCALES if value >= size), "")
    return f"{number(value)} pJ{beside}"


def seconds_text(cycles: float | Fraction, clock_hz: int | None) -> str:
    """The time of cycles where a clock is known, `123.4 us at 3.6 GHz`; else nothing."""
    if clock_hz is None:
        return ""
    value = float(cycles) / clock_hz * 1e12
    size, prefix = next(((size, prefix) for size, prefix in SCALES if value >= size), (1e3, "n"))
    return f"{value / size:.4g} {prefix}s at {clock_hz / 1e9:g} GHz"


def duration(seconds: float) -> str:
    """A time as `40 s`, `3 min` or `2.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def several(count: int, one: str, more: str = "") -> str:
    """A count and what is counted, `1 word` or `2,000 words`.

    Args:
        count: how many.
        one: what follows a count of one.
        more: what follows any other; `one` with an s if left out.
    """
    return f"{count:,} {one if count == 1 else more or f'{one}s'}"


def plain(value: Fraction) -> float:
    """A number for documents and tables: a whole one as an integer, however large, else the nearest float."""
    return value.numerator if value.denominator == 1 else float(value)


def exact_text(value: Fraction) -> str:
    """A fraction without loss: as a decimal number where it has a finite one, else as `p/q`.

    Source: p/q in lowest terms has finitely many decimals if and only if q divides a power of ten.
    """
    rest, twos, fives = value.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return str(value)
    places = max(twos, fives)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def ratio_text(value: Fraction) -> str:
    """A fraction in lowest terms as certificates write it: `3/2`, `2/1`."""
    return f"{value.numerator}/{value.denominator}"


def percent(part: float, whole: float) -> str:
    """A share in percent with one decimal; a dash of nothing (a capacity below one word)."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def in_percent(share: float | None, digits: int = 1) -> str:
    """A share or a gap in percent; a dash where there is none.

    Args:
        share: 1 for all.
        digits: decimals.
    """
    return "-" if share is None else f"{100 * share:.{digits}f} %"


def natural(text: str) -> list[tuple[int, str]]:
    """Sort key that puts R2 before R10."""
    parts = re.split(r"([0-9]+)", text)
    return [(int(part), "") if part.isdecimal() else (-1, part.casefold()) for part in parts]


def size_text(capacity_bytes: float) -> str:
    """`1.3 MiB`: three significant digits at most."""
    value, unit = float(capacity_bytes), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1000:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if value >= 100 or value == int(value) else f"{value:.3g} {unit}"
