"""MOpt, sections 2 to 4, 7 and 12: rooms of tiles, partial reuse, threads, and what it says of TVM and oneDNN."""

from __future__ import annotations

from collections import Counter
from math import ceil, factorial

from optmap.api import solve
from optmap.files import library
from optmap.loop_orders.classes import dataflow_classes
from optmap.papers.counting import PRODUCT, Sizes, entering
from optmap.papers.items import Collected, Rows
from optmap.papers.mopt.forms import ABSENT, CNN, DIMS, cases, tile_words, volume
from optmap.papers.mopt.results import CPU
from optmap.papers.rows import claimed, held, refuted, unreachable
from optmap.workloads.parser import parse_workload

ROOMS, DISCUSSION = Collected(), Collected()


@ROOMS.item("Formulas (2) and (4)", "Words that a tile needs", where="sections 2.2 and 3.1")
def footprints() -> Rows:
    """Beside the words of boxes that tensors count, at random tiles."""
    wrong = 0
    for _, t in cases(100):
        tile = {"i": t["h"], "j": t["w"], "k": t["k"]}
        printed = tile["i"] * tile["k"] + tile["j"] * tile["k"] + tile["i"] * tile["j"]
        wrong += printed != _words(PRODUCT, tile)
    yield claimed("(2): tiles of 100 with other words", 0, wrong, holds=not wrong)
    wrong = sum(sum(tile_words(name, t) for name in ABSENT) != _words(CNN, t) for _, t in cases(100))
    yield claimed("(4): tiles of 100 with other words", 0, wrong, holds=not wrong)


def _words(text: str, tile: Sizes) -> int:
    return sum(tensor.footprint(tile) for tensor in parse_workload(text, tile).tensors)


@ROOMS.item("Section 3.2", "Neighbouring tiles of the image share words", where="sections 3.2 and 4")
def partial_reuse() -> Rows:
    """Both terms of In, the first iteration and the others, beside counted words; and loops that slide over none."""
    for at in "wshr":
        wrong = 0
        for extents, tile in cases(50):
            order = (*(dim for dim in DIMS if dim != at), at)
            workload = parse_workload(CNN, extents)
            wrong += _printed(at, extents, tile) != entering(workload, tile, order, {"Out": 1, "In": 1, "Ker": 1})["In"]
        yield claimed(f"{at}t at R_In: tiles of 50 with other words of In", 0, wrong, holds=not wrong)
    for worse, better in (("nk", "wk"), ("ck", "wk"), ("n", "w"), ("c", "w")):
        less = sum(_ended(worse, *each) < _ended(better, *each) for each in cases(100))
        title = f"tiles of 100 at which <...,{','.join(worse)}> moves less of In than <...,{','.join(better)}>"
        yield claimed(title, 0, less, holds=not less)


def _printed(at: str, n: Sizes, t: Sizes) -> int:
    """Words of In, the iterator `at` innermost: the term of the first iteration and that of all others."""
    trips = 1
    for dim in DIMS:
        trips *= 1 if dim == at else n[dim] // t[dim]
    height, width = t["h"] + t["r"] - 1, t["w"] + t["s"] - 1
    moved = (n[at] - t[at]) * (height if at in "ws" else width)
    return trips * t["n"] * t["c"] * (moved + height * width)


def _ended(inner: str, extents: Sizes, tile: Sizes) -> int:
    """Words of In of an order with some loops innermost."""
    order = (*(dim for dim in DIMS if dim not in inner), *inner)
    level = {"Out": 1, "In": 1 + inner.endswith("k"), "Ker": 1}
    return entering(parse_workload(CNN, extents), tile, order, level)["In"]


@ROOMS.item("Section 2.2, cases", "Problems with and without the analysis", where="sections 2.2 and 4")
def cases_of_four_levels() -> Rows:
    """Registers and three caches."""
    yield held("(7!)^4, over 645 trillion", 645e12, factorial(7) ** 4, within=0.001)
    classes = len(dataflow_classes(parse_workload(CNN, dict.fromkeys(DIMS, 4))).classes)
    yield held("tile-loop orders of one level that are left out", 5032, factorial(7) - classes)
    extents, tile = next(iter(cases(1)))
    same = len({volume(order + "nhw", extents, tile) for order in ("kcrs", "srck", "ckrs")})
    yield held("data volumes of <{k,c,r,s},n,h,w> over three orders of its outer band", 1, same)


