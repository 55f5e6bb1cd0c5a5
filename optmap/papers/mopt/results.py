"""MOpt, sections 5 to 12: its operators, its kernel, Algorithm 1 and the measurements."""

from __future__ import annotations

from math import prod

from optmap.api import solve
from optmap.base.errors import SolverUnavailableError
from optmap.files import library
from optmap.papers.counting import window_steps
from optmap.papers.items import Collected, Rows
from optmap.papers.proving import verified
from optmap.papers.rows import Reason, claimed, held, refuted, unreachable
from optmap.verbs.measuring import bench
from optmap.verbs.running import detect

RESULTS = Collected()
YOLO = "Y0 32 3 544 3,Y2 64 32 272 3,Y4 128 64 136 3,Y5 64 128 136 1,Y8 256 128 68 3,Y9 128 256 68 1,Y12 512 256 34 3,"
YOLO += "Y13 256 512 34 1,Y18 1024 512 17 3,Y19 512 1024 17 1,Y23 28269 1024 17 1"
RESNET = "R1* 64 3 224 7,R2 64 64 56 3,R3 64 64 56 1,R4* 128 64 56 3,R5* 128 64 56 1,R6 128 128 28 3,R7* 256 128 28 3,"
RESNET += "R8 256 128 28 3,R9 256 256 14 3,R10* 512 256 14 3,R11* 512 256 14 1,R12 512 512 7 3"
MOBILE = "M1 32 32 112 3,M2* 64 64 112 3,M3 128 128 56 3,M4* 128 128 56 3,M5 256 256 28 3,M6* 256 256 28 3,"
MOBILE += "M7 512 512 14 3,M8* 512 512 14 3,M9 1024 1024 7 3"
TABLE = {"yolo9000": YOLO, "resnet18": RESNET, "mobilenet": MOBILE}
"""Table 1 as printed: name, K, C, H/W, R/S; * for stride 2."""
LAYERS = tuple(f"{net}/{row.split()[0].strip('*')}" for net, text in TABLE.items() for row in text.split(","))
DENSE_LAYERS = tuple(name + "d" * name.startswith("mobilenet") for name in LAYERS)
"""As the published code runs them: the depthwise ones as dense convolutions."""
CPU = "measured on an i7-9700K and an i9-10980XE with oneDNN 1.5, TVM 0.6 and Intel's compiler"


@RESULTS.item("Table 1", "The 32 conv2d operators", where="section 9")
def table_1() -> Rows:
    """What the library has, read back from its workloads; a depthwise layer has K = C."""
    for net, text in TABLE.items():
        for row in text.split(","):
            name, k, c, size, taps = row.split()
            stride = 2 if name.endswith("*") else 1
            ours = _sizes(f"{net}/{name.strip('*')}")
            printed = (int(k), int(c), int(size), int(taps), stride)
            yield claimed(
                f"{name}: K, C, H/W, R/S, stride",
                " ".join(map(str, printed)),
                " ".join(map(str, ours)),
                holds=printed == ours,
            )
    eighth, artifact = _sizes("resnet18/R8"), _sizes("resnet18/R8a")
    yield refuted(
        "R8: the downsampling 1x1 convolution of ResNet-18's third stage",
        " ".join(map(str, eighth)),
        " ".join(map(str, artifact)),
        counterexample="the printed row repeats R7; with R/S = 1 and stride 2, as in the published code, R8 is to R7 "
        "as R5 is to R4 and R11 to R10",
        false=_sizes("resnet18/R5")[3:] == artifact[3:] == _sizes("resnet18/R11")[3:] != eighth[3:],
    )


def _sizes(name: str) -> tuple[int, ...]:
    """K, C, H/W, R/S and stride of a workload; the image counts without padding."""
    workload = library.workload(name)
    extents = workload.extents
    stride, channels = window_steps(workload)["h"], extents.get("k", extents.get("c", 1))
    return (channels, extents.get("c", channels), extents["h"] * stride, extents["r"], stride)


