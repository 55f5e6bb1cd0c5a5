"""Pictures of mapping trees: the loops with what every level keeps beside them, and the words that move."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill
from typing import Any

from optmap.answers.documents.saved_tree import SavedTree, TreeEvaluation
from optmap.answers.documents.saved_turns import TurnEvaluation
from optmap.mappings.nodes import Compute, Keep, Node, Sequence, ranges_text
from optmap.mappings.tree import MappingTree
from optmap.report.answers.trees import tree_lines
from optmap.report.pictures.axes import new_axes, styled
from optmap.report.pictures.plots import tidy_bars
from optmap.report.pictures.series import PALETTE, filled, hollow
from optmap.search.result import Answer

WIDTH, ROW = 9.0, 0.25
"""Of the figure, and of a line, in inches."""
LOOPS = 0.58
"""Share of the width that loops have, the rest is the levels'."""
COLORS = (*PALETTE[:6], "#7F7F7F", "#8C564B")
TITLE = 90
"""Characters of a line of the title."""
Bar = tuple[Keep, int, int]
"""What is kept, from which line on, to which."""


def plot_tree(saved: SavedTree, axes: Any = None) -> Any:
    """The loops of a tree of a file, see `plot_loops`."""
    return plot_loops(saved.tree, axes)


def plot_answer(answer: Answer[Any, Any], axes: Any = None) -> Any:
    """The loops of the mapping that was found for a chain, see `plot_loops`."""
    return plot_loops(answer.mapping, axes)


def plot_loops(tree: MappingTree, axes: Any = None) -> Any:
    """The loops of a tree, and beside them from where to where every level keeps a tensor.

    Levels stand side by side, the outermost on the left; in each a bar per tensor runs along the loops inside which it
    is kept. Parts that are pinned (`of`) are hatched.

    Args:
        tree: the mapping.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes, without ticks.

    Raises:
        InputError: if matplotlib is not installed.
    """
    lines = list(tree_lines(tree))
    bars = list(_bars(tree.nodes, 0))
    colors = tensor_colors(tree)
    columns = _columns(tree, bars)
    with styled():
        axes = new_axes((WIDTH, 1.1 + ROW * (len(lines) + 2))) if axes is None else axes
        axes.set_xlim(0, 1)
        axes.set_ylim(len(lines) + 0.3, -2.2)
        axes.axis("off")
        axes.set_title(fill(_title(tree), TITLE), loc="left")
        for row, line in enumerate(lines):
            axes.text(0, row + 0.5, line, va="center", family="monospace", fontsize=8)
        width = (1 - LOOPS) / max(1, len(columns))
        middles = {column: LOOPS + width * (place + 0.5) for place, column in enumerate(columns)}
        for level in dict.fromkeys(level for level, _ in columns):
            own = [middles[column] for column in columns if column[0] == level]
            axes.text(sum(own) / len(own), -1.6, level, ha="center", va="center", fontsize=9, weight="bold")
        for (level, tensor), middle in middles.items():
            axes.text(middle, -0.6, tensor, ha="center", va="center", fontsize=9, color=colors[tensor], weight="bold")
            for keep, first, last in bars:
                if keep.level == level and tensor in keep.tensors:
                    place = (middle, first + 0.1)
                    _bar(axes, keep, place, (min(0.03, width * 0.6), last - first + 0.8), colors[tensor])
    return axes


def _bar(axes: Any, keep: Keep, place: tuple[float, float], size: tuple[float, float], color: str) -> None:
    """A bar of some width and height, the middle of whose upper end is at a place."""
    from matplotlib.patches import Rectangle

    (middle, top), (width, height) = place, size
    look: dict[str, Any] = {"fc": "#ffffff", "hatch": "////"} if keep.of else {"fc": color}
    axes.add_patch(Rectangle((middle - width / 2, top), width, height, lw=1.0, ec=color, **look))
    if keep.of:
        look = {"ha": "center", "va": "center", "rotation": 90, "bbox": {"fc": "#ffffff", "ec": "none", "pad": 0.5}}
        axes.text(middle, top + height / 2, ranges_text(keep.of), fontsize=6.5, **look)


