"""IOOpt, sections 2 to 5: the matrix product, costs of tilings, Algorithm 1, and exponents of a convolution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from math import isqrt, prod, sqrt
from random import Random

from optmap.api import bound, solve
from optmap.bounds.exponents.lattice import image_rank
from optmap.papers.counting import PRODUCT, entering
from optmap.papers.exponents import Matrix, least_sum
from optmap.papers.items import Collected, Rows
from optmap.papers.proving import verified
from optmap.papers.rows import claimed, held, improved, refuted
from optmap.symbolic.ioopt import reuse_orders, reuse_sets
from optmap.workloads.parser import parse_workload

DERIVATIONS = Collected()
CONV1D = "Out[f,x] += Image[c,x+w]*Filter[f,c,w]"
CONV2D = "Out[b,f,x,y] += Image[b,c,x+w,y+h]*Filter[f,c,w,h]"


@DERIVATIONS.item("Section 2, upper bound", "Matrix product, 2000 x 1500 x 1500, S = 1,024", where="section 2")
def product_upper() -> Rows:
    """The printed value, the printed formula, and the loads of a mapping."""
    i, j, k, memory = 2000, 1500, 1500, 1024
    side = isqrt(memory + 1) - 1
    yield claimed("tile T_i = T_j", 31, side, holds=side * side + 2 * side <= memory)
    formula, twice = i * j * (2 * k + side) // side, i * j * (2 * k + 2 * side) // side
    yield refuted(
        "UB = Ni*Nj*(2*Nk/T + 1) at T = 31",
        296_322_580,
        formula,
        counterexample=f"the printed formula, loads only; {twice:,} counts the output twice",
        false=formula != 296_322_580,
    )
    answer = solve(PRODUCT, extents={"i": i, "j": j, "k": k}, memory=f"{memory}w", method="iooub", objective="loads")
    yield improved("loads of a mapping, whole tiles", 296_322_580, int(answer.exact), proved=verified(answer))


@DERIVATIONS.item("Section 2, lower bound", "Matrix product: 2Ni + Nk + 2Nj + 2NiNjNk/sqrt(S)", where="section 2")
def product_lower() -> Rows:
    """A product of single elements; the formula of Figure 6 has -2 - S and 2NiNj(Nk - 1) in its place."""
    memory = 4
    printed = 2 + 1 + 2 + 2 / sqrt(memory)
    answer = solve(PRODUCT, extents={"i": 1, "j": 1, "k": 1}, memory=f"{memory}w", method="iooub", objective="loads")
    yield refuted(
        "loads of a 1 x 1 x 1 product, S = 4",
        f">= {printed:g}",
        int(answer.exact),
        counterexample=f"three elements are loaded; a mapping, checked: {int(answer.exact)}",
        false=verified(answer) and answer.exact < printed,
    )
    report = bound(PRODUCT, extents={"i": 2000, "j": 1500, "k": 1500}, memory="1024w", methods="best")
    printed = 2 * 2000 + 1500 + 2 * 1500 + 2 * 2000 * 1500 * 1500 // 32
    yield improved(
        "loads of the product of section 2",
        printed,
        report.outermost.best.loads_words,
        proved=verified(report),
        more=True,
        within=0.01,
    )


@DERIVATIONS.item("Section 4.2", "Costs of Listing 3, a tiled 1D convolution", where="sections 4.1, 4.2")
def listing_3() -> Rows:
    """Tiles of c and f, whole windows, x one by one; Image and Out are reused along x, Filter along f."""
    n = {"f": 12, "x": 30, "c": 8, "w": 3}
    workload = parse_workload(CONV1D, n)
    tile = {"f": 4, "x": 1, "c": 2, "w": 3}
    found = entering(workload, tile, ("w", "c", "f", "x"), {"Out": 1, "Image": 1, "Filter": 2})
    printed = {
        "Image": n["c"] * n["f"] * (n["x"] + n["w"] - 1) // tile["f"],
        "Out": n["c"] * n["f"] * n["x"] // tile["c"],
        "Filter": n["c"] * n["f"] * n["w"],
    }
    for name, words in printed.items():
        yield held(f"IO of {name}", words, found[name])


@DERIVATIONS.item("Formulas (1), (2)", "Cost and room of the tiled product", where="section 6")
def product_costs() -> Rows:
    """C stays, a column of A and a row of B pass."""
    workload = parse_workload(PRODUCT, {"i": 24, "j": 30, "k": 18})
    found = entering(workload, {"i": 6, "j": 5, "k": 1}, ("i", "j", "k"), {"A": 1, "B": 1, "C": 1})
    g = 24 * 30 * 18
    yield held("IO = NiNjNk*(1/Ti + 1/Tj + 1/Nk)", g // 6 + g // 5 + g // 18, sum(found.values()))


def literal(
    dims: frozenset[str], reuse: Mapping[str, frozenset[str]], *, strict: bool, empty: bool
) -> set[tuple[str, ...]]:
    """Algorithm 1 line by line.

    Args:
        dims: those that are left.
        reuse: tensors that each of them reuses.
        strict: whether line 8 asks for a strictly larger set.
        empty: whether line 3 returns the set of the empty permutation; else no permutation, as printed.
    """
    if not dims:
        return {()} if empty else set()
    if not any(reuse.values()):
        return {tuple(sorted(dims))}
    found = set[tuple[str, ...]]()
    for dim, own in reuse.items():
        if any(own < other if strict else own <= other for name, other in reuse.items() if name != dim):
            continue
        left = {name: other & own for name, other in reuse.items() if name != dim}
        found |= {(*order, dim) for order in literal(dims - {dim}, left, strict=strict, empty=empty)}
    return found


@DERIVATIONS.item("Algorithm 1", "Loop orders that maximize reuse", where="section 4.3, Figure 2")
def algorithm_1() -> Rows:
    """Counts of orders; lines 3 and 8 as printed leave some out."""
    for name, text, dims, small, printed in (
        ("1D convolution, w small (Figure 2)", CONV1D, "cfwx", "w", 3),
        ("matrix product", PRODUCT, "ijk", "", 3),
        ("2D convolution, h and w small", CONV2D, "bcfhwxy", "hw", 10),
    ):
        workload = parse_workload(text, dict.fromkeys(dims, 5))
        sets = reuse_sets(workload, small)
        exact = literal(frozenset(workload.dims), sets, strict=True, empty=True)
        found = len(reuse_orders(workload, small))
        if name.startswith("1D"):
            yield held(f"orders: {name}", printed, found)
        yield claimed(f"{name}: orders with lines 3 and 8 mended", printed, len(exact), holds=len(exact) == found)
        loose = len(literal(frozenset(workload.dims), sets, strict=False, empty=True))
        if name.startswith("2D"):
            yield refuted(
                f"{name}: orders with a subset in line 8 that may be equal",
                found,
                loose,
                counterexample="dims that reuse the same tensors leave one another out",
                false=loose != found,
            )
    none = len(literal(frozenset("z"), {"z": frozenset("A")}, strict=True, empty=False))
    yield refuted(
        "orders of a single dim along which a tensor is reused",
        1,
        none,
        counterexample="line 3 returns no permutation where the empty one is meant",
        false=none != 1,
    )


MAPS: dict[str, Matrix] = {
    # dims b c f x y h w
    "phi_1": ((1, 0, 0, 0, 0, 0, 0), (0, 0, 1, 0, 0, 0, 0), (0, 0, 0, 1, 0, 0, 0), (0, 0, 0, 0, 1, 0, 0)),
    "phi_2": ((0, 0, 0, 1, 0, 0, 1), (0, 0, 0, 0, 1, 1, 0), (0, 1, 0, 0, 0, 0, 0), (1, 0, 0, 0, 0, 0, 0)),
    "phi_3": ((0, 0, 1, 0, 0, 0, 0), (0, 0, 0, 0, 0, 1, 0), (0, 0, 0, 0, 0, 0, 1), (0, 1, 0, 0, 0, 0, 0)),
    "phi_sd": ((0, 0, 0, 0, 0, 1, 0), (0, 0, 0, 0, 0, 0, 1)),
}
"""Figure 3b with x + w and y + h, as the constraints of Figure 3c have it."""
AS_PRINTED: Matrix = (
    (0, 0, 0, 1, 0, 1, 0),
    (0, 0, 0, 0, 1, 0, 1),
    (0, 1, 0, 0, 0, 0, 0),
    (1, 0, 0, 0, 0, 0, 0),
)
"""phi_2 as printed: (x + h, y + w, c, b)."""


@DERIVATIONS.item("Figure 3", "Brascamp-Lieb exponents of a convolution", where="section 5.4")
def figure_3() -> Rows:
    """Least sums of exponents over the lattice, small dims as a map of their own; and phi_2 as printed."""
    yield held("sigma without small dims", 2, exponents(small=False)[0])
    yield held("sigma with h and w small", 1.5, float(exponents(small=True)[0]))
    difference = ((0, 0, 0, -1, 0, 0, 1),)
    printed, right = image_rank(AS_PRINTED, difference), image_rank(MAPS["phi_2"], difference)
    yield refuted(
        "rank of phi_2(w - x), printed constraint 1 <= s_1 + s_3 + s_sd",
        0,
        printed,
        counterexample=f"phi_2 = (x+h, y+w, c, b) does not send w - x to 0; (x+w, y+h, c, b) does: rank {right}",
        false=printed != 0 and right == 0,
    )


@DERIVATIONS.item(
    "Theorem 5.1", "Brascamp-Lieb: sizes of sets from those of their projections", where="sections 5.1, 5.2"
)
def theorem_5_1() -> Rows:
    """Random sets of operations of a convolution, and boxes, against the product of their projections."""
    for small, text in ((False, "|E| <= K^2"), (True, "|E| <= K^(3/2) * sqrt(HW)")):
        maps = tensor_maps(small=small)
        _, least = exponents(small=small)
        broken, above, tightest = 0, 0, 0.0
        for chosen in _sets():
            images = [len({_sent(rows, point) for point in chosen}) for rows in maps]
            limit = prod(size ** float(own) for size, own in zip(images, least, strict=True))
            largest, taps = max(images[:3]), len({point[5:] for point in chosen})
            bounded = largest**1.5 * sqrt(taps) if small else largest**2
            broken += len(chosen) > limit * (1 + 1e-9)
            above += len(chosen) > bounded * (1 + 1e-9)
            tightest = max(tightest, len(chosen) / limit)
        which = "h and w small" if small else "no small dims"
        yield claimed(f"{which}: sets of {SETS} that break Theorem 5.1", 0, broken, holds=not broken)
        yield claimed(f"{which}: sets that break {text}", 0, above, holds=not above)
        yield claimed(
            f"{which}: largest |E| over the product of the projections",
            "<= 1",
            round(tightest, 4),
            holds=tightest <= 1 + 1e-9,
        )


SETS = 400


def _sets() -> Iterator[set[tuple[int, ...]]]:
    """Sets of points (b, c, f, x, y, h, w): parts of small boxes, and whole ones."""
    rng = Random(5)
    for number in range(SETS):
        sides = [rng.choice((1, 2, 3)) for _ in range(7)]
        box = list(product(*(range(side) for side in sides)))
        yield set(box if number % 4 == 0 else rng.sample(box, rng.randint(1, len(box))))


def _sent(rows: Matrix, point: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sum(a * b for a, b in zip(row, point, strict=True)) for row in rows)


def tensor_maps(*, small: bool) -> list[Matrix]:
    """The maps of the output, the image and the filter, and of the dims h and w if these are small."""
    return [MAPS[name] for name in ("phi_1", "phi_2", "phi_3", *(["phi_sd"] if small else []))]


def exponents(*, small: bool) -> tuple[Fraction, tuple[Fraction, ...]]:
    """The least s_1 + s_2 + s_3 and the exponents that attain it, that of the small dims last."""
    sigma, found = least_sum(tensor_maps(small=small), 7, free=int(small))
    return sigma or Fraction(0), found
