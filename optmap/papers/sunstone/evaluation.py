"""Sunstone, section V: its search beside a random one with Timeloop's limits, beside CoSA, and beside the optimum."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import prod
from typing import Any

from optmap.api import solve
from optmap.papers.items import Collected, Rows
from optmap.papers.rows import Reason, claimed, held, refuted, unreachable
from optmap.search.result import Answer

EVALUATION = Collected()
SLOW = {"timeout": 80000, "victory": 1500}
FAST = {"timeout": 20000, "victory": 25}
"""Of Timeloop's mapper, Table V."""
WITHOUT: dict[str, dict[str, Any]] = {
    "tiles that grow along the dims of the reused operand alone": {"reuse-dims": "off"},
    "these tiles, and lanes that must all be in use,": {"reuse-dims": "off", "utilisation": 0.85},
}
"""Rules that may leave out good mappings, in words, and the settings without them."""
ALL = "all layers"
"""A point of its own, as the sum over them is printed."""
OTHERS = "mttkrp_nell2 mttkrp_netflix mttkrp_poisson1 ttmc_nell2 ttmc_netflix ttmc_poisson1 sddmm_bcsstk17 sddmm_cant"
UPDATES = "3x3_first 3x3_early 1x1_early 3x3_middle 5x5 1x7_deep 7x1_deep 3x1_deep 1x1_deep"
RESNET = (
    "conv1 conv2 conv3_first conv3_shortcut conv3 conv4_first conv4_shortcut conv4 conv5_first conv5_shortcut conv5"
)
TIME = "seconds of another machine"


def found(workload: str, machine: str, method: str, seconds: float = 300, **settings: Any) -> Answer[Any, Any]:
    """The answer of a method over mappings with perfect factors, seed 0."""
    return solve(
        workload,
        machine=machine,
        method=method,
        semantics="assign",
        tiles="divisors",
        time_limit=seconds,
        seed=0,
        settings=settings,
    )


def beside_chance(workload: str, machine: str, said: str) -> Rows:
    """Sunstone, bypass as the machine lets it, beside a random search with the slow limits."""
    mine = found(workload, machine, "sunstone", bypass="on")
    chance = found(workload, machine, "random", **SLOW)
    ratio = float(chance.cost / mine.cost)
    name = workload.partition("/")[2]
    yield claimed(
        f"{name}: EDP of a random search over Sunstone's",
        said,
        round(ratio, 4),
        holds=ratio >= 1 - 1e-9,
        because=_beaten(workload, machine, chance) if ratio < 1 else None,
    )
    yield unreachable(f"{name}: seconds of Sunstone", "plotted", ours=round(mine.seconds, 1), why=TIME, measured=True)


def _beaten(workload: str, machine: str, chance: Answer[Any, Any]) -> Reason:
    """Which rule of Sunstone left out what the random search found: without it the search is no worse."""
    for text, settings in WITHOUT.items():
        freed = found(workload, machine, "sunstone", bypass="on", **settings)
        if freed.cost <= chance.cost:
            ratio = float(chance.cost / freed.cost)
            return Reason(text=f"{text} leave good mappings out: without that the ratio is {ratio:.4g}", tested=True)
    return Reason(text="one of " + "; ".join(WITHOUT), tested=False)


@EVALUATION.item("Table V", "Limits of Timeloop's mapper", where="section V-A", missing="dMazeRunner's thresholds")
def table_5() -> Rows:
    """A random search with the fast and the slow limits on one layer: the slow one judges more and is no worse."""
    fast, slow = (found("sunstone/resnet18_conv2", "sunstone-simba", "random", **limits) for limits in (FAST, SLOW))
    yield claimed(
        "slow over fast: mappings judged",
        "> 1",
        round((slow.found.evaluations or 0) / (fast.found.evaluations or 1), 3),
        holds=(slow.found.evaluations or 0) > (fast.found.evaluations or 0),
    )
    yield claimed("slow over fast: EDP", "<= 1", round(float(slow.cost / fast.cost), 4), holds=slow.cost <= fast.cost)


@EVALUATION.item(
    "Figure 6",
    "Non-DNN workloads on the conventional accelerator",
    where="section V-B1",
    points=OTHERS.split(),
    quick=("mttkrp_nell2", "mttkrp_poisson1", "sddmm_bcsstk17"),
)
def figure_6(point: str) -> Rows:
    """Sunstone outperforms Timeloop."""
    yield from beside_chance(f"sunstone/{point}", "sunstone-conventional", ">= 1")


@EVALUATION.item(
    "Figure 7",
    "Weight updates of Inception v3",
    where="section V-B2",
    points=UPDATES.split(),
    quick=("1x7_deep", "3x1_deep", "1x1_deep"),
    missing="dMazeRunner and Interstellar as they are published",
)
def figure_7(point: str) -> Rows:
    """Better or equal EDP."""
    yield from beside_chance(f"sunstone/update_{point}", "sunstone-conventional", ">= 1")


