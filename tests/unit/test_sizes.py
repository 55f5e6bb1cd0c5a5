"""Amounts of memory as text."""

import pytest

from optmap.base.errors import InputError
from optmap.workloads.amounts import Capacity
from optmap.workloads.sizes import parse_capacity


@pytest.mark.parametrize(
    ("text", "amount", "unit"),
    [
        ("8192w", 8192, "words"),
        ("8192 W", 8192, "words"),
        ("512B", 512, "bytes"),
        ("512b", 512, "bytes"),
        ("32KiB", 32768, "bytes"),
        (" 32 KiB ", 32768, "bytes"),
        ("32kib", 32768, "bytes"),
        ("12MiB", 12 * 2**20, "bytes"),
        ("1GiB", 2**30, "bytes"),
        ("0.5KiB", 512, "bytes"),
        ("24.75MiB", 4 * 6488064, "bytes"),
        ("9223372036854775807B", 2**63 - 1, "bytes"),
    ],
)
def test_amounts(text, amount, unit):
    assert parse_capacity(text) == Capacity(amount=amount, unit=unit)


def test_bytes_become_whole_words():
    assert parse_capacity("30B").words(32) == 7
    assert parse_capacity("30w").words(32) == 30


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("32", r"no unit; write 32w for words or 32B for bytes; units are w \(words\), B, KiB, MiB, GiB"),
        ("32KB", "unknown unit 'KB'.*did you mean KiB"),
        ("32m", "unknown unit 'm'.*did you mean MiB"),
        ("32 parsecs", "unknown unit 'parsecs'.*units are w"),
        ("0w", "0 words; it must be 1 or more"),
        ("0.0KiB", "0 bytes; it must be 1 or more"),
        ("-3B", "-3 bytes; it must be 1 or more"),
        ("1.5w", "1.5 words; it must be a whole number of words"),
        ("0.3KiB", "307.2 bytes; it must be a whole number of bytes"),
        ("9223372036854775808B", r"larger than 2\^63-1 bytes"),
        ("NaN", "not a number with a unit"),
        ("NaNw", "not a number with a unit"),
        ("infB", "not a number with a unit"),
        ("1e3w", "not a number with a unit"),
        ("1_000w", "not a number with a unit"),
        ("\u0663w", "not a number with a unit"),
        ("w", "not a number with a unit"),
        ("", "not a number with a unit"),
        ("3 2w", "not a number with a unit"),
    ],
)
def test_refused(text, words):
    with pytest.raises(InputError, match=words) as caught:
        parse_capacity(text)
    assert repr(text) in str(caught.value)
