"""MOpt, sections 1 to 4: sizes of the space, data volumes in whole numbers, and the classes of tile-loop orders."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import permutations
from math import factorial, prod
from random import Random

from optmap.count.levels.cost import evaluate_cost
from optmap.files.inputs import machine_of
from optmap.loop_orders.classes import DataflowClass, dataflow_classes
from optmap.machines.machine import Machine
from optmap.mappings.levels import LevelMapping, Mapping
from optmap.papers.counting import PRODUCT, Sizes
from optmap.papers.items import Collected, Rows
from optmap.papers.rows import claimed, held, refuted
from optmap.workloads.parser import parse_workload
from optmap.workloads.workload import Workload

FORMS = Collected()
DIMS = "nkcrshw"
CNN = "Out[n,k,h,w] += In[n,c,h+r,w+s]*Ker[k,c,r,s]"
ABSENT = {"Out": "crs", "In": "k", "Ker": "nhw"}
PRINTED = (
    "<{k,c,r,s},{n,h},w>",
    "<{k,c,r,s},{n,w},h>",
    "<{n,k,h,w},{c,r},s>",
    "<{n,k,h,w},{c,s},r>",
    "<{n,c,h,r,s},w,k>",
    "<{n,c,w,r,s},h,k>",
    "<{n,c,h,w,s},r,k>",
    "<{n,c,h,w,s},r,k>",
)
"""The list after `only eight equivalence classes`, as printed."""


def volume(order: str, extents: Sizes, tile: Sizes) -> int:
    """Words that one level of tiles moves by section 3, for tiles that divide; `order` outermost first.

    A tensor is loaded once per trip of the loops from its innermost present one outwards; an innermost present loop
    of a window loads the union of its tiles.
    """
    total = 0
    for tensor, absent in ABSENT.items():
        inside = 0
        while order[-1 - inside] in absent:
            inside += 1
        at, around = order[-1 - inside], order[: len(order) - 1 - inside]
        trips = prod(extents[d] // tile[d] for d in around)
        if tensor == "In" and at in "rshw":
            box = {**tile, at: extents[at]}
        else:
            box, trips = tile, trips * (extents[at] // tile[at])
        total += trips * tile_words(tensor, box) * (2 if tensor == "Out" else 1)
    return total


def tile_words(tensor: str, t: Sizes) -> int:
    """Words of a tensor that a tile needs, its term in (4)."""
    if tensor == "In":
        return t["n"] * t["c"] * (t["h"] + t["r"] - 1) * (t["w"] + t["s"] - 1)
    return prod(size for dim, size in t.items() if dim not in ABSENT[tensor])


def cases(count: int) -> Iterator[tuple[Sizes, Sizes]]:
    """Extents and tiles that divide them, at random."""
    rng = Random(4)
    for _ in range(count):
        tile = {dim: rng.choice((1, 2, 3, 4)) for dim in DIMS}
        yield {dim: size * rng.choice((1, 2, 3, 5)) for dim, size in tile.items()}, tile


@FORMS.item("Section 1", "Configurations of three levels of tiles", where="section 1")
def configurations() -> Rows:
    """Three groups of seven loops."""
    yield held("(7!)^3", 1.28e11, factorial(7) ** 3, within=0.002)


@FORMS.item("Section 2.2", "Data volumes of a tiled matrix product", where="sections 2.2, 3")
def product() -> Rows:
    """DV of the tile loops it, jt, kt, as the levels of this package count them."""
    yield held("permuted variants of the loops of a tiled product", 36, factorial(3) ** 2)
    workload = parse_workload(PRODUCT, {"i": 24, "j": 20, "k": 18})
    (ni, nj, nk), (ti, tj, tk) = (24, 20, 18), (6, 5, 3)
    printed = (ni // ti) * (nj // tj) * (ti * nk + tj * nk + 2 * ti * tj)
    yield held(
        "words of all loops, k innermost", printed, counted(workload, {"i": ti, "j": tj, "k": tk}, ("i", "j", "k"))
    )


def counted(workload: Workload, tile: Sizes, order: tuple[str, ...]) -> int:
    """Words by the per-level form of this package, whatever fits."""
    machine, mapping = one_level(1_000_000, tile, order)
    return evaluate_cost(workload, machine, mapping).levels[0].traffic_words


def one_level(words: int, tile: Sizes, order: tuple[str, ...]) -> tuple[Machine, Mapping]:
    """A machine with so many words of fast memory, and tiles in it, loops over them outermost first."""
    machine = machine_of(None, f"{words}w")
    level = LevelMapping(level=machine.levels[0].name, tile=tile, permutation=order, spatial={})
    return machine, Mapping(levels=(level,))


@FORMS.item("Formulas of section 4", "Data volume of the eight classes", where="section 4, (5)")
def closed_forms() -> Rows:
    """Formula (5) and its kin by the rule of section 3, and the counts of this package, at random tiles."""
    five = sum(_formula_5(extents, tile) != volume("kcrsnhw", extents, tile) for extents, tile in cases(200))
    yield claimed("tiles of 200 at which (5) is not the volume of <k,c,r,s,n,h,w>", 0, five, holds=not five)
    for found in classes():
        order = "".join(found.representative)
        wrong = sum(
            counted(parse_workload(CNN, extents), tile, found.representative) != volume(order, extents, tile)
            for extents, tile in cases(25)
        )
        yield claimed(f"{found.notation}: tiles of 25 with another count", 0, wrong, holds=not wrong)


def _formula_5(n: Sizes, t: Sizes) -> int:
    """(5) as printed."""
    q = {dim: n[dim] // t[dim] for dim in DIMS}
    out = 2 * q["w"] * t["n"] * t["k"] * t["h"] * t["w"]
    image = t["n"] * t["c"] * (t["h"] + t["r"] - 1) * (n["w"] + t["s"] - 1)
    kernel = t["k"] * t["c"] * t["r"] * t["s"]
    return q["k"] * q["c"] * q["r"] * q["s"] * (kernel + q["n"] * q["h"] * (out + image))


@cache
def classes() -> tuple[DataflowClass, ...]:
    """The classes that no other dominates."""
    return dataflow_classes(parse_workload(CNN, dict.fromkeys(DIMS, 4))).classes


@FORMS.item("Eight classes", "Classes of tile-loop orders that need to be solved", where="section 4, summary")
def eight() -> Rows:
    """Derived with a proof of dominance for every other class, and tried on all 5,040 orders."""
    found = classes()
    yield held("tile-loop orders", 5040, factorial(7))
    yield held("classes", 8, len(found))
    yield held("orders in a class such as <{k,c,r,s},{n,h},w>", 48, found[0].size)
    orders = ["".join(order) for order in permutations(DIMS)]
    lost, kinds = 0, dict[str, list[int]]()
    kept = {"".join(each.representative) for each in found}
    for extents, tile in cases(12):
        words = {order: volume(order, extents, tile) for order in orders}
        lost += min(words.values()) < min(words[order] for order in kept)
        for order, amount in words.items():
            kinds.setdefault(order, []).append(amount)
    yield claimed("random tiles of 12 at which one of 5,040 orders moves less than all eight", 0, lost, holds=not lost)
    yield claimed(
        "different functions among 5,040 orders", "8 are enough", len(set(map(tuple, kinds.values()))), holds=not lost
    )
    own = {_bands(each.notation) for each in found}
    printed = {_bands(text) for text in PRINTED}
    missing = next(each.notation for each in found if _bands(each.notation) not in printed)
    yield refuted(
        "different classes in the printed list",
        8,
        len(printed),
        counterexample=f"<{{nt,ct,ht,wt,st}},rt,kt> is there twice, {missing} is not, and is one of the eight",
        false=len(printed) != 8 and printed < own,
    )


def _bands(notation: str) -> tuple[frozenset[str], ...]:
    """Groups of dims of a class, outermost first."""
    groups, inside = list[set[str]](), False
    for mark in notation:
        if mark in DIMS and inside:
            groups[-1].add(mark)
        elif mark in DIMS:
            groups.append({mark})
        elif mark == "{":
            groups.append(set())
        inside = {"{": True, "}": False}.get(mark, inside)
    return tuple(map(frozenset, groups))


@FORMS.item("Section 4, iterators", "Terms that are printed wrong", where="sections 3 and 4")
def misprints() -> Rows:
    """The kernel's volume with innermost r as printed, and the tile of the output in section 3."""
    extents, tile = next(iter(cases(1)))
    q = {dim: extents[dim] // tile[dim] for dim in DIMS}
    kernel = tile_words("Ker", tile)
    right = prod(q.values()) * kernel
    printed = q["n"] * q["k"] * (extents["c"] / tile["r"]) * (extents["r"] / tile["h"]) * q["w"] * q["h"] * kernel
    yield refuted(
        f"words of Ker, r innermost, tile {' '.join(f'{d}={s}' for d, s in tile.items())}",
        round(printed),
        right,
        counterexample="N_c/T_r and N_r/T_h stand for N_c/T_c, N_r/T_r and N_s/T_s; the levels count the latter",
        false=round(printed) != right,
    )
