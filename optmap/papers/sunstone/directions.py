"""Sunstone, section V-C: the order in which memories, tiles, unrollings and loop orders are chosen (Table VI)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from optmap.papers.items import Amounts, Collected, Rows
from optmap.papers.rows import ClaimRow, PointAmount, Reason, claimed, held, unreachable
from optmap.papers.sunstone.evaluation import ALL, LAYERS, Numbers, found

DIRECTIONS = Collected()
CHOICES = (
    ("bottom-up", "unrolling-tiling-ordering", 99350),
    ("bottom-up", "tiling-unrolling-ordering", 121050),
    ("bottom-up", "ordering-tiling-unrolling", 108298),
)
"""Direction, order within a memory, size of the space."""
TOP_DOWN, LEAST, USUAL = 7391620, 4.6, 4.8
"""Of the last row its size, and EDP in 10^11 beside that of the others."""
INNERMOST: Any = {"reuse-levels": 1}
"""Tiles grow along reuse dims at the innermost memory alone, as in the published code."""
UP, DOWN, EVERYWHERE, BEST = "innermost, bottom-up", "innermost, top-down", "everywhere, top-down", "optimum"
"""What beside `CHOICES` is known of a layer."""
SETTINGS: dict[str, Any] = {
    **{within: {"direction": direction, "within": within} for direction, within, _ in CHOICES},
    UP: {"direction": "bottom-up", **INNERMOST},
    DOWN: {"direction": "top-down", **INNERMOST},
    EVERYWHERE: {"direction": "top-down"},
}
UNKNOWN = "prices and sizes of the Eyeriss-like machine are not printed; ours are those of `eyeriss_like`"


def _over_layers(every: Amounts) -> Iterator[ClaimRow]:
    """The table as it is printed, summed over layers."""
    layers = list(every.values())
    yield from _rows(ALL, layers)
    for within, size, cost in (
        *((within, size, USUAL) for _, within, size in CHOICES),
        (EVERYWHERE, TOP_DOWN, LEAST),
    ):
        yield unreachable(f"{ALL}, {within}: space size", size, ours=_judged(layers, within), why=UNKNOWN)
        yield unreachable(f"{ALL}, {within}: EDP in 10^11", cost, ours=_cost(layers, within) / 1e11, why=UNKNOWN)


@DIRECTIONS.item(
    "Table VI",
    "Order of optimization",
    where="section V-C",
    points=LAYERS,
    quick=("R11",),
    total=ALL,
    totals=_over_layers,
)
def table_6(point: str) -> Rows:
    """On a 14 x 12 array, by layer, beside the proved optimum; the table has sums over layers."""
    best = found(f"resnet18/{point}", "eyeriss_like", "exact")
    amounts: dict[str, int | float] = {f"{BEST}: EDP": float(best.cost), f"{BEST}: proved": int(best.proved)}
    for name, settings in SETTINGS.items():
        answer = found(f"resnet18/{point}", "eyeriss_like", "sunstone", bypass="on", **settings)
        amounts |= {f"{name}: EDP": float(answer.cost), f"{name}: judged": answer.found.evaluations or 0}
    yield from _rows(point, [amounts])
    yield from (PointAmount(name=name, value=value) for name, value in amounts.items())


def _cost(layers: Numbers, name: str) -> float:
    return float(sum(layer[f"{name}: EDP"] for layer in layers))


def _judged(layers: Numbers, name: str) -> int:
    return int(sum(layer[f"{name}: judged"] for layer in layers))


def _rows(point: str, layers: Numbers) -> Iterator[ClaimRow]:
    """Of a layer, or of the sum over all."""
    yield from _within(point, layers)
    yield from _directions(point, layers)


def _proved(layers: Numbers) -> bool:
    return all(layer[f"{BEST}: proved"] for layer in layers)


def _within(point: str, layers: Numbers) -> Iterator[ClaimRow]:
    """The rows of the table that go bottom-up."""
    first, least = CHOICES[0][1], _cost(layers, BEST)
    above = _cost(layers, first) / least
    for direction, within, _ in CHOICES:
        ratio = _cost(layers, within) / least
        yield claimed(
            f"{point}, {direction}, {within}: EDP over the first row's",
            "1",
            round(ratio / above, 4),
            holds=abs(ratio / above - 1) <= 0.05,
            because=Reason(
                text=f"first row {above:.4f}, this one {ratio:.4f} times the proved optimum", tested=_proved(layers)
            ),
        )
    for direction, within, size in CHOICES[1:]:
        ratio, more = _cost(layers, within) / least, _judged(layers, within) / _judged(layers, first)
        yield held(
            f"{point}, {direction}, {within}: mappings over the first row's",
            round(size / CHOICES[0][2], 3),
            round(more, 3),
            within=0.25,
            because=Reason(
                text="where orders come first a tile meets only the order it was grown for: fewer are judged, with "
                f"{above:.4f} and {ratio:.4f} times the least EDP that is known",
                tested=more < 1,
            ),
        )


def _directions(point: str, layers: Numbers) -> Iterator[ClaimRow]:
    """Top-down beside bottom-up: the tiling principle at the innermost memory, as in the published code, or at all."""
    up, down, everywhere = (_cost(layers, name) for name in (UP, DOWN, EVERYWHERE))
    least, usual = _cost(layers, BEST), _cost(layers, CHOICES[0][1])
    yield held(
        f"{point}, top-down: EDP over bottom-up's",
        round(LEAST / USUAL, 3),
        round(down / up, 4),
        within=0.022,
        because=Reason(
            text=f"bottom-up ends at {up / least:.4f} times the proved optimum, top-down at {down / least:.4f}: "
            + ("4 % cannot be saved" if up < 1.04 * least else "more than 4 % is saved"),
            tested=_proved(layers) and (up < 1.04 * least or down < up * LEAST / USUAL),
        ),
    )
    more = _judged(layers, DOWN) / _judged(layers, UP)
    yield claimed(
        f"{point}, top-down: mappings over bottom-up's",
        f"{TOP_DOWN / CHOICES[0][2]:.1f}, an order of magnitude" if point == ALL else "more",
        round(more, 2),
        holds=more >= (10 if point == ALL else 1),
    )
    yield claimed(
        f"{point}, top-down with the tiling principle at every memory: EDP over bottom-up's",
        round(LEAST / USUAL, 3),
        round(everywhere / usual, 3),
        holds=everywhere <= usual,
        because=Reason(
            text="outside, the principle grows tiles for one order alone and leaves good ones out before anything "
            f"inside is known; at the innermost memory alone top-down ends at {down / up:.4f}",
            tested=down < everywhere,
        ),
    )
