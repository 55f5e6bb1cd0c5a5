"""Axes of pictures: one style, capacities in their unit, counts in k, M and G, times in seconds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from optmap.base.errors import InputError
from optmap.base.extras import install
from optmap.base.texts import size_text

STYLE = {
    "font.size": 11,
    "axes.titlesize": 11,
    "legend.fontsize": 9.5,
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
}
SIZE = (5.4, 3.7)
"""Width and height in inches."""
TICKS: tuple[tuple[float, tuple[float, ...]], ...] = (
    (1.5, (1.0, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2.0, 2.2, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0)),
    (4.0, (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)),
    (12.0, (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)),
    (300.0, (1.0, 2.0, 5.0)),
    (math.inf, (1.0,)),
)
"""Where a logarithmic axis has ticks, by the quotient of its ends."""
MOST_TICKS = 8


@contextmanager
def styled() -> Iterator[None]:
    """The look of a picture that is drawn inside.

    Raises:
        InputError: if matplotlib is not installed.
    """
    with _pyplot().rc_context(STYLE):
        yield


def new_axes(size: tuple[float, float] = SIZE, count: int = 1) -> Any:
    """Axes of a new figure; an array of them, side by side, for several.

    Args:
        size: width and height in inches.
        count: how many.

    Raises:
        InputError: if matplotlib is not installed.
    """
    return _pyplot().subplots(1, count, figsize=size, layout="constrained")[1]


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise InputError(f"pictures need matplotlib, which is not installed; run: {install('matplotlib')}") from error
    return pyplot


def capacity_axis(axes: Any, label: str, *, in_bytes: bool = True, sizes: Sequence[float] = ()) -> None:
    """A logarithmic axis of capacities.

    Args:
        axes: matplotlib axes, whose horizontal axis becomes logarithmic.
        label: of the axis.
        in_bytes: ticks as sizes such as `64 KiB`; else as numbers of words.
        sizes: the capacities drawn; few of them that are apart become the ticks, else powers of two do.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    axes.set_xscale("log", base=2)
    apart = all(high >= 1.5 * low for low, high in pairwise(sizes))
    few = 0 < len(sizes) < MOST_TICKS and apart
    axes.xaxis.set_major_locator(FixedLocator(list(sizes)) if few else LogLocator(base=2, numticks=MOST_TICKS))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: size_text(size) if in_bytes else f"{size:,.0f}"))
    axes.tick_params(axis="x", labelsize=9.5)
    axes.set_xlabel(label)


def words_label(word_bits: int, what: str = "loads + stores") -> str:
    """What an axis of traffic is called: a word is the workload's, so its size is said.

    Args:
        word_bits: size of one word.
        what: the words that are counted.
    """
    return f"{what} (words of {word_bits / 8:g} {'byte' if word_bits == 8 else 'bytes'})"


def count_axis(axis: Any, *, seconds: bool = False) -> None:
    """1, 2, 5 in every decade of a logarithmic axis, with k, M, G; seconds, and what is below 1, as plain numbers."""
    from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, NullFormatter

    low, high = sorted(axis.get_view_interval())
    span = high / max(low, 1e-300)
    steps = next(steps for limit, steps in TICKS if span < limit)
    axis.set_major_locator(LogLocator(base=10, subs=steps, numticks=20))
    axis.set_minor_formatter(NullFormatter())
    counts = EngFormatter(sep="")
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}" if seconds or value < 1 else counts(value)))
