"""Which choices of a mapping matter: Sobol' indices as table, document and bars."""

from __future__ import annotations

from typing import Any

from optmap.files.workloads import workload_document
from optmap.report.pictures.axes import new_axes, styled
from optmap.report.pictures.series import PALETTE
from optmap.report.pictures.spatial_plots import legend, name_rows, title
from optmap.report.tables import grid, pairs
from optmap.search import Sensitivity

SCHEMA = "optmap.sensitivity/1"
SHOWN = 15
"""Axes in table and picture."""
NOTES = (
    "first: share of the variance of log({objective}) over all points of the encoding that the choice explains alone; "
    "total: with everything in which it takes part; +- half of the 95 % interval",
    "every point is a valid mapping; an index near 0 says that the choice hardly matters",
)


def sensitivity_document(found: Sensitivity) -> dict[str, object]:
    """The JSON document of `sensitivity`."""
    return {
        "schema": SCHEMA,
        "workload": workload_document(found.fabric.workload),
        "machine": found.fabric.machine.name,
        "objective": found.objective,
        "by": "surrogate" if found.surrogate else "model",
        "samples": found.samples,
        "evaluations": found.evaluations,
        "seed": found.seed,
        "axes": [
            {
                "axis": each.axis,
                "first": each.first,
                "first_error": each.first_error,
                "total": each.total,
                "total_error": each.total_error,
            }
            for each in found.influences
        ],
    }


def sensitivity_table(found: Sensitivity) -> str:
    """The indices for people, the largest first."""
    by = "a Gaussian process through what was seen" if found.surrogate else "the model"
    kinds = dict.fromkeys(each.axis.split(" ")[-2] for each in found.influences)
    head = [
        ("workload", found.fabric.workload.title),
        ("machine", found.fabric.machine.name),
        ("objective", f"log({found.objective}), judged by {by}"),
        ("evaluations", f"{found.evaluations:,}, {found.samples:,} base samples, seed {found.seed}"),
        ("by kind", ", ".join(f"{kind} {found.kind(kind):.2f}" for kind in kinds) + " (sums of first)"),
    ]
    rows = [
        (
            each.axis,
            f"{each.first:.3f}",
            f"+- {each.first_error:.3f}",
            f"{each.total:.3f}",
            f"+- {each.total_error:.3f}",
        )
        for each in found.influences[:SHOWN]
    ]
    more = len(found.influences) - len(rows)
    least = [f"{more} more choices, each of a total of {found.influences[SHOWN].total:.3f} or less"] if more > 0 else []
    notes = (f"note: {text.format(objective=found.objective)}" for text in NOTES)
    return "\n".join([pairs(head), "", grid(["choice", "first", "", "total", ""], "<>>>>", rows), *least, "", *notes])


def plot_sensitivity(found: Sensitivity, axes: Any = None) -> Any:
    """Bars of the first-order and total indices of the choices that matter most.

    Args:
        found: the indices.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes.

    Raises:
        InputError: if matplotlib is not installed.
    """
    shown = found.influences[:SHOWN]
    with styled():
        own = axes is None
        axes = new_axes((7.2, 1.6 + 0.34 * len(shown))) if own else axes
        places = range(len(shown))
        look = {"capsize": 2, "error_kw": {"lw": 0.9, "ecolor": "#444444"}}
        total, error = [each.total for each in shown], [each.total_error for each in shown]
        axes.barh(places, total, 0.7, xerr=error, color="#c9d8e6", label="total", **look)
        first, error = [max(0.0, each.first) for each in shown], [each.first_error for each in shown]
        axes.barh(places, first, 0.36, xerr=error, color=PALETTE[0], label="first order", **look)
        name_rows(axes, [each.axis for each in shown])
        axes.set_xlim(0, None)
        axes.set_xlabel(f"share of the variance of log({found.objective})")
        axes.set_title(title(found.fabric, ": which choices matter"), loc="left")
        legend(axes, own)
    return axes
