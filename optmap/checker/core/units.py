"""Bytes, words and cycles: a word is the greatest common divisor of a workload's element sizes."""

from __future__ import annotations

import re
from fractions import Fraction
from math import inf
from typing import Any

from .tools import need


def exact(value: Any, where: str) -> Fraction:
    """A positive number: whole, a decimal (0.1 is one tenth), or the text p/q."""
    shaped = type(value) in (int, float) and -inf < value < inf
    shaped = shaped or (type(value) is str and re.fullmatch(r"[0-9]{1,99}/[1-9][0-9]{0,98}", value) is not None)
    need(shaped, f"{where} is {value!r}; a number or p/q is needed")
    found = Fraction(str(value))
    need(type(value) is int or found.denominator > 1, f"{where} is {value!r}; a whole number is written as one")
    need(found > 0, f"{where} is {value!r}; it must be positive")
    return found


def element_bits(sizes: dict[str, Any]) -> dict[str, int]:
    """Element sizes in bits, from bytes; every one a whole number."""
    bits = {tensor: 8 * exact(size, f"bytes of {tensor}") for tensor, size in sizes.items()}
    fine = all(n.denominator == 1 and n < 2**63 for n in bits.values())
    need(fine, "an element size is no whole number of bits below 2^63")
    return {tensor: int(n) for tensor, n in bits.items()}


def words_of(level: Any, word_bits: int) -> int:
    """Whole words that a level or a partition holds."""
    amount: int = level["capacity"]["amount"]
    return amount if level["capacity"]["unit"] == "words" else 8 * amount // word_bits


def rate_of(level: Any, word_bits: int) -> Fraction:
    """Words per cycle across the boundary outside a level."""
    amount = exact(level["bandwidth"]["amount"], f"the bandwidth of {level['name']}")
    return amount if level["bandwidth"]["unit"] == "words" else 8 * amount / word_bits


def plain_words(levels: Any) -> bool:
    """Whether time is traffic: one level, one word per cycle."""
    return len(levels) == 1 and levels[0]["bandwidth"] == {"amount": 1, "unit": "words"}
