"""IOOpt, section 6: efficiency of the code with the recommended tiles, beside untiled code and a library (Figure 8)."""

from __future__ import annotations

from optmap.api import solve
from optmap.base.errors import SolverUnavailableError
from optmap.count.timing.results import Caches
from optmap.files import library
from optmap.kernels.code_options import ActivationLayout
from optmap.machines.machine import Machine
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.native.bench.results import LayerBench
from optmap.native.bench.session import BenchPlan, bench_layers
from optmap.native.statement import as_computed
from optmap.papers.ioopt.experiments import LAYERS
from optmap.papers.items import Collected, Rows
from optmap.papers.rows import unreachable
from optmap.verbs.running import detect
from optmap.workloads.workload import Workload

EFFICIENCY = Collected()
PRINTED = "8 27 31,14 52 28,18 64 36,14 77 48,14 76 34,15 84 35,14 77 34,8 74 27,13 66 33,6 73 6,3 72 3"
POINTS = tuple(f"Y{layer}" for layer in LAYERS)
AS_PRINTED = "printed"
"""The point that runs nothing."""
FASTER = ("Y0",)
"""Where the text has the recommended tiles faster than the library."""
OTHER = "measured on an i9-7940X with AVX-512; ours on the machine at hand, one thread, warm caches, code of optmap"


@EFFICIENCY.item(
    "Figure 8",
    "Efficiency of the recommended tiles",
    where="section 6",
    points=(AS_PRINTED, *POINTS),
    quick=(AS_PRINTED,),
)
def figure_8(point: str) -> Rows:
    """Tiles of the caches by the weighted sum over levels, as in the paper, a register tile inside; run here."""
    if point != AS_PRINTED:
        yield from _here(point)
        return
    for layer, row in zip(POINTS, PRINTED.split(","), strict=True):
        yield unreachable(f"{layer}: percent of peak, no tiling, oneDNN, recommended", row, why="of an i9-7940X")


def _here(point: str) -> Rows:
    """A layer on the machine at hand."""
    printed = dict(zip(POINTS, PRINTED.split(","), strict=True))[point]
    machine = detect(quick=True).machine
    workload = library.workload(f"yolo9000/{point}")
    caches = machine.levels[1].name
    answer = solve(workload, machine=machine, innermost=caches, method="iooub", objective="sum", time_limit=60)
    try:
        untiled, tiled = (
            _benched(workload, machine, mapping) for mapping in (_untiled(workload, machine), answer.mapping)
        )
    except SolverUnavailableError as error:
        yield unreachable(f"{point}: percent of peak", printed, why=f"{OTHER}; {error}")
        return
    best = tiled.best
    library_share = 0.0 if best is None else 100 * tiled.gigaflops(best) / tiled.peak_gigaflops
    plain, recommended = 100 * untiled.share, 100 * tiled.share
    yield unreachable(
        f"{point} here: percent of peak, no tiling, oneDNN, recommended",
        printed,
        ours=f"{plain:.0f} {library_share:.0f} {recommended:.0f}",
        why=OTHER,
        measured=True,
    )
    yield unreachable(
        f"{point}: speed with the recommended tiles over that without tiles",
        round(int(printed.split()[2]) / int(printed.split()[0]), 2),
        ours=round(recommended / plain, 2),
        why=OTHER,
        measured=True,
    )
    yield unreachable(
        f"{point}: speed of the library over that with the recommended tiles",
        "below 1" if point in FASTER else "1 or more",
        ours=round(library_share / recommended, 2),
        why=OTHER,
        measured=True,
    )


def _untiled(workload: Workload, machine: Machine) -> Mapping:
    """The loops as they are written, vectors along the output channels: every level beyond registers has all."""
    core = machine.core
    lanes = 1 if core is None else core.lanes(workload.output.bits)
    single = {dim: min(lanes, size) if dim == "k" else 1 for dim, size in workload.extents.items()}
    order = tuple("nkhwcrs")
    levels = [LevelMapping(level=machine.levels[0].name, tile=single, permutation=order, spatial={})]
    levels += [
        LevelMapping(level=level.name, tile=dict(workload.extents), permutation=order, spatial={})
        for level in machine.levels[1:]
    ]
    return Mapping(levels=tuple(levels))


def _benched(workload: Workload, machine: Machine, mapping: Mapping) -> LayerBench:
    """A mapping's code beside a library, timed in turns."""
    layer = as_computed(workload, padding=None)
    plan = BenchPlan(
        machine=machine,
        layouts=(ActivationLayout.NHWC,),
        threads=(1,),
        caches=(Caches.WARM,),
        rounds=5,
        candidates=1,
        against=("onednn",),
        trials=1,
        mappings={layer.title: (mapping,)},
    )
    return bench_layers([layer], plan).layers[0]
