"""Docstrings for autodoc: what stands in backquotes is literal, and `**options` is no beginning of bold text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from making.markdown import with_options


def as_literals(lines: list[str]) -> list[str]:
    """Lines of a docstring as reStructuredText.

    Args:
        lines: with names between single backquotes, asterisks that are products, and `name_` that is no link; those
            of examples stay as they are.
    """
    made: list[str] = []
    for example, group in groupby(_marked(lines), key=itemgetter(0)):
        text = "\n".join(line for _, line in group)
        made += (text if example else _literal(text)).split("\n")
    return made


def _marked(lines: Iterable[str]) -> Iterator[tuple[bool, str]]:
    """Every line with whether it is one of an example, which ends with a blank line."""
    example = False
    for line in lines:
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        yield example, line


def _literal(text: str) -> str:
    """Lines without examples; what stands in backquotes may go on in the next line."""
    parts = re.split(r"(`[^`]*`)", text)
    for number, part in enumerate(parts):
        if number % 2:
            parts[number] = f"`{part}`"
        else:
            starred = re.sub(r"(?<!\\)(\*+)", lambda found: "\\*" * len(found[1]), with_options(part, "``"))
            parts[number] = re.sub(r"(?<=\w)_(?=\W|$)", r"\\_", starred).replace("|", "\\|")
    return "".join(parts)


def process(_app: Any, what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Rewrite the lines of one docstring in place.

    Napoleon takes what stands before a colon in the first line of an attribute for its type: that line stays empty.
    """
    lines[:] = [*([""] if what in ("attribute", "property", "data") else []), *as_literals(lines)]


def setup(app: Any) -> dict[str, bool]:
    """Ask Sphinx to call `process` before napoleon reads sections."""
    app.connect("autodoc-process-docstring", process, priority=100)
    return {"parallel_read_safe": True}
