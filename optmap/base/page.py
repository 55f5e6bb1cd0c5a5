"""The page that answers are written on: text of some width, or HTML.

Tables and lines that are wider than the page are broken by meaning; nothing is broken unless somebody asks for a width,
as the command line does. On a page of HTML, as notebooks have it, tables of text leave a mark in the text, and stand
beside it until all is written.
"""

from __future__ import annotations

import re
import textwrap
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from html import escape

WIDTH: ContextVar[int] = ContextVar("width", default=0)
"""Columns of a page; 0 for any number."""
_TABLES: ContextVar[list[str] | None] = ContextVar("tables", default=None)
"""HTML of the tables of the page so far; None on a page of text."""
MARK = "\0"
"""Around the number of a table in the text."""
PROSE = 100
"""Columns of descriptions on a page of any width."""
TEXT = 16
"""Least width of a column of words that is narrowed."""
GAP = 2
"""Between columns."""
PICTURE = "26em"
"""Width of a picture beside tables, and least width of these, in CSS."""


def as_html(write: Callable[[], str]) -> str:
    """What is written on a page of HTML, its tables as tables and all else as it is."""
    token = _TABLES.set([])
    try:
        text = write()
        tables = _TABLES.get() or []
    finally:
        _TABLES.reset(token)
    pieces = text.split(MARK)  # every second one is the number of a table
    parts = (
        tables[int(piece)] if place % 2 else f"<pre>{escape(piece.strip(chr(10)))}</pre>" if piece.strip() else ""
        for place, piece in enumerate(pieces)
    )
    return "\n".join(part for part in parts if part)


def beside(text: str, picture: str) -> str:
    """HTML with a small picture at its right, below it where there is no room.

    Args:
        text: of tables and paragraphs.
        picture: SVG; empty for none. It stands in a page of its own, so that its names meet no others.
    """
    # Blank lines around the text: in Markdown, too, its tables and blocks are read as they are alone.
    if not picture:
        return text
    drawn = b64encode(picture.encode()).decode()
    image = f'<img alt="picture of the answer" style="width: 100%" src="data:image/svg+xml;base64,{drawn}">'
    return (
        '<div style="display: flex; flex-wrap: wrap; align-items: flex-start; gap: 1.5em">'
        f'<div style="flex: 1 1 {PICTURE}; min-width: 0">\n\n{text}\n\n</div>'
        f'<div style="flex: 0 1 {PICTURE}">{image}</div></div>'
    )


def html_table(header: Sequence[str], align: str, rows: Iterable[Sequence[str]]) -> str | None:
    """The mark of a table on a page of HTML; None on a page of text.

    Args:
        header: column titles; none for labelled lines.
        align: one `<` or `>` per column.
        rows: cells as text.
    """
    tables = _TABLES.get()
    if tables is None:
        return None
    style = [f' style="text-align: {"left" if side == "<" else "right"}"' for side in align]

    def row(cells: Sequence[str], tag: str) -> str:
        return (
            f"<tr>{''.join(f'<{tag}{own}>{escape(cell)}</{tag}>' for cell, own in zip(cells, style, strict=True))}</tr>"
        )

    head = f"<thead>{row(header, 'th')}</thead>" if header else ""
    tables.append(f"<table>{head}<tbody>{''.join(row(tuple(cells), 'td') for cells in rows)}</tbody></table>")
    return f"{MARK}{len(tables) - 1}{MARK}"


def prose(text: str, first: str = "") -> str:
    """A description after a start, broken between words on pages of any width."""
    return hung(text, first, width=WIDTH.get() or PROSE)


