"""Sunstone, sections V-A and V-B2: limits of other searches (Table V), and weight updates beside them (Figure 7)."""

from __future__ import annotations

from typing import Any

from optmap.api import solve
from optmap.files import library
from optmap.machines.fabric import fabric_of
from optmap.papers.items import Collected, Rows
from optmap.papers.rows import Reason, claimed, unreachable
from optmap.papers.sunstone.evaluation import FAST, SLOW, Solved, beside, found
from optmap.papers.sunstone.thresholds import (
    FAST_USES,
    SLOW_USES,
    Thresholds,
    ThresholdSpace,
    filled,
    only_along,
    sizes,
    within,
)
from optmap.verbs.exploring import explore
from optmap.workloads.workload import Semantics

TOOLS, UPDATES = Collected(), Collected()
LAYERS = "3x3_first 3x3_early 1x1_early 3x3_middle 5x5 1x7_deep 7x1_deep 3x1_deep 1x1_deep"
ASYMMETRIC = ("1x7_deep", "3x1_deep")
"""Those of which the text says that dMazeRunner has no valid mapping."""
MACHINE = "sunstone-conventional"
LAYER = "sunstone/conv_inception_3x1"
"""Of Table V; which one its limits were tried on is not printed."""
JUDGED = 10_000
"""Mappings of a search with thresholds."""
LOOSE: Any = {"reuse-dims": "off", "utilisation": 0.85}
"""Sunstone's search with tiles along all dims, and units that may idle."""
USES = {"fast": FAST_USES, "slow": SLOW_USES}


def space(workload: str, uses: Thresholds) -> ThresholdSpace:
    """The mappings of a workload that meet thresholds."""
    assigned = library.workload(workload).with_semantics(Semantics.ASSIGN)
    return ThresholdSpace(fabric_of(assigned, library.machine(MACHINE)), uses)


def least_edp(workload: str, uses: Thresholds) -> float | None:
    """Of a search with thresholds; None if it finds no mapping."""
    search = explore(
        workload,
        machine=MACHINE,
        strategy=within(uses),
        objective="edp",
        semantics="assign",
        evaluations=JUDGED,
        time_limit=600,
        seed=0,
    )
    search.run()
    return None if search.best is None else search.best.value


@TOOLS.item("Table V", "Limits of Timeloop's mapper and least uses of dMazeRunner", where="section V-A")
def table_5() -> Rows:
    """A random search with both limits on one layer, and the mappings that meet both sets of thresholds."""
    fast, slow = (found("sunstone/resnet18_conv2", "sunstone-simba", "random", **limits) for limits in (FAST, SLOW))
    yield claimed(
        "Timeloop, slow over fast: mappings judged",
        "> 1",
        round((slow.found.evaluations or 0) / (fast.found.evaluations or 1), 3),
        holds=(slow.found.evaluations or 0) > (fast.found.evaluations or 0),
    )
    ratio = float(slow.cost / fast.cost)
    yield claimed("Timeloop, slow over fast: EDP", "<= 1", round(ratio, 4), holds=ratio <= 1)
    few, many = (sizes(space(LAYER, uses)) for uses in (FAST_USES, SLOW_USES))
    for memory in few:
        more = many[memory] / max(few[memory], 1)
        yield claimed(
            f"dMazeRunner, slow over fast: tiles of {memory} that meet it", "> 1", round(more, 3), holds=more > 1
        )
    aggressive, conservative = (least_edp(LAYER, uses) for uses in (FAST_USES, SLOW_USES))
    if aggressive is not None and conservative is not None:
        ratio = conservative / aggressive
        yield claimed(
            "dMazeRunner, slow over fast: least EDP that meets it",
            "<= 1",
            round(ratio, 4),
            holds=ratio <= 1,
        )


