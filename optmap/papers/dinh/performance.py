"""Dinh, section 4.3: convolution algorithms side by side, and tiles on Gemmini's buffers."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any

from optmap.baselines.algorithms import compare_algorithms
from optmap.bounds.convolution import theorem15
from optmap.files import library
from optmap.machines.partitions import capacity_groups
from optmap.papers.dinh.convolutions import LAYERS
from optmap.papers.items import Collected, Rows
from optmap.papers.rows import Reason, claimed, held, refuted, unreachable
from optmap.search.papers.gemmini import best_stationary, greedy_stationary
from optmap.workloads.builders import conv2d
from optmap.workloads.workload import Semantics, Workload

ABSTRACT, PERFORMANCE = Collected(), Collected()
MEMORIES = tuple(2**n for n in range(12, 25, 2))
BYTES = {"Out": 4, "In": 1, "Ker": 1}
SHAPES: dict[str, Any] = {
    "conv1": {"k": 64, "c": 3, "h": 224, "w": 224, "r": 7, "s": 7, "stride": 2},
    "conv2": {"k": 64, "c": 64, "h": 56, "w": 56, "r": 3, "s": 3},
    "conv3": {"k": 128, "c": 128, "h": 28, "w": 28, "r": 3, "s": 3},
    "conv4": {"k": 256, "c": 256, "h": 14, "w": 14, "r": 3, "s": 3},
    "conv5": {"k": 512, "c": 512, "h": 7, "w": 7, "r": 3, "s": 3},
}
CITED = {
    "im2col": "by a cited bound of matrix products, which is not in the text; ours is derived",
    "winograd": "by a cited algorithm and a cited bound of matrix products, which are not in the text; ours is derived",
    "fft": "by a cited bound of transforms, which is not in the text; ours is derived",
    "naive": "what an untiled implementation keeps is not in the text; ours keeps an output",
}
"""Why the lines of the figure cannot be had from the text."""
CYCLES = "measured on Gemmini in Firesim, a simulation of its circuits"


def layer(name: str, *, sizes: dict[str, int], batch: int = 1) -> Workload:
    """A layer of ResNet-50 with element sizes of its own."""
    return conv2d(**SHAPES[name], n=batch, bytes=sizes, name=name)


@PERFORMANCE.item(
    "Figure 4.3.1",
    "Volumes of convolution algorithms over the bound",
    where="section 4.3.1",
    points=("conv1", "conv2"),
)
def figure_431(point: str) -> Rows:
    """Mixed precision (outputs of two words), batch 1000; the figure has no numbers, its text has trends."""
    workload = layer(point, sizes={"In": 1, "Ker": 1, "Out": 2}, batch=1000)
    rows = compare_algorithms(workload, MEMORIES)
    over = {(row.algorithm, row.memory_words): row.ratio for row in rows}
    once = workload.with_semantics(Semantics.ASSIGN)
    touched = sum(once.weight(t) * t.footprint(once.extents) for t in once.tensors)
    words = {(row.algorithm, row.memory_words): row.traffic_words for row in rows}
    for memory in MEMORIES:
        for name in ("blocked", "im2col"):
            yield claimed(
                f"{point}, M = {memory:,}: {name} over the bound",
                "not attained",
                round(over[name, memory], 4),
                holds=over[name, memory] > 1,
                because=Reason(
                    text="at this memory every word moves once, and the bound counts every word once",
                    tested=words[name, memory] == touched,
                ),
            )
    first, last = MEMORIES[0], MEMORIES[-3]
    slow = max(over["fft", last] / over["fft", first], over["winograd", last] / over["winograd", first])
    fast = max(over["blocked", last] / over["blocked", first], over["im2col", last] / over["im2col", first])
    yield claimed(
        f"{point}: growth of the ratio from M = {first:,} to {last:,}, blocked and im2col over FFT and Winograd",
        "scale better",
        round(fast / slow, 4),
        holds=fast < slow,
    )
    if point == "conv2":
        beats = [memory for memory in MEMORIES if over["blocked", memory] < over["im2col", memory]]
        yield claimed(
            "conv2: memories at which blocking beats im2col",
            "sufficiently large ones",
            str(beats),
            holds=bool(beats) and MEMORIES[-1] in beats,
        )
    yield from _fits_whole(point, words, touched)
    for name in ("im2col", "winograd", "fft", "naive"):
        yield unreachable(
            f"{point}, M = 262,144: {name} over the bound",
            "plotted",
            ours=round(over[name, 262144], 4),
            why=CITED[name],
        )
    below = [memory for memory in MEMORIES if over["fft", memory] < 1]
    yield claimed(
        f"{point}: memories at which FFT lies below the line of direct convolution",
        "none is drawn",
        str(below),
        holds=not below,
        because=Reason(
            text="the line bounds direct convolution, not other algorithms, and small memories favour FFT",
            tested=below == list(MEMORIES[: len(below)]),
        ),
    )


def _fits_whole(point: str, words: Mapping[tuple[str, int], int], touched: int) -> Rows:
    """From which memory on every word moves once, and how much less than a product's is moved, by the formulas."""
    first = {
        name: next((memory for memory in MEMORIES if words[name, memory] == touched), 2 * MEMORIES[-1])
        for name in ("blocked", "im2col", "winograd", "fft")
    }
    others = min(memory for name, memory in first.items() if name != "blocked")
    yield claimed(
        f"{point}: memory from which blocking moves every word once; of the other algorithms",
        "further to the right",
        f"{first['blocked']:,}; {others:,}" + " or more" * (others > MEMORIES[-1]),
        holds=first["blocked"] < others,
    )
    plain, memory = layer(point, sizes={"In": 1, "Ker": 1, "Out": 1}), MEMORIES[0]
    shape = SHAPES[point]
    term = (theorem15(plain, memory, exact_quotients=True).small_filter_words + 2 * memory) / 2
    printed = sqrt(shape["r"] * shape["s"]) / shape.get("stride", 1)
    yield held(
        f"{point}: words by (2.3.4)'s order over those by the third term of (4.1.1)",
        round(printed, 4),
        round(plain.operations / sqrt(memory) / term, 4),
        within=0.001,
    )


