"""IOOpt, sections 1, 3 to 6: its definitions on a 1D convolution, reductions, orders of its bounds, and TCCG."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt, sqrt

from optmap.api import bound
from optmap.bounds.exponents.lattice import kernel
from optmap.files import library
from optmap.papers.counting import PRODUCT, entering
from optmap.papers.exponents import rank_conditions, unit_rows
from optmap.papers.ioopt.derivations import CONV1D, MAPS, tensor_maps
from optmap.papers.ioopt.derivations import exponents as least_exponents
from optmap.papers.ioopt.experiments import TCCG
from optmap.papers.items import Collected, Rows
from optmap.papers.proving import verified
from optmap.papers.rows import claimed, held, improved, refuted, unreachable
from optmap.workloads.parser import parse_workload

OPENING, DEFINITIONS = Collected(), Collected()
SIZES = {"f": 12, "x": 30, "c": 8, "w": 3}
TILE = {"f": 4, "x": 1, "c": 2, "w": 3}
"""Of Listing 3."""
UNREDUCED = unit_rows(range(6), 7)
"""phi_1 without the reduction: (b, c, f, x, y, h, 0)."""


@OPENING.item("Section 1", "Matrix product: 2N^3/sqrt(S) - 3S", where="section 1")
def known_bound() -> Rows:
    """Beside what is proved here."""
    for side, memory in ((512, 1024), (1000, 4096)):
        report = bound(PRODUCT, extents=dict.fromkeys("ijk", side), memory=f"{memory}w", methods="best")
        yield improved(
            f"loads, N = {side}, S = {memory:,}",
            2 * side**3 // isqrt(memory) - 3 * memory,
            report.outermost.best.loads_words,
            proved=verified(report),
            more=True,
        )


@DEFINITIONS.item("Section 4.1", "Footprints, reuse and densities of the image of Listing 3", where="section 4.1")
def densities() -> Rows:
    """Of boxes that the tensors count; then both formulas of the cost where the text has them otherwise."""
    workload = parse_workload(CONV1D, SIZES)
    image = next(tensor for tensor in workload.tensors if tensor.name == "Image")
    step, whole = dict(TILE), {**TILE, "x": SIZES["x"]}
    n, t = SIZES, TILE
    yield held("SDF of Image at f", (n["x"] + n["w"] - 1) * t["c"], image.footprint(whole))
    area = image.footprint(step)
    yield held("SDF of Image at x", n["w"] * t["c"], area)
    shared = 2 * area - image.footprint({**step, "x": 2})
    yield held("SDR of Image at x", t["c"] * (n["w"] - 1), shared)
    size = n["w"] * t["c"] * t["f"]
    yield held("ID of Image at x, x not 0", Fraction(1, n["w"] * t["f"]), Fraction(area - shared, size))
    yield held("ID of Image at x, x = 0", Fraction(1, t["f"]), Fraction(area, size))
    wide = {**TILE, "x": 2}
    order = ("w", "c", "f", "x")
    found = entering(workload, wide, order, {"Out": 1, "Image": 1, "Filter": 2})["Image"]
    points = n["f"] * n["x"] * n["c"] * n["w"]
    area = image.footprint(wide)
    moved = area - (2 * area - image.footprint({**wide, "x": 4}))
    front = points // n["x"]
    printed = Fraction(area * front + moved * (points - front), size * wide["x"])
    yield refuted(
        "IO of Image with T_x = 2, the front domain i_j = 0",
        printed,
        found,
        counterexample="counted: the first tile has T_x iterations of x, not one; 0 <= i_j < T_dj is meant",
        false=printed < found,
    )
    near, far = (entering(workload, TILE, order, {"Out": level, "Image": 1, "Filter": 2})["Out"] for level in (1, 3))
    room, whole_out = 1000, n["f"] * n["x"]
    yield refuted(
        f"IO of Out with the smallest l whose footprint fits into {room:,} words",
        near,
        far,
        counterexample=f"l = 3 fits, too, with {whole_out} words, and leaves {far}: the largest l that fits is meant",
        false=far < near and whole_out <= room,
    )


@DEFINITIONS.item("Section 5.3", "Reductions detected", where="sections 5 and 5.3")
def reductions() -> Rows:
    """Kernels of phi_1, and the powers of the bounds that the least exponents give with all sizes N."""
    without, with_ = (len(kernel(rows, 7)) for rows in (UNREDUCED, MAPS["phi_1"]))
    yield claimed(
        "dims of the kernel of phi_1, without and with", "bigger", f"{without}, {with_}", holds=with_ > without
    )
    yield held("power of 1/S, reductions detected, O(N^7/S)", 1, float(least_exponents(small=False)[0] - 1))
    yield held("power of 1/S, h and w small, O(sqrt(HW) N^5/sqrt(S))", 0.5, float(least_exponents(small=True)[0] - 1))
    yield unreachable(
        "power of N without", 4, why="which dependences the earlier version of the tool takes is not in the text"
    )


@DEFINITIONS.item("Figure 3d", "Exponents of a convolution", where="section 5.4")
def exponents() -> Rows:
    """Whether the printed ones meet every condition, and reach the least sum."""
    third, half = Fraction(2, 3), Fraction(1, 2)
    for title, printed, small in (
        ("no small dims: s_j = 2/3", [third] * 3, False),
        ("small dims: s_j = s_sd = 1/2", [half] * 4, True),
    ):
        broken = sum(
            sum(a * s for a, s in zip(row, printed, strict=True)) < least
            for row, least in zip(*rank_conditions(tensor_maps(small=small), 7), strict=True)
        )
        yield claimed(f"{title}: conditions that are broken", 0, broken, holds=not broken)
        yield held(f"{title}: sigma", sum(printed[:3]), least_exponents(small=small)[0])


@DEFINITIONS.item("Section 6, closed form", "T = sqrt(S + 1) - 1 fills the memory", where="section 6")
def closed_form() -> Rows:
    """Square tiles of a product, and their cost counted."""
    memory, side = 1023, 31
    yield held("T with 2T + T^2 = S, S = 1,023", round(sqrt(memory + 1) - 1), side)
    yield held("2T + T^2", memory, 2 * side + side * side)
    i, j, k = 62, 93, 50
    workload = parse_workload(PRODUCT, {"i": i, "j": j, "k": k})
    words = entering(workload, {"i": side, "j": side, "k": 1}, ("i", "j", "k"), {"A": 1, "B": 1, "C": 1})
    printed = Fraction(i * j * 2 * k, side) + i * j
    yield held("IO = NiNj(2Nk/(sqrt(S + 1) - 1) + 1)", printed, sum(words.values()))


@DEFINITIONS.item("Section 6, TCCG", "Kernels and classes of the benchmark", where="section 6")
def tccg() -> Rows:
    """Classes by numbers of dims, and of dims that two tensors share."""
    script = "gathered from a script of TCCG that is not in the text"
    yield unreachable("contractions of TCCG", 73, why=script)
    yield unreachable("different ones", 49, why=script)
    classes = set()
    for name in TCCG:
        tensors = [set(tensor.dims) for tensor in library.workload(f"tccg/{name}").tensors]
        shared = tuple(len(a & b) for place, a in enumerate(tensors) for b in tensors[place + 1 :])
        classes.add((tuple(map(len, tensors)), shared))
    yield held("classes", 8, len(classes))
