"""Dinh, chapter 2: mappings at random, the segment argument, Loomis-Whitney and Brascamp-Lieb polytopes."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from math import ceil, isqrt

import numpy as np

from optmap.api import bound
from optmap.bounds.exponents.lattice import Row, image_rank
from optmap.count.meshes.batch import evaluate_batch
from optmap.files import library
from optmap.machines.fabric import fabric_of
from optmap.papers.counting import PRODUCT, map_space
from optmap.papers.exponents import least_sum, unit_rows
from optmap.papers.items import Collected, Rows
from optmap.papers.proving import verified
from optmap.papers.rows import claimed, held, improved, refuted
from optmap.questions.options import Merit
from optmap.search import random_nests
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Semantics, Workload

CHAPTER2 = Collected()
DRAWN = 100_000
"""Valid mappings of the histogram."""
PROJECTIONS = {"A": (0, 2), "B": (2, 1), "C": (0, 1)}


@CHAPTER2.item("Section 2.2.2", "Size of a mapspace", where="section 2.2.2")
def mapspace() -> Rows:
    """Of ResNet-50's conv2 on Gemmini, each mesh one level, by the formula of another paper."""
    fabric = fabric_of(library.workload("resnet50/conv2"), library.machine("gemmini"))
    meshes = sum(memory.x.size * memory.y.size > 1 for memory in fabric.memories)
    memories = len(fabric.memories)
    size = map_space((n for n in fabric.extents if n > 1), levels=memories + meshes, memories=memories)
    yield claimed("mappings, valid or not", "over 10^20", float(size), holds=size > 10**20)


@CHAPTER2.item("Figure 2.2.1", "EDP of 100K random valid mappings", where="section 2.2", points=("conv2", "KTQ", "FF1"))
def histogram(point: str) -> Rows:
    """Of ResNet-50's conv2 and two products of BERT on Gemmini; a vast majority is 3/4 here, a tiny fraction 1/50."""
    name = "resnet50/conv2" if point == "conv2" else f"factorflow/{point}"
    workload = library.workload(name).with_semantics(Semantics.ASSIGN)
    values = edps(workload, "gemmini", DRAWN)
    worse = float((values > 10 * values.min()).mean())
    yield held(f"{point}: valid mappings", DRAWN, len(values))
    yield claimed(f"{point}: over ten times the best", "the vast majority", round(worse, 4), holds=worse > 0.75)
    yield claimed(
        f"{point}: within twice the best",
        "a minuscule fraction",
        f"{(values < 2 * values.min()).mean():.2g}",
        holds=bool((values < 2 * values.min()).mean() < 0.02),
    )


def edps(workload: Workload, machine: str, count: int) -> np.ndarray:
    """EDP of so many valid mappings that are drawn at random, in pJ*cycles."""
    fabric, rng = fabric_of(workload, library.machine(machine)), np.random.default_rng(1)
    found: list[np.ndarray] = []
    while sum(map(len, found)) < count:
        cost = evaluate_batch(random_nests(fabric, 20_000, rng), fabric)
        found.append(cost.merit(Merit.EDP)[cost.valid])
    return np.concatenate(found)[:count]


