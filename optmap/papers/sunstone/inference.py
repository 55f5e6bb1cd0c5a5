"""Sunstone, section V-B3: ResNet-18 on the Simba-like machine, beside a random search and beside CoSA (Figure 8)."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from optmap.papers.items import Amounts, Collected, Rows
from optmap.papers.rows import ClaimRow, PointAmount, Reason, claimed, held, unreachable
from optmap.papers.sunstone.evaluation import ALL, SLOW, TIME, Numbers, Solved, beside, found

INFERENCE = Collected()
RESNET = (
    "conv1 conv2 conv3_first conv3_shortcut conv3 conv4_first conv4_shortcut conv4 conv5_first conv5_shortcut conv5"
)
MINE, CHANCE = "Sunstone", "random"


def _over_all(every: Amounts) -> Iterator[ClaimRow]:
    """Sums of EDP and of cycles over layers, Sunstone beside a random search; and without the layer it is worst on."""
    layers = list(every.values())
    each = [layer[f"{CHANCE}: EDP"] / layer[f"{MINE}: EDP"] for layer in layers]
    worst = each.index(min(each))
    others = [layer for place, layer in enumerate(layers) if place != worst]
    slow = layers[worst][f"{MINE}: cycles"] / layers[worst][f"{MINE}: cycles of operations"]
    bound = (
        f"resnet18_{list(every)[worst]} ends at {each[worst]:.3g}, with {slow:.3g} times the cycles of its operations: "
        "lanes that are full along k ask its buffers' ports for more than those have"
    )
    tested = each[worst] < 1 and slow > 2
    edp, left = _ratio(layers, "EDP"), _ratio(others, "EDP")
    yield held(
        "summed EDP of a random search over Sunstone's",
        1.5,
        round(edp, 3),
        within=0.034,
        because=Reason(text=f"{bound}; the other layers together at {left:.3g}", tested=tested and left > 1.5),
    )
    mean = prod(each) ** (1 / len(each))
    yield claimed("the geometric mean over layers", "1.5 over all", round(mean, 3), holds=mean >= 1.5)
    cycles, left = _ratio(layers, "cycles"), _ratio(others, "cycles")
    yield claimed(
        "summed cycles of a random search over Sunstone's",
        "1",
        round(cycles, 3),
        holds=abs(cycles - 1) < 0.05,
        because=Reason(text=f"{bound}; the other layers together at {left:.3g}", tested=tested and left >= 1),
    )
    misfits = int(sum(layer["CoSA: misfits"] for layer in layers))
    yield claimed(
        f"{ALL}: mappings of CoSA that do not fit",
        "60 %",
        f"{misfits} of {len(layers)}",
        holds=misfits >= 0.5 * len(layers),
    )


def _ratio(layers: Numbers, what: str) -> float:
    """Of the sums over some layers."""
    return sum(layer[f"{CHANCE}: {what}"] for layer in layers) / sum(layer[f"{MINE}: {what}"] for layer in layers)


@INFERENCE.item(
    "Figure 8",
    "Inference of ResNet-18 on the Simba-like accelerator",
    where="section V-B3",
    points=RESNET.split(),
    quick=("conv2", "conv5"),
    total=ALL,
    totals=_over_all,
)
def figure_8(point: str) -> Rows:
    """Beside Timeloop's random search; and CoSA, of whose mappings most do not fit, and others are worse."""
    name = f"sunstone/resnet18_{point}"
    mine = found(name, "sunstone-simba", "sunstone", bypass="on")
    chance = found(name, "sunstone-simba", "random", **SLOW)
    cosa = found(name, "sunstone-simba", "cosa")
    yield from beside(name, "sunstone-simba", ">= 1", mine, chance)
    yield from _cosa(point, cosa, mine)
    for who, other, printed in (("the random search", chance, "up to 900"), ("CoSA", cosa, "below 1")):
        yield unreachable(
            f"resnet18_{point}: seconds of {who} over Sunstone's",
            printed,
            ours=round(other.seconds / max(mine.seconds, 1e-3), 2),
            why=TIME,
            measured=True,
        )
    for who, answer in ((MINE, mine), (CHANCE, chance)):
        yield PointAmount(name=f"{who}: EDP", value=float(answer.cost))
        yield PointAmount(name=f"{who}: cycles", value=float(answer.count.cycles))
        yield PointAmount(name=f"{who}: cycles of operations", value=float(answer.count.compute_cycles))
    yield PointAmount(name="CoSA: misfits", value=int(bool(cosa.broken)))


def _cosa(point: str, cosa: Solved, mine: Solved) -> Rows:
    """A mapping of CoSA's: it does not fit, or it is worse."""
    if cosa.broken:
        yield claimed(
            f"resnet18_{point}: mapping of CoSA",
            "most do not fit",
            f"does not fit: {cosa.broken[0]}",
            holds=True,
        )
    else:
        ratio = float(cosa.cost / mine.cost)
        yield claimed(
            f"resnet18_{point}: EDP of CoSA's mapping, which fits, over Sunstone's",
            "mostly > 1",
            round(ratio, 4),
            holds=ratio > 1,
        )
    if point == "conv2":
        yield unreachable(
            "resnet18_conv2: EDP of CoSA's mapping over Sunstone's",
            1.48,
            why="the mapping that its program has here does not fit; the one of the authors is not printed",
        )
