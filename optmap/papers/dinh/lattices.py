"""Dinh, sections 2.3.3 and 4.1.1: the communication bound of Theorem 6, and lattices of independent subgroups."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from math import prod
from random import Random

from optmap.api import bound
from optmap.bounds.exponents.lattice import Row, canonical, image_rank, intersection, rank, space_sum
from optmap.papers.counting import PRODUCT
from optmap.papers.dinh.chapter2 import convolution_maps
from optmap.papers.exponents import least_sum, unit_rows
from optmap.papers.items import Collected, Rows
from optmap.papers.proving import verified
from optmap.papers.rows import claimed, refuted
from optmap.workloads.parser import parse_workload

LATTICES = Collected()
NESTS = {
    "matrix product": (PRODUCT, {"i": 256, "j": 256, "k": 256}),
    "n-body": ("F[i] += P[i]*Q[j]", {"i": 4096, "j": 4096}),
    "MTTKRP": ("M[i,j] += A[i,k,l]*B[k,j]*C[l,j]", {"i": 128, "j": 128, "k": 128, "l": 128}),
}
MEMORY = 1024
DRAWN = 100


@LATTICES.item("Theorem 6", "Communication from the exponents", where="section 2.3.3")
def theorem_6() -> Rows:
    """Proved words over prod L / M^(sum s - 1), at sizes that grow: at least a constant."""
    for name, (text, extents) in NESTS.items():
        ratios, proved = [], True
        for factor in (1, 2, 4):
            sizes = {dim: factor * size for dim, size in extents.items()}
            workload = parse_workload(text, sizes)
            dims = {dim: place for place, dim in enumerate(workload.dims)}
            maps = [
                unit_rows([dims[dim] for dim in workload.dims if dim in own.dims], len(dims))
                for own in workload.tensors
            ]
            total, _ = least_sum(maps, len(dims))
            report = bound(workload, memory=f"{MEMORY}w", methods="best")
            proved = proved and verified(report)
            order = prod(sizes.values()) / MEMORY ** float((total or 1) - 1)
            ratios.append(report.outermost.best.loads_words / order)
        yield claimed(
            f"{name}: proved words over prod L / M^({total} - 1), M = {MEMORY:,}, sizes times 1, 2, 4",
            "at least a constant",
            ", ".join(f"{ratio:.3f}" for ratio in ratios),
            holds=proved and min(ratios) >= 0.5 and ratios[-1] >= 0.9 * ratios[0],
        )


@LATTICES.item("Lemma 17", "The lattice of independent subgroups is the sum of theirs", where="section 4.1.1")
def lemma_17() -> Rows:
    """Random subgroups of Z^6, three within the first dims and three within the others; then ranks of images."""
    rng, wrong, ranks = Random(17), 0, 0
    for _ in range(DRAWN):
        first, second = ([_drawn(rng, half) for _ in range(2)] for half in (range(3), range(3, 6)))
        own, other = _lattice(first), _lattice(second)
        sums = {space_sum(a, b) for a, b in product(own, other)}
        wrong += _lattice([*first, *second]) != sums
        ranks += any(rank(space_sum(a, b)) != rank(a) + rank(b) for a, b in product(own, other))
    yield claimed(f"of {DRAWN} pairs, those with another lattice", 0, wrong, holds=not wrong)
    yield claimed(f"(4.1.4): of {DRAWN} pairs, those with another rank of a sum", 0, ranks, holds=not ranks)
    image = convolution_maps(1)[0]
    position, tap = (((0, 0, 0, 1, 0, 0, 0),), ((0, 0, 0, 0, 0, 1, 0),))  # dims b c k w h r s
    together = image_rank(image, space_sum(position, tap))
    yield refuted(
        "(4.1.5): rank of phi_I of A + B, A along x_w and B along x_r, as the sum of their ranks",
        image_rank(image, position) + image_rank(image, tap),
        together,
        counterexample="both are sent to the subscript x_r + sigma x_w: images of independent subgroups need not be "
        "independent",
        false=rank(space_sum(position, tap)) == 2 and together == 1,
    )


def _drawn(rng: Random, dims: Iterable[int]) -> tuple[Row, ...]:
    """A subgroup of one or two generators within some dims."""
    places = set(dims)
    rows = [
        tuple(rng.choice((-1, 0, 1)) if place in places else 0 for place in range(6)) for _ in range(rng.choice((1, 2)))
    ]
    return canonical(rows)


def _lattice(spaces: Iterable[tuple[Row, ...]]) -> set[tuple[Row, ...]]:
    """Closed under sums and intersections, with {0}."""
    found: set[tuple[Row, ...]] = {(), *spaces}
    while True:
        more = {space_sum(a, b) for a, b in product(found, repeat=2)}
        more |= {intersection(a, b, 6) for a, b in product(found, repeat=2)}
        if more <= found:
            return found
        found |= more