def hung(text: str, first: str, *, rest: str | None = None, width: int | None = None) -> str:
    """A text of one line after a start, broken between words where the page ends.

    Args:
        text: the words.
        first: what stands before them.
        rest: what stands before further lines; as many blanks if left out.
        width: columns; those of the page if left out.
    """
    width = WIDTH.get() if width is None else width
    most = max(width, len(first) + 2 * TEXT) if width else 0
    if not most or len(first) + len(text) <= most:
        return f"{first}{text}".rstrip()
    rest = " " * len(first) if rest is None else rest
    return "\n".join(
        textwrap.wrap(
            text,
            most,
            initial_indent=first,
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def paragraphs(text: str) -> str:
    """Lines of words that are longer than the page, broken; code, and tables that are no wider, stay as they are."""
    return "\n".join(map(_broken, text.split("\n")))


def _broken(line: str) -> str:
    """A line of words, or of a label and words after a gap, in lines of the page."""
    if not WIDTH.get() or len(line) <= WIDTH.get():
        return line
    label = re.fullmatch(r"( {0,4}(?:(?:note|warning): |\S+(?: \S+)* {2,}))(\S+(?: \S+)*)", line)
    if label is not None:
        return hung(label[2], label[1])
    plain = re.fullmatch(r"( {0,4})(\S+(?: \S+)*)", line)
    return line if plain is None else hung(plain[2], plain[1], rest=f"{plain[1]}  ")


def columns_of(cells: Sequence[Sequence[str]], align: str) -> list[list[int]]:
    """The columns of a table that stand beside each other: all, or several tables each with what tells rows apart.

    Args:
        cells: rows of text, the header first.
        align: one `<` or `>` per column.
    """
    width = WIDTH.get()
    every = list(range(len(align)))
    least = [least_width(cells, align, column) for column in every]
    if not width or sum(least) + GAP * (len(every) - 1) <= width:
        return [every]
    first = every[: _labels(cells, align, least)]
    tables = [[*first]]
    for column in every[len(first) :]:
        if len(tables[-1]) > len(first) and sum(least[c] + GAP for c in (*tables[-1], column)) - GAP > width:
            tables.append([*first])
        tables[-1].append(column)
    return tables


def _labels(cells: Sequence[Sequence[str]], align: str, least: Sequence[int]) -> int:
    """How many of the first columns of words tell the rows apart; one where they do not, or take half of the page."""
    rows = [tuple(row) for row in cells[1:]]
    for number in range(1, len(align) - len(align.lstrip("<")) + 1):
        narrow = 2 * sum(width + GAP for width in least[:number]) <= WIDTH.get()
        if narrow and len({row[:number] for row in rows}) == len(rows):
            return number
    return 1


def least_width(cells: Sequence[Sequence[str]], align: str, column: int) -> int:
    """How narrow a column may become: numbers stay whole, words are not broken."""
    header, *rows = (row[column] for row in cells)
    longest = max((len(part.rstrip()) for part in _parts(header)), default=0)
    if align[column] == ">":
        return max([longest, *map(len, rows)])
    words = max((len(part.rstrip()) for cell in rows for part in _parts(cell)), default=0)
    natural = max((len(cell) for cell in rows), default=0) if header else 0
    return max(longest, words, min(natural, TEXT))


def fitted(cells: Sequence[Sequence[str]], align: str) -> list[int]:
    """Widths of the columns of a table, the widest ones narrowed until it fits the page, or none can be narrower."""
    widths = [max(len(row[column]) for row in cells) for column in range(len(align))]
    if not WIDTH.get():
        return widths
    least = [least_width(cells, align, column) for column in range(len(align))]
    while sum(widths) + GAP * (len(widths) - 1) > WIDTH.get():
        spare = [n - m for n, m in zip(widths, least, strict=True)]
        if max(spare) <= 0:
            break
        widths[max(range(len(widths)), key=lambda column: (spare[column] > 0, widths[column]))] -= 1
    return widths


def cell_lines(cell: str, width: int) -> list[str]:
    """A cell in lines of a width, broken between words and after slashes."""
    lines = [""]
    for part in _parts(cell) if len(cell) > width else [cell]:
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return [line.rstrip() for line in lines]


def _parts(text: str) -> list[str]:
    """Words with the blanks after them, in pieces that end in a slash."""
    return re.findall(r"[^ /]*/ *|[^ /]+ *", text)