@DISCUSSION.item("Listing 5", "L2 tiles split among threads", where="section 7")
def listing_5() -> Rows:
    """Its loops of all threads: 12 x 12 of 24 x 24, in parts of 6 x 4, tiles of 3 x 2."""
    whole, outer, part, inner = (24, 24), (12, 12), (6, 4), (3, 2)
    threads = (outer[0] // part[0]) * (outer[1] // part[1])
    seen = Counter[tuple[int, int]]()
    for tid in range(threads):
        across = outer[1] // part[1]
        for i4 in range(0, whole[0], outer[0]):
            for j4 in range(0, whole[1], outer[1]):
                for ip in range(i4 + tid // across * part[0], i4 + outer[0], outer[0] // part[0] * part[0]):
                    for jp in range(j4 + tid % across * part[1], j4 + outer[1], outer[1] // part[1] * part[1]):
                        seen.update(
                            (i3, j3)
                            for i3 in range(ip, ip + part[0], inner[0])
                            for j3 in range(jp, jp + part[1], inner[1])
                        )
    tiles = (whole[0] // inner[0]) * (whole[1] // inner[1])
    once = sum(count == 1 for count in seen.values())
    yield claimed(f"L2 tiles that {threads} threads visit once, of {tiles}", "all", once, holds=once == tiles)


@DISCUSSION.item("Section 12, TVM", "Search times over the size of a stage", where="section 12")
def tvm() -> Rows:
    """The first and the last stage of Yolo-9000."""
    first, last = (library.workload(f"yolo9000/{name}") for name in ("Y0", "Y23"))
    for name, minutes in (("Y0", 1), ("Y23", 109)):
        yield unreachable(f"{name}: minutes of TVM's search", minutes, why=CPU)
    operations = last.operations / first.operations
    low, high = 108.5 / 1.5, 109.5 / 0.5
    yield refuted(
        "TVM's search time of Y23 over that of Y0, essentially proportional to operations",
        109,
        round(operations, 1),
        counterexample=f"operations of the stages of Table 1; whole minutes leave {low:.0f} to {high:.0f}",
        false=not low <= operations <= high,
    )
    seconds = [solve(layer, machine="i7-9700k", method="mopt").seconds for layer in (first, last)]
    ratio = seconds[1] / max(seconds[0], 1e-3)
    yield claimed(
        "MOpt's search time of Y23 over that of Y0",
        "23/9, relatively independent of the size",
        round(ratio, 2),
        holds=ratio < operations / 3,
        measured=True,
    )
    wrong = sum(
        ceil(words / line) != len({word // line for word in range(words)})
        for words in range(1, 65)
        for line in (1, 4, 8, 16)
    )
    yield claimed("tiles of 256 whose aligned row takes other lines than ceil(T_k/L)", 0, wrong, holds=not wrong)


@DISCUSSION.item("Table 2", "Strengths and limitations of oneDNN, TVM and MOpt", where="section 12")
def table_2() -> Rows:
    """Comprehensive: no tile-loop order is left out but by a proof. The other two are not run."""
    found = dataflow_classes(parse_workload(CNN, dict.fromkeys(DIMS, 4)))
    kept = {each.signature for each in found.classes}
    proved = sum(each.size for each in found.everything if each.signature not in kept)
    open_orders = found.permutations - sum(each.size for each in found.classes) - proved
    yield claimed(
        f"MOpt: tile-loop orders that neither a class nor one of {len(found.dominated)} proofs covers",
        "none, comprehensive",
        open_orders,
        holds=not open_orders and len(found.dominated) == found.equivalence_classes - len(found.classes),
    )
    first, again = (solve("resnet18/R9", machine="i7-9700k", method="mopt") for _ in range(2))
    yield claimed(
        "MOpt: cost of a second search over that of the first, as nothing is measured",
        "1, no auto-tuning",
        float(again.cost) / float(first.cost),
        holds=again.cost == first.cost,
    )
    for tool, exploration in (("oneDNN", "minimal"), ("TVM", "limited, with auto-tuning")):
        yield unreachable(f"{tool}: design-space exploration", exploration, why="its code is not run here")
    yield unreachable("microkernel beside oneDNN's", "not highly optimized", why=CPU)
