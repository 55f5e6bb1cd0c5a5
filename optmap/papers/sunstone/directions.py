"""Sunstone, section V-C: the order in which memories, tiles, unrollings and loop orders are chosen (Table VI)."""

from __future__ import annotations

from typing import Any

from optmap.papers.items import Collected, Rows
from optmap.papers.rows import Reason, claimed, held
from optmap.papers.sunstone.evaluation import ALL, found
from optmap.search.result import Answer

DIRECTIONS = Collected()
CHOICES = (
    ("bottom-up", "unrolling-tiling-ordering", 99350),
    ("bottom-up", "tiling-unrolling-ordering", 121050),
    ("bottom-up", "ordering-tiling-unrolling", 108298),
)
"""Direction, order within a memory, size of the space."""
TOP_DOWN, LEAST, USUAL = 7391620, 4.6, 4.8
"""Of the last row its size, and EDP in 10^11 beside that of the others."""
LAYERS = tuple(f"R{number}" for number in range(1, 13))
INNERMOST: Any = {"reuse-levels": 1}
"""Tiles grow along reuse dims at the innermost memory alone, as in the published code."""
Answers = list[Answer[Any, Any]]


@DIRECTIONS.item("Table VI", "Order of optimization", where="section V-C", points=(*LAYERS, ALL), quick=("R11",))
def table_6(point: str) -> Rows:
    """On a 14 x 12 array, by layer and summed as the table has it, beside the proved optimum where it is proved."""
    layers = LAYERS if point == ALL else (point,)
    best = [found(f"resnet18/{layer}", "eyeriss_like", "exact") for layer in layers]
    choices = [_answers(layers, direction=direction, within=within) for direction, within, _ in CHOICES]
    yield from _within(point, choices, best)
    yield from _directions(point, layers, best)


def _answers(layers: tuple[str, ...], **settings: Any) -> Answers:
    return [found(f"resnet18/{layer}", "eyeriss_like", "sunstone", bypass="on", **settings) for layer in layers]


def _cost(answers: Answers) -> float:
    return float(sum(answer.cost for answer in answers))


def _judged(answers: Answers) -> int:
    return sum(answer.found.evaluations or 0 for answer in answers)


def _within(point: str, choices: list[Answers], best: Answers) -> Rows:
    """The rows of the table that go bottom-up."""
    proved = all(answer.proved for answer in best)
    over = [_cost(answers) / _cost(best) for answers in choices]
    looked = [_judged(answers) for answers in choices]
    for (direction, within, _), ratio in zip(CHOICES, over, strict=True):
        yield claimed(
            f"{point}, {direction}, {within}: EDP over the first row's",
            "1",
            round(ratio / over[0], 4),
            holds=abs(ratio / over[0] - 1) <= 0.05,
            because=Reason(
                text=f"first row {over[0]:.4f}, this one {ratio:.4f} times the proved optimum", tested=proved
            ),
        )
    for (direction, within, size), count, ratio in list(zip(CHOICES, looked, over, strict=True))[1:]:
        yield held(
            f"{point}, {direction}, {within}: mappings over the first row's",
            round(size / CHOICES[0][2], 3),
            round(count / looked[0], 3),
            within=0.25,
            because=Reason(
                text="where orders come first a tile meets only the order it was grown for: fewer are judged, with "
                f"{over[0]:.4f} and {ratio:.4f} times the least EDP that is known",
                tested=count <= 1.5 * looked[0],
            ),
        )


def _directions(point: str, layers: tuple[str, ...], best: Answers) -> Rows:
    """Top-down beside bottom-up: the tiling principle at the innermost memory, as in the published code, or at all."""
    up, down = (_answers(layers, direction=direction, **INNERMOST) for direction in ("bottom-up", "top-down"))
    everywhere = _answers(layers, direction="top-down"), _answers(layers, direction="bottom-up")
    ratio, proved = _cost(down) / _cost(up), all(answer.proved for answer in best)
    above = _cost(up) / _cost(best)
    yield held(
        f"{point}, top-down: EDP over bottom-up's",
        round(LEAST / USUAL, 3),
        round(ratio, 4),
        within=0.022,
        because=Reason(
            text=f"bottom-up is at {above:.4f} times the proved optimum, which leaves no 4 %",
            tested=proved and above < 1.04,
        ),
    )
    more = _judged(down) / _judged(up)
    yield claimed(
        f"{point}, top-down: mappings over bottom-up's",
        f"{TOP_DOWN / CHOICES[0][2]:.1f}, an order of magnitude" if point == ALL else "more",
        round(more, 2),
        holds=more >= (10 if point == ALL else 1),
    )
    yield claimed(
        f"{point}, top-down with the tiling principle at every memory: EDP over bottom-up's",
        round(LEAST / USUAL, 3),
        round(_cost(everywhere[0]) / _cost(everywhere[1]), 3),
        holds=_cost(everywhere[0]) <= _cost(everywhere[1]),
        because=Reason(
            text="outside, the principle grows tiles for one order alone and leaves good ones out before anything "
            f"inside is known; at the innermost memory alone top-down ends at {ratio:.4f}",
            tested=_cost(down) < _cost(everywhere[0]),
        ),
    )
