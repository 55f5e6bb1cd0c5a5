"""Documentation of modules as Markdown: paragraphs, lists, emphasis; formulas, which are indented, as they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

FORMULA = 4
"""Blanks before a line that is shown as it stands, more than the text around it has."""
ITEM = re.compile(r"( *)- ")
BOLD = re.compile(r"\*\*(?=\S)([^*]+)(?<=\S)\*\*")
EMPHASIS = re.compile(r"(?<![^\s(])\*(?=[^\s*])([^*]+)(?<=[^\s*])\*(?![\w*(])")
KEPT = re.compile(r"(`[^`]*`)")
SPECIAL = re.compile(r"([\\_*\[\]<|$~#])")


def rendered(text: str) -> str:
    """A docstring as Markdown.

    Args:
        text: without the indentation that all its lines have. A list has `- ` before its items, whose further lines
            are indented by two; what is indented by four or more beyond its surroundings is a formula or a table.
    """
    made: list[str] = []
    for formula, group in groupby(_marked(text.split("\n")), key=lambda line: line[:2] if line[0] else None):
        lines = [line for _, _, line in group]
        if formula is None:
            made += _words("\n".join(lines)).split("\n")
            continue
        indent = " " * formula[1]
        while lines and not lines[-1].strip():
            lines.pop()
        made += [f"{indent}```text", *(f"{indent}{line[formula[1] + FORMULA :]}".rstrip() for line in lines)]
        made += [f"{indent}```"]
    return "\n".join(made)


def _marked(lines: list[str]) -> Iterator[tuple[bool, int, str]]:
    """Every line with whether it is of a formula, and how far the text around it is indented."""
    around, formula = 0, False
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            after = next((each for each in lines[number:] if each.strip()), "")
            formula = formula and len(after) - len(after.lstrip()) >= around + FORMULA
            around = around if formula or after.startswith("  ") else 0
        elif ITEM.match(line) and indent < around + FORMULA:
            around, formula = indent + 2, False
        elif indent >= around + FORMULA:
            formula = True
        else:
            formula = False
            around = min(around, indent)
        yield formula, around, line


def _words(text: str) -> str:
    """Lines of words: what is between backquotes is code, products and indices are no emphasis."""
    parts = KEPT.split(text)
    for number, part in enumerate(parts):
        if number % 2 == 0:
            marked = EMPHASIS.sub("\1\\1\1", BOLD.sub("\2\\1\2", part))
            parts[number] = SPECIAL.sub(r"\\\1", marked).replace("\1", "*").replace("\2", "**")
    return "".join(parts)