@EVALUATION.item(
    "Versatility",
    "Non-DNN workloads on the Simba-like accelerator",
    where="section I",
    points=OTHERS.split(),
    quick=("mttkrp_netflix", "sddmm_cant"),
)
def versatility(point: str) -> Rows:
    """It covers many tensor workloads, and scales to hierarchical architectures; MTTKRP of netflix idles lanes."""
    name = f"sunstone/{point}"
    yield from beside_chance(name, "sunstone-simba", ">= 1")
    if point == "mttkrp_netflix":
        alone = found(name, "sunstone-simba", "sunstone", bypass="on", starved=0)
        again = found(name, "sunstone-simba", "sunstone", bypass="on")
        chance = found(name, "sunstone-simba", "random", **SLOW)
        yield refuted(
            f"{point}: EDP of a random search over that of the principles alone",
            ">= 1, no worse mappings than other tools",
            round(float(chance.cost / alone.cost), 5),
            counterexample="tiles and inner meshes take the few small factors, so that most lanes idle; the search is "
            f"repeated with tiles and unrollings that leave them, at {float(chance.cost / again.cost):.4g}",
            false=chance.cost < alone.cost and again.cost < alone.cost,
        )


@EVALUATION.item(
    "Figure 8",
    "Inference of ResNet-18 on the Simba-like accelerator",
    where="section V-B3",
    points=(*RESNET.split(), ALL),
    quick=("conv2", "conv5"),
)
def figure_8(point: str) -> Rows:
    """Beside Timeloop's random search, layer by layer and summed; and CoSA, of whose mappings most do not fit."""
    layers = RESNET.split() if point == ALL else [point]
    names = [f"sunstone/resnet18_{layer}" for layer in layers]
    if point == ALL:
        yield from _over_all(names)
    else:
        yield from beside_chance(names[0], "sunstone-simba", ">= 1")
    cosa = [found(name, "sunstone-simba", "cosa") for name in names]
    broken = [answer for answer in cosa if answer.broken]
    yield claimed(
        f"resnet18, {point}: mappings of CoSA that do not fit",
        "60 %" if point == ALL else "60 % of all",
        f"{len(broken)} of {len(cosa)}" + (f": {broken[0].broken[0]}" if len(cosa) == len(broken) == 1 else ""),
        holds=len(broken) >= 0.5 * len(cosa),
        because=Reason(text="of some layers it fits", tested=len(cosa) == 1),
    )


def _over_all(names: Sequence[str]) -> Rows:
    """Sums of EDP and of cycles over layers, Sunstone beside a random search; and without the layer it is worst on."""
    mine = [found(name, "sunstone-simba", "sunstone", bypass="on") for name in names]
    chance = [found(name, "sunstone-simba", "random", **SLOW) for name in names]
    each = [float(other.cost / own.cost) for own, other in zip(mine, chance, strict=True)]
    worst = each.index(min(each))
    others = [place for place in range(len(names)) if place != worst]
    whole, left = (_sums(mine, chance, places) for places in (range(len(names)), others))
    slowest = mine[worst].count
    title = names[worst].rpartition("/")[2]
    bound = (
        f"{title} ends at {each[worst]:.3g}, with {slowest.cycles / slowest.compute_cycles:.3g} times the cycles of "
    )
    bound += "its operations: lanes that are full along k ask its buffers' ports for more than those have"
    tested = each[worst] < 1 and slowest.cycles > 2 * slowest.compute_cycles
    yield held(
        "summed EDP of a random search over Sunstone's",
        1.5,
        round(whole[0], 3),
        within=0.034,
        because=Reason(text=f"{bound}; the other layers together at {left[0]:.3g}", tested=tested and left[0] > 1.5),
    )
    yield claimed(
        "the geometric mean over layers",
        "1.5 over all",
        round(prod(each) ** (1 / len(each)), 3),
        holds=prod(each) ** (1 / len(each)) >= 1.5,
    )
    yield claimed(
        "summed cycles of a random search over Sunstone's",
        "1",
        round(whole[1], 3),
        holds=abs(whole[1] - 1) < 0.05,
        because=Reason(
            text=f"{bound}; the other layers together at {left[1]:.3g}", tested=tested and left[1] > whole[1]
        ),
    )


def _sums(
    mine: Sequence[Answer[Any, Any]], chance: Sequence[Answer[Any, Any]], places: Iterable[int]
) -> tuple[float, float]:
    """Ratios of the sums over some layers: EDP and cycles."""
    chosen = list(places)
    edp = sum(chance[place].cost for place in chosen) / sum(mine[place].cost for place in chosen)
    cycles = Fraction(
        sum(chance[place].count.cycles for place in chosen), sum(mine[place].count.cycles for place in chosen)
    )
    return float(edp), float(cycles)