@RESULTS.item("Section 6", "The microkernel", where="section 6")
def kernel() -> Rows:
    """Of the library's i7-9700K: multiply-adds that are in flight, registers in use."""
    kernel_tile = library.machine("i7-9700k").levels[0].microkernel
    held_by = (kernel_tile.vector or 0) * (kernel_tile.broadcast or 0) if kernel_tile else 0
    yield held("multiply-adds without dependencies, latency 6 x throughput 16", 6 * 16, held_by)
    yield held("vector registers of eight words for the outer product", 12, held_by // 8)
    yield claimed(
        "of 16 registers, those of outputs, kernel and a broadcast",
        "fit",
        held_by // 8 + 2 + 1,
        holds=held_by // 8 + 3 <= 16,
    )


@RESULTS.item("Section 7", "Work split over all cores", where="section 7")
def cores() -> Rows:
    """R9 on eight cores: ways along dims that are not summed over."""
    answer = solve("resnet18/R9", machine="i7-9700k", method="mopt", cores=8, time_limit=30)
    ways = {dim: n for level in answer.mapping.levels for dim, n in level.spatial.items() if n > 1}
    yield held("parallel ways, i7-9700K", 8, prod(ways.values()))
    yield claimed(
        "dims that are split",
        "non-reduction dims",
        " ".join(ways),
        holds=not set(ways) & set("crs"),
    )
    yield refuted(
        "parallelizing W and H will result in write conflicts",
        "conflicts",
        "none" if answer.workload.output.dims >= {"h", "w"} else "conflicts",
        counterexample="Out[n,k,h,w] has w and h: iterations that differ in them write different words; the sums over "
        "c, r and s are meant",
        false=set("hw") <= set(answer.workload.output.dims),
    )


@RESULTS.item(
    "Algorithm 1",
    "Tile sizes level by level beside the optimum over all levels at once",
    where="section 8",
    points=LAYERS,
    quick=("yolo9000/Y23", "mobilenet/M9"),
)
def algorithm_1(point: str) -> Rows:
    """On the i7-9700K, one core: the cost that is reached, over the relaxation that no tile sizes go below."""
    best = solve(point, machine="i7-9700k", method="mopt", time_limit=60)
    steps = solve(point, machine="i7-9700k", method="mopt-algorithm1", time_limit=600)
    least = best.relaxation.value
    over, own = float(steps.cost) / least, float(best.cost) / least
    yield claimed(
        f"{point}: cost of Algorithm 1 over the least of all tile sizes",
        "the best configuration",
        round(over, 5),
        holds=over <= 1.001,
        because=Reason(
            text=f"levels are fixed one by one and sizes rounded down; all at once, in whole numbers, reach {own:.5f}, "
            "checked",
            tested=own < over and best.relaxation.proved and verified(best),
        ),
    )


@RESULTS.item("Section 12, search times", "Seconds to optimize a stage", where="section 12")
def search_times() -> Rows:
    """The first and the last stage of Yolo-9000, all levels at once."""
    for name, seconds in (("Y0", 9), ("Y23", 23)):
        answer = solve(f"yolo9000/{name}", machine="i7-9700k", method="mopt")
        yield unreachable(
            f"{name}: seconds", seconds, ours=round(answer.seconds, 2), why="on another machine", measured=True
        )
        yield claimed(
            f"{name}: what was found is proved to be",
            "the optimum",
            "proved" if answer.proved else "open",
            holds=answer.proved,
        )


MEANS = "means"
"""The point that has what is printed."""


@RESULTS.item(
    "Figures 7 and 8",
    "Performance beside oneDNN and TVM",
    where="section 10",
    points=(MEANS, *DENSE_LAYERS),
    quick=(MEANS,),
)
def figures_7_and_8(point: str) -> Rows:
    """Geometric means of speed-ups, as printed; layer by layer MOpt-1 and MOpt-5 on the machine at hand."""
    if point == MEANS:
        yield from _means()
        return
    machine = detect(quick=True).machine
    answer = solve(point, machine=machine, method="mopt", objective="bottleneck", top=5)
    try:
        layer = bench([answer, *answer.others], machine=machine, rounds=5, against="onednn").layers[0]
    except SolverUnavailableError as error:
        yield unreachable(f"{point}: speed-up over oneDNN", "plotted", why=f"{CPU}; {error}")
        return
    for name, ratio in (("MOpt-1", layer.first_ratio), ("MOpt-5", layer.ratio)):
        yield unreachable(
            f"{point}: speed-up of {name} over oneDNN",
            "plotted",
            ours=None if ratio is None else round(ratio.median, 2),
            why=f"{CPU}; ours on the machine at hand, one thread, {layer.tried} different codes of optmap",
            measured=True,
        )


def _means() -> Rows:
    for machine, over, means in (
        ("i7-9700K", "oneDNN", (1.16, 1.37, 1.24)),
        ("i9-10980XE", "oneDNN", (1.26, 1.08, 1.14)),
        ("i7-9700K", "TVM", (1.73, 1.40, 1.52)),
        ("i9-10980XE", "TVM", (1.53, 1.84, 1.56)),
    ):
        for net, mean in zip(("Yolo", "ResNet", "MobileNet"), means, strict=True):
            yield unreachable(f"{net} on {machine}: speed-up over {over}", mean, why=CPU)
