"""Items of papers beside what is computed here: table, document, page, picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from optmap.base.texts import number
from optmap.papers.answer import ItemRun, Reproduction
from optmap.papers.records import SCHEMA, item_document
from optmap.papers.rows import ClaimRow
from optmap.report.pictures.axes import new_axes
from optmap.report.pictures.series import PALETTE
from optmap.report.tables import grid

HEADER = ("quantity", "paper", "ours", "ratio", "verdict")
VERDICTS = """Every row below was computed by the command above, none was written by hand. *equal*: the same within the
digits that are printed, or the claim holds; *better (proved)*: ours was checked; *differs*: for a reason that the run
tested; *erratum*: a counterexample was run that refutes what is printed; *not reproducible*: the text does not have it,
or it was measured on a machine of the authors'; *failed*: nothing says why it differs."""


def value_text(value: float | str | None) -> str:
    """A number or words; a dash for nothing."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return f"{value:.4g}" if isinstance(value, float) and not 1e-3 <= abs(value) < 1e12 and value else number(value)


def cells(row: ClaimRow) -> tuple[str, ...]:
    """A row as text."""
    ratio = "-" if row.ratio is None else f"{row.ratio:.4g}"
    return row.quantity, value_text(row.paper), value_text(row.ours), ratio, row.told


def counted(verdicts: dict[str, int]) -> str:
    """How many stand how."""
    return ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()) or "nothing computed"


def reproduction_table(found: Reproduction) -> str:
    """The rows of every item for people, or the list of items."""
    if found.listed:
        return listing(found.runs)
    parts = []
    for run in found.runs:
        parts.append(f"{run.paper.key}, {run.item.name}: {run.item.title} ({run.item.where})")
        if run.rows:
            parts.append(grid(HEADER, "<>>><", map(cells, run.rows)))
        else:
            parts.append("left out of a quick run")
        parts.append("")
    return "\n".join([*parts, f"verdicts  {counted(found.verdicts)}"])


def listing(runs: Sequence[ItemRun]) -> str:
    """One line per item: what of it a quick run computes, how long it took, how its rows stand."""
    rows = [
        (
            run.paper.key,
            run.item.name,
            _quick_part(run),
            "-" if run.seconds is None else f"{run.seconds:.1f} s",
            run.item.title,
            counted(run.verdicts) if run.points else "",
        )
        for run in runs
    ]
    return grid(("paper", "item", "quick run", "time", "what it shows", "verdicts"), "<<<><<", rows)


def _quick_part(run: ItemRun) -> str:
    asked = run.item.asked(quick=True)
    return "whole" if asked == run.item.parts else "in part" if asked else "left out"


def reproduction_document(found: Reproduction) -> dict[str, object]:
    """The JSON document of `reproduce`."""
    return {
        "schema": SCHEMA,
        "verdicts": found.verdicts,
        "interrupted": found.interrupted,
        "items": [item_document(run) for run in found.runs],
    }


def paper_page(runs: Sequence[ItemRun]) -> str:
    """A page in Markdown about all items of a paper, with what was computed of each."""
    paper = runs[0].paper
    lines = [
        f"# {paper.title}",
        "",
        f"{paper.source}.",
        "",
        f"Items of the paper beside what optmap computes; `optmap reproduce {paper.key} -o DIR` writes this page.",
        "",
        VERDICTS,
        "",
        *_markdown(
            ("item", "what it shows", "verdicts"),
            [(run.item.name, run.item.title, counted(run.verdicts)) for run in runs],
        ),
    ]
    for run in runs:
        if run.rows:
            lines += ["", f"## {run.item.name}", "", f"{run.item.title} ({run.item.where}).", ""]
            lines += _markdown(HEADER, map(cells, run.rows))
    return "\n".join(lines) + "\n"


def _markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table in Markdown."""
    every = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in every]


def plot_rows(found: Reproduction, axes: Any = None) -> Any:
    """Ours beside the paper's number, a line per row that has both or one, on a logarithmic axis.

    Raises:
        InputError: if matplotlib is not installed.
    """
    rows = [row for run in found.runs for row in run.rows if isinstance(row.ours, int | float) and row.ours > 0]
    axes = new_axes((7.0, 0.8 + 0.28 * max(1, len(rows)))) if axes is None else axes
    places = range(len(rows))
    for place, row in zip(places, rows, strict=True):
        axes.plot([row.ours], [place], "o", color=PALETTE[0])
        if isinstance(row.paper, int | float) and row.paper > 0:
            axes.plot([row.paper], [place], "x", color=PALETTE[1])
    axes.set_yticks(list(places), [row.quantity for row in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_title("o ours, x the paper's", fontsize=10)
    axes.figure.set_layout_engine("constrained")
    return axes
