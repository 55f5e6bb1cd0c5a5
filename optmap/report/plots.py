"""Plots; matplotlib is imported only when one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from optmap.errors import InputError

if TYPE_CHECKING:
    from optmap.search.result import SolveResult

# Okabe and Ito's palette: the colours stay apart for every common kind of colour blindness.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")


def _axes() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise InputError("plots need matplotlib, which is not installed; run: pip install 'optmap[plot]'") from error
    return pyplot.subplots(figsize=(7.0, 4.0), layout="constrained")[1]


def plot_traffic(result: SolveResult, axes: Any = None) -> Any:
    """Bars of the exact traffic across every boundary, one group per boundary, one bar per tensor.

    Args:
        result: a solved workload.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes. Heights are loads plus stores in words, on a logarithmic scale, because the
        traffic of neighbouring levels differs by orders of magnitude.

    Raises:
        InputError: if matplotlib is not installed.
    """
    axes = _axes() if axes is None else axes
    boundaries = list(dict.fromkeys(row.between for row in result.boundaries))
    tensors = list(dict.fromkeys(row.tensor for row in result.boundaries))
    width = 0.8 / len(tensors)
    for index, tensor in enumerate(tensors):
        heights = [
            sum(
                row.loads_words + row.stores_words
                for row in result.boundaries
                if row.between == boundary and row.tensor == tensor
            )
            for boundary in boundaries
        ]
        places = [place + (index - (len(tensors) - 1) / 2) * width for place in range(len(boundaries))]
        axes.bar(places, heights, width, label=tensor, color=PALETTE[index % len(PALETTE)])
    axes.set_yscale("log")
    axes.set_xticks(range(len(boundaries)), [f"{inner} - {outer}" for inner, outer in boundaries])
    axes.set_xlabel("boundary between memories (inner - outer)")
    axes.set_ylabel("loads + stores (words)")
    axes.set_title(f"{result.workload.name or result.workload.expression} on {result.machine.name}")
    axes.legend(title="tensor", frameon=False)
    return axes