@CHAPTER2.item("Formula (2.3.2)", "Communication from segments: q >= 2Mh", where="section 2.3.2")
def segments() -> Rows:
    """Two vectors, every pair of elements: a segment of 2M words has M^2 pairs at most; a schedule is walked."""
    memory, extent = 100, 1000
    most = memory * memory  # a*b with a + b <= 2M
    printed = 2 * memory * extent * extent // most
    loaded = 0
    for start in range(0, extent, memory - 1):
        loaded += min(memory - 1, extent - start)  # stay
        loaded += extent  # one after the other beside them
    yield refuted(
        f"words of {extent}^2 pairs, M = {memory}",
        f">= {printed:,}",
        loaded,
        counterexample=f"{memory - 1} elements stay while the others pass: {loaded:,} words; the segments give M*h",
        false=loaded < printed,
    )
    yield claimed("the same by M*h", f">= {printed // 2:,}", loaded, holds=loaded >= printed // 2)


@CHAPTER2.item("Theorem 2", "Discrete Loomis-Whitney inequality", where="section 2.3.2")
def loomis_whitney() -> Rows:
    """Over all sets of points of a cube of two points a side."""
    points = list(product(range(2), repeat=3))
    worst = 0.0
    for mask in range(1, 2 ** len(points)):
        chosen = [point for bit, point in enumerate(points) if mask >> bit & 1]
        sides = [len({tuple(point[d] for d in dims) for point in chosen}) for dims in combinations(range(3), 2)]
        worst = max(worst, len(chosen) ** 2 / float(np.prod(sides)))
    yield claimed("|S|^2 over the product of projections, all 255 sets", "at most 1", worst, holds=worst <= 1)


@CHAPTER2.item("Formula (2.3.4)", "Matrix product: L1*L2*L3/sqrt(2M)", where="section 2.3.2")
def product_bound() -> Rows:
    """Beside what is proved here, with its certificate checked."""
    for side, memory in ((512, 1024), (1000, 4096), (64, 256)):
        report = bound(PRODUCT, extents=dict.fromkeys("ijk", side), memory=f"{memory}w", methods="best")
        printed = isqrt(side**6 // (2 * memory))
        yield improved(
            f"words loaded, {side} per side, M = {memory}",
            printed,
            report.outermost.best.loads_words,
            proved=verified(report),
            more=True,
        )


@CHAPTER2.item("Theorem 4, Corollary 5", "Discrete Brascamp-Lieb: the exponents of a product", where="section 2.3.3")
def brascamp_lieb() -> Rows:
    """The least sum of exponents over the rank conditions of the lattice, and random sets of operations."""
    maps = [unit_rows(dims, 3) for dims in PROJECTIONS.values()]
    total, exponents = least_sum(maps, 3)
    yield claimed("least sum of exponents", "3/2", str(total), holds=total == Fraction(3, 2))
    yield claimed("exponents", "1/2 each", " ".join(map(str, exponents)), holds=set(exponents) == {Fraction(1, 2)})
    rng, broken = np.random.default_rng(2), 0
    for _ in range(500):
        chosen = {tuple(point) for point in rng.integers(0, 4, (rng.integers(1, 40), 3)).tolist()}
        sides = [len({tuple(point[d] for d in dims) for point in chosen}) for dims in PROJECTIONS.values()]
        broken += len(chosen) ** 2 > sides[0] * sides[1] * sides[2]
    yield claimed("random sets that break it, of 500", 0, broken, holds=not broken)


@CHAPTER2.item("Theorem 9", "The lattice of kernels is enough", where="section 2.3.3")
def lattice() -> Rows:
    """Rank conditions of all subspaces with small whole coordinates, at a vertex found with the lattice's alone."""
    for name, maps, width in _examples():
        _, exponents = least_sum(maps, width)
        broken, seen = 0, 0
        for space in _subspaces(width):
            seen += 1
            ranks = [image_rank(rows, space) for rows in maps]
            broken += sum(s * r for s, r in zip(exponents, ranks, strict=True)) < len(space)
        yield claimed(f"{name}: of {seen} other subspaces, those that break it", 0, broken, holds=not broken)


def _examples() -> Iterator[tuple[str, list[tuple[Row, ...]], int]]:
    """Maps of a product and of a convolution along one axis."""
    yield "matrix product", [unit_rows(dims, 3) for dims in PROJECTIONS.values()], 3
    # dims c k w r: image (c, w + r), filter (c, k, r), output (k, w)
    yield "1D convolution", [((1, 0, 0, 0), (0, 0, 1, 1)), unit_rows((0, 1, 3), 4), unit_rows((1, 2), 4)], 4


def _subspaces(width: int) -> Iterator[tuple[Row, ...]]:
    """Lines and planes spanned by vectors of -1, 0 and 1."""
    vectors = [row for row in product((-1, 0, 1), repeat=width) if any(row) and next(v for v in row if v) > 0]
    for vector in vectors:
        yield (vector,)
    yield from combinations(vectors, 2)


@CHAPTER2.item("Theorem 10", "Real Brascamp-Lieb: a subset of the discrete polytope", where="section 2.3.3")
def real_polytope() -> Rows:
    """The discrete polytope with the scaling constraint d = sum of s_j*d_j beside it."""
    maps = [unit_rows(dims, 3) for dims in PROJECTIONS.values()]
    real, _ = least_sum(maps, 3, scaled=True)
    yield claimed("matrix product: least sum over the real polytope", "3/2", str(real), holds=real == Fraction(3, 2))
    found, _ = least_sum(convolution_maps(1), 7, scaled=True)
    discrete, _ = least_sum(convolution_maps(1), 7)
    yield claimed(
        "2D convolution: the real polytope is a subset of the discrete one, whose least sum is 2",
        "subset",
        "empty: 4*(s_I + s_F + s_O) = 7 against 2 or more" if found is None else str(found),
        holds=found is None and discrete == 2,
    )


def convolution_maps(stride: int) -> list[tuple[Row, ...]]:
    """Image, filter and output of (4.1.2); dims b c k w h r s."""
    image = ((1, 0, 0, 0, 0, 0, 0), (0, 1, 0, 0, 0, 0, 0), (0, 0, 0, stride, 0, 1, 0), (0, 0, 0, 0, stride, 0, 1))
    return [image, unit_rows((1, 2, 5, 6), 7), unit_rows((0, 2, 3, 4), 7)]


@CHAPTER2.item("Tiles of section 2.3.2", "A product tiled by sqrt(M) has the order of (2.3.4)", where="section 2.3.2")
def square_tiles() -> Rows:
    """Words of square tiles, counted, over what is proved to be least."""
    workload = parse_workload(PRODUCT, dict.fromkeys("ijk", 512))
    for memory in (1024, 16384):
        side = isqrt(memory + 1) - 1  # a tile of C, a column of A, a row of B
        tiles = ceil(512 / side) ** 2
        words = 512 * 512 + tiles * 512 * 2 * side
        least = bound(workload, memory=f"{memory}w", methods="best").outermost.best.loads_words
        yield claimed(
            f"M = {memory}: loads over the bound", "a constant", round(words / least, 3), holds=1 <= words / least <= 3
        )
