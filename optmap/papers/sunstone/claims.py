"""Sunstone, abstract and section I: what it claims over other tools, and sizes of their spaces (Table I)."""

from __future__ import annotations

from optmap.api import solve
from optmap.files import library
from optmap.machines.fabric import fabric_of
from optmap.papers.items import Collected, Rows
from optmap.papers.proving import verified
from optmap.papers.rows import claimed, held, unreachable
from optmap.papers.sunstone.evaluation import SLOW, TIME, found
from optmap.papers.sunstone.thresholds import FAST_USES, ThresholdSpace, only_along
from optmap.search.sunstone.sizes import space_sizes
from optmap.workloads.workload import Semantics

CLAIMS = Collected()
TOOLS = (
    ("Timeloop", "1.9 times", "none"),
    ("CoSA", "1.5 times", "60 %"),
    ("Interstellar", "1.4 times", "10 %"),
    ("dMazeRunner", "1.1 times", "30 %"),
)
"""Of Table I: how much worse their mappings are, how many are invalid."""
IN_FIGURES = "over Figures 6 to 8, which are plots; their rows have the same of searches that run here"


@CLAIMS.item("Abstract", "Faster, and with better products of energy and delay", where="abstract, sections I and VII")
def abstract() -> Rows:
    """A workload of Figure 6 on which its largest ratio is reached."""
    name, machine = "sunstone/sddmm_bcsstk17", "sunstone-conventional"
    mine, chance = found(name, machine, "sunstone", bypass="on"), found(name, machine, "random", **SLOW)
    ratio = float(chance.cost / mine.cost)
    yield claimed(
        "EDP of a random search over Sunstone's, sddmm_bcsstk17", "up to 1.9", round(ratio, 4), holds=ratio >= 1.9
    )
    yield unreachable(
        "seconds of prior work over Sunstone's",
        "up to 800",
        ours=round(chance.seconds / max(mine.seconds, 1e-3), 2),
        why=TIME + "; ours of the same random search, which judges mappings by thousands",
        measured=True,
    )
    yield unreachable(
        "energy of an inference by one mapping over that by a better one",
        19,
        why="cited from Timeloop's paper, whose layer and mappings are not in the text",
    )
    yield unreachable(
        "tilings and loop orders of one convolution on a conventional accelerator",
        1e19,
        why="cited from Marvel's paper, whose layer and machine are not in the text",
    )


@CLAIMS.item("Table I", "Dimensions and sizes of the spaces", where="section I")
def table_1() -> Rows:
    """Dims that index the operand that is reused; the layer is not named, ours are the 3x1 layer of the library."""
    workload, machine = library.workload("sunstone/conv_inception_3x1"), library.machine("sunstone-conventional")
    yield held("dims of a convolution", 7, len(workload.extents))
    yield held("dims to build each tile and unroll where ofmap is reused", 4, len(workload.only.output.dims))
    fabric = fabric_of(workload.with_semantics(Semantics.ASSIGN), machine)
    for tool, printed, axes in (
        ("dMazeRunner", 4, ThresholdSpace(fabric, FAST_USES).axes),
        ("Interstellar", 2, (fabric_of(workload, only_along(machine, ("c", "k"))).memories[1].x,)),
    ):
        yield held(f"{tool}: dims to unroll", printed, sum(axes[0].allowed))
    everything, left = space_sizes(fabric_of(workload, machine))
    answer = solve(workload, machine=machine, method="sunstone", semantics="assign", tiles="divisors")
    judged = answer.found.evaluations or 0
    unnamed = "the layer is not named; ours of the 3x1 layer"
    for tool, size, ours in (
        ("Timeloop, all dims", 3.69e10, everything.size),
        ("Marvel", 1.36e9, None),
        ("Interstellar", 1.40e9, None),
        ("dMazeRunner", 1.97e5, None),
        ("Sunstone", 5.89e3, judged),
    ):
        yield unreachable(f"{tool}: size of the space of an Inception v3 layer", size, why=unnamed, ours=ours)
    for tool, worse, invalid in TOOLS:
        yield unreachable(f"{tool}: EDP over that of other tools", f"up to {worse}", why=IN_FIGURES)
        yield unreachable(f"{tool}: invalid mappings", invalid, why=IN_FIGURES)
    proved = verified(answer)
    yield claimed("Sunstone: invalid mappings", "none", "proved valid" if proved else "not proved", holds=proved)
    ratio = everything.size / judged
    yield claimed(
        "space of all dims over mappings that Sunstone judges",
        "as much as 10^7",
        round(ratio),
        holds=ratio >= 10**6,
    )
    yield claimed(
        "space of all dims over that of the reuse dims, nothing else pruned",
        "smaller",
        round(everything.size / left.size, 1),
        holds=left.size < everything.size,
    )