@UPDATES.item("Use of L1", "Timeloop leaves most of the L1 buffers empty", where="section V-B2")
def l1_use() -> Rows:
    """Of the mappings that a random search with the fast limits ends at, on the layers of Figure 7."""
    used = {}
    for point in LAYERS.split():
        inner = found(f"sunstone/update_{point}", MACHINE, "random", **FAST).count.memories[0]
        used[point] = inner.occupancy_words / inner.capacity_words
    few = sorted(point for point, share in used.items() if share < 0.2)
    yield claimed(
        f"mappings of {len(used)} whose tiles fill less than 20 % of a unit's L1",
        "some",
        f"{len(few)}: {', '.join(few)}",
        holds=bool(few),
    )


@UPDATES.item(
    "Figure 7",
    "Weight updates of Inception v3",
    where="section V-B2",
    points=LAYERS.split(),
    quick=("1x7_deep", "3x1_deep", "1x1_deep"),
)
def figure_7(point: str) -> Rows:
    """Better or equal EDP than a random search, and than searches by what the text says of two tools."""
    name = f"sunstone/update_{point}"
    mine = found(name, MACHINE, "sunstone", bypass="on")
    yield from beside(name, MACHINE, ">= 1", mine, found(name, MACHINE, "random", **SLOW))
    for kind, uses in USES.items():
        yield from _thresholds(point, kind, uses, mine)
    if point in ASYMMETRIC:
        yield unreachable(
            f"update_{point}: mappings of dMazeRunner",
            "none valid, as it takes convolutions for symmetric",
            why="its code assumes that, not its thresholds; the text has no more of it",
        )
    yield from _channels(point, mine)


def _thresholds(point: str, kind: str, uses: Thresholds, mine: Solved) -> Rows:
    """A search with the thresholds of Table V, on the machine as the text describes it."""
    name = f"sunstone/update_{point}"
    title = f"update_{point}: EDP of a search with dMazeRunner's {kind} thresholds over Sunstone's"
    none = space(name, uses).why_none
    least = None if none else least_edp(name, uses)
    if least is None:
        yield claimed(
            title, ">= 1, or no mapping", f"no mapping: {none or 'the units are used too little'}", holds=True
        )
        return
    ratio = least / float(mine.cost)
    yield claimed(
        title, ">= 1, or no mapping", round(ratio, 4), holds=ratio >= 1 - 1e-9, because=_left_out(name, ratio, mine)
    )


def _left_out(name: str, ratio: float, mine: Solved) -> Reason | None:
    """Whether Sunstone's rules leave out mappings as good as what another search found."""
    if ratio >= 1:
        return None
    freed = found(name, MACHINE, "sunstone", bypass="on", **LOOSE)
    own = float(freed.cost / mine.cost)
    return Reason(
        text="rules of Sunstone leave good mappings out: with tiles along all dims and units that may idle its search "
        f"ends at {own:.4g}",
        tested=own <= ratio * (1 + 1e-9),
    )


def _channels(point: str, mine: Solved) -> Rows:
    """Input and output channels alone along the meshes, as Interstellar has them: the optimum of all such mappings."""
    name, machine = f"sunstone/update_{point}", only_along(library.machine(MACHINE), ("c", "k"))
    workload = library.workload(name).with_semantics(Semantics.ASSIGN)
    part = filled(fabric_of(workload, machine))
    best = solve(name, machine=machine, method="exact", semantics="assign", tiles="divisors", time_limit=120, seed=0)
    ratio = float(best.cost / mine.cost)
    least = "least EDP" if best.proved else "EDP that an exact search ends at"
    title = f"update_{point}: {least} of all mappings that unroll c and k alone, as Interstellar, over Sunstone's"
    if part < 1:
        yield unreachable(
            title,
            ">= 1",
            ours=round(ratio, 4),
            why=f"c and k fill {100 * part:.0f} % of the units, and the text does not say what else is unrolled then",
        )
        return
    yield claimed(
        title,
        ">= 1",
        round(ratio, 4),
        holds=ratio >= 1 - 1e-9,
        because=Reason(
            text="it is the optimum of its space, which Sunstone's search does not prove", tested=best.proved
        ),
    )
