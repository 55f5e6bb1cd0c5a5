"""Pieces of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

TABLE = "| {} |\n"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [TABLE.format(" | ".join(header)), TABLE.format(" | ".join("---" for _ in header))]
    return "".join([*lines, *(TABLE.format(" | ".join(map(cell, row))) for row in rows)])


def cell(text: str) -> str:
    """A text as it may stand in a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def with_options(text: str, quote: str = "`") -> str:
    """A text with the options that it names as literals; their hyphens would become a dash."""
    return re.sub(r"(?<![\w`-])--[a-z][\w-]*", rf"{quote}\g<0>{quote}", text)


def code(text: str, language: str = "text") -> str:
    """A block of code."""
    return f"````{language}\n{text.strip(chr(10))}\n````\n"


def literal(text: str) -> str:
    """A name or value among words, as it may stand in a table."""
    return f"`{text}`" if text else ""