@ABSTRACT.item("Abstract", "Communication halved", where="abstract")
def halved() -> Rows:
    """The layer of Figure 4.3.2 that gains most."""
    buffers = library.machine("gemmini-buffers").levels[0]
    ratios = []
    for name in LAYERS:
        workload = layer(name, sizes=BYTES)
        ratios.append(best_stationary(workload, buffers).input_words / greedy_stationary(workload, buffers).input_words)
    yield unreachable(
        "words of the best tile over the vendor's, the least of ResNet-50's layers",
        0.5,
        ours=round(min(ratios), 4),
        why="batch and the vendor's order of growth are not in the text; ours for one image, dims in turn",
    )


@PERFORMANCE.item("Figure 4.3.2", "Words of the best tile over the vendor's on Gemmini", where="section 4.3.2")
def figure_432() -> Rows:
    """Inputs that the best output-stationary tile brings in over those of the greedy one; its occupancy."""
    buffers = library.machine("gemmini-buffers").levels[0]
    occupied = {"conv4": 99.0, "conv5": 93.0}
    for name in LAYERS:
        workload = layer(name, sizes=BYTES)
        best, greedy = best_stationary(workload, buffers), greedy_stationary(workload, buffers)
        ratio = best.input_words / greedy.input_words
        if name in occupied:
            scratchpad = occupancy(workload)["scratchpad"]
            batched = occupancy(layer(name, sizes=BYTES, batch=1000))
            yield held(
                f"{name}: percent of the scratchpad that the greedy tile uses",
                occupied[name],
                round(scratchpad, 1),
                within=0.01,
                because=Reason(
                    text="batch and order of growth are not in the text; with a batch of 1000 the greedy tile uses "
                    + " and ".join(f"{percent:.1f} % of the {buffer}" for buffer, percent in batched.items()),
                    tested=abs(batched["accumulator"] - occupied[name]) < 1,
                ),
            )
            yield refuted(
                f"{name}: words over the vendor's, on all layers",
                "0.45 to 0.85",
                round(ratio, 4),
                counterexample=f"the greedy tile {greedy.input_words:,}, the best of all {best.input_words:,}: no tile "
                "has 85 %",
                false=ratio > 0.85,
            )
        else:
            yield claimed(
                f"{name}: words over the vendor's", "0.45 to 0.85", round(ratio, 4), holds=0.45 <= ratio <= 0.85
            )
    for name, printed in (("conv1", "2.5 times fewer"), ("conv2", "13 % fewer"), ("conv3", "13 % fewer")):
        yield unreachable(f"{name}: clock cycles", printed, why=CYCLES)
    yield unreachable("conv5: clock cycles with the image whole, percent of the vendor's", 104, why=CYCLES)


def occupancy(workload: Workload) -> dict[str, float]:
    """Percent of each of Gemmini's buffers, double-buffered, that the greedy tile uses, by the name of the buffer."""
    level = library.machine("gemmini-buffers").levels[0]
    tile = greedy_stationary(workload, level).tile
    used = [workload.weight(tensor) * tensor.footprint(tile) for tensor in workload.tensors]
    groups = capacity_groups(workload, level)
    return {group.name: 100 * sum(used[number] for number in group.tensors) / group.words for group in groups}
