"""Sunstone, sections V-A to V-B2: its search beside a random one with Timeloop's limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from optmap.api import solve
from optmap.papers.items import Collected, Rows
from optmap.papers.rows import Reason, claimed, refuted, unreachable
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
LAYERS = tuple(f"R{number}" for number in range(1, 13))
"""Of ResNet-18, in the library."""
ALL = "all layers"
"""A point of its own, as the sum over them is printed."""
OTHERS = "mttkrp_nell2 mttkrp_netflix mttkrp_poisson1 ttmc_nell2 ttmc_netflix ttmc_poisson1 sddmm_bcsstk17 sddmm_cant"
TIME = "seconds of another machine"
Solved = Answer[Any, Any]
Numbers = Sequence[Mapping[str, float]]
"""The amounts of layers, by name."""


def found(workload: str, machine: str, method: str, seconds: float = 300, **settings: Any) -> Solved:
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
    yield from beside(workload, machine, said, mine, chance)


def beside(workload: str, machine: str, said: str, mine: Solved, chance: Solved) -> Rows:
    """An answer of Sunstone's and one of a random search side by side."""
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


def _beaten(workload: str, machine: str, chance: Solved) -> Reason:
    """Which rule of Sunstone left out what the random search found: without it the search is no worse."""
    for text, settings in WITHOUT.items():
        freed = found(workload, machine, "sunstone", bypass="on", **settings)
        if freed.cost <= chance.cost:
            ratio = float(chance.cost / freed.cost)
            return Reason(text=f"{text} leave good mappings out: without that the ratio is {ratio:.4g}", tested=True)
    return Reason(text="one of " + "; ".join(WITHOUT), tested=False)


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
