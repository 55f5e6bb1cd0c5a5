"""Convolution algorithms against the bound: table, document and plot (Dinh, Figure 4.3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from optmap.base.shown import Shown
from optmap.baselines.algorithms import AlgorithmRow, compare_algorithms
from optmap.files.inputs import capacities_of
from optmap.files.workloads import workload_document
from optmap.report.pictures.axes import capacity_axis, new_axes
from optmap.report.pictures.compare_plot import SIZE
from optmap.report.pictures.series import MARKERS, PALETTE
from optmap.report.tables import grid, pairs, workload_lines
from optmap.workloads.workload import Workload

SCHEMA = "optmap.algorithms/1"
NOTE = (
    "outputs are assigned (their first touch is no load); blocked counts whole tiles with halos reloaded; im2col, "
    "winograd and fft use real tiles of their matrix products, an approximation"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlgorithmComparison(Shown):
    """Convolution algorithms over a range of memories."""

    shown_as: ClassVar[str] = "algorithms"
    workload: Workload
    rows: tuple[AlgorithmRow, ...]
    unit: str = "words"
    """Unit that the memories were given in, `words` or `bytes`: that of a picture's axis."""


def algorithm_comparison(workload: Workload, memory: object, points: int) -> AlgorithmComparison:
    """Compare over a capacity, a range of `points`, or several capacities.

    Raises:
        InputError: if the workload is no convolution, or a capacity cannot be read.
    """
    sizes = capacities_of(memory, points)
    words = [capacity.words(workload.word_bits) for capacity in sizes]
    unit = sizes[0].unit if sizes else "words"
    return AlgorithmComparison(workload=workload, rows=tuple(compare_algorithms(workload, words)), unit=unit)


def comparison_document(found: AlgorithmComparison) -> dict[str, object]:
    """The JSON document of `algorithms`."""
    return algorithms_document(found.workload, found.rows)


def comparison_table(found: AlgorithmComparison) -> str:
    """The comparison for people."""
    return algorithms_table(found.workload, found.rows)


def comparison_plot(found: AlgorithmComparison, axes: Any = None) -> Any:
    """The comparison as a picture."""
    return plot_algorithms(found.workload, found.rows, axes, unit=found.unit)


def algorithms_document(workload: Workload, rows: Sequence[AlgorithmRow]) -> dict[str, object]:
    """The rows as JSON-able data, words in the workload's words."""
    return {
        "schema": SCHEMA,
        "workload": workload_document(workload),
        "rows": [
            {
                "algorithm": row.algorithm,
                "memory_words": row.memory_words,
                "traffic_words": row.traffic_words,
                "ratio": row.ratio,
            }
            for row in rows
        ],
        "notes": [NOTE],
    }


def algorithms_table(workload: Workload, rows: Sequence[AlgorithmRow]) -> str:
    """One line per memory, one column per algorithm: traffic over the bound."""
    names = list(dict.fromkeys(row.algorithm for row in rows if row.algorithm != "bound"))
    by_memory: dict[int, dict[str, AlgorithmRow]] = {}
    for row in rows:
        by_memory.setdefault(row.memory_words, {})[row.algorithm] = row
    lines = [
        [f"{memory:,}", f"{found['bound'].traffic_words:,}", *(f"{found[name].ratio:.2f}" for name in names)]
        for memory, found in by_memory.items()
    ]
    table = grid(["memory (words)", "bound (words)", *names], ">" * (2 + len(names)), lines)
    return "\n".join(
        [pairs(workload_lines(workload)), "", "Loads and stores over the bound", table, "", f"note: {NOTE}"]
    )


def plot_algorithms(workload: Workload, rows: Sequence[AlgorithmRow], axes: Any = None, *, unit: str = "words") -> Any:
    """Traffic over the bound against the memory, both logarithmic.

    Args:
        workload: what was compared.
        rows: rows of one or more memories.
        axes: matplotlib axes to draw into; new ones are made if absent.
        unit: of the axis of memories, `words` or `bytes`.

    Raises:
        InputError: if matplotlib is not installed.
    """
    axes = new_axes(SIZE) if axes is None else axes
    names = list(dict.fromkeys(row.algorithm for row in rows if row.algorithm != "bound"))
    in_bytes = unit == "bytes"
    per_word = workload.word_bits / 8 if in_bytes else 1
    for index, name in enumerate(names):
        points = [(row.memory_words * per_word, row.ratio) for row in rows if row.algorithm == name]
        colour, marker = PALETTE[index % len(PALETTE)], MARKERS[index % len(MARKERS)]
        axes.plot(*zip(*points, strict=True), color=colour, marker=marker, ms=6, lw=2, label=name)
    axes.axhline(1.0, color="#000000", lw=2.5, label="lower bound")
    axes.set_yscale("log")
    axes.set_ylabel("loads + stores over the bound", fontsize=14)
    axes.set_title(workload.title, fontsize=14)
    sizes = sorted({row.memory_words * per_word for row in rows})
    capacity_axis(axes, "fast memory" if in_bytes else "fast memory (words)", in_bytes=in_bytes, sizes=sizes)
    axes.xaxis.label.set_fontsize(14)
    axes.tick_params(labelsize=12)
    axes.grid(visible=True, which="major", color="#dddddd", lw=0.8)
    axes.legend(frameon=False, fontsize=12, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return axes