def _bars(nodes: tuple[Node, ...], row: int) -> Iterator[Bar]:
    """Every Keep with the first and the last line that it holds along; the lines are those of `tree_lines`."""
    start, last = row, row + _lines(nodes) - 1
    for node in nodes:
        if isinstance(node, Keep):
            mine = [place for name, place in _leaves(nodes, start) if name in node.only]
            yield node, min(mine, default=row), max(mine, default=last)
        if isinstance(node, Sequence):
            for branch in node.branches:
                yield from _bars(branch, row + 1)
                row += _lines(branch) + 2
        row += 1


def _leaves(nodes: tuple[Node, ...], row: int) -> Iterator[tuple[str, int]]:
    """The statements of the leaves, each with its line."""
    for node in nodes:
        if isinstance(node, Compute):
            yield node.statement, row
        if isinstance(node, Sequence):
            for branch in node.branches:
                yield from _leaves(branch, row + 1)
                row += _lines(branch) + 2
        row += 1


def _lines(nodes: tuple[Node, ...]) -> int:
    """Lines that nodes take as text: one each, and two braces around every branch of a sequence."""
    return sum(
        sum(_lines(branch) + 2 for branch in node.branches) if isinstance(node, Sequence) else 1 for node in nodes
    )


def _columns(tree: MappingTree, bars: list[Bar]) -> list[tuple[str, str]]:
    """(level, tensor) of all that is kept, the outermost level first, tensors as the statements have them."""
    levels = [tree.machine.memory, *(level.name for level in reversed(tree.machine.levels))]
    found = {(keep.level, tensor) for keep, _, _ in bars for tensor in keep.tensors}
    return [(level, tensor) for level in levels for tensor in tensor_colors(tree) if (level, tensor) in found]


def tensor_colors(tree: MappingTree) -> dict[str, str]:
    """A colour per tensor, the same in every picture of a workload."""
    return {name: COLORS[place % len(COLORS)] for place, name in enumerate(tree.kept.stored_as)}


def _title(tree: MappingTree) -> str:
    return f"{tree.workload.title} on {tree.machine.name}"


def plot_evaluated(evaluation: TreeEvaluation | TurnEvaluation, axes: Any = None) -> Any:
    """The loops of a tree that was walked, as `plot_tree` draws them."""
    return plot_tree(evaluation.saved, axes)


def plot_words(evaluation: TreeEvaluation, axes: Any = None) -> Any:
    """Words that cross between levels, a bar per pair, made of the loads and the stores of every tensor.

    Args:
        evaluation: a tree that was walked.
        axes: matplotlib axes to draw into; new ones are made if absent.

    Returns:
        The axes, in words; stores are hollow. The scale is linear, so that the parts of a bar add up by eye.

    Raises:
        InputError: if matplotlib is not installed.
    """
    moved = evaluation.count.moved
    pairs = list(dict.fromkeys(row.between for row in moved))
    colors = tensor_colors(evaluation.saved.tree)
    with styled():
        axes = new_axes((WIDTH, 1.9 + 0.6 * len(pairs))) if axes is None else axes
        ends, named = dict.fromkeys(pairs, 0), set[str]()
        for row in moved:
            for words, stores in ((row.loads_words, False), (row.stores_words, True)):
                if words:
                    label = f"{row.tensor}, {'stores' if stores else 'loads'}"
                    look = hollow(colors[row.tensor]) if stores else filled(colors[row.tensor])
                    place = pairs.index(row.between)
                    axes.barh(place, words, 0.6, left=ends[row.between], label="_" * (label in named) + label, **look)
                    named.add(label)
                    ends[row.between] += words
        for place, pair in enumerate(pairs):
            axes.annotate(
                f"{ends[pair]:,}", (ends[pair], place), (5, 0), textcoords="offset points", va="center", fontsize=9
            )
        axes.set_yticks(range(len(pairs)), [" - ".join(pair) for pair in pairs])
        axes.set_ylim(len(pairs) - 0.5, -0.5)
        axes.set_xlim(0, 1.15 * max(1, *ends.values()))
        axes.set_xlabel("loads and stores (words)")
        axes.set_title(fill(_title(evaluation.saved.tree), TITLE), loc="left")
        tidy_bars(axes)
        axes.grid(visible=False, axis="y")
        if named:
            axes.figure.legend(frameon=False, loc="outside lower center", ncols=5)
    return axes
